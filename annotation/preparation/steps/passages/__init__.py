"""Write passages that can be read on their own from documents (CRUX: about 200 words each).

A document longer than `LONGEST` words is first cut at the ends of sentences, and each piece is an
item. A passage's id contains its query and document, since two queries may share a document.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from annotation.preparation.base import (
    Numbers,
    Result,
    Step,
    own_words,
    prompted,
    with_provenance,
    yes_no,
)
from annotation.protocols.base import Protocol, first_words, passage_key
from datasets.text import number_of_words, sentences
from tandem.files import rows
from tandem.protocols import material
from tandem.protocols.base import ItemSpec, PointList, Text, UnitSpec, Variable

LONGEST = 1024


def pieces(text: str, longest: int = LONGEST) -> list[str]:
    """Cut the text into pieces of whole sentences with at most `longest` words each.

    A longer sentence is a piece of its own. Only blanks between sentences are lost.
    """
    found, begin, end, words = list[str](), 0, 0, 0
    for start, stop in sentences(text):
        own = number_of_words(text[start:stop])
        if words and words + own > longest:
            found.append(text[begin:end])
            begin, words = start, 0
        end, words = stop, words + own
    return [piece for piece in (*found, text[begin:end]) if piece.strip()]


def make_items(query: material.Query, variables: Sequence[Variable]) -> Iterator[ItemSpec]:
    for document in query.passages:
        key, parts = passage_key(query, document), pieces(document.text)
        for number, part in enumerate(parts, start=1):
            name = f"{key}#{number}" if len(parts) > 1 else key
            unit = UnitSpec("document", name, document.title or first_words(part))
            text = Text("passage", part, document.title or "Document")
            yield ItemSpec(name, (unit,), (text,), passage=document.id)


def apply(query: rows.Query, results: Sequence[Result], numbers: Numbers) -> rows.Query | None:
    """Return the query with passages instead of documents, or None if it has no passages."""
    documents = {document.id: document for document in query.passages}
    made: dict[str, list[rows.Passage]] = {}
    for result in results:
        document = documents[result.passage or ""]
        passages = made.setdefault(document.id, [])
        for answer in result.answers_of("document").values():
            for point in answer["passages"] or ():
                number = len(passages) + 1
                passages.append(_passage(query, document, number, point, result))
    of_each = {document: tuple(made.get(document, ())) for document in documents}
    every = tuple(passage for own in of_each.values() for passage in own)
    return _replace_documents(replace(query, passages=every), of_each) if every else None


def _replace_documents(
    query: rows.Query, of_each: Mapping[str, tuple[rows.Passage, ...]]
) -> rows.Query:
    """Return the query with its documents' passages wherever an id named the document.

    In rankings, contexts and citations, a document is replaced by its passages. A key point moves
    to the first passage that has its quotes, and is dropped if the document has no passages.
    """

    def ids(named: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if named is None:
            return None
        return tuple(
            new
            for old in named
            for new in ([p.id for p in of_each[old]] if old in of_each else [old])
        )

    points = []
    for point in query.key_points:
        if (own := of_each.get(point.passage)) is None:
            points.append(point)
        elif own:
            holds = (p for p in own if all(span in p.text for span in point.spans or ()))
            points.append(replace(point, passage=next(holds, own[0]).id))
    return replace(
        query,
        key_points=tuple(points),
        nuggets=tuple(replace(nugget, sources=ids(nugget.sources)) for nugget in query.nuggets),
        reports=tuple(
            replace(
                report,
                context=ids(report.context),
                citations=ids(report.citations),
                sentence_citations=None
                if report.sentence_citations is None
                else tuple(ids(cited) or () for cited in report.sentence_citations),
            )
            for report in query.reports
        ),
        references=tuple(
            replace(reference, citations=ids(reference.citations)) for reference in query.references
        ),
        rankings=tuple(
            replace(ranking, passages=ids(ranking.passages) or ()) for ranking in query.rankings
        ),
    )


def _passage(
    query: rows.Query, document: rows.Passage, number: int, point: dict[str, object], of: Result
) -> rows.Passage:
    words, quotes = str(point["text"]).strip(), point["evidence"]
    assert isinstance(quotes, list)
    meta = with_provenance(
        document.meta,
        "passages",
        of,
        document=document.id,
        document_quotes=list(own_words(document.text, quotes)),
    )
    return replace(
        document,
        id=f"{query.id}/{document.id}#{number}",
        text=words,
        sentences=None,
        relevant=None,
        meta=meta,
    )


TASK = prompted(
    __file__,
    Protocol(
        name="prepare-passages",
        version="1",
        title="Passages from documents",
        variables=(
            yes_no(
                "holds_passages",
                "document",
                "Does the document say anything that a passage can be made of?",
            ),
        ),
        make_items=make_items,
        needs=("passages",),
        listed=PointList(
            "passages",
            "document",
            "The passages",
            "passage",
            asked_if={"holds_passages": ("yes",)},
        ),
    ),
)
STEP = Step(
    "passages",
    TASK.title,
    "From documents: passages of about 200 words that can be read by themselves.",
    apply,
    TASK.name,
    TASK,
)
