"""The page of grounding relevance: passages as cards with their dates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from annotation.campaigns.rendering import age_between, format_date
from annotation.item_context import Row, Sheet
from annotation.models import Assignment
from annotation.views.protocol_pages.base import Page
from tandem.protocols.base import ItemSpec, Text, name_units

UNTITLED = "Passage"


@dataclass(frozen=True)
class Card:
    """One passage with its row. Unknown facts are empty."""

    row: Row
    text: Text
    title: str
    source: str
    published: str
    date: str
    age: str


def cards(spec: ItemSpec, sheet: Sheet, asked_at: str | None) -> Iterator[Card]:
    """Yield the passages in the assignment's order."""
    units, texts = name_units(spec.units), {text.field: text for text in spec.texts}
    for row in sheet.rows:
        key = units[row.name].key.removeprefix(f"{spec.key}/")
        yield _card(row, texts[f"passage:{key}"], asked_at)


def _card(row: Row, text: Text, asked_at: str | None) -> Card:
    facts = dict(text.facts)
    published = facts.get("date", "")
    return Card(
        row=row,
        text=text,
        title="" if text.heading == UNTITLED else text.heading,
        source=facts.get("source", ""),
        published=published,
        date=format_date(published),
        age=facts.get("age") or age_between(asked_at, published) or "",
    )


def facts(assignment: Assignment, spec: ItemSpec, sheet: Sheet) -> Mapping[str, Any]:
    asked_at = assignment.item.query.asked_at
    return {
        "cards": tuple(cards(spec, sheet, asked_at)),
        "asked_on": format_date(asked_at or ""),
        "asked_at": asked_at,
    }


PAGE = Page(
    template="work/pages/grounding_relevance.html",
    script="js/work/grounding_relevance.js",
    style="css/work/grounding_relevance.css",
    keys=(
        ("y", "relevant; then choose its use"),
        ("n", "irrelevant"),
        ("f", "expand or collapse a long passage"),
        ("x", "compare: pick this passage; the second one opens both side by side"),
        ("esc", "back from the comparison"),
    ),
    facts=facts,
)
