"""Small sections: planning, data quality, soft labels, spans, validation, written answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..document import (
    DASH,
    UNIT,
    UNITS,
    UNITS_HEAD,
    Block,
    Cell,
    CountedText,
    Number,
    RaterName,
    Section,
    Table,
    UnitCount,
    count,
    count_units,
    rounded,
)
from ..types import JSON
from .nouns import slotted
from .people_sections import first_rows

ABOUT_PLANNING = (
    f"For queries like these. Raters are the people who label each {UNIT}, and the effect of more "
    "of them is a rough guess."
)
PLANNING_HEADER = (
    "Of",
    "Width now",
    "Queries",
    "More queries",
    f"Raters per {UNIT}",
    "More raters",
)
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
    f"a document is one text for one {UNIT}; F1 is 1 if both raters marked nothing, and 0 if only "
    "one did; a judge is treated as one more annotator"
)
OF_DOCUMENTS = "texts with evidence; the list shows every unit that can have evidence"
VALIDATED = ("Labels", "Confirmed", "Corrected", "Share confirmed")
_SIMILARITY = {
    "rouge_l_differing": "ROUGE-L F1, differing answers only",
    "rouge_l_all": "ROUGE-L F1, identical answers as 1",
}


def planning_blocks(variable: JSON) -> list[Block]:
    """Return the block on planning; none in snapshots of older reports."""
    plans = variable.get("planning")
    if not plans:
        return []
    rows = [_planning_row("Krippendorff's alpha of people", plans["agreement"])]
    rows += [
        _planning_row(RaterName(f"Cohen's kappa of {name}", "judge"), of)
        for name, of in plans["judges"].items()
    ]
    return [Block("Planning", (_planning_table(plans["width"], rows),), ABOUT_PLANNING)]


def planning_tables(score: JSON) -> list[Table]:
    """Return the planning table for each system's mean of people; none in older snapshots."""
    plans = score.get("planning")
    if not plans or not plans["systems"]:
        return []
    rows = [
        _planning_row(f"{system or DASH}, mean of people", of["mean"])
        for system, of in plans["systems"].items()
    ]
    return [_planning_table(plans["width"], rows)]


def _planning_table(width: float, rows: Iterable[tuple[Cell, ...]]) -> Table:
    return Table(f"What an interval of width {width:g} needs", PLANNING_HEADER, tuple(rows))


def _planning_row(name: Cell, plan: JSON) -> tuple[Cell, ...]:
    queries, raters = plan["queries"], plan["raters"]
    width = Number(plan["interval_width"], reason=str(queries.get("reason", "")))
    return (name, width, *_numbers(queries), *_numbers(raters))


def _numbers(plan: Mapping[str, Any]) -> tuple[Number, Number]:
    """Return the required number and how many more that is; the first has the reason."""
    needed = Number(plan["needed"], reason=plan.get("reason", ""), digits=0)
    return needed, Number(plan["more"], digits=0)


def planning_sentences(report: JSON) -> Iterator[str]:
    """Describe how many queries the main figures of each variable and each judge's test need."""
    several = len(report["variables"]) > 1
    if report.get("chosen_items") and any(
        of.get("planning") for of in report["variables"].values()
    ):
        yield "The plans are for items that are chosen in the same way, not for a random sample."
    for name, variable in report["variables"].items():
        before, the = (f"{name}: ", "the") if several else ("", "The")
        plans = variable.get("planning")
        if not plans:
            continue
        yield before + _planned(the, "people's alpha", plans["agreement"], plans["width"])
        for judge, of in plans["judges"].items():
            yield before + _planned(the, f"the kappa of {judge}", of, plans["width"])
        for judge, of in variable["judges"].items():
            test = of["alt_test"]
            if test.get("queries_needed") and test.get("verdict") == "undecided":
                needed = count(test["queries_needed"], "query", "queries")
                yield (
                    f"{before}{the} alternative annotator test of {judge} needs at least {needed}; "
                    f"there are {test['queries']}."
                )


def _planned(the: str, what: str, plan: JSON, width: float) -> str:
    queries, now = plan["queries"], plan["interval_width"]
    if now is None or queries["needed"] is None:
        why = queries.get("reason") or plan.get("reason")
        return f"{the} interval of {what} cannot be planned: {slotted(str(why))}."
    if not queries["more"]:
        return f"{the} interval of {what} is narrow enough: {rounded(now, 2)} wide."
    return (
        f"{the} interval of {what} is {rounded(now, 2)} wide. One {width:g} wide needs about "
        f"{count(queries['needed'], 'query', 'queries')} like these: {queries['more']} more."
    )


def quality_block(report: dict[str, Any]) -> list[Block]:
    """Return the rationales quoted from a text other than the judged one, by rater and variable."""
    if not report.get("hints"):
        return []
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
    return [Block("Data quality", (table,), ABOUT_QUALITY)]


SOFT_LABELS = "Soft labels (Dawid–Skene)"


def soft_blocks(variable: JSON) -> list[Block]:
    """Return the block on soft labels, if there are any."""
    found = variable.get("soft_labels")
    if not found or ("reason" in found and "converged" not in found):
        return []
    if "reason" in found:
        return [Block(SOFT_LABELS, (), f"There are none: {found['reason']}.")]
    rows: list[tuple[Cell, ...]] = [
        (RaterName(name, "human"), _labelled_by(name, of["labels"]), Number(of["error_rate"]))
        for name, of in found["raters"].items()
    ]
    order = [of["error_rate"] for of in found["raters"].values()]
    caption = "Estimated error rate of each person"
    caption, shown = first_rows(caption, rows, order, "who err most")
    tables = [Table(caption, ("Person", "Labels", "Errors"), shown)]
    if found["judges"]:
        tables.append(_soft_label_judges(found["judges"]))
    return [Block(SOFT_LABELS, tuple(tables), _describe_soft_labels(found))]


def _labelled_by(person: str, units: int) -> UnitCount:
    return UnitCount.of(units, show="all", one=person)


def _describe_soft_labels(found: JSON) -> CountedText:
    units, ties = count_units(found["units"]), count(found["ties"], "tie")
    facts = [f"{units}; the likeliest label differs from the majority on {found['differ']}"]
    if found["ties"]:
        facts[0] += f", and {ties} of people got one, too"
    if not found["converged"]:
        facts.append(f"not converged after {found['iterations']} steps")
    counted = [(units, UnitCount.of(found["units"], show="labelled"))]
    if found["ties"]:
        counted.append((ties, UnitCount.of(found["ties"], show="ties")))
    return CountedText.of("; ".join(facts), *counted)


def _soft_label_judges(judges: JSON) -> Table:
    rows = tuple(
        (
            RaterName(name, "judge"),
            UnitCount.of(of["percent"]["n"], show="labelled", one=name),
            Number.from_estimate(of["cohen_kappa"]),
            Number.from_estimate(of["percent"]),
            Number.from_estimate(of["expected_accuracy"]),
        )
        for name, of in judges.items()
    )
    header = ("Judge", UNITS_HEAD, "Cohen's kappa", "Percent", "Expected accuracy")
    return Table("Judges compared with the soft labels", header, rows)


def span_blocks(variable: JSON) -> list[Block]:
    """Return the block on spans, if a rater marked any."""
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
        (name, _documents(name, sizes), *(Number.from_estimate(of[key]) for key in names))
        for name, sizes, of in blocks
    )
    return Table(caption, ("Rater, with people", "Documents", *names.values()), rows)


def _documents(name: str | RaterName, sizes: JSON) -> UnitCount:
    """Return the number of documents, linked to the list of their units."""
    judge = {"show": "labelled", "one": str(name)} if isinstance(name, RaterName) else {}
    listed = UnitCount.of(sizes["documents"], **(judge or {"show": "several"}))
    return listed.counting(OF_DOCUMENTS)


NOT_EXPOSED: JSON = {"labels": 0}
"""The default for snapshots from earlier versions, which do not count exposed labels."""


def exposure_blocks(report: JSON) -> list[Block]:
    """Return the block on exposed labels, if there are any."""
    exposed = report.get("exposed", NOT_EXPOSED)
    if not exposed["labels"]:
        return []
    rows = tuple(
        (RaterName(name, "human"), of["answers"], of["labels"])
        for name, of in exposed["people"].items()
    )
    table = Table("By person", ("Person", "Answers", "Labels"), rows)
    known = count(exposed["unknown"], "label")
    rest = "was imported or given before Tandem kept a ledger of looks"
    unknown = f" It is unknown of {known} more, which {rest}." if exposed["unknown"] else ""
    said = f"{describe_exposed(exposed)}.{unknown}"
    return [Block("Exposed answers", (table,), said)]


def describe_exposed(exposed: JSON) -> str:
    """Describe how many labels were given after a look at others', and whether they count."""
    where = "counted like all others" if exposed["included"] else "left out"
    seen = f"{count(exposed['labels'], 'label')} in {count(exposed['answers'], 'answer')}"
    return f"{seen} given after a look at others' labels of the same {UNITS}, {where}"


def validation_blocks(report: JSON, judge: str) -> list[Block]:
    """Return the block on validation, if a person was shown a label from this judge."""
    assisted = report.get("assisted")
    if not assisted or judge not in assisted["by"]:
        return []
    found = assisted["by"][judge]
    tables = (
        _validation_table("By variable", "Variable", found["variables"]),
        _validation_table("By person", "Person", found["people"]),
    )
    return [Block("Validated by people", tables, _describe_validation(assisted))]


def _describe_validation(assisted: JSON) -> str:
    where = "counted like all others" if assisted["included"] else "left out of everything else"
    sizes = f"{count(assisted['labels'], 'label')} given with a judge's label in view"
    lost = assisted["unmatched"]
    has = count(lost, "of them has", "of them have")
    missing = f"; {has} no judge's label here" if lost else ""
    return f"{sizes}, {where}{missing}; confirmed means the same value, whatever the quotes"


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
        f"{count(block['questions'], 'question')} answered in both rounds: "
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
