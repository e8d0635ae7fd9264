"""Spans as annotations of the W3C's Web Annotation Data Model (Recommendation of 2017).

One annotation is one highlight. Its target is the text with the location (in code points, as in the
model) and the quote. Its body is the code that the highlight supports. Facts that the model does
not cover, such as the unit, have keys of our own. A quote that is not in its text has no location.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from annotation.exports.rows import labelled_items
from annotation.models import Campaign
from annotation.presentation import texts_by_field
from tandem.labels.file.rows import LabelRow, SpanRow
from tandem.protocols.base import ItemSpec

Line = dict[str, Any]

CONTEXT = ["http://www.w3.org/ns/anno.jsonld", {"tandem": "urn:x-tandem:"}]
AROUND = 32
"""The number of code points before and after a quote that help to find it again."""
AGENTS = {"human": "Person", "judge": "Software", "reference": "Organization"}
_OWN = ("campaign", "protocol", "item", "unit", "kind", "variable", "replicate", "revision")


def web_annotations(campaign: Campaign) -> Iterator[Line]:
    """Yield one annotation per span, by item, rater and label."""
    for _, spec, _, rows in labelled_items(campaign):
        texts = texts_by_field(spec)
        for row in rows:
            for number, span in enumerate(row.spans or ()):
                yield _annotation(row, spec, texts, span, number)


def _annotation(
    row: LabelRow, spec: ItemSpec, texts: Mapping[str, str], span: SpanRow, number: int
) -> Line:
    own = {name: getattr(row, name) for name in _OWN}
    name = iri("span", *map(str, own.values()), row.rater, span.field, str(number))
    found = {
        "@context": CONTEXT,
        "id": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, name)}",
        "type": "Annotation",
        "motivation": "classifying",
        "created": _moment(row.created_at),
        "creator": {
            "id": iri("rater", row.rater),
            "type": AGENTS[row.rater_kind],
            "nickname": row.rater,
        },
        "body": {"type": "TextualBody", "purpose": "classifying", "value": row.value},
        "target": {
            "type": "SpecificResource",
            "source": _source(row, spec, span.field),
            "selector": list(_selectors(texts.get(span.field, ""), span)),
        },
        **{f"tandem:{name}": value for name, value in own.items()},
    }
    return {key: value for key, value in found.items() if value is not None}


def _selectors(text: str, span: SpanRow) -> Iterator[Line]:
    if span.start is None or span.end is None:
        yield {"type": "TextQuoteSelector", "exact": span.text}
        return
    yield {"type": "TextPositionSelector", "start": span.start, "end": span.end}
    yield {
        "type": "TextQuoteSelector",
        "exact": span.text,
        "prefix": text[max(0, span.start - AROUND) : span.start],
        "suffix": text[span.end : span.end + AROUND],
    }


def _source(row: LabelRow, spec: ItemSpec, field: str) -> str:
    """Return the name of a text: by its id in the batch, or by the item's field."""
    kind, _, key = field.partition(":")
    alone = {"report": spec.report, "passage": spec.passage}.get(kind)
    if kind in ("report", "passage") and (key or alone):
        return iri("batch", row.batch or "", kind, key or alone or "")
    return iri("campaign", row.campaign or "", "item", row.item, field)


def iri(*parts: str) -> str:
    """Return an IRI of our own, with any characters of its parts escaped."""
    return "urn:x-tandem:" + ":".join(quote(part, safe="") for part in parts)


def _moment(written: str | None) -> str | None:
    """Return a time in UTC with a Z, as the model requires."""
    if written is None:
        return None
    return datetime.fromisoformat(written).astimezone(UTC).isoformat().replace("+00:00", "Z")
