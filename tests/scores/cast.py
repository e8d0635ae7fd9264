"""A small CRUX example: three passages, ten sub-questions, two of which nothing answers.

| passage | words | rated 3 or more for    | rated below 3   |
|---------|-------|------------------------|-----------------|
| p1      | 10    | q0 q1 q2 q3 q7         | q8 (2), rest 0  |
| p2      | 10    | q2 q3 q4 q5 q6         | rest 0          |
| p3      | 5     | q0 q4                  | rest 0          |

So q8 and q9 are filtered, eight are left, and p1 and p2 answer all of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tandem.scores.contexts import Contexts, Ratings, answerable, answers
from tandem.scores.options import Options

P1, P2, P3 = 0, 1, 2
RATED = {
    P1: {0: 5, 1: 5, 2: 3, 3: 3, 7: 4, 8: 2},
    P2: {2: 5, 3: 4, 4: 3, 5: 3, 6: 5},
    P3: {0: 3, 4: 5},
}
WORDS = (10, 10, 5)
PASSAGES, QUESTIONS = 3, 10


def example_ratings(
    failed: Sequence[tuple[int, int]] = (), unrated: Sequence[tuple[int, int]] = ()
) -> Ratings:
    """The example's ratings, 0 where the table says nothing.

    The pairs (passage, question) in `failed` and `unrated` have none: the judgement failed, or
    nobody was asked.
    """
    values = np.zeros((1, PASSAGES, QUESTIONS))
    for passage, rated in RATED.items():
        for question, rating in rated.items():
            values[0, passage, question] = rating
    lost = np.zeros(values.shape, bool)
    for passage, question in failed:
        lost[0, passage, question] = True
    for passage, question in (*failed, *unrated):
        values[0, passage, question] = np.nan
    return Ratings(values, np.ones((1, PASSAGES), bool), np.ones((1, QUESTIONS), bool), lost)


def context_of(
    *passages: int, options: Options | None = None, ratings: Ratings | None = None
) -> Contexts:
    """A context of the example, its oracle being p1, p2, p3."""
    chosen, rated = options or Options(), ratings or example_ratings()
    found = answers(rated, chosen)
    return Contexts(
        answers=found,
        ranked=np.array([passages], dtype=np.int64).reshape(1, -1),
        oracle=np.array([[P1, P2, P3]]),
        counted=answerable(found, np.ones((1, PASSAGES), bool), chosen),
        tokens=np.array([WORDS], float),
        depth=np.array([len(passages)]),
        present=np.ones(1, bool),
    )
