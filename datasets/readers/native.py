"""Reader of the native batch format: one JSON line is one query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any, NoReturn

from datasets.text import find_exact
from tandem.files.fields import Fields, Tally, first_repeated, known_fields
from tandem.files.jsonl import excerpt
from tandem.files.rows import (
    IMPORTANCE,
    ROLES,
    USES,
    AnswerPoint,
    InputError,
    KeyPoint,
    Located,
    Nugget,
    Passage,
    Place,
    Query,
    Question,
    Ranking,
    ReadNotes,
    Reference,
    Report,
    Turn,
)
from tandem.files.tables import object_rows

SUMMARY = (
    "the native format: one query with all that belongs to it per line of JSON Lines, entry of a "
    "JSON array, or row of Parquet"
)

QUERY = (
    "id",
    "text",
    "history",
    "asked_at",
    "questions",
    "passages",
    "key_points",
    "nuggets",
    "reports",
    "rankings",
    "references",
    "meta",
)
TURN = ("role", "text")
QUESTION = ("id", "text", "weight", "meta")
PASSAGE = (
    "id",
    "text",
    "title",
    "source",
    "published_at",
    "age",
    "sentences",
    "relevant",
    "use",
    "meta",
)
KEY_POINT = ("id", "text", "passage", "spans", "score", "meta")
NUGGET = ("id", "text", "importance", "sources", "meta")
ANSWER_POINT = ("id", "text", "spans")
REPORT = (
    "id",
    "text",
    "system",
    "family",
    "setting",
    "context",
    "citations",
    "sentences",
    "sentence_citations",
    "deflected",
    "key_points",
    "meta",
)
RANKING = ("system", "passages")
REFERENCE = ("text", "citations", "sentences", "deflected", "meta")


def recognises(path: Path, first: Mapping[str, Any] | None) -> bool:
    """Return whether a file's first object looks like a query, perhaps with misspelt keys."""
    if first is None or not first.keys() & {"id", "text"}:
        return False
    return 2 * len(first.keys() & set(QUERY)) >= len(first)


def read(paths: Sequence[Path], notes: ReadNotes) -> Iterator[Located]:
    """Yield each line of the files as a query. Raises InputError at the first wrong line."""
    spans = _SpanCheck(notes)
    for path in paths:
        for number, record in object_rows(path):
            place = Place(str(path), number)
            query = query_of(known_fields(record, place, QUERY, "batch"))
            spans.check(query, place)
            yield Located(query, place)
    spans.finish()


def query_of(fields: Fields) -> Query:
    """Return a line as a query. Raises InputError for anything that the format does not allow."""
    query = Query(
        id=fields.id(),
        text=fields.filled("text"),
        history=tuple(_turn(f) for f in fields.objects("history", "turn", TURN)),
        asked_at=fields.date("asked_at"),
        questions=tuple(_question(f) for f in fields.objects("questions", "question", QUESTION)),
        passages=tuple(_passage(f) for f in fields.objects("passages", "passage", PASSAGE)),
        key_points=tuple(
            _key_point(f) for f in fields.objects("key_points", "key point", KEY_POINT)
        ),
        nuggets=tuple(_nugget(f) for f in fields.objects("nuggets", "nugget", NUGGET)),
        reports=tuple(_report(f) for f in fields.objects("reports", "report", REPORT)),
        rankings=tuple(_ranking(f) for f in fields.objects("rankings", "ranking", RANKING)),
        references=tuple(
            _reference(f) for f in fields.objects("references", "reference", REFERENCE)
        ),
        meta=fields.object("meta"),
    )
    _refuse_repeats(query, fields.place)
    return query


def _turn(fields: Fields) -> Turn:
    fields.string("role")
    return Turn(role=fields.one_of("role", ROLES) or "", text=fields.filled("text"))


def _question(fields: Fields) -> Question:
    return Question(
        id=fields.id(),
        text=fields.filled("text"),
        weight=fields.number("weight", 0, inf),
        meta=fields.object("meta"),
    )


def _passage(fields: Fields) -> Passage:
    text = fields.string("text")
    return Passage(
        id=fields.id(),
        text=text,
        title=fields.optional_string("title"),
        source=fields.optional_string("source"),
        published_at=fields.optional_string("published_at"),
        age=fields.optional_string("age"),
        sentences=_sentences(fields, text),
        relevant=fields.boolean("relevant"),
        use=fields.one_of("use", USES),
        meta=fields.object("meta"),
    )


def _key_point(fields: Fields) -> KeyPoint:
    return KeyPoint(
        id=fields.id(),
        text=fields.filled("text"),
        passage=fields.id("passage"),
        spans=fields.strings("spans"),
        score=fields.number("score", 0, 1),
        meta=fields.object("meta"),
    )


def _nugget(fields: Fields) -> Nugget:
    return Nugget(
        id=fields.id(),
        text=fields.filled("text"),
        importance=fields.one_of("importance", IMPORTANCE),
        sources=fields.ids("sources"),
        meta=fields.object("meta"),
    )


def _report(fields: Fields) -> Report:
    text = fields.string("text")
    sentences = _sentences(fields, text)
    return Report(
        id=fields.id(),
        text=text,
        system=fields.optional_id("system"),
        family=fields.optional_id("family"),
        setting=fields.optional_id("setting"),
        context=read_ranking_ids(fields, "context"),
        citations=fields.ids("citations"),
        sentences=sentences,
        sentence_citations=_sentence_citations(fields, sentences),
        deflected=fields.boolean("deflected"),
        key_points=_answer_points(fields, text),
        meta=fields.object("meta"),
    )


def _sentence_citations(
    fields: Fields, sentences: tuple[str, ...] | None
) -> tuple[tuple[str, ...], ...] | None:
    cited = fields.lists_of_ids("sentence_citations")
    if cited is None:
        return None
    name = f'"sentence_citations" of {fields.of}'
    if sentences is None or len(cited) != len(sentences):
        count = "no sentences" if sentences is None else f"{len(sentences)} sentences"
        wrong = f"{name} has {len(cited)} lists for {count}"
        raise InputError(
            fields.place,
            wrong,
            'give "sentences", too, and one list for each, empty if it has none',
        )
    for number, ids in enumerate(cited, 1):
        if twice := first_repeated(ids):
            wrong = f"entry {number} of {name} names the passage {excerpt(twice)} twice"
            raise InputError(fields.place, wrong, "keep the first")
    return cited


def _answer_points(fields: Fields, text: str) -> tuple[AnswerPoint, ...] | None:
    points = fields.objects("key_points", "key point", ANSWER_POINT)
    if fields.raw.get("key_points") is None:
        return None
    return tuple(_answer_point(each, text) for each in points)


def _answer_point(fields: Fields, text: str) -> AnswerPoint:
    spans = fields.strings("spans")
    for number, span in enumerate(spans or (), 1):
        if not span.strip() or span not in text:
            why = "is not in the report" if span.strip() else "is empty"
            raise InputError(
                fields.place,
                f"span {number} of {fields.of} {why}: {excerpt(span)}",
                "copy it from the report word for word, or leave it out",
            )
    return AnswerPoint(fields.id(), fields.filled("text"), spans)


def _ranking(fields: Fields) -> Ranking:
    return Ranking(fields.id("system"), read_ranking_ids(fields, "passages") or ())


def _reference(fields: Fields) -> Reference:
    return Reference(
        text=fields.string("text"),
        citations=fields.ids("citations"),
        sentences=fields.strings("sentences"),
        deflected=fields.boolean("deflected"),
        meta=fields.object("meta"),
    )


def read_ranking_ids(fields: Fields, key: str) -> tuple[str, ...] | None:
    """Return passage ids in rank order. Raises InputError for a repeated id."""
    ids = fields.ids(key)
    twice = first_repeated(ids or ())
    if twice is not None:
        raise InputError(
            fields.place,
            f'"{key}" of {fields.of or "the line"} names the passage {excerpt(twice)} twice',
            "keep its first rank only",
        )
    return ids


def _sentences(fields: Fields, text: str) -> tuple[str, ...] | None:
    sentences = fields.strings("sentences")
    stray = stray_sentence(text, sentences or ())
    if stray is None:
        return sentences
    number, why = stray
    raise InputError(
        fields.place,
        f"sentence {number} of {fields.of} {why}: {excerpt((sentences or ())[number - 1])}",
        "give the sentences verbatim and in reading order",
    )


def stray_sentence(text: str, sentences: Sequence[str]) -> tuple[int, str] | None:
    """Return the number, from 1, of the first misplaced sentence in `text` and why; else None."""
    end = 0
    for number, sentence in enumerate(sentences, 1):
        start = text.find(sentence, end)
        if not sentence.strip():
            return number, "is empty"
        if start < 0:
            return number, "is out of order" if sentence in text else "is not in its text"
        end = start + len(sentence)
    return None


def _refuse_repeats(query: Query, place: Place) -> None:
    own = [point for report in query.reports for point in report.key_points or ()]
    parts: dict[str, Sequence[Question | Passage | KeyPoint | Nugget | AnswerPoint | Report]] = {
        "question id": query.questions,
        "passage id": query.passages,
        "key point id": [*query.key_points, *own] if own else query.key_points,
        "nugget id": query.nuggets,
        "report id": query.reports,
    }
    for what, several in parts.items():
        if len(several) > 1:
            _refuse_repeated(what, [each.id for each in several], place)
    if len(query.rankings) > 1:
        _refuse_repeated("ranking of the system", [r.system for r in query.rankings], place)


def _refuse_repeated(what: str, values: Sequence[str], place: Place) -> None:
    twice = first_repeated(values)
    if twice is not None:
        _refuse_twice(what, twice, place)


def _refuse_twice(what: str, value: str, place: Place) -> NoReturn:
    raise InputError(place, f"the {what} {excerpt(value)} appears twice on this line", "keep one")


class _SpanCheck:
    """Warns of spans that are not in their passage, or several times in their passage or report.

    Key points whose passage is on another line are counted as unchecked.
    """

    def __init__(self, notes: ReadNotes) -> None:
        self.notes, self.unchecked = notes, 0
        self.wrong = Tally(notes, "more key points have spans that are not in their passage")
        self.repeated = Tally(notes, "more key points have spans that occur several times")

    def check(self, query: Query, place: Place) -> None:
        for report in query.reports:
            for own in report.key_points or ():
                self._count(own, report.text, f"report {excerpt(report.id)}", place)
        if not query.key_points:
            return
        texts = {passage.id: passage.text for passage in query.passages}
        for point in query.key_points:
            text = texts.get(point.passage)
            if text is None:
                self.unchecked += bool(point.spans)
            elif stray := next((s for s in point.spans or () if s not in text), None):
                wrong = f"key point {excerpt(point.id)} has a span that is not in its passage"
                self.wrong.add(f"{place}: {wrong}: {excerpt(stray)}")
            else:
                self._count(point, text, f"passage {excerpt(point.passage)}", place)

    def _count(self, point: KeyPoint | AnswerPoint, text: str, where: str, place: Place) -> None:
        for span in point.spans or ():
            found = find_exact(text, span)
            if found and found.equal > 1:
                several = f"occurs {found.equal} times in {where}; the first is shown"
                point_and_span = f"key point {excerpt(point.id)}: its span {excerpt(span)}"
                self.repeated.add(f"{place}: {point_and_span} {several}")
                return

    def finish(self) -> None:
        self.wrong.finish()
        self.repeated.finish()
        if self.unchecked:
            self.notes.warnings.append(
                f"the spans of {self.unchecked} key points were not checked: "
                "their passages are on other lines"
            )
