"""Section: a judge compared with people and with the baseline, and its gap to people.

The kappa with people's majority is in another section and is not compared with these figures. A
majority is less noisy than a person, so a judge may agree with it better than people agree with
each other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..labels.reference import reference
from ..labels.resampling import TOO_MANY, Sample
from ..statistics import (
    AltTest,
    Estimate,
    Ints,
    gap_and_equivalence,
    judge_difference,
    largest_epsilon_failed,
    undefined,
    with_people_estimates,
)
from ..statistics.alternative import describe_undecided
from ..statistics.ceiling import GAP, LESS, NAMES, WITH, method_of
from ..statistics.coefficients import EQUAL, KAPPA
from ..types import JSON
from .agreement import pair, pair_arguments
from .alt_test import alternative_tests

WORD_OVERLAP = "word overlap"
NO_LABEL = "the lexical rule has no label on these units"


@dataclass(frozen=True)
class Floor:
    """The baseline (word overlap) on some units; `tests` are at the report's epsilons.

    `reason` says why there are no labels; then there are no tests either.
    """

    codes: Ints
    tests: tuple[AltTest, ...]
    gap: Estimate
    agreement: JSON
    reason: str


def floor(sample: Sample, epsilons: tuple[float, ...]) -> Floor:
    """Return the baseline on the units of a sample, tested at each epsilon, the report's first."""
    frame = sample.frame
    codes = frame.floor.codes
    reason = frame.floor.reason
    if codes is not None and not (codes >= 0).any():
        reason = NO_LABEL
    if codes is None or reason:
        codes = np.full(len(frame.codes), -1, dtype=np.int64)
        names = (KAPPA.key, EQUAL.key)
        nothing = undefined(reason, 0, method_of(KAPPA.key, GAP))
        return Floor(
            codes,
            (),
            nothing,
            {name: undefined(reason, 0, NAMES[name]).as_json() for name in names},
            reason,
        )
    agreement = pair(sample, reference(frame).codes, codes, tuple(NAMES))
    return Floor(
        codes,
        alternative_tests(sample, codes, epsilons),
        gaps_of(sample, codes)[KAPPA.key][0],
        {name: estimate.as_json() for name, estimate in agreement.items()},
        "",
    )


def compare_with_floor(sample: Sample, codes: Ints, floor: Floor) -> JSON:
    """Return the key `floor` of a judge with these codes (U,)."""
    return {
        "gap": floor.gap.as_json(),
        "judge_minus_floor": _less(sample, codes, floor).as_json(),
        "agreement": floor.agreement,
        **_passes(floor),
    }


def _passes(floor: Floor) -> JSON:
    """Return whether the baseline passes, or the reason if too few queries can decide."""
    test, *curve = floor.tests or (None,)
    passes = test.passed if test else None
    if test is None or passes is None:
        nothing = {"passes": None, "largest_epsilon_failed": None}
        return nothing | {"reason": floor.reason if test is None else _why(test)}
    return {"passes": passes, "largest_epsilon_failed": largest_epsilon_failed(curve)}


def _why(test: AltTest) -> str:
    if test.reason or test.queries is None:
        return test.reason or ""
    return describe_undecided(test.queries, test.queries_needed)


def gaps_of(sample: Sample, codes: Ints) -> dict[str, tuple[Estimate, Estimate]]:
    """Return the gap to people of the rater with these codes (U,), in kappas and in percent.

    Each has a 95 % interval, and a 90 % one for the test of equivalence.
    """
    people = sample.frame.codes_of("human")
    made = gap_and_equivalence(
        codes, people, sample.clusters, sample.k, **pair_arguments(sample),
        **sample.resampling_arguments,
    )  # fmt: skip
    many = undefined(TOO_MANY, made[EQUAL.key][0].n, method_of(KAPPA.key, GAP))
    return {KAPPA.key: (many, many), **made}


def with_people(sample: Sample, codes: Ints) -> dict[str, Estimate]:
    """Return the mean kappas and percent of the rater with these codes (U,) with each person."""
    people = sample.frame.codes_of("human")
    made = with_people_estimates(
        codes, people, sample.clusters, sample.k, **pair_arguments(sample),
        **sample.resampling_arguments,
    )  # fmt: skip
    many = undefined(TOO_MANY, made[EQUAL.key].n, method_of(KAPPA.key, WITH))
    return {KAPPA.key: many, **made}


def _less(sample: Sample, codes: Ints, floor: Floor) -> Estimate:
    if floor.reason or sample.is_continuous:
        return undefined(
            floor.reason or TOO_MANY, 0, method_of(KAPPA.key, LESS.format(other=WORD_OVERLAP))
        )
    made = judge_difference(
        codes,
        floor.codes,
        sample.frame.codes_of("human"),
        sample.clusters,
        sample.k,
        named=WORD_OVERLAP,
        names=(KAPPA.key,),
        **sample.resampling_arguments,
    )
    return made[KAPPA.key]
