"""CRUX's labelling files: reports with their questions (JSON Lines), TREC runs and passages.

One topic is one query. A report's retrieval setting stands in front of its topic in `qid` and
nowhere else; what was judged is `response`, while `report` is what people wrote.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from datasets.readers.crux_files import Files, Record, sort_files, take_from_folder
from datasets.readers.fields import Fields
from datasets.readers.jsonl import records, shown
from datasets.readers.trec import rankings
from datasets.rows import (
    InputError,
    Located,
    Passage,
    Place,
    Query,
    Question,
    Ranking,
    ReadNotes,
    Reference,
    Report,
)

SUMMARY = "CRUX's labelling files: a folder, or queries, TREC runs and passages by name"

RUN = ".run"
NO_PREFIX = "oracle"
SETTINGS = ("bm25", "dr_rankfirst")
TAG_PREFIX = "human_eval_"


def recognises(path: Path, first: Mapping[str, Any] | None) -> bool:
    if first is not None:
        return {"qid", "response"} <= first.keys()
    if path.is_dir():
        return any(path.glob(f"*{RUN}")) or any(path.glob(f"*/*{RUN}"))
    return path.suffix == RUN


def read(paths: Sequence[Path], notes: ReadNotes) -> Iterator[Located]:
    """The topics in the order in which they first stand, each with its reports and passages.

    Files that are named must agree: a report id that stands twice raises InputError. In a folder, a
    file that gives other texts to report ids of another file is left out whole, with a warning.
    """
    in_folder = any(path.is_dir() for path in paths)
    files = sort_files(paths, notes)
    taken = take_from_folder(files, notes) if in_folder else files.only_once()
    ranked = rankings(files.runs)
    topics = _topics(taken, set(ranked))
    passages = _passages(files, {topic for topic, _ in topics.values()}, notes)
    drafts: dict[str, _Draft] = {}
    for record in taken:
        topic, setting = topics[record.id]
        drafts.setdefault(topic, _Draft(topic, record)).add(record, setting)
    for topic in ranked.keys() - drafts.keys():
        notes.skip("rankings of topics that are not in the batch", len(ranked[topic]))
    for topic, draft in drafts.items():
        yield draft.located(passages.get(topic, ()), ranked.get(topic, {}))
    _compare(drafts, ranked, notes)


class _Draft:
    """A query while its reports come in; `first` is the record that the others must agree with."""

    def __init__(self, topic: str, first: Record) -> None:
        self.topic, self.first = topic, first
        self.reports: list[Report] = []
        self.references: dict[str, None] = {}

    def add(self, record: Record, setting: str) -> None:
        self._check("topic", record, record.topic == self.first.topic)
        self._check("questions", record, record.questions == self.first.questions)
        if record.reference and record.reference.strip():
            self.references[record.reference] = None
        self.reports.append(
            Report(
                id=record.id,
                text=record.response,
                system=setting,
                setting=setting,
                context=record.documents,
                meta=record.meta,
            )
        )

    def _check(self, key: str, record: Record, agrees: bool) -> None:
        if not agrees:
            raise InputError(
                record.place,
                f'"{key}" differs from that of the same topic at {self.first.place}',
                "give the reports of one topic the same query and questions",
            )

    def located(self, passages: Sequence[Passage], ranked: Mapping[str, Sequence[str]]) -> Located:
        query = Query(
            id=self.topic,
            text=self.first.topic,
            questions=tuple(
                Question(f"{self.topic}:q{number}", text)
                for number, text in enumerate(self.first.questions)
                if text is not None
            ),
            passages=tuple(passages),
            reports=tuple(self.reports),
            rankings=tuple(Ranking(_system(tag), tuple(ids)) for tag, ids in ranked.items()),
            references=tuple(Reference(text) for text in self.references),
        )
        return Located(query, self.first.place)


def _system(tag: str) -> str:
    return tag.removeprefix(TAG_PREFIX) or tag


def _topics(taken: Sequence[Record], in_runs: set[str]) -> dict[str, tuple[str, str]]:
    """Report id -> (topic, setting).

    Topics and settings may both hold underscores, so a prefix is what stands before another known
    topic; CRUX's own settings are known where their topics' plain ids are not at hand.
    """
    known = in_runs | {record.id for record in taken}
    return {record.id: _topic(record.id, known, in_runs) for record in taken}


def _topic(qid: str, known: set[str], in_runs: set[str]) -> tuple[str, str]:
    if qid in in_runs:
        return qid, NO_PREFIX
    cuts = [n for n, character in enumerate(qid) if character == "_" and n]
    for cut in cuts:
        if qid[cut + 1 :] in known:
            return qid[cut + 1 :], qid[:cut]
    for setting in SETTINGS:
        rest = qid.removeprefix(f"{setting}_")
        if rest and rest != qid:
            return rest, setting
    return qid, NO_PREFIX


def _passages(files: Files, topics: set[str], notes: ReadNotes) -> dict[str, list[Passage]]:
    """Topic -> its passages, in file order; those of other topics are counted."""
    found: dict[str, list[Passage]] = {}
    seen: dict[str, tuple[Place, str]] = {}
    for path in files.passages:
        for number, raw in records(path):
            passage = _passage(Fields(raw, Place(str(path), number)))
            topic = passage.id.partition(":")[0]
            if topic not in topics:
                notes.skip("passages of topics that are not in the batch")
                continue
            place = Place(str(path), number)
            before, text = seen.setdefault(passage.id, (place, passage.text))
            if text != passage.text:
                raise InputError(
                    place,
                    f"the passage {shown(passage.id)} has another text than at {before}",
                    "keep one of the two",
                )
            if before is place:
                found.setdefault(topic, []).append(passage)
            else:
                notes.skip("passages that stand twice")
    return found


def _passage(fields: Fields) -> Passage:
    key = "contents" if "contents" in fields.raw else "text"
    return Passage(id=fields.id(), text=fields.string(key), title=fields.optional_string("title"))


def _compare(
    drafts: Mapping[str, _Draft],
    ranked: Mapping[str, Mapping[str, Sequence[str]]],
    notes: ReadNotes,
) -> None:
    """Warns of runs that are not what the reports of the same setting were written from."""
    differing: dict[str, int] = {}
    for topic, draft in drafts.items():
        runs = {_system(tag): set(ids) for tag, ids in ranked.get(topic, {}).items()}
        for report in draft.reports:
            system = report.system or ""
            if report.context and system in runs and runs[system] != set(report.context):
                differing[system] = differing.get(system, 0) + 1
    for system, count in differing.items():
        notes.warnings.append(
            f"the run of {shown(system)} names other passages than the context of "
            f"{count} of its reports"
        )
