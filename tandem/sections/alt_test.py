"""Section: the alternative annotator test of a judge, and its floors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..document import Cell, Number, RaterName, Table, of_several
from ..labels.resampling import TOO_MANY, Sample
from ..statistics import (
    AltTest,
    BalancedForm,
    Floats,
    Floor,
    Form,
    Ints,
    PlainForm,
    answer_of,
    commonest_elsewhere,
    commonest_label,
    epsilon_curve,
    floors_of,
    permuted,
    verdict_beside,
)
from ..statistics.alternative import describe_undecided, queries_needed
from ..statistics.alternative_floors import PERMUTATIONS, queries_to_decide
from ..types import JSON
from .agreement import numbers
from .base import JUDGE, OF_JUDGES, SectionPart, blocks_of_judges, first_rows, joined
from .citations import CITED

#: With more items or queries, or more items in a query, the power is simulated for this number.
MOST_ITEMS, MOST_OF_A_QUERY = 500, 100
TRIALS = 400
BY_CATEGORY = "categories weigh the same only where they have no order"
SETS_OVERLAP = "sets of codes overlap, so that they are no categories to weigh the same"
ALONE = "each query holds a single unit"
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
    if sample.is_ordered and frame.scale.categories:
        values = frame.scale.values()
    members = set_members(sample)
    plain = PlainForm(people, clusters, level=level, values=values, names=names, members=members)
    balanced: BalancedForm | str = SETS_OVERLAP if sample.is_of_sets else BY_CATEGORY
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


def set_members(sample: Sample) -> Floats | None:
    """Return which codes are in each set of a variable, None on other scales."""
    return sample.frame.scale.members() if sample.is_of_sets else None


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
    if sample.is_ordered:
        people, judge = numbers(sample, codes_of_people), numbers(sample, codes)
    names = [sample.frame.raters[n].name for n in sample.frame.columns("human")]
    return epsilon_curve(
        people, judge, sample.clusters, level=level, epsilons=epsilons, names=names,
        members=set_members(sample),
    )  # fmt: skip


def _verdict(test: AltTest, floors: tuple[Floor, Floor]) -> JSON:
    """Return the verdict; a pass is void if a floor without information passes, too."""
    is_blocked = test.passed is True and any(floor.passes(test.epsilon) for floor in floors)
    verdict = verdict_beside(test, is_blocked)
    return {"verdict": verdict, "passed": None if is_blocked else test.passed}


def _at(test: JSON) -> JSON:
    kept = ("epsilon", "winning_rate", "passed", "verdict", "queries", "queries_needed")
    by_query = {"winning_rate": test["by_query"]["winning_rate"]}
    return {name: test[name] for name in kept} | {"by_query": by_query}


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


OF_QUERIES = "counted in queries; the list shows what this person labelled in them"


def alternative_tables(test: JSON) -> list[Table]:
    """Return the tables of the test; snapshots of older reports have no answer."""
    reason, answer = test.get("reason", ""), test.get("answer")
    readings = {"by_query": ("By queries", test["by_query"]), "items": ("By items", test)}
    rows = tuple(
        (
            label,
            Number(reading["winning_rate"], reason=reason),
            Number(reading["advantage_probability"], reason=reason),
            "yes" if name == test["decides"] else "no",
        )
        for name, (label, reading) in readings.items()
    )
    found = describe_answer(answer) if answer else describe_verdict(test)
    caption = f"Alternative annotator test: {found}"
    within = f"People within epsilon {test['epsilon']:g}"
    header = ("Reading", within, "Advantage probability", "Decides")
    tables = [Table(caption, header, rows)]
    label, decisive = readings[test["decides"]]
    if answer and answer["outcome"]:
        tables += _answer_tables(answer, label, "")
    elif decisive["annotators"]:
        tables.append(_annotators(decisive["annotators"], label, test["epsilon"]))
    balanced = test.get("balanced", {})
    if balanced.get("outcome"):
        pooled = ", ".join(balanced["pooled"])
        aside = f" ({pooled} pooled)" if pooled else ""
        tables += _answer_tables(balanced, label, f", equal weight for each category{aside}")
    return tables


def _answer_tables(answer: JSON, reading: str, form: str) -> list[Table]:
    """Return the tables of one form of the test: each annotator left out, and the floors."""
    chosen = answer["epsilon"]
    rows: list[tuple[Cell, ...]] = [
        (
            *_left_out(each, reading),
            Number(each["loss"], digits=2),
            Number.p(each["p_value"]),
            Number.p(each["p_value_worse"]),
        )
        for each in answer["annotators"]
    ]
    at = "" if chosen is None else f" at ε {chosen:g}"
    outcome = f": {describe_answer(answer)}" if form else ""
    caption = f"Each annotator left out, {reading.lower()}{at}{form}{outcome}"
    order = [each["p_value"] for each in answer["annotators"]]
    caption, shown = first_rows(caption, rows, order, "with the highest p")
    units = reading.removeprefix("By ").capitalize()
    header = ("Annotator", units, "Loss", "p, at most epsilon", "p, more than epsilon")
    floors: tuple[tuple[Cell, ...], ...] = tuple(
        (
            FLOORS[name],
            Number(floor["loss"], reason=floor.get("reason", ""), digits=2),
            Number(floor["largest_epsilon_failed"], reason=_why_none(floor), digits=2),
            "no" if floor["informative"] else "yes",
        )
        for name, floor in answer["floors"].items()
    )
    beside = ("Floor", "Loss", "Does not pass up to epsilon", "Blocks")
    return [Table(caption, header, shown), Table(f"Floors{form}", beside, floors)]


def _why_none(floor: JSON) -> str:
    return str(floor.get("reason") or "it passes at every ε")


def _left_out(annotator: JSON, reading: str) -> tuple[Cell, Cell]:
    about = OF_QUERIES if reading == "By queries" else ""
    name = annotator["name"]
    return RaterName(name, "human"), of_several(annotator["n"], name).counting(about)


def _annotators(annotators: list[JSON], reading: str, epsilon: float) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (*_left_out(a, reading), Number.p(a["p_value"]), "yes" if a["wins"] else "no")
        for a in annotators
    ]
    order = [a["p_value"] for a in annotators]
    caption = f"Each annotator left out, {reading.lower()}"
    caption, shown = first_rows(caption, rows, order, "with the highest p")
    units = reading.removeprefix("By ").capitalize()
    header = ("Annotator", units, "p", f"At most {epsilon:g} behind")
    return Table(caption, header, shown)


def alternative_methods(tests: list[JSON]) -> list[str]:
    """Describe the tests of all judges; empty if none is defined."""
    if all(test.get("reason") for test in tests):
        return []
    units = joined(sorted({test["decides"].replace("by_query", "queries") for test in tests}))
    return [
        f"The alternative annotator test {CITED['calderon2025']} was run with epsilon "
        f"{tests[0]['epsilon']:g}, one-sided t tests over {units}, and the false discovery rate of "
        f"0.05 controlled over annotators under any dependence {CITED['benjamini2001']}. A judge "
        "is shown if it is significantly less than epsilon behind at least half of the "
        "annotators, and shown worse if the reverse tests reject for so many that half cannot be "
        "reached. Epsilon is the chosen one, or the largest multiple of .01 at which neither of "
        "two floors without information passes: the commonest label throughout, and more than "
        f"5 % of {PERMUTATIONS} permutations of the judge's labels. Verdicts hold for one look at "
        "the end: testing again and again while labels arrive, and stopping once a judge is "
        "shown, is wrong more often.",
        *_balanced(tests),
        *_few_queries(tests),
    ]


def _few_queries(tests: list[JSON]) -> list[str]:
    needed = {test["queries_needed"] for test in tests if test.get("queries_needed")}
    if not needed:
        return []
    return [
        "Over queries a p-value is never below ((1 - epsilon) / (1 - d))^n, with d the mean "
        "difference over n queries, which bounds it by Markov's inequality; with fewer than "
        f"{joined(sorted(map(str, needed)))} queries only a judge that is closer to people than "
        "they are to each other can be shown."
    ]


def _balanced(tests: list[JSON]) -> list[str]:
    """Describe the class-balanced form, and the share of the way from the floor to people."""
    found = []
    if any(test.get("balanced", {}).get("outcome") for test in tests):
        found.append(
            "In its class-balanced form, an annotator's lead is the mean over categories of the "
            "mean over labels of the others in it; categories with fewer than ten are pooled."
        )
    if any(test.get("answer", {}).get("way", {}).get("value") is not None for test in tests):
        found.append(
            "The share of the way from the floor to people is 1 less the ratio of the mean losses "
            f"of judge and floor, with Fieller's interval {CITED['fieller1954']} over queries."
        )
    return found


TEST = "Alternative annotator test"
PART = SectionPart(
    JUDGE, title=TEST, tables=lambda shown: alternative_tables(shown.block["alt_test"])
)
METHODS = SectionPart(
    head=OF_JUDGES,
    methods=lambda report: alternative_methods([of["alt_test"] for of in blocks_of_judges(report)]),
)
