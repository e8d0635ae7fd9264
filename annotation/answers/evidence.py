"""Locate an answer's quotes in the texts that were shown."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from annotation.presentation import texts_by_field
from datasets.text import QuoteLocation, find_exact, find_quote
from tandem.messages import Message
from tandem.protocols.base import Evidence, ItemSpec, UnitSpec
from tandem.protocols.points import Quote, noun_of, read_quote
from tandem.protocols.schema import EVIDENCE_KEY, Schema
from tandem.protocols.validation import Channel, Entry, Problem, RefusedError

METHODS = ("exact", "folded", "joined", "fuzzy", "none")
"""The ways in which a quote was found, from the most to the least certain."""


@dataclass(frozen=True)
class LocatedQuote:
    """A span of the text `field`, in code points. Both ends are None if the quote was not found.

    `equal` is the number of locations that fit as well, with this one, and `given` the start that
    was given. `is_there` tells whether the quote is there. `whole` is false if the span begins or
    ends inside a word.
    """

    field: str
    start: int | None
    end: int | None
    quote: str
    method: str
    equal: int = dataclasses.field(default=1, compare=False)
    given: int | None = dataclasses.field(default=None, compare=False)
    is_there: bool = dataclasses.field(default=True, compare=False)
    whole: bool = dataclasses.field(default=True, compare=False)


Spans = dict[tuple[str, str], list[LocatedQuote]]


def locate(entries: list[Entry], spec: ItemSpec, channel: Channel) -> tuple[Spans, list[Problem]]:
    """Return spans by unit name and variable, and warnings about quotes that were not found.

    Quotes from people must be exactly at their stated offsets, so that a page that counts wrongly
    cannot store wrong ranges; otherwise RefusedError is raised. Models copy with small changes, and
    old files have only the words, so their quotes are searched for. A quote that is not found is
    stored without a location.
    """
    texts = texts_by_field(spec)
    spans: Spans = {}
    problems: list[Problem] = []
    for entry in entries:
        for quote in entry.evidence:
            found, problem = _find(entry, quote, texts, strict=channel in ("page", "api"))
            problems += [problem] if problem else []
            spans.setdefault((entry.name, quote.variable), []).extend(found)
        problems += _foreign_citations(entry, texts)
        problems += _misplaced_points(entry, texts, strict=channel in ("page", "api"))
    if problems and channel in ("page", "api"):
        raise RefusedError(problems)
    return spans, problems


def remarks(spans: Spans) -> list[Problem]:
    """Return a remark for each quote that occurs several times, or not at its given start.

    Unlike a quote that was not found, it is accepted from everybody, and is no reason to ask a
    judge again.
    """
    return [
        Problem(name, variable, message)
        for (name, variable), found in spans.items()
        for each in found
        if (message := _remark(each))
    ]


def _remark(quote: LocatedQuote) -> Message | None:
    words, where = repr(_shortened(quote.quote)), noun_of(quote.field)
    if quote.equal > 1 and quote.given is None:
        return Message(
            "%(words)s occurs %(count)s times in the %(field)s; the first was used",
            words=words,
            count=quote.equal,
            field=where,
        )
    if quote.equal > 1 and quote.given is not None:
        return Message(
            "%(words)s occurs %(count)s times equally near to %(given)s; the first was used",
            words=words,
            count=quote.equal,
            given=quote.given,
        )
    if quote.is_there or quote.given is None or quote.start is None:
        return None
    return Message(
        "%(words)s is not at %(given)s of the %(field)s; the nearest, at %(start)s, was used",
        words=words,
        given=quote.given,
        field=where,
        start=quote.start,
    )


def with_starts(
    answers: Mapping[str, Any], schema: Schema, units: Mapping[str, UnitSpec], spec: ItemSpec
) -> dict[str, Any]:
    """Return answers whose quotes have starts, for a page, which does not search for quotes.

    `answers` and `units` are by name. A quote that is not exactly at its start is located as in
    `locate`. One that is not found is returned as it is.
    """
    texts = texts_by_field(spec)
    placed: dict[str, Any] = {}
    for name, answer in answers.items():
        placed[name] = answer
        if name not in units or not isinstance(answer, Mapping):
            continue
        kind = units[name].kind
        rule, listed = schema.evidence(kind), schema.listed(kind)
        if rule and answer.get(EVIDENCE_KEY):
            placed[name] = {**answer, EVIDENCE_KEY: _placed(answer[EVIDENCE_KEY], rule, texts)}
        if listed and isinstance(points := answer.get(listed.name), list):
            own = Evidence(listed.name, listed.field)
            placed[name] = {**placed[name], listed.name: [_point(p, own, texts) for p in points]}
    return placed


def _point(point: Any, rule: Evidence, texts: Mapping[str, str]) -> Any:
    if not isinstance(point, Mapping) or not point.get(EVIDENCE_KEY):
        return point
    return {**point, EVIDENCE_KEY: _placed(point[EVIDENCE_KEY], rule, texts)}


def _placed(evidence: Any, rule: Evidence, texts: Mapping[str, str]) -> Any:
    if not isinstance(evidence, list):
        return evidence
    return [part for each in evidence for part in _placed_parts(each, rule, texts)]


def _placed_parts(sent: Any, rule: Evidence, texts: Mapping[str, str]) -> list[Any]:
    field = "" if rule.beside else rule.field
    quote = read_quote(sent, rule.variable, field, lenient=True, with_field=rule.names_texts)
    fields = fields_for(quote.field, texts) if quote else []
    if quote is None or not fields or any(_is_at_start(quote, texts[each]) for each in fields):
        return [sent]
    found = _find_best(quote, fields, texts)
    if any(part.start is None for part in found):
        return [sent]
    return [rule.quote(part.quote, part.start, part.field) for part in found]


def _is_at_start(quote: Quote, text: str) -> bool:
    return quote.start is not None and text.startswith(quote.quote, quote.start)


def _foreign_citations(entry: Entry, texts: Mapping[str, str]) -> list[Problem]:
    """Return a problem for each citation of a written answer that is not a passage of the item."""
    cited = entry.written.citations if entry.written else ()
    return [
        Problem(
            entry.name,
            "citations",
            Message("%(passage)s is not a passage of this item", passage=repr(passage)),
        )
        for passage in cited
        if f"passage:{passage}" not in texts
    ]


def _misplaced_points(entry: Entry, texts: Mapping[str, str], strict: bool) -> Iterator[Problem]:
    """Yield a problem for each quote of a written point that is not in its text."""
    for number, point in enumerate(entry.points, start=1):
        for quote in point.evidence:
            _, problem = _find(entry, quote, texts, strict)
            if problem:
                where = Message(
                    "point %(number)s: %(problem)s", number=number, problem=problem.message
                )
                yield Problem(entry.name, quote.variable, where)


def _find(
    entry: Entry, quote: Quote, texts: Mapping[str, str], strict: bool
) -> tuple[list[LocatedQuote], Problem | None]:
    field = quote.field or next(iter(entry.unit.of or texts), "")
    fields = fields_of_unit(quote.field, entry.unit, texts) or fields_for(field, texts)
    if not fields:
        words = LocatedQuote(field, None, None, quote.quote, "none")
        unknown = Message("%(field)s is not a text of this item", field=repr(field))
        return [words], Problem(entry.name, EVIDENCE_KEY, unknown)
    if quote.within and (place := entry.unit.place) and place[0] in fields:
        return _find_within(entry, quote, fields, texts, strict)
    if strict:
        exact = [[one] for each in fields if (one := _exact(quote, each, texts[each]))]
        return (_best(exact), None) if exact else ([], _not_found(entry, quote, field))
    found = _find_best(quote, fields, texts)
    if any(f.start is None for f in found):
        return found, _not_found(entry, quote, field)
    return found, None


def fields_of_unit(name: str, unit: UnitSpec, texts: Mapping[str, str]) -> list[str]:
    """Return the texts of a unit that joins some, of this kind or name; of any kind if empty."""
    own = [each for each in unit.of if each in texts]
    return [each for each in own if name in ("", each, each.partition(":")[0])]


def _find_within(
    entry: Entry, quote: Quote, fields: Sequence[str], texts: Mapping[str, str], strict: bool
) -> tuple[list[LocatedQuote], Problem | None]:
    """Locate a quote that, in one of its texts, may only be in the unit's own sentence."""
    field, begin, end = entry.unit.place or ("", 0, 0)
    start = None if quote.start is None else quote.start - begin
    sentence = {field: texts[field][begin:end]}
    own = replace(quote, field=field, start=start, within=())
    found, problem = _find(replace(entry, unit=UnitSpec("", "", "")), own, sentence, strict)
    others = [each for each in fields if each != field]
    if problem and others:
        rest = {each: texts[each] for each in others}
        return _find(entry, replace(quote, within=()), rest, strict)
    if problem:
        lost = Message("%(words)s is not in the sentence", words=repr(_shortened(quote.quote)))
        problem = Problem(entry.name, EVIDENCE_KEY, lost)
    return [_shifted(each, begin) for each in found], problem


def _shifted(quote: LocatedQuote, by: int) -> LocatedQuote:
    def moved(at: int | None) -> int | None:
        return None if at is None else at + by

    return replace(quote, start=moved(quote.start), end=moved(quote.end), given=moved(quote.given))


def check_owed(
    schema: Schema, entries: Iterable[Entry], spans: Spans, channel: Channel
) -> list[Problem]:
    """Return a problem for each text that lacks its quote, where evidence is in two texts.

    Raises RefusedError if the answer is from a page or the API, where quotes are in place.
    """
    problems = [
        Problem(entry.name, EVIDENCE_KEY, message)
        for entry in entries
        if (rule := schema.evidence(entry.unit.kind)) and rule.beside
        for message in _lacking(schema, rule, entry, spans)
    ]
    if problems and channel in ("page", "api"):
        raise RefusedError(problems)
    return problems


def _lacking(schema: Schema, rule: Evidence, entry: Entry, spans: Spans) -> Iterator[Message]:
    kind, value = entry.unit.kind, entry.values.get(rule.variable)
    quoted = [each.field for each in spans.get((entry.name, rule.variable), ())]
    for each in rule.rules:
        alone = replace(each, beside=None)
        if (code := each.owing(value)) and not any(map(alone.covers, quoted)):
            yield Message(
                "%(variable)s is %(code)s: quote the %(field)s for it",
                variable=schema.named(rule.variable, kind),
                code=schema.coded(rule.variable, code, kind),
                field=noun_of("sentence" if each.within else each.field),
            )


def fields_for(name: str, texts: Mapping[str, str]) -> list[str]:
    """Return the text of this name, or all texts of this kind, such as each `passage:ID`."""
    return [name] if name in texts else [each for each in texts if each.startswith(f"{name}:")]


def _find_best(quote: Quote, fields: Sequence[str], texts: Mapping[str, str]) -> list[LocatedQuote]:
    """Return the spans of a quote in the text that contains it best."""
    found: list[list[LocatedQuote]] = []
    is_exact = False
    for each in fields:
        if is_exact:
            # No text can contain it better, but others may contain it as well.
            again = find_exact(texts[each], quote.quote, quote.start)
            parts = [again] if again else []
        else:
            parts = find_quote(texts[each], quote.quote, quote.start)
        if parts:
            # The start is that of the first part; the others follow it.
            starts = [quote.start, *[None] * (len(parts) - 1)]
            found.append(
                [_located(each, texts[each], *of) for of in zip(parts, starts, strict=True)]
            )
            is_exact = is_exact or parts[0].method == METHODS[0]
    best = _best(found)
    if len(fields) > 1 and all(part.start is None for part in best):
        # Words that were not found do not favour any text.
        return [replace(part, field=quote.field) for part in best]
    return best


def _located(name: str, text: str, part: QuoteLocation, given: int | None) -> LocatedQuote:
    start = part.start
    is_there = given is None or start is None or (given <= start and not text[given:start].strip())
    return LocatedQuote(
        name, start, part.end, part.quote, part.method, part.equal, given, is_there, part.whole
    )


def _best(found: Sequence[list[LocatedQuote]]) -> list[LocatedQuote]:
    """Return the best of the spans in several texts: of equal ones the first, with their number."""
    if len(found) == 1:
        return found[0]
    best = min(found, key=_rank)
    equal = [each for each in found if _rank(each) == _rank(best)]
    if len(best) > 1 or best[0].start is None:
        return best
    return [replace(best[0], equal=sum(each[0].equal for each in equal))]


def _rank(parts: Sequence[LocatedQuote]) -> tuple[tuple[bool, int], int, bool]:
    one = parts[0]
    far = 0 if one.given is None else abs((one.start or 0) - one.given)
    return _uncertainty(parts), far, not one.whole


def _uncertainty(parts: Sequence[LocatedQuote]) -> tuple[bool, int]:
    lost = any(part.start is None for part in parts)
    return lost, max(METHODS.index(part.method) for part in parts)


def _exact(quote: Quote, field: str, text: str) -> LocatedQuote | None:
    found = find_exact(text, quote.quote, quote.start)
    if not found or (quote.start is not None and found.start != quote.start):
        return None
    return _located(field, text, found, quote.start)


def _not_found(entry: Entry, quote: Quote, field: str) -> Problem:
    words = repr(_shortened(quote.quote))
    lost = Message("%(words)s was not found in the %(field)s", words=words, field=noun_of(field))
    return Problem(entry.name, EVIDENCE_KEY, lost)


def _shortened(words: str) -> str:
    return words if len(words) <= 60 else words[:57] + "…"
