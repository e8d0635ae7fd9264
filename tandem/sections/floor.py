"""Section: a judge compared with people and with the baseline, and its gap to people.

The kappa with people's majority is in another section and is not compared with these figures. A
majority is less noisy than a person, so a judge may agree with it better than people agree with
each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from ..document import UNITS, UNITS_HEAD, Cell, Number, Table, UnitCount, of_several
from ..labels.reference import reference
from ..labels.resampling import TOO_MANY, Sample
from ..statistics import (
    EQUAL,
    KAPPA,
    OF_SETS,
    WEIGHTED,
    AltTest,
    Estimate,
    Ints,
    gap_and_equivalence,
    holm,
    interval_p_value,
    is_equivalent,
    judge_difference,
    largest_epsilon_failed,
    undefined,
    with_people_estimates,
)
from ..statistics.alternative import describe_undecided
from ..statistics.ceiling import GAP, LESS, NAMES, WITH, method_of
from ..types import JSON
from .agreement import pair, pair_arguments, too_many
from .alt_test import alternative_tests
from .base import ANY, JUDGE, OF_JUDGES, SectionPart, blocks_of_judges, slotted
from .citations import CITED

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
    many = too_many(sample, made[EQUAL.key][0].n, partial(method_of, of=GAP))
    return {**{name: (none, none) for name, none in many.items()}, **made}


def with_people(sample: Sample, codes: Ints) -> dict[str, Estimate]:
    """Return the mean kappas and percent of the rater with these codes (U,) with each person."""
    people = sample.frame.codes_of("human")
    made = with_people_estimates(
        codes, people, sample.clusters, sample.k, **pair_arguments(sample),
        **sample.resampling_arguments,
    )  # fmt: skip
    return {**too_many(sample, made[EQUAL.key].n, partial(method_of, of=WITH)), **made}


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


OVER_PAIRS = (
    "Gap to people, in pairs. A majority is less noisy than a single person, so it is not compared "
    "with pairs"
)


def pair_columns(block: JSON) -> dict[str, str]:
    """Return the coefficients of a judge with single people, with weights on an ordered scale."""
    gap = block.get("gap", {})
    weighted = {each.key: each.head for each in (WEIGHTED, OF_SETS) if each.key in gap}
    return {KAPPA.key: KAPPA.name, **weighted, EQUAL.key: EQUAL.head}


def gap_tables(block: JSON, judge: str) -> list[Table]:
    """Return the tables of a judge's gap and baseline; none in snapshots of older reports."""
    if "gap" not in block:
        return []
    floor = block["floor"]
    header: tuple[str, ...] = (
        "Judge with each person, less people with each other",
        "Value",
        UNITS_HEAD,
    )
    names = pair_columns(block)
    gap: list[tuple[Cell, ...]] = [
        (
            label,
            Number.from_estimate(block["gap"][name]),
            of_several(block["gap"][name]["n"], judge),
            *_gap_tests(block, name),
        )
        for name, label in names.items()
    ]
    if "gap_tests" in block:
        margin = f"Within {block['equivalence']['margin']:g}"
        header = (*header, "p after Holm", "90 % interval", margin)
    tables = [Table(OVER_PAIRS, header, tuple(gap))]
    if not _has_values(floor):
        return tables
    mean = block["reference"] == "mean"
    rows = (
        _of_floor(
            "With the majority",
            floor["agreement"][KAPPA.key],
            show="labelled" if mean else "decided",
        ),
        _of_floor(
            "Gap: with each person, less people with each other", floor["gap"], show="several"
        ),
        _of_floor(
            "Judge with each person, less word overlap with each",
            floor["judge_minus_floor"],
            show="labelled",
            one=judge,
        ),
    )
    caption = f"Word overlap, the baseline; alternative annotator test: {_describe_passes(floor)}"
    return [*tables, Table(caption, ("Cohen's kappa", "Value", UNITS_HEAD), rows)]


def _gap_tests(block: JSON, name: str) -> tuple[Cell, ...]:
    """Return the tests of a gap: p after Holm over the judges, and equivalence."""
    if "gap_tests" not in block:
        return ()
    p, found = block["gap_tests"][name]["adjusted_p_value"], block["equivalence"][name]
    narrow = Number.from_estimate(found["estimate"])
    words = {True: "yes", False: "not shown", None: "not known"}
    p_value = Number(None) if p is None else Number.p(p)
    return p_value, narrow, words[found["equivalent"]]


def no_floor(block: JSON) -> list[str]:
    """Explain why a judge has no baseline; empty if it has one, or in older snapshots."""
    floor = block.get("floor")
    return (
        [] if floor is None or _has_values(floor) else [f"no baseline: {slotted(floor['reason'])}"]
    )


def _has_values(floor: JSON) -> bool:
    estimates = (floor["gap"], floor["judge_minus_floor"], *floor["agreement"].values())
    return any(each["value"] is not None for each in estimates)


def _describe_passes(floor: JSON) -> str:
    if floor["passes"] is None:
        return slotted(floor["reason"])
    return "shown" if floor["passes"] else "not shown"


def floor_methods(blocks: list[JSON]) -> list[str]:
    """Describe the gap of judges and the baseline, for the methods text."""
    said = []
    if any(of["value"] is not None for block in blocks for of in block.get("gap", {}).values()):
        said.append(
            "The gap of a judge is its mean kappa with each person less the mean kappa of people "
            "with each other, and likewise for the share of equal labels. Both means are over "
            f"the same {UNITS}, each pair is weighted by the {UNITS} that it shares, and both are "
            "resampled together. Kappa with the majority is not compared with pairs, since a "
            "majority is less noisy than a person."
        )
    if any(WEIGHTED.key in block.get("gap", {}) for block in blocks):
        said.append(
            "Where categories have an order, the kappa of people and judges that is stated first "
            f"has quadratic weights {CITED['cohen1968']}."
        )
    if any(OF_SETS.key in block.get("gap", {}) for block in blocks):
        said.append(
            "Of sets of codes, the kappa that is stated first has MASI weights "
            f"{CITED['passonneau2006']}."
        )
    if any("gap_tests" in block for block in blocks):
        said += _gap_methods(blocks)
    floors = [block["floor"] for block in blocks if "floor" in block]
    if any(floor["gap"]["value"] is not None for floor in floors):
        said.append(
            "The baseline is a lexical rule that only compares words, run on the same items. Each "
            "judge is compared with it by the difference of their mean kappas with the same people."
        )
    if any(floor["passes"] is not None for floor in floors):
        said.append("It stands beside the alternative annotator test, and decides nothing there.")
    return said


def _gap_methods(blocks: list[JSON]) -> list[str]:
    """Describe the tests of gaps, their families, and equivalence."""
    margin = next(b["equivalence"]["margin"] for b in blocks if "equivalence" in b)
    families = max(t["judges"] for b in blocks for t in b.get("gap_tests", {}).values())
    said = []
    if families > 1:
        said.append(
            "A gap counts as a difference from people at p below .05, from its interval, after "
            f"Holm's adjustment over the judges of a variable {CITED['holm1979']}."
        )
    said.append(
        f"Judge and people are called equivalent if the 90 % interval of the gap lies within "
        f"{margin:g} of 0, by two one-sided tests {CITED['schuirmann1987']}."
    )
    return said


def _of_floor(label: str, estimate: JSON, **filters: str) -> tuple[Cell, ...]:
    """Return the baseline's row, with its count linked to the labelled units."""
    units = UnitCount.of(estimate["n"], baseline=ANY, **filters)
    return label, Number.from_estimate(estimate), units


PART = SectionPart(
    JUDGE,
    title="Against people",
    tables=lambda shown: gap_tables(shown.block, shown.judge),
)
METHODS = SectionPart(
    head=OF_JUDGES, methods=lambda report: floor_methods(blocks_of_judges(report))
)


TWO_WAY = "not tested with resampled raters"


def equivalence(narrow: Mapping[str, Estimate], margin: float) -> JSON:
    """Return the key `equivalence` of a judge, from the 90 % intervals of its gaps."""
    return {
        "margin": margin,
        **{
            name: {"equivalent": is_equivalent(each, margin), "estimate": each.as_json()}
            for name, each in narrow.items()
        },
    }


def add_gap_tests(judges: JSON, clusters: int) -> None:
    """Add the key `gap_tests` to each judge of a variable: p-values, and adjusted over judges.

    The judges are a family (Holm 1979). Adjusted p-values of several judges are those of the longer
    side of each interval. A gap without an interval has none.
    """
    for block in judges.values():
        block["gap_tests"] = {name: _untested() for name in block["gap"]}
    names = dict.fromkeys(name for block in judges.values() for name in block["gap"])
    for name in names:
        gaps = {judge: block["gap"][name] for judge, block in judges.items()}
        known = {judge: gap for judge, gap in gaps.items() if gap["low"] is not None}
        ends = [(gap["value"], gap["low"], gap["high"]) for gap in known.values()]
        several = len(known) > 1
        found = [interval_p_value(*each, clusters) for each in ends]
        longer = [interval_p_value(*each, clusters, longer=several) for each in ends]
        adjusted = holm(np.array(longer, float)).tolist()
        for judge, p, after in zip(known, found, adjusted, strict=True):
            tests = judges[judge]["gap_tests"][name]
            tests |= {"p_value": p, "adjusted_p_value": after, "judges": len(known)}


def _untested() -> JSON:
    return {"p_value": None, "adjusted_p_value": None, "judges": 0}
