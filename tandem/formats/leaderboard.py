"""Leaderboards in the AutoJudge kit's form: run, topic, measure and value on each line.

The kit calls the form `ir_measures`. Columns are separated by tabs, and read at any blank, so
blanks and percent signs in names are percent-encoded. The value of the topic `all` is the mean of
the run's topics.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from math import fsum
from typing import NamedTuple
from urllib.parse import quote

ALL = "all"


class Score(NamedTuple):
    """The value of a measure for a run's answer to a topic."""

    run: str
    topic: str
    measure: str
    value: float


def leaderboard_lines(scores: Iterable[Score]) -> Iterator[str]:
    """Yield the lines of scores in their order, followed by a line `all` for each run and measure.

    A topic without a value has no line, and is not in the mean of its run.
    """
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    for score in scores:
        values[score.run, score.measure].append(score.value)
        yield _line(score)
    for (run, measure), found in values.items():
        yield _line(Score(run, ALL, measure, fsum(found) / len(found)))


def _line(score: Score) -> str:
    names = (_encoded(name) for name in score[:-1])
    return "\t".join((*names, repr(float(score.value)))) + "\n"


def _encoded(name: str) -> str:
    """Return a name without blanks."""
    return "".join(quote(c) if c.isspace() or c == "%" else c for c in name)
