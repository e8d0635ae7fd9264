"""Section: the alternative annotator test of a judge, its result by other rules, and its power."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..data.resampling import Sample
from ..statistics import (
    AltTest,
    Floats,
    Ints,
    accuracy_of,
    alt_test_power,
    alt_test_sensitivity,
    effective_items,
    epsilon_curve,
    verdict_beside,
)
from ..statistics.alternative import describe_undecided
from ..types import JSON
from .agreement import numbers

#: The amount by which the worse judge's accuracy is below people's.
WORSE = 0.1
#: With more items the power is simulated for this number.
MOST_ITEMS = 500
TRIALS = 400
#: With more people, the power is simulated for this number, beyond which little changes.
MOST_ANNOTATORS = 30
ORDERED = "simulated for categories without order only"


def alternative(
    sample: Sample, codes: Ints, epsilons: tuple[float, ...], floor: tuple[AltTest, ...]
) -> JSON:
    """Return the key `alt_test` of a judge with these codes (U,).

    The first epsilon is the report's, and the others are those of the curve. `floor` holds the
    baseline's tests at the same epsilons, and is empty without a baseline.
    """
    tests = alternative_tests(sample, codes, epsilons)
    beside = floor or (None,) * len(tests)
    test, *curve = (
        {**test.as_json(), **_verdict(test, of)} for test, of in zip(tests, beside, strict=True)
    )
    return {**test, "curve": [] if "reason" in test else [_at(each) for each in curve]}


def alternative_tests(
    sample: Sample, codes: Ints, epsilons: tuple[float, ...]
) -> tuple[AltTest, ...]:
    """Test the rater with these codes (U,) at each epsilon."""
    level = sample.frame.scale.level
    codes_of_people = sample.frame.codes_of("human")
    people: Ints | Floats = codes_of_people
    judge: Ints | Floats = codes
    if level != "nominal":
        people, judge = numbers(sample, codes_of_people), numbers(sample, codes)
    names = [sample.frame.raters[n].name for n in sample.frame.columns("human")]
    return epsilon_curve(
        people, judge, sample.clusters, level=level, epsilons=epsilons, names=names
    )


def _verdict(test: AltTest, floor: AltTest | None) -> JSON:
    """Return the verdict; a pass is void if the baseline passes, too."""
    verdict = verdict_beside(test, floor)
    return {"verdict": verdict, "passed": None if verdict == "floor-passes" else test.passed}


def _at(test: JSON) -> JSON:
    kept = ("epsilon", "winning_rate", "passed", "verdict", "queries", "queries_needed")
    by_query = {"winning_rate": test["by_query"]["winning_rate"]}
    return {name: test[name] for name in kept} | {"by_query": by_query}


def sensitivity_and_power(sample: Sample, column: int, compared: JSON, epsilon: float) -> JSON:
    """Return the keys `sensitivity` and `power` of a judge's `alt_test`."""
    level = sample.frame.scale.level
    codes = sample.frame.codes_of("human"), sample.frame.codes[:, column]
    people: Ints | Floats = codes[0]
    judge: Ints | Floats = codes[1]
    if level != "nominal":
        people, judge = numbers(sample, codes[0]), numbers(sample, codes[1])
    others = alt_test_sensitivity(people, judge, sample.clusters, level=level, epsilon=epsilon)
    name = sample.frame.raters[column].name
    test = compared["judges"][name]["alt_test"]
    items = effective_items(people, judge, sample.clusters, level=level)
    return {
        "sensitivity": {rule: _summary(each) for rule, each in others.items()},
        "power": _power(sample, compared["agreement"]["percent"]["value"], test, items, epsilon),
    }


def _summary(test: AltTest) -> JSON:
    found = test.as_json()
    kept = ("winning_rate", "advantage_probability", "decides", "passed", "verdict", "queries",
            "queries_needed", "reason")  # fmt: skip
    by_query = {name: getattr(test.by_query, name) for name in kept[:2]}
    return {name: found[name] for name in kept if name in found} | {"by_query": by_query}


def _power(
    sample: Sample, agreement: float | None, test: JSON, items: float | None, epsilon: float
) -> JSON:
    """Return how often a judge as good as people would pass, and how often a worse one would."""
    k = int(sample.frame.scale.own().sum())
    reason = test.get("reason") or (ORDERED if sample.frame.scale.level != "nominal" else None)
    if reason or agreement is None or items is None or k < 2 or sample.is_continuous:
        nothing = dict.fromkeys(("as_good", "worse", "effective_items", "accuracy"))
        return {**nothing, "reason": reason or "people's accuracy is not known"}
    accuracy = accuracy_of(agreement, k)
    annotators = min(len(test["annotators"]), MOST_ANNOTATORS)
    shape = (int(np.clip(round(items), 2, MOST_ITEMS)), annotators, k, round(accuracy, 6))
    return {
        "as_good": _passing(*shape, 0.0, epsilon),
        "worse": _passing(*shape, WORSE, epsilon),
        "effective_items": items,
        "accuracy": accuracy,
    }


@lru_cache(maxsize=256)
def _passing(
    items: int, annotators: int, categories: int, accuracy: float, worse: float, epsilon: float
) -> float:
    return alt_test_power(
        items,
        annotators=annotators,
        categories=categories,
        accuracy=accuracy,
        judge_accuracy=max(accuracy - worse, 0.0),
        epsilon=epsilon,
        trials=TRIALS,
    )


def describe_verdict(test: JSON, floor: JSON | None = None) -> str:
    """Describe the verdict of a test, or of one rule or point of its curve.

    Snapshots of old reports have no verdict. With a judge's `floor`, the description also names the
    epsilon at which the baseline does not pass.
    """
    if test.get("verdict") == "floor-passes":
        return f"cannot be said at this ε: word overlap passes too{_smaller(floor)}"
    if test.get("verdict") != "undecided":
        return {True: "passes", False: "fails", None: "undefined"}[test["passed"]]
    return describe_undecided(test["queries"], test["queries_needed"])


def _smaller(floor: JSON | None) -> str:
    if floor is None:
        return ""
    largest = floor["largest_epsilon_failed"]
    if largest is None:
        return ", at every ε of the curve"
    return f"; the largest ε of the curve at which it does not is {largest:g}"
