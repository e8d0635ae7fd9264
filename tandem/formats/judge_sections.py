"""The report's blocks on a judge and a variable: agreement, errors and test."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from ..document import (
    UNIT,
    UNITS,
    UNITS_HEAD,
    Block,
    Cell,
    CountedText,
    Number,
    RaterName,
    Table,
    UnitCount,
    count,
    count_units,
    rounded,
    with_counts,
)
from ..sections.alt_test import FLOORS, describe_answer, describe_verdict
from ..statistics.coefficients import ALPHA, AMONG, EQUAL, KAPPA, OF_TWO
from ..statistics.correlation import CORRELATIONS
from ..types import JSON
from ..unit_counts import compared_units, of_several, shared_units, units_in_bin, units_of_cell
from .calibration_tables import calibration_tables
from .graded_tables import graded_tables
from .people_sections import (
    ANY,
    first_rows,
    gap_tables,
    judge_with_people_table,
    no_floor,
    numbers,
    pair_columns,
)
from .reading_tables import reading_tables

RULES = {
    "multiplicative": "Multiplicative epsilon",
    "missing_dropped": "Items without an answer dropped",
    "wilcoxon": "Signed ranks (Wilcoxon), for few labels",
}
_OVERALL = {
    "balanced_accuracy": "Balanced accuracy: mean recall of the categories",
    "macro_precision": "Mean precision of the categories",
    "macro_f1": "Mean F1 of the categories",
}
_ERROR = {"mean_absolute_error": "Mean absolute error, from the mean rating"}
_CLASSES = {"precision": "Precision", "recall": "Recall", "f1": "F1", "specificity": "Specificity"}
_AREAS = {"roc_auc": "Area under ROC", "average_precision": "Average precision"}
_CUTS = {
    KAPPA.key: KAPPA.name,
    "precision": "Precision",
    "recall": "Recall",
    "precision_below": "Precision <",
    "recall_below": "Recall <",
}
"""Precision and recall of reaching a threshold; those with < are of staying below it."""
_AGAIN = {"replicates": "with the same request", "orders": "in the other order"}


def sensitivity_tables(test: JSON) -> list[Table]:
    """Return the tables of other rules and of power; snapshots of older reports have none."""
    tables = [_sensitivity(test["sensitivity"])] if test.get("sensitivity") else []
    return tables + ([_power(test["power"])] if "power" in test else [])


def _sensitivity(rules: JSON) -> Table:
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


def _power(power: JSON) -> Table:
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


def judge_blocks(
    block: JSON, ordered: bool, judge: str, codes: Mapping[str, str] = MappingProxyType({})
) -> list[Block]:
    """Return a judge's agreement with people on a variable, its errors, and the test.

    `codes` maps words to codes, since the block may contain words instead of codes.
    """
    found = _judge_blocks(block, ordered, judge, codes)
    return [with_counts(each, lambda count: count.within(judge=judge)) for each in found]


def _judge_blocks(block: JSON, ordered: bool, judge: str, codes: Mapping[str, str]) -> list[Block]:
    tables = [_agreement_table(block, judge)]
    if "pairs_distribution" in block:
        tables.append(judge_with_people_table(block["pairs_distribution"]))
    tables += gap_tables(block, judge)
    found = [Block("Against people", tuple(tables), _describe_left_out(block, judge, codes))]
    if block["classes"]:
        wrong = (_confusion(block["confusion"]), _classes(block, judge, codes))
        found.append(Block("What it gets wrong", wrong))
    found.append(Block("Alternative annotator test", tuple(_tests(block))))
    if scored := _scored(block, judge):
        found.append(Block("Its scores", tuple(scored)))
    if "consistency" in block:
        found.append(Block("Consistency", (consistency_table({"": block}),), ABOUT_AGAIN))
    if "graded" in block:
        units = partial(compared_units, block, judge)
        tables = graded_tables(block["graded"], block["reference"], units, judge, codes)
        found.append(Block("Its grades", tuple(tables)))
    if "reading" in block:
        found.append(
            Block(
                "How it was read",
                tuple(reading_tables(block["reading"], block["reference"])),
                ABOUT_READING,
            )
        )
    further = [_further(block, ordered, judge), *_own_family(block, judge)]
    if "adjudicated" in block:
        further.append(_adjudicated(block["adjudicated"], block["reference"], judge))
    return [*found, Block("Further coefficients", tuple(further))]


ABOUT_READING = "No list is cut by how answers were read; the calls of its runs show each one."
OF_QUERIES = "counted in queries; the list shows what this person labelled in them"
ABOUT_AGAIN = (
    f"Pairs of answers of one judge to the same {UNIT}. Lists have only the first answer of each "
    "judge, so that no list shows these pairs."
)


def consistency_table(judges: JSON) -> Table:
    """Return the consistency of judges that have one; names may be empty."""
    rows = tuple(
        (RaterName(name, "judge") if name else label, *((label,) if name else ()), *cells)
        for name, of in judges.items()
        for key, label in _AGAIN.items()
        if key in of.get("consistency", {})
        for cells in [_again(of["consistency"][key])]
    )
    named = ("Judge",) if any(judges) else ()
    return Table("The same label again", (*named, "Asked again", "Share", "Pairs"), rows)


def _again(estimate: JSON) -> tuple[Cell, Cell]:
    return Number.from_estimate(estimate), estimate["n"]


def _tests(block: JSON) -> list[Table]:
    return _alternative(block["alt_test"])


def _scored(block: JSON, judge: str) -> list[Table]:
    """Return the tables of a judge's scores: at each threshold, over all of them, calibrated."""
    tables = [_thresholds(block["thresholds"])] if block["thresholds"] else []
    if block.get("curves"):
        tables.append(_curves(block, judge))
    if "calibration" in block:
        units = partial(compared_units, block, judge)
        within = partial(units_in_bin, block, judge)
        tables += calibration_tables(block["calibration"], block["reference"], units, within)
    return tables


def _describe_left_out(block: JSON, judge: str, codes: Mapping[str, str]) -> CountedText:
    units, ties = count_units(block["units"]), count(block["ties"], "tie")
    facts = [f"{units} with a majority, {ties} left out"]
    show = "labelled" if block["reference"] == "mean" else "decided"
    linked = [
        (units, UnitCount.of(block["units"], show=show, one=judge)),
        (ties, UnitCount.of(block["ties"], show="ties")),
    ]
    if block["reference"] == "mean":
        facts = [f"{units} with people's mean rating, no tie"]
        linked = linked[:1]
    facts += [f"{n} missing: {reason}" for reason, n in block["missing"].items()]
    for word, n in block.get("escapes", {}).items():
        facts.append(f"escape {word}: {n}")
        given = UnitCount.of(n, show="all", one=judge, label=codes.get(word, word))
        linked.append((facts[-1], given))
    if out := block.get("ceiling_pairs", {}).get("left_out"):
        least = block["ceiling_pairs"]["least_shared"]
        facts.append(f"{count(out, 'pair')} of people below {least} shared {UNITS} left out")
    facts += _describe_bounds(block.get("bounds"))
    facts += no_floor(block)
    return CountedText.of("; ".join(facts), *linked)


def _describe_bounds(bounds: JSON | None) -> list[str]:
    """Describe the agreement with all missing answers counted as wrong, and as right."""
    if not bounds:
        return []
    ends = {"percent": bounds[EQUAL.key], "kappa": bounds[KAPPA.key]}
    ranges = [f"{name} {rounded(e[0])} to {rounded(e[1])}" for name, e in ends.items() if e]
    return [
        f"with all {bounds['missing']} missing on such {UNITS} wrong or right: {', '.join(ranges)}"
    ]


def _agreement_table(block: JSON, judge: str) -> Table:
    names = pair_columns(block)

    def row(label: str, of: JSON, units: int) -> tuple[Cell, ...]:
        return (label, units, *numbers(of, names))

    def with_person(rater: str, of: JSON) -> tuple[Cell, ...]:
        units = shared_units(of[EQUAL.key]["n"], judge, rater)
        return (RaterName(rater, "human"), units, *numbers(of, names))

    together, among = block["agreement"], block["human_ceiling"]
    of_all = compared_units(block, judge, together[EQUAL.key]["n"])
    rows = (
        row(f"{block['reference'].capitalize()} of people", together, of_all),
        *(with_person(rater, pair) for rater, pair in block.get("pairs", {}).items()),
        row("People with each other", among, of_several(among[EQUAL.key]["n"], judge)),
    )
    return Table("Against people", ("Against", UNITS_HEAD, *names.values()), rows, apart=1)


def _further(block: JSON, ordered: bool, judge: str) -> Table:
    """Return the tables for which the block has figures. Snapshots may have fewer."""
    against = [each for each in AMONG.values() if each.with_judge]
    against += [each for each in OF_TWO.values() if ordered or each.needs != "order"]
    with_people = {
        each.key: each.named_with(block["reference"])
        for each in against
        if each not in (KAPPA, EQUAL)
    }
    units = partial(compared_units, block, judge)
    rows = _rows(block["agreement"], with_people, units)
    rows += _rows(block.get("overall", {}), _OVERALL, units)
    if ordered:
        # Tied units have a mean, too.
        labelled = partial(_of_labelled, judge)
        of_mean = {key: of.named_with("mean rating") for key, of in CORRELATIONS.items()}
        rows += _rows(block.get("overall", {}), _ERROR, labelled)
        rows += _rows(block["correlation"], of_mean, labelled)
    return Table("Further coefficients", ("Coefficient", "Value", UNITS_HEAD), tuple(rows))


def _of_labelled(judge: str, units: int) -> UnitCount:
    return UnitCount.of(units, show="labelled", one=judge)


def _adjudicated(block: JSON, reference: str, judge: str) -> Table:
    names = {each.key: each.head or each.name for each in (KAPPA, EQUAL, ALPHA)}
    labels = {
        "references": "References alone",
        "settled": f"References, and people's {reference} elsewhere",
    }
    shows = {"references": "adjudicated", "settled": "settled"}
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            label,
            UnitCount.of(block[key]["units"], show=shows[key], one=judge),
            *numbers(block[key]["agreement"], names),
        )
        for key, label in labels.items()
    )
    return Table("Compared with adjudicated labels", ("Against", UNITS_HEAD, *names.values()), rows)


def _own_family(block: JSON, judge: str) -> list[Table]:
    """Return the table of the judge's own model family, if answers have families."""
    if "own_family" not in block:
        return []
    own_family = block["own_family"]
    named = f"Own family, {own_family['family']}" if own_family["family"] else "Own family"
    labels = {"own": named, "others": "Other families", "preference": "Own less others"}
    rows = tuple(
        (label, Number.from_estimate(own_family[key]), _of_family(own_family, key, judge))
        for key, label in labels.items()
        if key in own_family
    )
    header = ("Answers of", "Judge less people", UNITS_HEAD)
    return [Table("How it treats its own family", header, rows)]


def _of_family(own_family: JSON, key: str, judge: str) -> int:
    """Return the count of units about answers from the judge's family or from others."""
    units, family = own_family[key]["n"], own_family["family"]
    if not family:
        return int(units)
    of_pairs = own_family["others"]["value"] is None and own_family["own"]["value"] is None
    of = {"own": family, "others": f"!{family}", "preference": family if of_pairs else ANY}
    return UnitCount.of(units, show="labelled", one=judge, family=of[key])


def _rows(
    block: JSON, labels: dict[str, str], units: Callable[[int], int] = int
) -> list[tuple[Cell, ...]]:
    return [
        (label, Number.from_estimate(block[key]), units(block[key]["n"]))
        for key, label in labels.items()
        if key in block
    ]


def _classes(block: JSON, judge: str, codes: Mapping[str, str]) -> Table:
    classes = block["classes"]
    names = {key: _CLASSES[key] for key in _CLASSES if all(key in of for of in classes.values())}
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            name,
            *numbers(of, names),
            UnitCount.of(of["support"], show="decided", one=judge, people=codes.get(name, name)),
        )
        for name, of in classes.items()
    )
    return Table("Categories", ("Category", *names.values(), "Support"), rows)


def _confusion(block: JSON) -> Table:
    codes: list[str] = block.get("codes") or block["labels"]
    rows = tuple(
        (
            word,
            *(units_of_cell(number, people, said) for said, number in zip(codes, row, strict=True)),
        )
        for word, people, row in zip(block["labels"], codes, block["matrix"], strict=True)
    )
    return Table("Confusion, people in rows", ("People / judge", *block["labels"]), rows)


def _thresholds(cuts: list[JSON]) -> Table:
    """Return the table of thresholds; snapshots of older reports have one side."""
    shown = {key: words for key, words in _CUTS.items() if all(key in cut for cut in cuts)}
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (f"≥ {cut['threshold']}", *numbers(cut, shown)) for cut in cuts
    )
    return Table("Cut at a threshold", ("Threshold", *shown.values()), rows)


def _curves(block: JSON, judge: str) -> Table:
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            f"≥ {of['threshold']}" if "threshold" in of else of["category"],
            *numbers(of, _AREAS),
            compared_units(block, judge, of["roc_auc"]["n"]),
        )
        for of in block["curves"]
    )
    caption = f"Scores over all thresholds, against the {block['reference']}"
    return Table(caption, ("Finding", *_AREAS.values(), UNITS_HEAD), rows)


def _alternative(test: JSON) -> list[Table]:
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
        tables += _answered(answer, label, "")
    elif decisive["annotators"]:
        tables.append(_annotators(decisive["annotators"], label, test["epsilon"]))
    balanced = test.get("balanced", {})
    if balanced.get("outcome"):
        pooled = ", ".join(balanced["pooled"])
        aside = f" ({pooled} pooled)" if pooled else ""
        tables += _answered(balanced, label, f", equal weight for each category{aside}")
    return [*tables, *sensitivity_tables(test)]


def _answered(answer: JSON, reading: str, form: str) -> list[Table]:
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
