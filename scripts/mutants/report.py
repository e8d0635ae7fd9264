"""The results of a run: shares of caught mutants with intervals, and the survivors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from scripts.mutants.running import CAUGHT, EQUIVALENT, SURVIVED, Result
from scripts.mutants.sampling import Mutant
from scripts.mutants.strata import STRATA
from tandem.statistics.proportion import wilson_interval

LEAST, MOST_EQUIVALENT = 0.90, 0.05


def print_report(
    drawn: Sequence[Mutant], results: Mapping[str, Result], say: Callable[[str], None]
) -> bool:
    """Print the figures and the survivors. Return whether enough mutants are caught."""
    known = [mutant for mutant in drawn if mutant.id in results]
    for mutant in known:
        if results[mutant.id].outcome == SURVIVED:
            say(f"survived: {mutant}\n    {results[mutant.id].how}")
    say("")
    for stratum in STRATA:
        ours = [results[mutant.id].outcome for mutant in known if mutant.stratum == stratum]
        if ours:
            say(f"{stratum:12} {_counted(ours)}")
    outcomes = [results[mutant.id].outcome for mutant in known]
    equal, judged = outcomes.count(EQUIVALENT), len(outcomes) - outcomes.count(EQUIVALENT)
    low, high = interval(outcomes.count(CAUGHT), judged)
    say(f"{'all':12} {_counted(outcomes)}, 95 % interval {low:.3f} to {high:.3f}")
    if equal > MOST_EQUIVALENT * len(outcomes):
        say(f"too many mutants are called equivalent: {equal} of {len(outcomes)}")
    if low < LEAST:
        say(f"the interval's lower end is below {LEAST:.2f}")
    return low >= LEAST and equal <= MOST_EQUIVALENT * len(outcomes)


def interval(caught: int, judged: int) -> tuple[float, float]:
    """Return Wilson's interval for a share; from 0 to 1 if nothing was judged."""
    return wilson_interval(caught, judged) if judged else (0.0, 1.0)


def _counted(outcomes: Sequence[str]) -> str:
    equal = outcomes.count(EQUIVALENT)
    judged = len(outcomes) - equal
    share = f"{outcomes.count(CAUGHT) / judged:.3f}" if judged else "-"
    more = f", {equal} equivalent" if equal else ""
    return f"caught {outcomes.count(CAUGHT):3} of {judged:3} = {share}{more}"
