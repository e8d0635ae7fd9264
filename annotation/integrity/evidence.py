"""Check that quotes are where their spans say, and that they are in the answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from annotation.integrity.rows import Answer, AnsweredAssignment, Range, Value
from annotation.models import Label, Rater, Span
from annotation.presentation import texts_by_field
from audit.violations import Check, Place, Violation
from datasets.quotes import fold
from datasets.text import find_quote
from tandem.protocols.points import Quote

CHECK = Check(
    "evidence",
    "a span lies within its text, its quote is the text's own words, and the spans of a label are "
    "the quotes of its answer",
    "If the text is the one that was loaded (see the check of texts) and the payload has the quote "
    "with its location, write the span again from the payload. Otherwise restore it from a backup.",
)
LABEL, SPAN = Label._meta.db_table, Span._meta.db_table
LONGEST = 60
Places = Mapping[tuple[str, str], Sequence[Quote]]


def find_violations(each: AnsweredAssignment) -> Iterator[Violation]:
    # The texts of a trial are changed on purpose, and the changed texts are not stored.
    if each.row.rater_kind == Rater.Kind.TRIAL or each.study.schema is None:
        return
    for answer in each.answers:
        given = _quotes_by_variable(each, answer)
        for value in each.labels.get(answer.pk, ()):
            unit = each.units.get(value.unit)
            spans = each.spans.get(value.pk, ())
            quotes = given.get((unit.name, value.variable), ()) if unit else ()
            if unit and (spans or quotes):
                yield from _of_label(each, answer, value, spans, quotes)


def _quotes_by_variable(each: AnsweredAssignment, answer: Answer) -> Places:
    """Return the quotes of an answer by unit and variable."""
    found: dict[tuple[str, str], list[Quote]] = {}
    for entry in each.entries[answer.pk].entries:
        for quote in entry.evidence:
            found.setdefault((entry.name, quote.variable), []).append(quote)
    return found


def _of_label(
    each: AnsweredAssignment,
    answer: Answer,
    value: Value,
    spans: Sequence[Range],
    quotes: Sequence[Quote],
) -> Iterator[Violation]:
    place: Place = {
        "revision": answer.revision,
        "unit": each.units[value.unit].name,
        "variable": value.variable,
    }
    if each.spec is None:
        what = "has evidence, but its batch no longer gives its item"
        yield each.of_answer(CHECK.name, answer, what)
        return
    texts = dict(texts_by_field(each.spec))
    found = False
    for span in spans:
        if misplaced := _misplaced(span, texts):
            found = True
            yield each.wrong(CHECK.name, misplaced, (SPAN, span.pk), **place)
    if found or each.entries[answer.pk].refused:
        return
    whole = answer.door in ("page", "api")
    for span in spans:
        if not any(_stems(span, quote, whole) for quote in quotes):
            what = f"quotes {_short(span.quote)}, but its answer does not"
            yield each.wrong(CHECK.name, what, (SPAN, span.pk), **place)
    for quote in quotes:
        if not any(_stems(span, quote, whole) for span in spans):
            what = f"its answer quotes {_short(quote.quote)}, but no span does"
            yield each.wrong(CHECK.name, what, (LABEL, value.pk), **place)
    if whole and len(spans) > len(quotes):
        what = f"has {len(spans)} spans, but its answer has {len(quotes)} quotes"
        yield each.of_answer(CHECK.name, answer, what, unit=place["unit"])


def _misplaced(span: Range, texts: Mapping[str, str]) -> str | None:
    """Return a message about a span and its text, or None if they agree."""
    if span.start is None or span.end is None:
        return None
    if span.field not in texts:
        return f"has a span in {span.field!r}, which is not a text of its item"
    text = texts[span.field]
    if span.end > len(text):
        return f"has a span up to {span.end}, but the {span.field} ends at {len(text)}"
    if (stored := text[span.start : span.end]) != span.quote:
        return (
            f"quotes {_short(span.quote)} at {span.start}, where the {span.field} "
            f"has {_short(stored)}"
        )
    return None


def _stems(span: Range, quote: Quote, whole: bool) -> bool:
    """Whether a span comes from a quote. People's quotes are exact; others were searched for."""
    if quote.field and span.field != quote.field and not span.field.startswith(f"{quote.field}:"):
        return False
    if span.quote == quote.quote:
        return not whole or quote.start is None or span.start == quote.start
    if whole or span.method == "exact":
        return False
    mine, given = fold(span.quote, True).text.strip(), fold(quote.quote, True).text.strip()
    if span.method in ("joined", "none"):
        return mine in given
    return mine == given or any(
        each.start is not None for each in find_quote(span.quote, quote.quote)
    )


def _short(words: str) -> str:
    return repr(words if len(words) <= LONGEST else words[: LONGEST - 1] + "…")
