"""The answers of a run of TREC's RAG Track: one JSON object per topic, in three years' forms.

| year | facts | topic | cited |
| --- | --- | --- | --- |
| 2024 | `run_id` and others beside `answer` | `topic_id`, `topic` | positions in `references` |
| 2025, format 1 | under `metadata` | `narrative_id`, `narrative` | positions in `references` |
| 2025, format 2 | under `metadata` | the same | ids of segments |
| 2026 | under `metadata`, with `run_desc` | the same | positions; ids are accepted |

In all of them `answer` is a list of `{text, citations}`, one for each sentence, and positions count
from 0. The AutoJudge kit writes citations as an object of ids with confidences, too, which is read
in falling order. The forms are those of the track's guidelines of 2024 (version 1.0) and of 2025
(version 2.0), both on trec-rag.github.io, and for 2026 of `rag-task.md` in the repository
TREC-RAG/trec-rag-skills, which the specification `rag26` of trec-auto-judge/auto-judge-base
confirms. Not confirmed: guidelines of 2026 on the track's own site, which were not at hand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from datasets.readers.trec.slips import Slips
from tandem.files.fields import Fields, first_repeated, part_id
from tandem.files.jsonl import describe_type, excerpt
from tandem.files.rows import InputError, Place, Report
from tandem.files.spelling import is_blank

TOPIC_KEYS = ("narrative_id", "topic_id", "request_id")
_TEXT_KEYS = ("narrative", "topic")
_KNOWN = {"run_id", *TOPIC_KEYS, *_TEXT_KEYS, "metadata", "references", "answer"}

MOST_SENTENCES, MOST_CITED = 10_000, 1_000
"""More sentences of an answer, or citations of a sentence, are no answer, and are refused."""

OUTSIDE = "citations are positions outside `references`; they were left out"
UNLISTED = "citations are not among `references`; they were kept"
REPEATED = "citations repeat one of their sentence; they were left out"
TWICE = "`references` name a document twice; the first rank was kept"
BLANK = "sentences are blank; they were left out"


@dataclass(frozen=True, slots=True)
class Answer:
    """A run's answer to a topic. `text` is the topic's, where the answer repeats it."""

    topic: str
    text: str | None
    report: Report


def is_answer(record: Mapping[str, Any]) -> bool:
    facts = record.get("metadata")
    keys = {*record, *(facts if isinstance(facts, dict) else ())}
    return isinstance(record.get("answer"), list) and bool(keys & set(TOPIC_KEYS))


def is_report_of_another_track(record: Mapping[str, Any]) -> bool:
    return isinstance(record.get("responses"), list) and "metadata" in record


def read_answer(record: Mapping[str, Any], place: Place, slips: Slips) -> Answer:
    """Return an object as an answer. Raises InputError; what was left out is noted in `slips`."""
    fields = Fields(record, place)
    facts = {**record, **(fields.object("metadata") or {})}
    about = Fields(facts, place)
    run, topic = identifier(about, "run_id"), _topic(about)
    references = _references(fields, slips)
    sentences, cited = _sentences(fields, references, slips)
    report = Report(
        id=part_id(run, topic, place),
        text=joined(sentences),
        system=run,
        context=tuple(dict.fromkeys(references)) if "references" in record else None,
        citations=tuple(dict.fromkeys(each for ids in cited for each in ids)),
        sentences=sentences,
        sentence_citations=cited,
        meta={k: v for k, v in facts.items() if k not in _KNOWN and v is not None} or None,
    )
    text = next((found for key in _TEXT_KEYS if (found := about.optional_string(key))), None)
    return Answer(topic, text, report)


def identifier(fields: Fields, key: str) -> str:
    """Return an identifier, which may be a whole number in the file. Raises InputError."""
    value = fields.raw.get(key)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return fields.id(key)


def joined(sentences: Sequence[str]) -> str:
    """Return sentences as one text, with a blank between those that have none there."""
    text = ""
    parts: list[str] = []
    for sentence in sentences:
        apart = not text or text[-1].isspace() or sentence[:1].isspace()
        parts += [sentence] if apart else [" ", sentence]
        text = sentence
    return "".join(parts)


def _topic(about: Fields) -> str:
    given = [identifier(about, key) for key in TOPIC_KEYS if about.raw.get(key) is not None]
    if not given:
        raise InputError(about.place, "the answer names no topic", "add narrative_id")
    if len(set(given)) > 1:
        wrong = f"the answer names two topics, {excerpt(given[0])} and {excerpt(given[1])}"
        raise InputError(about.place, wrong, "keep one")
    return given[0]


def _references(fields: Fields, slips: Slips) -> tuple[str, ...]:
    """Return the references with their positions. `context` may not repeat one."""
    references = fields.ids("references") or ()
    if first_repeated(references) is not None:
        slips.add(TWICE, fields.place)
    return references


def _sentences(
    fields: Fields, references: tuple[str, ...], slips: Slips
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    listed, found = frozenset(references), []
    if (count := len(fields.raw["answer"])) > MOST_SENTENCES:
        wrong = f"the answer has {count:,} sentences"
        raise InputError(fields.place, wrong, f"give at most {MOST_SENTENCES:,}")
    for sentence in fields.objects("answer", "sentence"):
        text = sentence.string("text")
        if is_blank(text):
            slips.add(BLANK, fields.place)
        else:
            found.append((text, _cited(sentence, references, listed, slips)))
    return tuple(text for text, _ in found), tuple(ids for _, ids in found)


def _cited(
    sentence: Fields, references: Sequence[str], listed: frozenset[str], slips: Slips
) -> tuple[str, ...]:
    place, ids = sentence.place, []
    for each in _given(sentence):
        if isinstance(each, str):
            ids.append(each)
            if references and each not in listed:
                slips.add(UNLISTED, place)
        elif 0 <= each < len(references):
            ids.append(references[each])
        else:
            slips.add(OUTSIDE, place)
    checked = Fields({"citations": ids}, place, sentence.of).ids("citations") or ()
    distinct = tuple(dict.fromkeys(checked))
    slips.add(REPEATED, place, len(checked) - len(distinct))
    return distinct


def _given(sentence: Fields) -> Sequence[str | int]:
    """Return the citations in their order: ids, or positions in the references."""
    given = sentence.raw.get("citations")
    if isinstance(given, dict | list) and len(given) > MOST_CITED:
        wrong = f"{sentence.of} has {len(given):,} citations"
        raise InputError(sentence.place, wrong, f"give at most {MOST_CITED:,}")
    if isinstance(given, dict):
        scores = Fields(given, sentence.place, f'"citations" of {sentence.of}')
        weights = {key: scores.number(key, 0, float("inf")) or 0.0 for key in given}
        return sorted(weights, key=lambda key: -weights[key])
    found = [] if given is None else given
    if not isinstance(found, list):
        wrong = f'"citations" of {sentence.of} is {describe_type(found)}, not a list'
        raise InputError(sentence.place, wrong, "write a list of positions or ids")
    for number, each in enumerate(found, 1):
        if isinstance(each, bool) or not isinstance(each, int | str):
            wrong = f'entry {number} of "citations" of {sentence.of} is {describe_type(each)}'
            remedy = "write a position in `references`, from 0, or an id"
            raise InputError(sentence.place, wrong, remedy)
    return found
