"""Section: the alternative annotator test by other rules, and its power."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..document import UNITS, Cell, Number, Table
from ..labels.resampling import Sample
from ..statistics import (
    EQUAL,
    AltTest,
    Floats,
    Ints,
    accuracy_of,
    alt_test_power,
    alt_test_sensitivity,
    effective_items,
    loss_correlation,
)
from ..types import JSON
from .agreement import numbers
from .alt_test import (
    MOST_ITEMS,
    MOST_OF_A_QUERY,
    TEST,
    TRIALS,
    describe_verdict,
    set_members,
)
from .base import JUDGE, OF_JUDGES, Labels, SectionPart, blocks_of_judges
from .citations import CITED

#: The amount by which the worse judge's accuracy is below people's.
WORSE = 0.1


#: With more people, the power is simulated for this number, beyond which little changes.
MOST_ANNOTATORS = 30


NOT_OF_SETS = "labels that are sets of codes are not simulated"
EVERY_EPSILON = "a floor passes at every epsilon"


def sensitivity_and_power(sample: Sample, column: int, compared: JSON, epsilon: float) -> JSON:
    """Return the keys `sensitivity` and `power` of a judge's `alt_test`."""
    level = sample.frame.scale.level
    codes = sample.frame.codes_of("human"), sample.frame.codes[:, column]
    people: Ints | Floats = codes[0]
    judge: Ints | Floats = codes[1]
    if sample.is_ordered:
        people, judge = numbers(sample, codes[0]), numbers(sample, codes[1])
    members = set_members(sample)
    others = alt_test_sensitivity(
        people, judge, sample.clusters, level=level, epsilon=epsilon, members=members
    )
    name = sample.frame.raters[column].name
    test = compared["judges"][name]["alt_test"]
    items = effective_items(people, judge, sample.clusters, level=level, members=members)
    correlation = loss_correlation(people, judge, sample.clusters, level=level, members=members)
    agreement = compared["agreement"][EQUAL.key]["value"]
    return {
        "sensitivity": {rule: _summary(each) for rule, each in others.items()},
        "power": _power(sample, agreement, test, items, correlation),
    }


def _summary(test: AltTest) -> JSON:
    found = test.as_json()
    kept = ("winning_rate", "advantage_probability", "decides", "passed", "verdict", "queries",
            "queries_needed", "reason")  # fmt: skip
    by_query = {name: getattr(test.by_query, name) for name in kept[:2]}
    return {name: found[name] for name in kept if name in found} | {"by_query": by_query}


def _power(
    sample: Sample,
    agreement: float | None,
    test: JSON,
    items: float | None,
    correlation: float | None,
) -> JSON:
    """Return how often a judge as good as people would be shown, and how often a worse one.

    The rule that decides is simulated at the answer's epsilon, with people's agreement, the
    frequencies of their labels, and the correlation of the judge's losses within queries.
    """
    scale, people = sample.frame.scale, sample.frame.codes_of("human")
    given = np.bincount(people[people >= 0], minlength=sample.k)
    used = scale.own() & (given > 0) if scale.categories else np.zeros(len(given), bool)
    frequencies = given[used]
    epsilon = test["answer"].get("epsilon")
    by_query = test["decides"] == "by_query"
    beside: JSON = {
        "epsilon": epsilon,
        "correlation": correlation if by_query else None,
        "effective_items": None,
        "accuracy": None,
    }
    reason = test.get("reason") or (NOT_OF_SETS if sample.is_of_sets else None)
    known = items is not None and scale.own().sum() > 1 and not sample.is_continuous
    if reason or agreement is None or not known:
        why = reason or "people's accuracy is not known"
        return {"as_good": None, "worse": None, **beside, "correlation": None, "reason": why}
    shares = tuple((frequencies / frequencies.sum()).round(4).tolist())
    accuracy = accuracy_of(agreement, len(shares), shares)
    beside |= {"effective_items": items, "accuracy": accuracy}
    if epsilon is None:
        return {"as_good": None, "worse": None, **beside, "reason": EVERY_EPSILON}
    annotators = (test["by_query"] if by_query else test)["annotators"]
    units = _median(annotators)
    simulated = int(np.clip(units, 2, MOST_ITEMS))
    size = int(np.clip(round(_median(test["annotators"]) / units), 2, MOST_OF_A_QUERY))
    shape = _Shape(
        simulated * size if by_query else simulated,
        simulated if by_query else None,
        min(len(annotators), MOST_ANNOTATORS),
        shares,
        round(accuracy, 4),
        round(correlation or 0.0, 3),
        epsilon,
        tuple(scale.values()[used].tolist()) if sample.is_ordered else None,
    )
    return {"as_good": _passing(shape, 0.0), "worse": _passing(shape, WORSE), **beside}


def _median(annotators: list[JSON]) -> float:
    return float(np.median([each["n"] for each in annotators]))


@dataclass(frozen=True)
class _Shape:
    """What a simulated study is like."""

    items: int
    queries: int | None
    annotators: int
    frequencies: tuple[float, ...]
    accuracy: float
    correlation: float
    epsilon: float
    values: tuple[float, ...] | None


@lru_cache(maxsize=256)
def _passing(shape: _Shape, worse: float) -> float:
    return alt_test_power(
        shape.items,
        queries=shape.queries,
        annotators=shape.annotators,
        categories=len(shape.frequencies),
        frequencies=shape.frequencies,
        accuracy=shape.accuracy,
        judge_accuracy=max(shape.accuracy - worse, 0.0),
        correlation=shape.correlation,
        values=shape.values,
        epsilon=shape.epsilon,
        trials=TRIALS,
    )


RULES = {
    "multiplicative": "Multiplicative epsilon",
    "missing_dropped": "Items without an answer dropped",
    "wilcoxon": "Signed ranks (Wilcoxon), for few labels",
}


def sensitivity_tables(test: JSON) -> list[Table]:
    """Return the tables of other rules and of power; snapshots of older reports have none."""
    tables = [_sensitivity_table(test["sensitivity"])] if test.get("sensitivity") else []
    return tables + ([_power_table(test["power"])] if "power" in test else [])


def _sensitivity_table(rules: JSON) -> Table:
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            RULES.get(rule, rule),
            Number(found["by_query"]["winning_rate"], reason=found.get("reason", "")),
            Number(found["winning_rate"], reason=found.get("reason", "")),
            describe_verdict(found),
        )
        for rule, found in rules.items()
    )
    header = ("Rule", "People within epsilon, by queries", "By items", "Verdict")
    return Table("The test by other rules, for comparison", header, rows)


def _power_table(power: JSON) -> Table:
    reason = power.get("reason", "")
    numbers = (("as_good", 2), ("worse", 2), ("effective_items", 0), ("accuracy", 2))
    cells = tuple(Number(power[key], reason=reason, digits=digits) for key, digits in numbers)
    header = (
        "Chance of being shown",
        "As good as people",
        "10 points worse",
        "Effective items",
        "People's accuracy",
    )
    at = "" if power.get("epsilon") is None else f" at ε {power['epsilon']:g}"
    return Table(f"How often a judge would be shown{at}", header, (("Simulated", *cells),))


def power_methods(tests: list[JSON]) -> list[str]:
    """Name the other rules of the alternative annotator test, and its power."""
    defined = [test for test in tests if not test.get("reason")]
    used = {rule for test in defined for rule in test.get("sensitivity", ())}
    rules = {
        "multiplicative": "in its multiplicative form",
        "missing_dropped": "with unanswered items dropped",
        "wilcoxon": f"by exact signed ranks {CITED['wilcoxon1945']} for few {UNITS}",
    }
    words = [text for rule, text in rules.items() if rule in used]
    parts = [f"For comparison it was also run {'; '.join(words)}."] if words else []
    if any(test.get("power", {}).get("as_good") is not None for test in defined):
        parts.append(
            "Its power was simulated for the rule that decides, with people's agreement, the "
            "frequencies of their labels, and the correlation of the judge's losses within "
            f"queries by the design effect {CITED['kish1965']}."
        )
    return parts


def _add_to_test(of: Labels, column: int) -> JSON:
    test = of.judge(column)["alt_test"]
    return {"alt_test": test | sensitivity_and_power(of.both, column, of.block, of.options.epsilon)}


PART = SectionPart(
    JUDGE,
    of_judge=_add_to_test,
    title=TEST,
    tables=lambda shown: sensitivity_tables(shown.block["alt_test"]),
)
METHODS = SectionPart(
    head=OF_JUDGES,
    methods=lambda report: power_methods([of["alt_test"] for of in blocks_of_judges(report)]),
)
