"""The section on judges whose verdicts people confirmed or corrected."""

from __future__ import annotations

from typing import Any

from analysis.formats.document import Block, Number, Section, Table, count

JSON = dict[str, Any]

VALIDATED = ("Labels", "Confirmed", "Corrected", "Share confirmed")


def validation_sections(report: JSON) -> list[Section]:
    """One section, or none where nobody was shown a verdict."""
    assisted = report.get("assisted")
    if not assisted or not assisted["by"]:
        return []
    kinds = {rater["name"]: rater["kind"] for rater in report["raters"]}
    blocks = tuple(
        _judge(name, found, kinds.get(name, "judge")) for name, found in assisted["by"].items()
    )
    return [Section("Validated judges", blocks, _validation_about(assisted))]


def _validation_about(assisted: JSON) -> str:
    where = "taken like all others" if assisted["included"] else "left out of everything else"
    sizes = f"{count(assisted['labels'], 'label')} made with a judge's verdict in view"
    lost = assisted["unmatched"]
    missing = f"; {count(lost, 'of them has', 'of them have')} no verdict here" if lost else ""
    return f"{sizes}, {where}{missing}; confirmed is the same value, whatever the quotes"


def _judge(name: str, found: JSON, kind: str) -> Block:
    tables = (
        _validation_table("By variable", "Variable", found["variables"]),
        _validation_table("By person", "Person", found["people"]),
    )
    return Block(name, tables, "confirmed or corrected by people who saw its verdicts", kind)


def _validation_table(caption: str, first: str, parts: JSON) -> Table:
    rows = tuple(
        (name, part["labels"], part["confirmed"], part["corrected"],
         Number.of(part["share_confirmed"]))
        for name, part in parts.items()
    )  # fmt: skip
    return Table(caption, (first, *VALIDATED), rows)
