"""Split answers into sentences by an author, for texts where the rule of `sentences` errs often.

The author copies the sentences in order and may leave out nothing but blanks. The batch gets the
sentences in the answer's own words. An answer with more than `MOST` sentences by rule is asked
about in parts, since the length of a list is limited. It is cut at the end of a line where
possible.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from annotation.preparation.base import (
    Numbers,
    Result,
    Step,
    prompted,
    with_provenance,
    yes_no,
)
from annotation.protocols.base import Protocol, first_words
from datasets.text import Gap, find_in_order, gaps, sentences
from tandem.files import rows
from tandem.protocols import material
from tandem.protocols.base import ItemSpec, PointList, Text, UnitSpec, Variable

NAME = "sentences-by-author"
FIELD = "report"
MOST = 50
LONGEST_SHOWN = 60


def parts(text: str, most: int = MOST) -> list[str]:
    """Cut the answer into parts of at most `most` sentences by rule, losing only blanks."""
    spans, found = sentences(text), list[str]()
    while spans:
        count = _sentences_in_part(text, spans, most)
        found.append(text[spans[0][0] : spans[count - 1][1]])
        spans = spans[count:]
    return found


def _sentences_in_part(text: str, spans: Sequence[tuple[int, int]], most: int) -> int:
    """Return the number of sentences in the next part, ending at the end of a line if possible."""
    if len(spans) <= most:
        return len(spans)
    between = ((n, text[spans[n - 1][1] : spans[n][0]]) for n in range(most, 0, -1))
    return next((n for n, blanks in between if "\n" in blanks or "\r" in blanks), most)


def parts_by_key(report: material.Report) -> dict[str, str]:
    """Return the parts of an answer by item key. The key of a single part is the answer's id."""
    found = parts(report.text)
    if len(found) < 2:
        return dict.fromkeys((report.id,), found[0]) if found else {}
    return {f"{report.id}#{number}": part for number, part in enumerate(found, start=1)}


def make_items(query: material.Query, variables: Sequence[Variable]) -> Iterator[ItemSpec]:
    for report in query.reports:
        for key, part in parts_by_key(report).items() if report.sentences is None else ():
            yield ItemSpec(
                key,
                (UnitSpec("report", key, first_words(part)),),
                (Text(FIELD, part, "Answer"),),
                report=report.id,
                system=report.system,
                setting=report.setting,
            )


def problems(result: Result) -> Iterator[str]:
    """Yield messages about sentences that are not in the answer, and words in no sentence."""
    text, words = result.texts[FIELD], _written_sentences(result)
    if words is None:
        return
    found = find_in_order(text, words)
    for number, (each, place) in enumerate(zip(words, found, strict=True), start=1):
        if place.start is None:
            alone = find_in_order(text, (each,))[0].start is not None
            why = "is not after the sentences before it" if alone else "is not"
            yield f"sentence {number} {why} in the answer: {_shorten(each)}"
    for gap in gaps(text, found):
        yield f"no sentence contains the words {_describe_position(gap)}: {_shorten(gap.words)}"


def apply(query: rows.Query, results: Sequence[Result], numbers: Numbers) -> rows.Query | None:
    """Return the query with the sentences of its answers. Sentences from the batch are kept.

    An answer gets no sentences if one of its parts was not accepted.
    """
    accepted = {result.item: result for result in results}
    return replace(query, reports=tuple(_split(report, accepted) for report in query.reports))


def _split(report: rows.Report, accepted: Mapping[str, Result]) -> rows.Report:
    asked = parts_by_key(report)
    if report.sentences is not None or not asked or asked.keys() - accepted.keys():
        return report
    found = tuple(s for key, part in asked.items() for s in _sentences(part, accepted[key]))
    source = _source([accepted[key] for key in asked])
    return replace(report, sentences=found, meta=with_provenance(report.meta, NAME, source))


def _sentences(text: str, result: Result) -> list[str]:
    """Return the sentences in the text's own words."""
    words = _written_sentences(result)
    if words is None:
        return [text]
    return [found.quote for found in find_in_order(text, words) if found.start is not None]


def _source(results: Sequence[Result]) -> Result:
    """Return the part that gives the answer its provenance: one that people changed, if any."""
    changed = (each for each in results if each.provenance.get("verdict") == "changed")
    return next(changed, results[0])


def _written_sentences(result: Result) -> list[str] | None:
    """Return the sentences as the author wrote them, or None if the answer is one sentence."""
    (answer,) = result.answers_of("report").values()
    points = answer["sentences"]
    return None if points is None else [point["text"] for point in points]


def _describe_position(gap: Gap) -> str:
    if gap.before is not None and gap.after is not None:
        return f"between sentences {gap.before} and {gap.after}"
    if gap.after is not None:
        return f"before sentence {gap.after}"
    return f"after sentence {gap.before}" if gap.before is not None else "of the answer"


def _shorten(words: str) -> str:
    return repr(words if len(words) <= LONGEST_SHOWN else words[: LONGEST_SHOWN - 1] + "…")


TASK = prompted(
    __file__,
    Protocol(
        name="prepare-sentences",
        version="1",
        title="Sentences of answers by an author",
        variables=(yes_no("several", "report", "Does it hold more than one sentence?"),),
        make_items=make_items,
        needs=("reports",),
        listed=PointList(
            "sentences",
            "report",
            "The sentences, word for word and in order",
            FIELD,
            quoted=False,
            verbatim=True,
            asked_if={"several": ("yes",)},
        ),
    ),
)
STEP = Step(
    NAME,
    TASK.title,
    "The sentences of each answer, word for word: where a rule errs too often.",
    apply,
    TASK.name,
    TASK,
    problems=problems,
)
