"""Texts and units that several protocols share: dated passages, reports, sentences.

No text names the system or setting behind a report. The report's id is not shown either, since it
often contains such a name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tandem.protocols import material
from tandem.protocols.base import Text, UnitSpec
from tandem.protocols.shipped import FILES

USE = FILES["grounding-relevance"].variable("use")
OPENING = 80
OR = " / "
"""Separates the codes of a `use` on which people tie."""
TOO_LITTLE = ("the writer found", "too little for an answer")


def dated_passages(passages: Sequence[material.Passage], used: bool = False) -> Iterator[Text]:
    """Yield passages as fields `passage:ID`, with source, date and age where they are known.

    With `used`, the use that people assigned to each passage is one of its facts.
    """
    for p in passages:
        use = OR.join(map(_use, p.use.split(OR))) if used and p.use else None
        known = (("source", p.source), ("date", p.published_at), ("age", p.age), ("use", use))
        facts = tuple((name, value) for name, value in known if value)
        yield Text(f"passage:{p.id}", p.text, p.title or "Passage", facts)


def _use(code: str) -> str:
    return USE.word(code) if code in USE.codes else code


def report_texts(reports: Sequence[material.Report]) -> Iterator[Text]:
    """Yield reports as fields `report:ID`, all under the same heading."""
    for report in reports:
        yield Text(f"report:{report.id}", report.text, "Answer")


def reference_texts(references: Sequence[material.Reference]) -> Iterator[Text]:
    """Yield the reference answers as fields `reference:N`, from 1. Deflections are marked."""
    for number, reference in enumerate(references, start=1):
        facts = (TOO_LITTLE,) if reference.deflected else ()
        yield Text(f"reference:{number}", reference.text, "Reference answer", facts)


def passage_units(query: material.Query) -> Iterator[UnitSpec]:
    for p in query.passages:
        yield UnitSpec("passage", passage_key(query, p), p.title or first_words(p.text))


def source_units(query: material.Query) -> Iterator[UnitSpec]:
    """Yield the units of a query that a rater may select as sources.

    They are the sentences of its passages, keyed `query/passage#1`, from 1. A passage without
    sentences is one unit, keyed `query/passage`.
    """
    for unit, passage in zip(passage_units(query), query.passages, strict=True):
        for number, sentence in enumerate(passage.sentences or (), start=1):
            yield UnitSpec("passage-sentence", f"{unit.key}#{number}", sentence)
        if not passage.sentences:
            yield unit


def report_units(query: material.Query) -> Iterator[UnitSpec]:
    for report in query.reports:
        yield UnitSpec("report", report.id, first_words(report.text))


def report_passage_units(query: material.Query) -> Iterator[UnitSpec]:
    """Yield each pair of a report and a passage, keyed `report/passage`."""
    for report in query.reports:
        for p in query.passages:
            yield report_passage_unit(report, p, (f"report:{report.id}", f"passage:{p.id}"))


def report_passage_unit(
    report: material.Report, passage: material.Passage, of: tuple[str, str]
) -> UnitSpec:
    """Return the unit that joins a report and a passage, whose texts have these fields."""
    title = passage.title or first_words(passage.text)
    words = passage_with_answer(title, first_words(report.text))
    return UnitSpec("report-passage", f"{report.id}/{passage.id}", words, of)


def sentence_units(query: material.Query) -> Iterator[UnitSpec]:
    """Yield the sentences of all reports of a query, keyed `report#1`, from 1."""
    for report in query.reports:
        for number, sentence in enumerate(report.sentences or (), start=1):
            yield UnitSpec("sentence", f"{report.id}#{number}", sentence)


def question_units(query: material.Query) -> tuple[UnitSpec, ...]:
    return tuple(UnitSpec("question", q.id, q.text) for q in query.questions)


def key_point_units(query: material.Query) -> tuple[UnitSpec, ...]:
    return tuple(UnitSpec("key-point", k.id, k.text) for k in query.key_points)


def passage_key(query: material.Query, passage: material.Passage) -> str:
    return f"{query.id}/{passage.id}"


def passage_with_answer(passage: str, answer: str) -> str:
    """Return the text of a unit that joins a passage and an answer."""
    return f"{passage}, for the answer “{answer}”"


def first_words(text: str) -> str:
    """Return the first words of a text, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= OPENING else line[: OPENING - 1].rstrip() + "…"
