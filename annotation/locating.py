"""Where the quotes of an answer stand in the texts that were shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from annotation.presenting import shown_texts
from annotation.protocols.base import ItemSpec
from annotation.protocols.checking import Door, Entry, Problem, Quote, RefusedError
from annotation.protocols.schema import EVIDENCE_KEY
from datasets.text import find_quote

METHODS = ("exact", "folded", "joined", "fuzzy", "none")
"""How a quote may have been found, the surest first."""


@dataclass(frozen=True)
class Located:
    """A span of the text `field`, in code points; without ends where its quote stands nowhere."""

    field: str
    start: int | None
    end: int | None
    quote: str
    method: str


Spans = dict[tuple[str, str], list[Located]]


def locate(entries: list[Entry], spec: ItemSpec, door: Door) -> tuple[Spans, list[Problem]]:
    """Spans by unit name and variable, and warnings for quotes that stand nowhere.

    People's quotes must stand where they say (RefusedError): a page that counts wrongly must not
    store wrong ranges. Models copy with small changes, and old files hold only the words, so for
    these the text is searched, and what is not found is kept without a place.
    """
    texts = shown_texts(spec)
    spans: Spans = {}
    problems: list[Problem] = []
    for entry in entries:
        for quote in entry.evidence:
            found, problem = _find(entry, quote, texts, strict=door in ("page", "api"))
            problems += [problem] if problem else []
            spans.setdefault((entry.name, quote.variable), []).extend(found)
        problems += _foreign_citations(entry, texts)
        problems += _misplaced_points(entry, texts, strict=door in ("page", "api"))
    if problems and door in ("page", "api"):
        raise RefusedError(problems)
    return spans, problems


def _foreign_citations(entry: Entry, texts: Mapping[str, str]) -> list[Problem]:
    """A problem for each citation of a written answer that is no passage of the item."""
    cited = entry.written.citations if entry.written else ()
    return [
        Problem(entry.name, "citations", f"{passage!r} is no passage of this item")
        for passage in cited
        if f"passage:{passage}" not in texts
    ]


def _misplaced_points(entry: Entry, texts: Mapping[str, str], strict: bool) -> Iterator[Problem]:
    """A problem for each quote of a written point that does not stand where it says."""
    for number, point in enumerate(entry.points, start=1):
        for quote in point.evidence:
            _, problem = _find(entry, quote, texts, strict)
            if problem:
                yield Problem(entry.name, quote.variable, f"point {number}: {problem.message}")


def _find(
    entry: Entry, quote: Quote, texts: Mapping[str, str], strict: bool
) -> tuple[list[Located], Problem | None]:
    place = quote.field or next(iter(texts), "")
    places = _places(place, texts)
    if not places:
        words = Located(place, None, None, quote.quote, "none")
        problem = Problem(entry.name, EVIDENCE_KEY, f"{place!r} is no text of this item")
        return [words], problem
    if strict:
        exact = (_exact(quote, each, texts[each]) for each in places)
        one = next((each for each in exact if each), None)
        return ([one], None) if one else ([], _nowhere(entry, quote, place))
    found = _best(quote, places, texts)
    if any(f.start is None for f in found):
        return found, _nowhere(entry, quote, place)
    return found, None


def _places(place: str, texts: Mapping[str, str]) -> list[str]:
    """The texts that a name stands for: its own, or all of the kind, such as each `passage:ID`."""
    return [place] if place in texts else [each for each in texts if each.startswith(f"{place}:")]


def _best(quote: Quote, places: Sequence[str], texts: Mapping[str, str]) -> list[Located]:
    """The places of a quote in the text that holds it best; the first of those that do so alike."""
    found: list[list[Located]] = []
    for each in places:
        parts = find_quote(texts[each], quote.quote, quote.start)
        found.append([Located(each, p.start, p.end, p.quote, p.method) for p in parts])
        if found[-1][0].method == METHODS[0]:
            break
    best = min(found, key=_doubt)
    if len(places) > 1 and all(part.start is None for part in best):
        # Words that stand nowhere stand in none of the texts more than in another.
        return [replace(part, field=quote.field) for part in best]
    return best


def _doubt(parts: Sequence[Located]) -> tuple[bool, int]:
    lost = any(part.start is None for part in parts)
    return lost, max(METHODS.index(part.method) for part in parts)


def _exact(quote: Quote, place: str, text: str) -> Located | None:
    start = text.find(quote.quote) if quote.start is None else quote.start
    end = start + len(quote.quote)
    if start < 0 or text[start:end] != quote.quote:
        return None
    return Located(place, start, end, quote.quote, "exact")


def _nowhere(entry: Entry, quote: Quote, place: str) -> Problem:
    words = quote.quote if len(quote.quote) <= 60 else quote.quote[:57] + "…"
    return Problem(entry.name, EVIDENCE_KEY, f"{words!r} does not stand there in the {place}")
