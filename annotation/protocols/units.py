"""Texts and units that several protocols share: dated passages, reports, sentences.

No text that is shown names the system or setting behind a report, or its id, which often contains
such a name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from annotation.protocols import material
from annotation.protocols.base import Text, UnitSpec

OPENING = 80
OR = " / "
"""Between the codes of a `use` on which people tie."""
USES = {
    "answer-the-question": "Answers the question",
    "related-information": "Related information",
    "outdated": "Outdated",
    "unknown": "Age unknown",
}
"""The codes of `use` with what people read for each."""
TOO_LITTLE = ("the writer found", "too little for an answer")


def dated_passages(passages: Sequence[material.Passage], used: bool = False) -> Iterator[Text]:
    """Passages as fields `passage:ID`, with source, date and age where they are known.

    With `used`, what people called each useful for stands beside them.
    """
    for p in passages:
        use = OR.join(USES.get(code, code) for code in p.use.split(OR)) if used and p.use else None
        known = (("source", p.source), ("date", p.published_at), ("age", p.age), ("use", use))
        facts = tuple((name, value) for name, value in known if value)
        yield Text(f"passage:{p.id}", p.text, p.title or "Passage", facts)


def report_texts(reports: Sequence[material.Report]) -> Iterator[Text]:
    """Reports as fields `report:ID`, under one heading that tells none from another."""
    for report in reports:
        yield Text(f"report:{report.id}", report.text, "Answer")


def reference_texts(references: Sequence[material.Reference]) -> Iterator[Text]:
    """The writer's answers as fields `reference:N`, from 1; a deflection says that it is one."""
    for number, reference in enumerate(references, start=1):
        facts = (TOO_LITTLE,) if reference.deflected else ()
        yield Text(f"reference:{number}", reference.text, "Reference answer", facts)


def passage_units(query: material.Query) -> Iterator[UnitSpec]:
    for p in query.passages:
        yield UnitSpec("passage", passage_key(query, p), p.title or opening(p.text))


def source_units(query: material.Query) -> Iterator[UnitSpec]:
    """What can be selected of a query's passages: their sentences, keyed `query/passage#1`, from 1.

    A passage without sentences is one unit, keyed `query/passage`.
    """
    for unit, passage in zip(passage_units(query), query.passages, strict=True):
        for number, sentence in enumerate(passage.sentences or (), start=1):
            yield UnitSpec("passage-sentence", f"{unit.key}#{number}", sentence)
        if not passage.sentences:
            yield unit


def report_units(query: material.Query) -> Iterator[UnitSpec]:
    for report in query.reports:
        yield UnitSpec("report", report.id, opening(report.text))


def report_passage_units(query: material.Query) -> Iterator[UnitSpec]:
    """Each passage beside each report, keyed `report/passage`."""
    for report in query.reports:
        for p in query.passages:
            fields = f"report:{report.id}", f"passage:{p.id}"
            words = beside(p.title or opening(p.text), opening(report.text))
            yield UnitSpec("report-passage", f"{report.id}/{p.id}", words, fields)


def sentence_units(query: material.Query) -> Iterator[UnitSpec]:
    """The sentences of all reports of a query, keyed `report#1`, from 1."""
    for report in query.reports:
        for number, sentence in enumerate(report.sentences or (), start=1):
            yield UnitSpec("sentence", f"{report.id}#{number}", sentence)


def question_units(query: material.Query) -> tuple[UnitSpec, ...]:
    return tuple(UnitSpec("question", q.id, q.text) for q in query.questions)


def key_point_units(query: material.Query) -> tuple[UnitSpec, ...]:
    return tuple(UnitSpec("key-point", k.id, k.text) for k in query.key_points)


def passage_key(query: material.Query, passage: material.Passage) -> str:
    return f"{query.id}/{passage.id}"


def beside(passage: str, answer: str) -> str:
    """The words for a passage beside an answer, from those for each."""
    return f"{passage}, for the answer “{answer}”"


def opening(text: str) -> str:
    """The first words of a text, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= OPENING else line[: OPENING - 1].rstrip() + "…"
