"""The template of a labels file: every unit that a campaign asks, and a line as an example.

The reader skips lines without a rater and a value, and an import skips the example, so whoever
fills the template in deletes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, fields
from typing import Any

from annotation.models import Campaign, Item, Unit
from annotation.presentation import schema
from tandem.files.rows import ReadNotes
from tandem.labels.file.rows import COLUMNS, LabelRow
from tandem.protocols.base import Variable
from tandem.protocols.code_sets import join_codes

EXAMPLE = "(example)"
"""The rater of the example. No label of this rater is imported."""
_NEEDED = {each.name for each in fields(LabelRow) if each.default is MISSING} - {"place"}
TEMPLATE_COLUMNS = tuple(name for name in COLUMNS if name in _NEEDED | {"kind", "value"})

Line = dict[str, Any]


def template_lines(campaign: Campaign) -> Iterator[Line]:
    """Yield the example, then a line for each unit and variable that the campaign asks."""
    asked = schema(campaign, "people")
    units = Unit.objects.filter(item__campaign=campaign, item__use=Item.Use.STUDY)
    rows = units.order_by("item__position", "position").values_list("item__key", "key", "kind")
    is_first = True
    for item, unit, kind in rows.iterator():
        for variable in asked.variables_of(kind):
            line = {"item": item, "unit": unit, "kind": kind, "variable": variable.name}
            if is_first:
                yield {**line, "value": _example(variable), "rater": EXAMPLE}
                is_first = False
            yield line


def _example(variable: Variable) -> str:
    first = variable.answers[:1]
    return join_codes(variable, first) if variable.several else first[0]


def without_example(rows: Iterator[LabelRow], notes: ReadNotes) -> Iterator[LabelRow]:
    """Leave out the template's example, and count it."""
    for row in rows:
        if row.rater == EXAMPLE:
            notes.skip("example of the template")
        else:
            yield row
