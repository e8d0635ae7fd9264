"""A campaign as Label Studio's JSON: one task per unit, with the answers of all raters.

People's answers are annotations, judges' answers are predictions, and a Reference is ground truth.
A code is a `choices` result named after its variable, and a span is a `labels` result named
`VARIABLE-evidence`. Everything without a key in that format is under `tandem`, which Label Studio
ignores and `import_labels` reads.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from annotation.exports.rows import ShownItem, labelled_items
from annotation.models import Campaign
from annotation.presentation import texts_by_field
from tandem.grouping import grouped
from tandem.labels.file.rows import LabelRow, SpanRow
from tandem.protocols.base import ItemSpec, UnitSpec, split_codes

Line = dict[str, Any]

ASKED = "asked"
"""The key of a task's data that has the unit's text."""
_OF_RATER = ("rater", "rater_kind", "replicate", "revision", "assisted_by")


def label_studio(campaign: Campaign) -> Iterator[Line]:
    """Yield one task per unit, in order. A unit without labels is a task without answers."""
    number = 0
    for item, spec, units, rows in labelled_items(campaign):
        of_unit = grouped(((row.unit, row.kind or ""), row) for row in rows)
        for unit in units:
            number += 1
            yield _task(number, campaign, item, spec, unit, of_unit[unit.key, unit.kind])


def _task(
    number: int,
    campaign: Campaign,
    item: ShownItem,
    spec: ItemSpec,
    unit: UnitSpec,
    rows: Sequence[LabelRow],
) -> Line:
    texts = dict(texts_by_field(spec))
    raters = grouped(((row.rater, row.replicate), row) for row in rows)
    answers = [(own[0].rater_kind, _answer(own, texts)) for own in raters.values()]
    return {
        "id": number,
        "data": {"item": item.key, "unit": unit.key, "kind": unit.kind, ASKED: unit.text, **texts},
        "meta": {"campaign": campaign.name, "protocol": campaign.protocol, "query": item.query},
        "annotations": [answer for kind, answer in answers if kind != "judge"],
        "predictions": [answer for kind, answer in answers if kind == "judge"],
    }


def _answer(rows: Sequence[LabelRow], texts: dict[str, str]) -> Line:
    """Return one rater's answer to one unit."""
    first = rows[0]
    made = next((row.created_at for row in rows if row.created_at), None)
    shared: Line = {"result": [each for row in rows for each in _results(row, texts)]}
    shared |= {"created_at": made} if made else {}
    if first.rater_kind == "judge":
        scores = [row.score for row in rows if row.score is not None]
        shared |= {"model_version": first.rater, "score": scores[0] if scores else None}
    else:
        shared |= {
            "was_cancelled": all(row.value is None for row in rows),
            "ground_truth": first.rater_kind == "reference",
            "lead_time": first.seconds,
        }
    return shared | {"tandem": _own_keys(rows)}


def _results(row: LabelRow, texts: dict[str, str]) -> Iterator[Line]:
    if row.value is None:
        return
    field = next(iter(texts), ASKED)
    chosen = _result(row, row.variable, field, "choices", {"choices": _codes(row.value)})
    yield chosen if row.score is None else {**chosen, "score": row.score}
    for number, span in enumerate(row.spans or ()):
        if span.start is not None:
            value = {"start": span.start, "end": span.end, "text": span.text}
            named = {**value, "labels": [row.variable]}
            yield _result(row, f"{row.variable}-evidence", span.field, "labels", named, number)


def _codes(value: str) -> list[str]:
    """Return the choices of a value: each code of a set."""
    codes = split_codes(value)
    return [value] if codes is None else list(json.loads(value))


def _result(row: LabelRow, name: str, field: str, kind: str, value: Line, number: int = 0) -> Line:
    identity = (row.item, row.unit, row.rater, row.replicate, name, number)
    region = uuid.uuid5(uuid.NAMESPACE_URL, "\n".join(map(str, identity))).hex[:12]
    return {"id": region, "from_name": name, "to_name": field, "type": kind, "value": value}


def _own_keys(rows: Sequence[LabelRow]) -> Line:
    """Return what the import also needs: the rater, and parts of labels without a key."""
    first = rows[0]
    found: Line = {name: getattr(first, name) for name in _OF_RATER}
    found["seconds"] = first.seconds
    found["missing"] = {row.variable: row.missing for row in rows if row.missing}
    found["meta"] = {row.variable: row.stored_meta for row in rows if row.stored_meta}
    found["unanchored"] = {
        row.variable: lost
        for row in rows
        if (lost := [_quote(s) for s in row.spans or () if s.start is None])
    }
    return {name: value for name, value in found.items() if value not in (None, {})}


def _quote(span: SpanRow) -> Line:
    return {"field": span.field, "text": span.text}
