"""Sections: labels given with others' labels in view, and what people said of judges' labels."""

from __future__ import annotations

from dataclasses import replace

from ..document import UNITS, Block, Number, RaterName, Section, Table, count
from ..types import JSON
from .base import JUDGE, PEOPLE, SectionPart

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


PART = SectionPart(PEOPLE, after=lambda report, _: exposure_blocks(report))


VALIDATION_HEAD = ("Labels", "Confirmed", "Corrected", "Share confirmed")


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
    return Table(caption, (first, *VALIDATION_HEAD), rows)


def validated_elsewhere(report: JSON) -> list[Section]:
    """Return the judges of other campaigns whose labels people were shown here."""
    there = {judge for variable in report["variables"].values() for judge in variable["judges"]}
    others = [name for name in (report.get("assisted") or {}).get("by", {}) if name not in there]
    blocks = [
        replace(block, title=name, kind="judge")
        for name in others
        for block in validation_blocks(report, name)
    ]
    return [Section("Validated judges", tuple(blocks))] if blocks else []


VALIDATED = SectionPart(JUDGE, after=validation_blocks)


ELSEWHERE = SectionPart(section=validated_elsewhere)
