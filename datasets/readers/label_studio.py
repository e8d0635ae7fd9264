"""Reader of Label Studio's text tasks: each task becomes a query with reports and passages.

The name of a key in a task's `data` decides what its text becomes; unknown keys go into `meta`. A
task with a single text becomes a query and a report with that text, so that it suits protocols
about queries and about reports. Annotations are not part of a batch: `import_labels` reads them
from the same file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from datasets.readers.fields import Fields, part_id
from datasets.readers.jsonl import objects
from datasets.rows import InputError, Located, Passage, Place, Query, ReadNotes, Report

SUMMARY = "Label Studio: a JSON list, or JSON Lines, of tasks with their texts under data"

QUERIES = ("query", "question", "prompt")
REPORTS = ("report", "answer", "response", "text")
PASSAGES = ("passages", "passage", "context", "document")
ANNOTATIONS = ("annotations", "completions", "predictions")


def recognises(path: Path, first: Mapping[str, Any] | None) -> bool:
    return first is not None and isinstance(first.get("data"), dict)


def read(paths: Sequence[Path], notes: ReadNotes) -> Iterator[Located]:
    """Yield each task of the files as a query. A task without an id gets its number, from 1.

    Raises InputError for a task without a text, such as one about an image, and for a task with
    several texts under unknown keys. Annotations are counted as skipped.
    """
    number = 0
    for path in paths:
        for line, record in objects(path):
            number += 1
            fields = Fields(record, Place(str(path), line))
            yield Located(_query(fields, task_id(record) or str(number)), fields.place)
            for key in ANNOTATIONS:
                if found := fields.objects(key, key.removesuffix("s")):
                    notes.skip(f"{key}, which import_labels reads", len(found))


def task_id(task: Mapping[str, Any]) -> str | None:
    """Return a task's id, or the one in its data, as text."""
    data = task.get("data")
    for value in (task.get("id"), data.get("id") if isinstance(data, dict) else None):
        if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
            return str(value)
    return None


def _query(fields: Fields, name: str) -> Query:
    data = Fields(fields.object("data") or fields.raw, fields.place, "data")
    texts = {key: value for key, value in data.raw.items() if _is_text(key, value)}
    query = _first(texts, QUERIES)
    reports = [key for key in REPORTS if key in texts]
    main = query or (reports[0] if reports else _only(data, texts))
    report_keys = reports or ([] if query else [main])
    return Query(
        id=name,
        text=texts[main],
        passages=tuple(_passages(data, name)),
        reports=tuple(Report(part_id(name, key, data.place), texts[key]) for key in report_keys),
        meta=_meta(fields, data, {main, *reports}) or None,
    )


def _is_text(key: str, value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and key != "id"


def _first(texts: Mapping[str, str], names: Sequence[str]) -> str | None:
    return next((name for name in names if name in texts), None)


def _only(data: Fields, texts: Mapping[str, str]) -> str:
    """Return the key of a task's only text, if the text's role cannot be told from its key."""
    keys = [key for key in texts if key not in PASSAGES]
    if len(keys) == 1 and not texts[keys[0]].startswith(("http://", "https://", "/data/", "s3://")):
        return keys[0]
    known = ", ".join((*QUERIES, *REPORTS))
    wrong = (
        "the task has several texts, and none under a known key"
        if keys
        else "the task has no text of its own"
    )
    raise InputError(data.place, wrong, f"rename a key of its data to one of {known}")


def _passages(data: Fields, name: str) -> Iterator[Passage]:
    """Yield the passages: a text, a list of texts, or a list of objects with a text."""
    for key in PASSAGES:
        value = data.raw.get(key)
        entries = value if isinstance(value, list) else [value] if value else []
        for number, entry in enumerate(entries, 1):
            raw = entry if isinstance(entry, dict) else {"text": entry}
            fields = Fields(raw, data.place, f"{key} {number}")
            yield Passage(
                part_id(name, f"{key}:{number}", data.place),
                fields.string("text"),
                title=fields.optional_string("title"),
            )


def _meta(fields: Fields, data: Fields, used: set[str]) -> dict[str, Any]:
    """Return the unused keys of a task's data, with the task's own `meta`."""
    used = {*used, *PASSAGES, *ANNOTATIONS, "id", "meta"}
    unused = {key: v for key, v in data.raw.items() if key not in used and v is not None}
    return unused | dict(fields.object("meta") or {})
