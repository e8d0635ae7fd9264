"""The alternative annotator test beside a floor: what a pass is worth where the floor passes too.

An epsilon at which a rule passes that compares words, and understands nothing, is too large to tell
a judge from such a rule. There a pass says nothing; a judge that fails has failed all the same.
"""

from __future__ import annotations

from collections.abc import Sequence

from analysis.statistics.alternative_results import AltTest, Verdict


def verdict_beside(test: AltTest, floor: AltTest | None) -> Verdict | None:
    """The verdict of a judge's test, `floor-passes` where the floor's, at the same epsilon, passes.

    One that is undecided or fails stays so: the floor passing takes worth from a pass alone.
    """
    if test.verdict == "passes" and floor is not None and floor.passed:
        return "floor-passes"
    return test.verdict


def largest_epsilon_failed(floor: Sequence[AltTest]) -> float | None:
    """The largest epsilon at which a floor does not pass, of its tests; None where it always does.

    Where there are too few queries to decide at an epsilon, it does not pass there either.
    """
    return max((test.epsilon for test in floor if not test.passed), default=None)
