"""Win-rate: how often a system's answer is preferred to the others'."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.measures.base import Measure
from analysis.measures.options import Options
from analysis.statistics import Floats, Ints
from analysis.statistics.arrays import ratio

FIRST, SECOND, TIE_GOOD, TIE_BAD, MISSING = 0, 1, 2, 3, -1
#: What a verdict gives to the first and to the second answer, by the rule for ties.
WINS = {
    "half": ((1, 0), (0, 1), (0.5, 0.5), (0.5, 0.5)),
    "good": ((1, 0), (0, 1), (1, 1), (0, 0)),
    "none": ((1, 0), (0, 1), (0, 0), (0, 0)),
}


@dataclass(frozen=True)
class Preferences:
    """What was said of pairs of answers (V,): first, second, tie-good, tie-bad (0 to 3).

    -1 = missing. `first` and `second` are the pair's rows among N answers; each rater's verdict
    stands by itself.
    """

    first: Ints
    second: Ints
    verdict: Ints
    rows: int


def win_rate(of: Preferences, options: Options) -> Floats:
    """Wins / verdicts on the answer, (N,); with all pairs judged, the paper's definition.

    Rosenthal and others 2025 divide a question's wins by (systems - 1) x annotators, which is the
    number of verdicts; where verdicts are missing, by those that are there. The paper's sums over
    systems fit no simple rule for ties: `ties` names one. Under `half` the rates of S systems sum
    to S / 2 where all pairs are judged. NaN for an answer without a verdict.
    """
    given = of.verdict != MISSING
    worth = np.array(WINS[options.ties], float)[np.maximum(of.verdict, 0)]
    wins, verdicts = np.zeros(of.rows), np.zeros(of.rows)
    for side, rows in enumerate((of.first, of.second)):
        np.add.at(wins, rows[given], worth[given, side])
        np.add.at(verdicts, rows[given], 1.0)
    return ratio(wins, verdicts)


WIN_RATE = Measure(
    "Win-rate",
    "preferences",
    "Share of its comparisons that the system's answer wins.",
    "Rosenthal and others, CLAPnq, 2025",
    win_rate,
    "no pair of answers was judged",
    ("ties",),
)
