"""The sections of the report's document, one function for each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..document import DASH, Block, Cell, Number, RaterName, Section, Table, count, rounded
from ..report.alt_test import describe_verdict
from ..types import JSON
from .people_sections import (
    components_tables,
    counted_rows,
    distribution_tables,
    first_rows,
    gap_tables,
    judged_table,
    no_floor,
    ranking_table,
)

ABOUT = (
    "for queries like these; raters are the people who label each unit, and the effect of more "
    "of them is a rough guess"
)
HEADER = ("Of", "Width now", "Queries", "More queries", "Raters per unit", "More raters")
PLACES = {"report": "in a report", "passage": "in another passage", "reference": "in a reference"}
ABOUT_QUALITY = (
    "These raters quoted words that are not in the text that they judged, but word for word in "
    "another text of the same query. They may have judged that other text: check their answers "
    "before you count them."
)
F1S = {
    "exact_f1": "Exact F1",
    "overlap_f1": "Overlap F1",
    "iou_f1": "IoU F1, from 0.5",
    "character_f1": "Character F1",
}
ALPHAS = {"token_alpha": "Alpha of words", "unitising_alpha": "Alpha for unitising"}
ABOUT_SPANS = (
    "a document is one text for one unit; F1 is 1 if both raters marked nothing, and 0 if only "
    "one did; a judge is treated as one more annotator"
)
VALIDATED = ("Labels", "Confirmed", "Corrected", "Share confirmed")
_SIMILARITY = {
    "rouge_l_differing": "ROUGE-L F1, differing answers only",
    "rouge_l_all": "ROUGE-L F1, identical answers as 1",
}
RULES = {
    "multiplicative": "Multiplicative epsilon",
    "missing_dropped": "Items without an answer dropped",
    "wilcoxon": "Signed ranks (Wilcoxon), for few units",
}
COEFFICIENTS = {
    "percent": "Percent agreement",
    "fleiss_kappa": "Fleiss' kappa",
    "fleiss_kappa_pooled": "Fleiss' kappa, pooled",
    "randolph_kappa": "Randolph's kappa",
    "krippendorff_alpha": "Krippendorff's alpha",
    "gwet_ac": "Gwet's AC",
}
_OF_PAIRS = {"percent": "Percent", "cohen_kappa": "Cohen's kappa"}
_OF_ORDERED_PAIRS = {
    "cohen_kappa_linear": "Linear weights",
    "cohen_kappa_quadratic": "Quadratic weights",
    "spearman": "Spearman",
}
_CORRELATIONS = {"spearman": "Spearman", "kendall": "Kendall", "pearson": "Pearson"}
_WITH_PEOPLE = {
    "krippendorff_alpha": "Krippendorff's alpha with the {}",
    "gwet_ac": "Gwet's AC with the {}",
}
_ORDERED_WITH_PEOPLE = {
    "cohen_kappa_linear": "Cohen's kappa with the {}, linear weights",
    "cohen_kappa_quadratic": "Cohen's kappa with the {}, quadratic weights",
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
    "cohen_kappa": "Cohen's kappa",
    "precision": "Precision",
    "recall": "Recall",
    "precision_below": "Precision <",
    "recall_below": "Recall <",
}
"""Precision and recall of reaching a threshold; those with < are of staying below it."""
MOST = 12
"""The most categories of a table that still fits a page."""
MEAN = "mean"


def planning_blocks(variable: JSON) -> list[Block]:
    """Return one block, or none in snapshots of older reports without plans."""
    plans = variable.get("planning")
    if not plans:
        return []
    rows = [_row("Krippendorff's alpha of people", plans["agreement"])]
    rows += [
        _row(RaterName(f"Cohen's kappa of {name}", "judge"), of)
        for name, of in plans["judges"].items()
    ]
    return [Block("Planning", (_table(plans["width"], rows),), ABOUT)]


def planning_tables(score: JSON) -> list[Table]:
    """Return the same for the mean of people by system."""
    plans = score.get("planning")
    if not plans or not plans["systems"]:
        return []
    rows = [
        _row(f"{system or DASH}, mean of people", of["mean"])
        for system, of in plans["systems"].items()
    ]
    return [_table(plans["width"], rows)]


def _table(width: float, rows: Iterable[tuple[Cell, ...]]) -> Table:
    return Table(f"What an interval of width {width:g} needs", HEADER, tuple(rows))


def _row(name: Cell, plan: JSON) -> tuple[Cell, ...]:
    queries, raters = plan["queries"], plan["raters"]
    width = Number(plan["interval_width"], reason=str(queries.get("reason", "")))
    return (name, width, *_numbers(queries), *_numbers(raters))


def _numbers(plan: Mapping[str, Any]) -> tuple[Number, Number]:
    """Return both numbers; a reason is given only once."""
    needed = Number(plan["needed"], reason=plan.get("reason", ""), digits=0)
    return needed, Number(plan["more"], digits=0)


def quality_section(report: dict[str, Any]) -> Section:
    """Return rationales quoted from another text, a row for each rater and variable."""
    header = ("Rater", "Variable", "Rationales", *(f"only {where}" for where in PLACES.values()))
    rows = tuple(
        (
            RaterName(hint["name"], hint["kind"]),
            hint["variable"],
            hint["rationales"],
            *(hint["elsewhere"][place] for place in PLACES),
        )
        for hint in report["hints"]
    )
    table = Table("Rationales quoted from another text", header, rows)
    return Section("Data quality", (Block("", (table,)),), ABOUT_QUALITY)


def soft_blocks(variable: JSON) -> list[Block]:
    """Return one block, or none without soft labels."""
    found = variable.get("soft_labels")
    if not found or "reason" in found:
        return []
    rows: list[tuple[Cell, ...]] = [
        (RaterName(name, "human"), of["labels"], Number(of["error_rate"]))
        for name, of in found["raters"].items()
    ]
    order = [of["error_rate"] for of in found["raters"].values()]
    caption = "Estimated error rate of each person"
    caption, shown = first_rows(caption, rows, order, "who err most")
    tables = [Table(caption, ("Person", "Labels", "Errors"), shown)]
    if found["judges"]:
        tables.append(_judges(found["judges"]))
    return [Block("Soft labels (Dawid–Skene)", tuple(tables), _about(found))]


def _about(found: JSON) -> str:
    facts = [
        f"{count(found['units'], 'unit')}; the likeliest label differs from the majority on "
        f"{found['differ']}, and {count(found['ties'], 'tie')} of people got one, too"
    ]
    if not found["converged"]:
        facts.append(f"not converged after {found['iterations']} steps")
    return "; ".join(facts)


def _judges(judges: JSON) -> Table:
    rows = tuple(
        (
            RaterName(name, "judge"),
            of["percent"]["n"],
            Number.from_estimate(of["cohen_kappa"]),
            Number.from_estimate(of["percent"]),
            Number.from_estimate(of["expected_accuracy"]),
        )
        for name, of in judges.items()
    )
    header = ("Judge", "Units", "Cohen's kappa", "Percent", "Expected accuracy")
    return Table("Judges compared with the soft labels", header, rows)


def span_blocks(variable: JSON) -> list[Block]:
    """Return one block, or none if no rater marked anything."""
    found = variable.get("spans")
    if not found:
        return []
    of: list[tuple[str | RaterName, JSON]] = [("People", found["agreement"])]
    of += [(RaterName(name, "judge"), block) for name, block in found["judges"].items()]
    every = [(name, block, block["all"]) for name, block in of]
    both = [(name, block["both_marked"], block["both_marked"]) for name, block in of]
    tables = (
        _span_table("All documents", F1S, every),
        _span_table("Pairs that both marked something", F1S, both),
        _span_table("All documents, corrected for chance (Krippendorff)", ALPHAS, every),
    )
    lost = sum(found["unanchored"].values())
    quotes = f"the quotes of {count(lost, 'label')}"
    stray = f"; {quotes} were not found and are left out" if lost else ""
    return [Block("Evidence", tables, f"{ABOUT_SPANS}{stray}")]


def _span_table(
    caption: str, names: dict[str, str], blocks: list[tuple[str | RaterName, JSON, JSON]]
) -> Table:
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (name, sizes["documents"], *(Number.from_estimate(of[key]) for key in names))
        for name, sizes, of in blocks
    )
    return Table(caption, ("Rater, with people", "Documents", *names.values()), rows)


def validation_sections(report: JSON) -> list[Section]:
    """Return one section, or none if no person was shown a judge's label."""
    assisted = report.get("assisted")
    if not assisted or not assisted["by"]:
        return []
    kinds = {rater["name"]: rater["kind"] for rater in report["raters"]}
    blocks = tuple(
        _judge(name, found, kinds.get(name, "judge")) for name, found in assisted["by"].items()
    )
    return [Section("Validated judges", blocks, _validation_about(assisted))]


def _validation_about(assisted: JSON) -> str:
    where = "counted like all others" if assisted["included"] else "left out of everything else"
    sizes = f"{count(assisted['labels'], 'label')} given with a judge's label in view"
    lost = assisted["unmatched"]
    has = count(lost, "of them has", "of them have")
    missing = f"; {has} no judge's label here" if lost else ""
    return f"{sizes}, {where}{missing}; confirmed means the same value, whatever the quotes"


def _judge(name: str, found: JSON, kind: str) -> Block:
    tables = (
        _validation_table("By variable", "Variable", found["variables"]),
        _validation_table("By person", "Person", found["people"]),
    )
    return Block(name, tables, "confirmed or corrected by people who saw its labels", kind)


def _validation_table(caption: str, first: str, parts: JSON) -> Table:
    rows = tuple(
        (
            name,
            part["labels"],
            part["confirmed"],
            part["corrected"],
            Number.from_estimate(part["share_confirmed"]),
        )
        for name, part in parts.items()
    )
    return Table(caption, (first, *VALIDATED), rows)


def written_section(report: JSON) -> Section:
    """Return the section on written answers."""
    block = report["written"]
    about = [count(block["answers"], "usable answer")]
    if block["unusable"]:
        about.append(f"{block['unusable']} without words left out")
    blocks = []
    if rounds := block.get("rounds"):
        blocks.append(_rounds(rounds))
    if between := block.get("between_raters"):
        table = _written_table("Answers to the same question", between, _SIMILARITY)
        blocks.append(Block("Between people", (table,), count(between["questions"], "question")))
    return Section("Written answers", tuple(blocks), "; ".join(about))


def _rounds(block: JSON) -> Block:
    facts = (
        f"{count(block['questions'], 'question')} with an answer of each round: "
        f"{block['kept']} kept, {block['modified']} modified; {block['skipped']} skipped; "
        "the second person saw the first answer"
    )
    table = _written_table(
        "Second answer against first", block, {"keep_rate": "Keep rate", **_SIMILARITY}
    )
    return Block("Two rounds", (table,), facts)


def _written_table(caption: str, block: JSON, names: dict[str, str]) -> Table:
    rows = tuple(
        (label, Number.from_estimate(block[key]), block[key]["n"]) for key, label in names.items()
    )
    return Table(caption, ("Measure", "Value", "Questions"), rows)


def sensitivity_tables(test: JSON) -> list[Table]:
    """Return both tables, or none in snapshots of older reports."""
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
    header = ("Rule", "Winning rate by queries", "By items", "Verdict")
    return Table("The test by other rules, for comparison", header, rows)


def _power(power: JSON) -> Table:
    reason = power.get("reason", "")
    numbers = (("as_good", 2), ("worse", 2), ("effective_items", 0), ("accuracy", 2))
    cells = tuple(Number(power[key], reason=reason, digits=digits) for key, digits in numbers)
    header = (
        "Chance of passing",
        "As good as people",
        "10 points worse",
        "Effective items",
        "People's accuracy",
    )
    return Table("How often a judge would pass", header, (("Simulated", *cells),))


def variable_section(report: JSON, name: str) -> Section:
    """Return the section on one variable."""
    variable = report["variables"][name]
    ordered = variable["measurement"] != "nominal"
    blocks = [_people(variable["agreement"], ordered)]
    blocks += [_answered(report, variable["distribution"])] if "distribution" in variable else []
    blocks += [_judge_block(judge, block, ordered) for judge, block in variable["judges"].items()]
    blocks += span_blocks(variable) + soft_blocks(variable)
    blocks += planning_blocks(variable)
    blocks += [_stratum(names, groups) for names, groups in _strata(variable["strata"])]
    return Section(name, tuple(blocks), _variable_about(variable), part="variables", subject=name)


def _variable_about(variable: JSON) -> str:
    escapes = [f"escape {code}: {count}" for code, count in variable["escapes"].items()]
    categories = f"categories {', '.join(variable['categories'])}"
    return "; ".join([variable["measurement"], categories, *escapes])


def _variable_numbers(block: JSON, names: dict[str, str]) -> tuple[Number, ...]:
    return tuple(Number.from_estimate(block[name]) for name in names)


def _people(block: JSON, ordered: bool) -> Block:
    coefficients = tuple(
        (label, Number.from_estimate(block[key]), block[key]["n"])
        for key, label in COEFFICIENTS.items()
    )
    tables = [Table("Coefficients", ("Coefficient", "Value", "Units"), coefficients)]
    names = _OF_PAIRS | (_OF_ORDERED_PAIRS if ordered else {})
    if "pairs_distribution" in block:
        tables += distribution_tables(block["pairs_distribution"])
    listed = block.get("pairs", [])
    pairs = tuple(
        (f"{p['a']} – {p['b']}", p["units"], *_variable_numbers(p, names)) for p in listed
    )
    if pairs:
        tables.append(Table("Pairs of people", ("Pair", "Units", *names.values()), pairs))
    raters, units = count(block["raters"], "rater"), count(block["units"], "unit")
    return Block("Among people", tuple(tables), f"{raters}, {units} with two or more labels")


def _answered(report: JSON, block: JSON) -> Block:
    """Return each rater's answers: with unequal shares no coefficient can reach 1."""
    kinds = {rater["name"]: rater["kind"] for rater in report["raters"]}
    codes = list(dict.fromkeys(code for counts in block["counts"].values() for code in counts))
    rows = tuple(counted_rows(block["counts"], kinds, codes))
    about = f"all people agree on {count(block['unanimous'], 'unit')}"
    tables = (Table("Labels by category", ("Rater", *codes), rows),) if len(codes) <= MOST else ()
    return Block("What was answered", tables, about)


def _judge_block(name: str, block: JSON, ordered: bool) -> Block:
    tables = [_agreement_table(block)]
    if "pairs_distribution" in block:
        tables.append(judged_table(block["pairs_distribution"]))
    tables += [*gap_tables(block), _further(block, ordered)]
    if block["classes"]:
        tables += [_classes(block["classes"]), _confusion(block["confusion"])]
    if block["thresholds"]:
        tables.append(_thresholds(block["thresholds"]))
    if block.get("curves"):
        tables.append(_curves(block["curves"], block["reference"]))
    if "adjudicated" in block:
        tables.append(_adjudicated(block["adjudicated"], block["reference"]))
    tables += _alternative(block["alt_test"], block.get("floor"))
    return Block(f"Judge {name}", tuple(tables), _describe_left_out(block), "judge")


def _describe_left_out(block: JSON) -> str:
    units = count(block["units"], "unit")
    facts = [f"{units} with a majority, {count(block['ties'], 'tie')} left out"]
    if block["reference"] == "mean":
        facts = [f"{units} with people's mean rating, no tie"]
    facts += [f"{n} missing: {reason}" for reason, n in block["missing"].items()]
    facts += [f"escape {code}: {n}" for code, n in block.get("escapes", {}).items()]
    if out := block.get("ceiling_pairs", {}).get("left_out"):
        least = block["ceiling_pairs"]["least_shared"]
        facts.append(f"{count(out, 'pair')} of people below {least} shared units left out")
    facts += _describe_bounds(block.get("bounds"))
    facts += no_floor(block)
    return "; ".join(facts)


def _describe_bounds(bounds: JSON | None) -> list[str]:
    """Describe the agreement with all missing answers counted as wrong, or as right."""
    if not bounds:
        return []
    ends = {"percent": bounds["percent"], "kappa": bounds["cohen_kappa"]}
    said = [f"{name} {rounded(e[0])} to {rounded(e[1])}" for name, e in ends.items() if e]
    return [f"with all {bounds['missing']} missing on such units wrong or right: {', '.join(said)}"]


def _agreement_table(block: JSON) -> Table:
    names = {"cohen_kappa": "Cohen's kappa", "percent": "Percent"}

    def row(label: str | RaterName, of: JSON) -> tuple[Cell, ...]:
        return (label, of["percent"]["n"], *_variable_numbers(of, names))

    rows = (
        row(f"{block['reference'].capitalize()} of people", block["agreement"]),
        *(row(RaterName(rater, "human"), pair) for rater, pair in block.get("pairs", {}).items()),
        row("People with each other", block["human_ceiling"]),
    )
    return Table("Against people", ("Against", "Units", *names.values()), rows, apart=1)


def _further(block: JSON, ordered: bool) -> Table:
    """Return the tables that the block has figures for; snapshots may have fewer."""
    against = _WITH_PEOPLE | (_ORDERED_WITH_PEOPLE if ordered else {})
    with_people = {key: label.format(block["reference"]) for key, label in against.items()}
    overall = _OVERALL | (_ERROR if ordered else {})
    rows = [*_rows(block["agreement"], with_people), *_rows(block.get("overall", {}), overall)]
    if ordered:
        of_mean = {key: f"{label} with the mean rating" for key, label in _CORRELATIONS.items()}
        rows += _rows(block["correlation"], of_mean)
    return Table("Further coefficients", ("Coefficient", "Value", "Units"), tuple(rows))


def _adjudicated(block: JSON, reference: str) -> Table:
    names = {
        "cohen_kappa": "Cohen's kappa",
        "percent": "Percent",
        "krippendorff_alpha": "Krippendorff's alpha",
    }
    labels = {
        "references": "References alone",
        "settled": f"References, and people's {reference} on other units",
    }
    rows = tuple(
        (label, block[key]["units"], *_variable_numbers(block[key]["agreement"], names))
        for key, label in labels.items()
    )
    return Table("Compared with adjudicated labels", ("Against", "Units", *names.values()), rows)


def _rows(block: JSON, labels: dict[str, str]) -> list[tuple[Cell, ...]]:
    return [
        (label, Number.from_estimate(block[key]), block[key]["n"])
        for key, label in labels.items()
        if key in block
    ]


def _classes(classes: JSON) -> Table:
    names = {key: _CLASSES[key] for key in _CLASSES if all(key in of for of in classes.values())}
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (name, *_variable_numbers(of, names), of["support"]) for name, of in classes.items()
    )
    return Table("Categories", ("Category", *names.values(), "Support"), rows)


def _confusion(block: JSON) -> Table:
    rows = tuple((label, *row) for label, row in zip(block["labels"], block["matrix"], strict=True))
    return Table("Confusion, people in rows", ("People / judge", *block["labels"]), rows)


def _thresholds(cuts: list[JSON]) -> Table:
    """Return the table of thresholds; snapshots of older reports have one side."""
    shown = {key: words for key, words in _CUTS.items() if all(key in cut for cut in cuts)}
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (f"≥ {cut['threshold']}", *_variable_numbers(cut, shown)) for cut in cuts
    )
    return Table("Cut at a threshold", ("Threshold", *shown.values()), rows)


def _curves(curves: list[JSON], reference: str) -> Table:
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            f"≥ {of['threshold']}" if "threshold" in of else of["category"],
            *_variable_numbers(of, _AREAS),
            of["roc_auc"]["n"],
        )
        for of in curves
    )
    caption = f"Scores over all thresholds, against the {reference}"
    return Table(caption, ("Finding", *_AREAS.values(), "Units"), rows)


def _alternative(test: JSON, floor: JSON | None) -> list[Table]:
    reason = test.get("reason", "")
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
    caption = (
        f"Alternative annotator test, epsilon {test['epsilon']}: {describe_verdict(test, floor)}"
    )
    header = ("Reading", "Winning rate", "Advantage probability", "Decides")
    tables = [Table(caption, header, rows)]
    label, decisive = readings[test["decides"]]
    if decisive["annotators"]:
        tables.append(_annotators(decisive["annotators"], label))
    return [*tables, *sensitivity_tables(test)]


def _annotators(annotators: list[JSON], reading: str) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            RaterName(a["name"], "human"),
            a["n"],
            Number.p(a["p_value"]),
            "yes" if a["wins"] else "no",
        )
        for a in annotators
    ]
    order = [a["p_value"] for a in annotators]
    caption = f"Each annotator left out, {reading.lower()}"
    caption, shown = first_rows(caption, rows, order, "with the highest p")
    header = ("Annotator", reading.removeprefix("By ").capitalize(), "p", "Judge wins")
    return Table(caption, header, shown)


def _strata(strata: JSON) -> list[tuple[str, JSON]]:
    """Merge strata that divide the units alike, as `system` and `setting` mostly do."""
    found: list[tuple[str, JSON]] = []
    for name, groups in strata.items():
        same = next((n for n, (_, of) in enumerate(found) if of == groups), None)
        if same is None:
            found.append((name, groups))
        else:
            found[same] = (f"{found[same][0]}, {name}", groups)
    return found


def _stratum(name: str, groups: JSON) -> Block:
    judges = list(dict.fromkeys(j for g in groups.values() for j in g["judges"]))
    rows = tuple(
        (
            group,
            block["agreement"]["units"],
            Number.from_estimate(block["agreement"]["fleiss_kappa"]),
            Number.from_estimate(block["agreement"]["krippendorff_alpha"]),
            *(_kappa_of(block["judges"], judge) for judge in judges),
        )
        for group, block in groups.items()
    )
    header = (name.capitalize(), "Units", "Fleiss' kappa", "Krippendorff's alpha")
    caption = "Agreement among people" + ("; judges with people together" if judges else "")
    against = tuple(RaterName(f"{judge}: Cohen's kappa", "judge") for judge in judges)
    numbers = [cell for row in rows for cell in row if isinstance(cell, Number)]
    few = any(number.value is not None and number.ends is None for number in numbers)
    about = "no interval for numbers that rest on fewer than 10 queries" if few else ""
    return Block(f"By {name}", (Table(caption, (*header, *against), rows),), about)


def _kappa_of(judges: JSON, judge: str) -> Number:
    if judge not in judges:
        return Number(None, reason="no labels here")
    return Number.from_estimate(judges[judge]["agreement"]["cohen_kappa"])


def score_section(report: JSON, name: str) -> Section:
    """Return the section on one score."""
    block = report["scores"][name]
    kinds = {rater["name"]: rater["kind"] for rater in report["raters"]}
    tables = [_systems(block["systems"], block.get("majority", {}), kinds)]
    if "pairs_distribution" in block:
        tables.append(ranking_table(block["pairs_distribution"]))
    if block.get("pairs") or block["correlation"]:
        tables.append(_rankings(block))
    tables += _comparisons(block.get("comparisons", []))
    tables += _estimates(block["estimate"])
    tables += planning_tables(block)
    tables += components_tables(block)
    title = name.capitalize()
    return Section(title, (Block("", tuple(tables)),), part="scores", subject=name)


def _rater_name(rater: str, kinds: dict[str, str]) -> RaterName:
    return RaterName("mean of people") if rater == MEAN else RaterName(rater, kinds.get(rater, ""))


def _systems(systems: JSON, people: JSON, kinds: dict[str, str]) -> Table:
    """Return means by system, people together and their mean first; snapshots may lack both."""
    named = dict.fromkeys(rater for values in systems.values() for rater in values)
    raters = [*(each for each in (MEAN,) if each in named), *(r for r in named if r != MEAN)]
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            system or DASH,
            *((Number.from_estimate(people[system]),) if people else ()),
            *(_cell(values, rater) for rater in raters),
        )
        for system, values in systems.items()
    )
    together = (RaterName("people"),) if people else ()
    return Table(
        "Mean by system", ("System", *together, *(_rater_name(r, kinds) for r in raters)), rows
    )


def _cell(values: JSON, rater: str) -> Number:
    return (
        Number.from_estimate(values[rater])
        if rater in values
        else Number(None, reason="no labels here")
    )


def _rankings(block: JSON) -> Table:
    rows = [_ranking(f"{p['a']} – {p['b']}", p) for p in block.get("pairs", [])]
    rows += [
        _ranking(
            RaterName(f"{judge} – {'mean of people' if rater == MEAN else rater}", "judge"), of
        )
        for judge, others in block["correlation"].items()
        for rater, of in others.items()
    ]
    header = ("Raters", "Spearman", "Kendall")
    return Table("Do raters rank the reports alike?", header, tuple(rows))


def _ranking(label: str | RaterName, of: JSON) -> tuple[Cell, ...]:
    return (label, Number.from_estimate(of["spearman"]), Number.from_estimate(of["kendall"]))


def _comparisons(pairs: list[JSON]) -> list[Table]:
    """Return the comparison of systems on the same queries; none with a single system."""
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            f"{pair['a'] or DASH} – {pair['b'] or DASH}",
            Number.from_estimate(pair["difference"]),
            f"{pair['higher']} : {pair['lower']} of {pair['queries']}",
            *(_p_value(pair[test]) for test in ("paired_t", "wilcoxon")),
        )
        for pair in pairs
    )
    header = ("Systems", "Difference", "Higher : lower", "p, t test", "p, Wilcoxon")
    caption = "Pairs of systems on the same queries, p after Holm"
    return [Table(caption, header, rows)] if rows else []


def _p_value(test: JSON) -> Number:
    return Number.p(test["adjusted_p_value"], test.get("reason", ""))


def _estimates(systems: JSON) -> list[Table]:
    """Return one table per judge, with its name in the caption even if there is only one."""
    by_judge: dict[str, list[tuple[Cell, ...]]] = {}
    for system, block in systems.items():
        for judge, of in block.get("judges", {block.get("judge_name", "judge"): block}).items():
            by_judge.setdefault(judge, []).append(_estimate(system or DASH, of))
    header = ("System", "People", "Judge, uncorrected", "Prediction-powered", "Effective labels")
    return [
        Table(f"People, and {judge} beside them", header, tuple(rows))
        for judge, rows in by_judge.items()
    ]


def _estimate(system: str, of: JSON) -> tuple[Cell, ...]:
    powered = of["prediction_powered"]
    worth = Number(of["effective_labels"], reason=powered.get("reason", ""), digits=0)
    return (
        system,
        Number.from_estimate(of["humans"]),
        Number.from_estimate(of["judge"]),
        Number.from_estimate(powered),
        worth,
    )
