"""Reader of CRUX's labelling files: reports with their questions, TREC runs, and passages.

One topic is one query. A report's retrieval setting is given only by the prefix of its topic in
`qid`. `response` is the text that was judged, and `report` is what people wrote. A report id that
occurs twice in files that are named one by one is an error. In a folder the file with most reports
comes first, and a file with other texts under the same ids is skipped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from datasets.readers.native import read_ranking_ids
from tandem.files.fields import Fields
from tandem.files.file_kinds import TREC_RUN
from tandem.files.jsonl import excerpt, lines
from tandem.files.rows import (
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
from tandem.files.tables import object_rows

ANNOTATIONS = "annotations"

_KEYS = ("qid", "topic", "questions", "docids", "report", "response")


@dataclass(frozen=True, slots=True)
class Record:
    """A line of a labelling file. `questions` keep nulls, since their positions number them."""

    id: str
    topic: str
    questions: tuple[str | None, ...]
    documents: tuple[str, ...] | None
    reference: str | None
    response: str
    meta: Mapping[str, Any] | None
    place: Place


@dataclass
class Files:
    """The files by their content; each entry of `reports` holds the records of one file."""

    runs: list[Path] = field(default_factory=list)
    passages: list[Path] = field(default_factory=list)
    reports: list[list[Record]] = field(default_factory=list)

    def unique_records(self) -> list[Record]:
        """Return all records. Raises InputError for a report id that occurs twice."""
        return list(_by_id(record for each in self.reports for record in each).values())


def sort_files(paths: Sequence[Path], notes: ReadNotes) -> Files:
    """Sort files by their first lines. A folder stands for its files and those one level below.

    Raises InputError for a named file of an unknown kind. In a folder such a file is skipped with a
    warning, and annotations without one, since they are not part of a batch.
    """
    files = Files()
    for path in paths:
        for each in _within(path) if path.is_dir() else [path]:
            if not _sort(files, each):
                wrong, remedy = "contains neither CRUX reports nor passages", "leave it out"
                if not path.is_dir():
                    raise InputError(Place(str(each), 1), wrong, remedy)
                notes.warnings.append(f"{each}: {wrong}; it was left out")
    if not files.reports:
        if not files.passages and not any(path.is_dir() for path in paths):
            remedy = f"name CRUX's labelling file, too, such as oracle.jsonl, or {TREC_RUN.remedy}"
            raise InputError(Place(str(paths[0])), f"the file is {TREC_RUN.name}", remedy)
        raise InputError(
            Place(str(paths[0])),
            "none of the files contains CRUX reports",
            "name the labelling file, too, such as oracle.jsonl",
        )
    return files


def folder_records(files: Files, notes: ReadNotes) -> list[Record]:
    """Return the records of a folder, in which some files may repeat the ids of others.

    The file with most reports comes first: it holds all settings, and the others repeat them
    without prefix. A file that has another text under a known id is skipped.
    """
    by_id: dict[str, Record] = {}
    for each in sorted(files.reports, key=lambda each: (-len(each), each[0].place.file)):
        own = _by_id(each)
        clash = next((r for r in each if by_id.get(r.id, r).response != r.response), None)
        if clash is not None:
            notes.skip("reports of files that repeat other reports' ids", len(each))
            notes.warnings.append(
                f"{clash.place}: the report id {excerpt(clash.id)} has another text at "
                f"{by_id[clash.id].place}; all {len(each)} reports of the file were left out"
            )
            continue
        repeats = len(own.keys() & by_id.keys())
        if repeats:
            notes.skip("repeated reports", repeats)
        by_id = own | by_id
    return list(by_id.values())


def _within(folder: Path) -> list[Path]:
    found = [*folder.glob("*"), *folder.glob("*/*")]
    files = [p for p in found if p.suffix in (".jsonl", ".run") and p.is_file()]
    return sorted(p for p in files if p.relative_to(folder).parts[0] != ANNOTATIONS)


def _sort(files: Files, path: Path) -> bool:
    if path.suffix == ".run":
        files.runs.append(path)
        return True
    _, first = next(object_rows(path))
    if "qid" in first:
        files.reports.append(list(_reports(path)))
    elif "id" in first and first.keys() & {"text", "contents"}:
        files.passages.append(path)
    else:
        return False
    return True


def _reports(path: Path) -> Iterator[Record]:
    for number, raw in object_rows(path):
        fields = Fields(raw, Place(str(path), number))
        yield Record(
            id=fields.id("qid"),
            topic=fields.filled("topic"),
            questions=fields.strings_or_nulls("questions"),
            documents=read_ranking_ids(fields, "docids"),
            reference=fields.optional_string("report"),
            response=fields.string("response"),
            meta={k: v for k, v in raw.items() if k not in _KEYS} or None,
            place=fields.place,
        )


def _by_id(records: Iterable[Record]) -> dict[str, Record]:
    by_id: dict[str, Record] = {}
    for record in records:
        before = by_id.setdefault(record.id, record)
        if before is not record:
            raise InputError(
                record.place,
                f"the report id {excerpt(record.id)} is already used at {before.place}",
                "name only the files whose reports were judged",
            )
    return by_id


@dataclass(frozen=True, slots=True)
class RunLine:
    """One retrieved document. Ranks and scores are ignored, since CRUX's are meaningless."""

    topic: str
    document: str
    tag: str
    place: Place


def run_lines(path: Path) -> Iterator[RunLine]:
    """Yield the lines of a run file. Raises InputError for a line without six columns."""
    for number, line in lines(path):
        columns, place = line.split(), Place(str(path), number)
        if len(columns) != 6:
            raise InputError(
                place,
                f"{len(columns)} columns where a TREC run has 6",
                "write topic Q0 document rank score tag, with blanks between",
            )
        yield RunLine(columns[0], columns[2], columns[5], place)


def rankings(paths: Iterable[Path]) -> dict[str, dict[str, list[str]]]:
    """Return documents by topic and tag, ranked by the order of the lines.

    Raises InputError for a document that one run ranks twice for a topic.
    """
    ranked: dict[str, dict[str, list[str]]] = {}
    seen: dict[tuple[str, str, str], Place] = {}
    for path in paths:
        for line in run_lines(path):
            before = seen.setdefault((line.topic, line.tag, line.document), line.place)
            if before is not line.place:
                raise InputError(
                    line.place,
                    f"the document {line.document} is already ranked at {before} for this topic",
                    "keep its first rank only",
                )
            ranked.setdefault(line.topic, {}).setdefault(line.tag, []).append(line.document)
    return ranked


SUMMARY = "CRUX’s labelling files: a folder, or queries, TREC runs and passages by name"

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
    """Yield the topics in the order of their first report, each with its reports and passages.

    Raises InputError for a report id that occurs twice in named files. In a folder, a file with
    other texts under the report ids of another file is skipped with a warning.
    """
    in_folder = any(path.is_dir() for path in paths)
    files = sort_files(paths, notes)
    records = folder_records(files, notes) if in_folder else files.unique_records()
    ranked = rankings(files.runs)
    topics = _topics(records, set(ranked))
    passages = _passages(files, {topic for topic, _ in topics.values()}, notes)
    drafts: dict[str, _Draft] = {}
    for record in records:
        topic, setting = topics[record.id]
        drafts.setdefault(topic, _Draft(topic, record)).add(record, setting)
    for topic in ranked.keys() - drafts.keys():
        notes.skip("rankings of topics that are not in the batch", len(ranked[topic]))
    for topic, draft in drafts.items():
        yield draft.located(passages.get(topic, ()), ranked.get(topic, {}))
    _compare(drafts, ranked, notes)


class _Draft:
    """A query under construction; its other records must agree with the `first` one."""

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


def _topics(records: Sequence[Record], in_runs: set[str]) -> dict[str, tuple[str, str]]:
    """Return topic and setting by report id.

    Topics and settings may both hold underscores, so a prefix counts as a setting if a known topic
    follows it. CRUX's own settings are recognised without a known topic.
    """
    known = in_runs | {record.id for record in records}
    return {record.id: _topic(record.id, known, in_runs) for record in records}


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
    """Return passages by topic, in file order; passages of other topics count as skipped."""
    found: dict[str, list[Passage]] = {}
    seen: dict[str, tuple[Place, str]] = {}
    for path in files.passages:
        for number, raw in object_rows(path):
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
                    f"the passage {excerpt(passage.id)} has another text than at {before}",
                    "keep one of the two",
                )
            if before is place:
                found.setdefault(topic, []).append(passage)
            else:
                notes.skip("repeated passages")
    return found


def _passage(fields: Fields) -> Passage:
    key = "contents" if "contents" in fields.raw else "text"
    return Passage(id=fields.id(), text=fields.string(key), title=fields.optional_string("title"))


def _compare(
    drafts: Mapping[str, _Draft],
    ranked: Mapping[str, Mapping[str, Sequence[str]]],
    notes: ReadNotes,
) -> None:
    """Warn of runs that differ from the contexts of the same setting's reports."""
    differing: dict[str, int] = {}
    for topic, draft in drafts.items():
        runs = {_system(tag): set(ids) for tag, ids in ranked.get(topic, {}).items()}
        for report in draft.reports:
            system = report.system or ""
            if report.context and system in runs and runs[system] != set(report.context):
                differing[system] = differing.get(system, 0) + 1
    for system, count in differing.items():
        notes.warnings.append(
            f"the run of {excerpt(system)} names other passages than the context of "
            f"{count} of its reports"
        )
