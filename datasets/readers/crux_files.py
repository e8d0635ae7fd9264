"""Which of CRUX's files is which, and which reports count where ids stand twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from datasets.readers.fields import Fields
from datasets.readers.jsonl import records, shown
from datasets.readers.native import ranked
from datasets.rows import InputError, Place, ReadNotes

ANNOTATIONS = "annotations"

_TAKEN = ("qid", "topic", "questions", "docids", "report", "response")


@dataclass(frozen=True, slots=True)
class Record:
    """One line of a labelling file. `questions` keep their nulls, since positions number them."""

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
    """The files by what they hold; `reports` has the records of one file per entry."""

    runs: list[Path] = field(default_factory=list)
    passages: list[Path] = field(default_factory=list)
    reports: list[list[Record]] = field(default_factory=list)

    def only_once(self) -> list[Record]:
        """All records. Raises InputError for a report id that stands twice."""
        return list(_by_id(record for each in self.reports for record in each).values())


def sort_files(paths: Sequence[Path], notes: ReadNotes) -> Files:
    """Sorts files by their first lines. A folder stands for what lies in it and one level below.

    Raises InputError for a named file that is of no known kind; in a folder it is left out with a
    warning. Annotations are not material, and are left out without one.
    """
    files = Files()
    for path in paths:
        for each in _within(path) if path.is_dir() else [path]:
            if not _sort(files, each):
                wrong, mend = "holds neither CRUX reports nor passages", "leave it out"
                if not path.is_dir():
                    raise InputError(Place(str(each), 1), wrong, mend)
                notes.warnings.append(f"{each}: {wrong}; it was left out")
    if not files.reports:
        raise InputError(
            Place(str(paths[0])),
            "no file with CRUX reports is among those given",
            "name the labelling file too, such as oracle.jsonl",
        )
    return files


def take_from_folder(files: Files, notes: ReadNotes) -> list[Record]:
    """The records of a folder, in which some files may repeat the ids of others.

    The file with most reports comes first: it is the one that holds all settings, which the others
    repeat without prefix. A file that has another text under an id already taken is left out whole.
    """
    taken: dict[str, Record] = {}
    for each in sorted(files.reports, key=lambda each: (-len(each), each[0].place.file)):
        own = _by_id(each)
        clash = next((r for r in each if taken.get(r.id, r).response != r.response), None)
        if clash is not None:
            notes.skip("reports of files that repeat other reports' ids", len(each))
            notes.warnings.append(
                f"{clash.place}: the report id {shown(clash.id)} stands with another text at "
                f"{taken[clash.id].place}; all {len(each)} reports of the file were left out"
            )
            continue
        repeats = len(own.keys() & taken.keys())
        if repeats:
            notes.skip("reports that stand twice", repeats)
        taken = own | taken
    return list(taken.values())


def _within(folder: Path) -> list[Path]:
    found = [*folder.glob("*"), *folder.glob("*/*")]
    wanted = [p for p in found if p.suffix in (".jsonl", ".run") and p.is_file()]
    return sorted(p for p in wanted if p.relative_to(folder).parts[0] != ANNOTATIONS)


def _sort(files: Files, path: Path) -> bool:
    if path.suffix == ".run":
        files.runs.append(path)
        return True
    _, first = next(records(path))
    if "qid" in first:
        files.reports.append(list(_reports(path)))
    elif "id" in first and first.keys() & {"text", "contents"}:
        files.passages.append(path)
    else:
        return False
    return True


def _reports(path: Path) -> Iterator[Record]:
    for number, raw in records(path):
        fields = Fields(raw, Place(str(path), number))
        yield Record(
            id=fields.id("qid"),
            topic=fields.filled("topic"),
            questions=fields.strings_or_nulls("questions"),
            documents=ranked(fields, "docids"),
            reference=fields.optional_string("report"),
            response=fields.string("response"),
            meta={k: v for k, v in raw.items() if k not in _TAKEN} or None,
            place=fields.place,
        )


def _by_id(found: Iterable[Record]) -> dict[str, Record]:
    by_id: dict[str, Record] = {}
    for record in found:
        before = by_id.setdefault(record.id, record)
        if before is not record:
            raise InputError(
                record.place,
                f"the report id {shown(record.id)} stands already at {before.place}",
                "name only the files whose reports were judged",
            )
    return by_id
