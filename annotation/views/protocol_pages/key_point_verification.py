"""The page of key-point verification: the point, and the document with the suggested evidence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from annotation.item_context import Sheet
from annotation.models import Assignment
from annotation.views.protocol_pages.base import Page
from datasets.text import find_quote
from tandem.protocols.base import ItemSpec, Text


@dataclass(frozen=True)
class Suggestion:
    """A quote from the batch and its locations in the text, in code points."""

    number: int
    quote: str
    places: tuple[tuple[int, int], ...]


def suggestions(text: Text) -> Iterator[Suggestion]:
    """Yield the suggestions in the order of the text; quotes that are not found come last."""
    found = [(quote, tuple(_places(text.text, quote))) for quote in dict.fromkeys(text.suggested)]
    found.sort(key=lambda each: each[1][0] if each[1] else (len(text.text), 0))
    for number, (quote, places) in enumerate(found, start=1):
        yield Suggestion(number, quote, places)


def _places(text: str, quote: str) -> Iterator[tuple[int, int]]:
    for each in find_quote(text, quote):
        if each.start is not None and each.end is not None:
            yield each.start, each.end


def facts(assignment: Assignment, spec: ItemSpec, sheet: Sheet) -> Mapping[str, Any]:
    return {"suggestions": tuple(suggestions(spec.texts[0]))}


PAGE = Page(
    template="work/pages/key_point_verification.html",
    script="js/work/key_point_verification.js",
    style="css/work/key_point_verification.css",
    keys=(
        ("n", "show the next suggested span in the text"),
        ("p", "show the previous suggested span"),
        ("a", "adopt the suggested span as your own highlight"),
    ),
    facts=facts,
)
