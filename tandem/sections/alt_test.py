"""Section: the alternative annotator test of a judge: its floors, other rules, and its power."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..labels.resampling import TOO_MANY, Sample
from ..statistics import (
    AltTest,
    BalancedForm,
    Floats,
    Floor,
    Form,
    Ints,
    PlainForm,
    accuracy_of,
    alt_test_power,
    alt_test_sensitivity,
    answer_of,
    commonest_elsewhere,
    commonest_label,
    effective_items,
    epsilon_curve,
    floors_of,
    loss_correlation,
    permuted,
    verdict_beside,
)
from ..statistics.alternative import describe_undecided, queries_needed
from ..statistics.alternative_floors import PERMUTATIONS, queries_to_decide
from ..types import JSON
from .agreement import numbers

#: The amount by which the worse judge's accuracy is below people's.
WORSE = 0.1
#: With more items or queries, or more items in a query, the power is simulated for this number.
MOST_ITEMS, MOST_OF_A_QUERY = 500, 100
TRIALS = 400
#: With more people, the power is simulated for this number, beyond which little changes.
MOST_ANNOTATORS = 30
BY_CATEGORY = "categories weigh the same only where they have no order"
ALONE = "each query holds a single unit"
EVERY_EPSILON = "a floor passes at every epsilon"
FLOORS: Mapping[str, str] = {
    "commonest_label": "always the commonest label",
    "permuted_labels": "its own labels in random order",
    "other_units": "the commonest label of people on the other units of the query",
    "word_overlap": "word overlap",
}
"""What each floor does. The first two carry no information, and block."""


@dataclass(frozen=True)
class Forms:
    """The forms of the test on a sample: prepared once for all of its judges.

    `order` (U,) is that of the units' names. `balanced` is the form, or the reason why there is
    none. `informative` are the codes (U,) of floors with information, or the reasons for none.
    """

    plain: PlainForm
    balanced: BalancedForm | str
    commonest: int
    order: Ints
    informative: Mapping[str, Ints | str]


def forms_of(sample: Sample, word_overlap: Ints | str) -> Forms:
    """Prepare the forms of the test; `word_overlap` has codes (U,) or the reason for none."""
    frame, clusters = sample.frame, sample.clusters
    people, level = frame.codes_of("human"), frame.scale.level
    names = [frame.raters[n].name for n in frame.columns("human")]
    values = np.arange(sample.k, dtype=float)
    if level != "nominal" and frame.scale.categories:
        values = frame.scale.values()
    plain = PlainForm(people, clusters, level=level, values=values, names=names)
    balanced: BalancedForm | str = BY_CATEGORY
    if level == "nominal":
        balanced = TOO_MANY
        if not sample.is_continuous:
            balanced = BalancedForm(people, clusters, categories=sample.k, names=names)
    others: Ints | str = TOO_MANY if sample.is_continuous else ALONE
    if plain.by_query and not sample.is_continuous:
        others = commonest_elsewhere(people, clusters, sample.k)
    informative = {"other_units": others, "word_overlap": word_overlap}
    order = np.array(sorted(range(len(people)), key=frame.units.names.__getitem__), np.int64)
    return Forms(plain, balanced, commonest_label(people, sample.k), order, informative)


def alternative(sample: Sample, codes: Ints, epsilons: tuple[float, ...], forms: Forms) -> JSON:
    """Return the key `alt_test` of a judge with these codes (U,).

    The first epsilon is the report's, and the others are those of the curve.
    """
    tests = alternative_tests(sample, codes, epsilons)
    epsilon, reason = epsilons[0], tests[0].reason
    if reason:
        test = tests[0].as_json()
        return {**test, "answer": _none(reason), "balanced": _none(reason), "curve": []}
    permutations = permuted(codes, forms.order, seed=sample.seed)
    floors = floors_of(forms.plain, forms.commonest, permutations)
    test, *curve = ({**each.as_json(), **_verdict(each, floors)} for each in tests)
    balanced = forms.balanced
    answer = _answer(sample, forms.plain, codes, forms, epsilon, floors)
    if answer["outcome"] == "not-shown":
        answer["undecided"] = _undecided(test, forms.plain, codes, floors, answer)
    return {
        **test,
        "answer": answer,
        "balanced": _none(balanced)
        if isinstance(balanced, str)
        else {
            **_answer(
                sample,
                balanced,
                codes,
                forms,
                epsilon,
                floors_of(balanced, forms.commonest, permutations),
            ),
            "pooled": [sample.frame.scale.categories[code] for code in balanced.pooled],
        },
        "curve": [_at(each) for each in curve],
    }


def _none(reason: str) -> JSON:
    return {"outcome": None, "reason": reason}


def _undecided(
    test: JSON, form: PlainForm, codes: Ints, floors: tuple[Floor, Floor], answer: JSON
) -> JSON:
    """Return how many queries would decide the test, and how many `more` that is; None: too many.

    With `at_least`, fewer cannot decide it, since even a judge that always ties would not pass.
    """
    annotators, epsilon = answer["annotators"], answer["epsilon"]
    now = max(each["n"] for each in annotators)
    least = queries_needed(len(annotators), epsilon) if form.by_query and epsilon else None
    if least is not None and test["queries"] < least:
        return {"queries": least, "more": least - test["queries"], "at_least": True}
    queries = queries_to_decide(form, codes, floors, test["epsilon"])
    more = None if queries is None else queries - now
    return {"queries": queries, "more": more, "at_least": False}


def _answer(
    sample: Sample,
    form: Form,
    codes: Ints,
    forms: Forms,
    epsilon: float,
    floors: tuple[Floor, Floor],
) -> JSON:
    """Return what one form of the test shows, with its floors."""
    answer = answer_of(form, codes, floors, epsilon)
    shown = {floor.name: _floor(floor, epsilon) for floor in floors}
    shown["commonest_label"]["label"] = sample.frame.scale.categories[forms.commonest]
    shown["permuted_labels"]["permutations"] = PERMUTATIONS
    for name, of in forms.informative.items():
        nothing = dict.fromkeys(("passes", "largest_epsilon_failed", "loss"))
        shown[name] = (
            {"informative": True, **nothing, "reason": of}
            if isinstance(of, str)
            else _floor(Floor(name, form.losses(of[None]), informative=True), epsilon)
        )
    return {**answer.as_json(), "floors": shown}


def _floor(floor: Floor, epsilon: float) -> JSON:
    return {
        "informative": floor.informative,
        "passes": floor.passes(epsilon),
        "largest_epsilon_failed": floor.largest_failed(epsilon),
        "loss": floor.loss,
    }


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


def _verdict(test: AltTest, floors: tuple[Floor, Floor]) -> JSON:
    """Return the verdict; a pass is void if a floor without information passes, too."""
    is_blocked = test.passed is True and any(floor.passes(test.epsilon) for floor in floors)
    verdict = verdict_beside(test, is_blocked)
    return {"verdict": verdict, "passed": None if is_blocked else test.passed}


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
    correlation = loss_correlation(people, judge, sample.clusters, level=level)
    agreement = compared["agreement"]["percent"]["value"]
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
    reason = test.get("reason")
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
        tuple(scale.values()[used].tolist()) if scale.level != "nominal" else None,
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


OUTCOMES: Mapping[str, str] = {
    "shown": "shown",
    "shown-worse": "shown worse",
    "not-shown": "not shown",
}


def describe_answer(answer: JSON) -> str:
    """Describe the answer of one form of the test, with its epsilon and what set it."""
    if answer["outcome"] is None:
        return f"undefined: {answer['reason']}"
    words = OUTCOMES[answer["outcome"]]
    if answer["epsilon"] is None:
        return f"{words}; at every ε a floor passes: {FLOORS[answer['set_by']]}"
    at = f"{words} at ε {answer['epsilon']:g}"
    return f"{at}, ε set by the floor: {FLOORS[answer['set_by']]}" if answer["set_by"] else at


def describe_verdict(test: JSON) -> str:
    """Describe the verdict at one epsilon: of a test, or of one rule or point of its curve.

    Snapshots of old reports have no verdict.
    """
    if test.get("verdict") == "floor-passes":
        return "says nothing: a floor passes, too"
    if test.get("verdict") != "undecided":
        return {True: "shown", False: "not shown", None: "undefined"}[test["passed"]]
    return describe_undecided(test["queries"], test["queries_needed"])
