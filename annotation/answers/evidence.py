"""Locate an answer's quotes in the texts that were shown, and find misplaced evidence.

Evidence is misplaced if its quote is in a text of the query other than the one being judged. A
rater who quotes the report in the rationale for a passage may have rated the report, as most
rationales of one annotator in the CRUX study suggest. Only quotes that were not found word for word
are checked, so this costs one query for a campaign answered on the page, where quotes are exact.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from django.db.models import Count, Exists, OuterRef, QuerySet

from annotation.models import Campaign, Item, Label, Rater, Span
from annotation.presentation import present, texts_by_field
from annotation.registry import get_protocol
from datasets.material import as_row
from datasets.text import QuoteLocation, find_exact, find_quote
from tandem.messages import Message
from tandem.protocols.base import Evidence, ItemSpec, UnitSpec
from tandem.protocols.points import Quote, noun_of, read_quote
from tandem.protocols.schema import EVIDENCE_KEY, Schema
from tandem.protocols.validation import Channel, Entry, Problem, RefusedError

METHODS = ("exact", "folded", "joined", "fuzzy", "none")
"""The ways in which a quote was found, from the most to the least certain."""
UNCERTAIN = ("none", "joined", "fuzzy")
HERE, NOWHERE = "here", "nowhere"
_ARTICLES = {
    "report": "a report of the same query",
    "passage": "another passage of the same query",
    "reference": "a reference of the same query",
}
_RATER_KEY = ("response__assignment__rater__name", "response__assignment__rater__kind", "variable")

RaterKey = tuple[str, str, str]
"""The name and kind of a rater, and a variable."""
Texts = Sequence[tuple[str, str]]
"""Kind and text of each of the other texts, in the order in which they are searched."""


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


def locate_quote(quote: str, judged: str, others: Texts) -> str:
    """Return which text contains a quote, word for word except for blanks.

    The result is `here` for the judged text, else the kind of the first other text that contains
    the quote, else `nowhere`.
    """
    words = _collapse_blanks(quote)
    if not words or words in _collapse_blanks(judged):
        return HERE
    return next((kind for kind, text in others if words in _collapse_blanks(text)), NOWHERE)


def locate_rationale(quotes: Iterable[str], judged: str, others: Texts) -> str:
    """Like `locate_quote`, for a rationale with several quotes.

    The result is `here` if one of the quotes is in the judged text, else that of the first quote
    found in another text.
    """
    found = [locate_quote(quote, judged, others) for quote in quotes]
    if not found or HERE in found:
        return HERE
    return next((kind for kind in found if kind != NOWHERE), NOWHERE)


@lru_cache(maxsize=512)
def _collapse_blanks(text: str) -> str:
    return " ".join(text.split())


@dataclass(frozen=True)
class MisplacedEvidence:
    """The number of a rater's rationales that quote only other texts, by the kind of text."""

    rater: str
    rater_kind: str
    variable: str
    rationales: int
    elsewhere: Counter[str] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        return sum(self.elsewhere.values())

    @property
    def texts_in_words(self) -> str:
        """The kinds of quoted texts with their numbers, as a phrase."""
        return " and ".join(f"{n} in {_ARTICLES[kind]}" for kind, n in self.elsewhere.items())

    def __str__(self) -> str:
        verb = "quotes" if self.total == 1 else "quote"
        return (
            f"rater {self.rater!r}: of {self.rationales} rationales for {self.variable}, "
            f"{self.total} {verb} another text than the one being judged, word for word "
            f"({self.texts_in_words}); check whether the right text was judged"
        )


def find_misplaced_evidence(
    campaign: Campaign, raters: Collection[str] | None = None
) -> list[MisplacedEvidence]:
    """Return the misplaced evidence of all raters, or of those named, by rater and variable."""
    labels = _with_evidence(campaign, raters)
    found: dict[RaterKey, Counter[str]] = {}
    for _, key, kind in _locate_rationales(_uncertain(labels)):
        if kind not in (HERE, NOWHERE):
            found.setdefault(key, Counter())[kind] += 1
    totals = _totals(labels) if found else {}
    return [MisplacedEvidence(*key, totals[key], found[key]) for key in sorted(found)]


def misplaced_label_ids(campaign: Campaign, rater: str) -> list[int]:
    """Return the ids of a rater's labels whose rationales quote only other texts."""
    labels = _uncertain(_with_evidence(campaign, [rater]))
    return [pk for pk, _, kind in _locate_rationales(labels) if kind not in (HERE, NOWHERE)]


def _with_evidence(campaign: Campaign, raters: Collection[str] | None) -> QuerySet[Label]:
    labels = Label.objects.filter(
        Exists(Span.objects.filter(label=OuterRef("pk"))),
        response__current=True,
        response__assignment__item__campaign=campaign,
    ).exclude(response__assignment__rater__kind=Rater.Kind.TRIAL)
    return labels if raters is None else labels.filter(response__assignment__rater__name__in=raters)


def _uncertain(labels: QuerySet[Label]) -> QuerySet[Label]:
    return labels.filter(Exists(Span.objects.filter(label=OuterRef("pk"), method__in=UNCERTAIN)))


def _totals(labels: QuerySet[Label]) -> dict[RaterKey, int]:
    counted = labels.order_by().values_list(*_RATER_KEY).annotate(n=Count("pk"))
    return {(name, kind, variable): n for name, kind, variable, n in counted}


def _locate_rationales(labels: QuerySet[Label]) -> Iterator[tuple[int, RaterKey, str]]:
    """Yield each label's id, its rater and variable, and the text that its rationale quotes."""
    related = ("unit", "response__assignment__rater", "response__assignment__item__query")
    item: int | None = None
    judged: dict[str, str] = {}
    others: Texts = ()
    ordered = labels.select_related(*related, "response__assignment__item__campaign")
    for label in ordered.prefetch_related("spans").order_by(
        "response__assignment__item__position", "pk"
    ):
        assignment = label.response.assignment
        if assignment.item_id != item:
            item = assignment.item_id
            judged, others = (
                dict(texts_by_field(present(assignment.item))),
                _texts_of(assignment.item),
            )
        field, quotes = _quotes_as_sent(label)
        if texts := _judged_texts(label, field, judged):
            key = (assignment.rater.name, assignment.rater.kind, label.variable)
            yield label.pk, key, locate_rationale(quotes, "\n".join(texts), others)


def _judged_texts(label: Label, field: str, texts: Mapping[str, str]) -> list[str]:
    """Return the judged texts among those shown: one, or all that the rule allows to quote."""
    if field in texts:
        return [texts[field]]
    rule = get_protocol(label.response.assignment.item.campaign).evidence
    return [text for name, text in texts.items() if rule and rule.covers(name)]


def _quotes_as_sent(label: Label) -> tuple[str, list[str]]:
    """Return the field that a label quotes, and the quotes as they were sent.

    A span that was found has the text's own words as its quote instead.
    """
    spans = list(label.spans.all())
    rule = get_protocol(label.response.assignment.item.campaign).evidence
    answer = label.response.payload["units"].get(label.unit.name, {})
    sent = answer.get(EVIDENCE_KEY) if rule and rule.variable == label.variable else None
    return spans[0].field, [each["quote"] for each in sent or ()] or [s.quote for s in spans]


def _texts_of(item: Item) -> Texts:
    """Return every text of an item's query, including the judged one, which does no harm."""
    query = as_row(item.query, ("reports", "passages"))
    return [
        *(("report", report.text) for report in query.reports),
        *(("passage", passage.text) for passage in query.passages),
        *(("reference", reference.text) for reference in query.references),
    ]
