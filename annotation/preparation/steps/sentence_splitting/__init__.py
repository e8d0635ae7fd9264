"""The sentences of answers, by an author: where the rule of `sentences` errs too often.

The author copies the sentences in order. They may leave out nothing of the answer but blanks, and
the answer's own words become part of the batch. An answer with more than `MOST` sentences by rule
is asked about in parts, since one list holds only so much; it is cut at the end of a line, if
there is one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from annotation.preparation.base import Numbers, Result, Step, instructions, with_provenance
from annotation.protocols import material
from annotation.protocols.base import (
    YES_NO,
    ItemSpec,
    Listed,
    Protocol,
    Text,
    UnitSpec,
    Variable,
)
from annotation.protocols.units import opening
from datasets import rows
from datasets.text import Gap, find_in_order, gaps, sentences

HERE = Path(__file__).parent
NAME = "sentences-by-author"
FIELD = "report"
MOST = 50
LONGEST_SHOWN = 60


def parts(text: str, most: int = MOST) -> list[str]:
    """The answer in parts of at most so many sentences by rule; nothing but blanks between them
    is lost.
    """
    spans, found = sentences(text), list[str]()
    while spans:
        count = _fitting(text, spans, most)
        found.append(text[spans[0][0] : spans[count - 1][1]])
        spans = spans[count:]
    return found


def _fitting(text: str, spans: Sequence[tuple[int, int]], most: int) -> int:
    """How many sentences the next part takes: as many as fit, up to the end of a line if it can."""
    if len(spans) <= most:
        return len(spans)
    between = ((n, text[spans[n - 1][1] : spans[n][0]]) for n in range(most, 0, -1))
    return next((n for n, blanks in between if "\n" in blanks or "\r" in blanks), most)


def keyed_parts(report: material.Report) -> dict[str, str]:
    """The parts of an answer by the keys of their items; one that is whole has the answer's id."""
    found = parts(report.text)
    if len(found) < 2:
        return dict.fromkeys((report.id,), found[0]) if found else {}
    return {f"{report.id}#{number}": part for number, part in enumerate(found, start=1)}


def make_items(query: material.Query, variables: Sequence[Variable]) -> Iterator[ItemSpec]:
    for report in query.reports:
        for key, part in keyed_parts(report).items() if report.sentences is None else ():
            yield ItemSpec(
                key,
                (UnitSpec("report", key, opening(part)),),
                (Text(FIELD, part, "Answer"),),
                report=report.id,
                system=report.system,
                setting=report.setting,
            )


def doubts(result: Result) -> Iterator[str]:
    """Sentences that do not stand in the answer, in order, and words that stand in none of them."""
    text, words = result.texts[FIELD], _written(result)
    if words is None:
        return
    found = find_in_order(text, words)
    for number, (each, place) in enumerate(zip(words, found, strict=True), start=1):
        if place.start is None:
            alone = find_in_order(text, (each,))[0].start is not None
            why = "stands only before the end of one before it" if alone else "does not stand"
            yield f"sentence {number} {why} in the answer: {_shown(each)}"
    for gap in gaps(text, found):
        yield f"no sentence holds what stands {_where(gap)}: {_shown(gap.words)}"


def apply(query: rows.Query, results: Sequence[Result], numbers: Numbers) -> rows.Query | None:
    """The query with the sentences of its answers; those that brought their own keep them.

    An answer of which a part was not accepted is left without sentences.
    """
    accepted = {result.item: result for result in results}
    return replace(query, reports=tuple(_split(report, accepted) for report in query.reports))


def _split(report: rows.Report, accepted: Mapping[str, Result]) -> rows.Report:
    asked = keyed_parts(report)
    if report.sentences is not None or not asked or asked.keys() - accepted.keys():
        return report
    found = tuple(s for key, part in asked.items() for s in _sentences(part, accepted[key]))
    source = _source([accepted[key] for key in asked])
    return replace(report, sentences=found, meta=with_provenance(report.meta, NAME, source))


def _sentences(text: str, result: Result) -> list[str]:
    """The sentences in the text's own words."""
    words = _written(result)
    if words is None:
        return [text]
    return [found.quote for found in find_in_order(text, words) if found.start is not None]


def _source(results: Sequence[Result]) -> Result:
    """The part to tell where an answer's sentences are from: one that people changed, if any."""
    changed = (each for each in results if each.provenance.get("verdict") == "changed")
    return next(changed, results[0])


def _written(result: Result) -> list[str] | None:
    """The sentences as they were written; None where the answer is one sentence."""
    (answer,) = result.of("report").values()
    points = answer["sentences"]
    return None if points is None else [point["text"] for point in points]


def _where(gap: Gap) -> str:
    if gap.before is not None and gap.after is not None:
        return f"between sentences {gap.before} and {gap.after}"
    if gap.after is not None:
        return f"before sentence {gap.after}"
    return f"behind sentence {gap.before}" if gap.before is not None else "in the answer"


def _shown(words: str) -> str:
    return repr(words if len(words) <= LONGEST_SHOWN else words[: LONGEST_SHOWN - 1] + "…")


TASK = Protocol(
    name="prepare-sentences",
    version="1",
    title="Sentences of answers by an author",
    variables=(
        Variable(
            "several",
            "report",
            "Does it hold more than one sentence?",
            YES_NO,
            words={"yes": "Yes", "no": "No"},
        ),
    ),
    make_items=make_items,
    needs=("reports",),
    listed=Listed(
        "sentences",
        "report",
        "The sentences, word for word and in order",
        FIELD,
        quoted=False,
        verbatim=True,
        asked_if={"several": ("yes",)},
    ),
    folder=HERE,
    own_guideline=instructions(HERE),
)
STEP = Step(
    NAME,
    TASK.title,
    "The sentences of each answer, word for word: where a rule errs too often.",
    apply,
    TASK.name,
    TASK,
    doubts=doubts,
)
