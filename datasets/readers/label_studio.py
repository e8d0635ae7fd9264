"""Reader of Label Studio's text tasks: each task is a query, with its longer texts beside it.

The name of a key in a task's `data` decides what the key becomes; all other keys go into `meta`. A
task with a single text is a query of that text, with a report of the same text, so that protocols
of queries and of reports can both ask about it. Annotations are not part of a batch:
`import_labels` reads them from the same file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from datasets.readers.fields import Fields, made_id
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
    """Each task of the files as a query. A task without an id is called by its place, from 1.

    Raises InputError for a task without any text, such as one of an image, and for one with several
    texts of which none bears a name that is known here. Annotations are counted as left out.
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
    """A task's own id as text, or the one that its data gives."""
    data = task.get("data")
    for found in (task.get("id"), data.get("id") if isinstance(data, dict) else None):
        if isinstance(found, str | int) and not isinstance(found, bool) and str(found).strip():
            return str(found)
    return None


def _query(fields: Fields, name: str) -> Query:
    data = Fields(fields.object("data") or fields.raw, fields.place, "data")
    texts = {key: value for key, value in data.raw.items() if _is_text(key, value)}
    asked = _first(texts, QUERIES)
    reports = [key for key in REPORTS if key in texts]
    alone = asked or (reports[0] if reports else _only(data, texts))
    shown = reports or ([] if asked else [alone])
    return Query(
        id=name,
        text=texts[alone],
        passages=tuple(_passages(data, name)),
        reports=tuple(Report(made_id(name, key, data.place), texts[key]) for key in shown),
        meta=_rest(fields, data, {alone, *reports}) or None,
    )


def _is_text(key: str, value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and key != "id"


def _first(texts: Mapping[str, str], names: Sequence[str]) -> str | None:
    return next((name for name in names if name in texts), None)


def _only(data: Fields, texts: Mapping[str, str]) -> str:
    """The one text of a task whose key says nothing."""
    left = [key for key in texts if key not in PASSAGES]
    if len(left) == 1 and not texts[left[0]].startswith(("http://", "https://", "/data/", "s3://")):
        return left[0]
    known = ", ".join((*QUERIES, *REPORTS))
    wrong = "the task has no text of its own" if not left else "which text is asked about is open"
    raise InputError(data.place, wrong, f"call a key of its data one of {known}")


def _passages(data: Fields, name: str) -> Iterator[Passage]:
    """A text, a list of texts, or a list of objects with one, under a name for passages."""
    for key in PASSAGES:
        value = data.raw.get(key)
        entries = value if isinstance(value, list) else [value] if value else []
        for number, entry in enumerate(entries, 1):
            given = entry if isinstance(entry, dict) else {"text": entry}
            fields = Fields(given, data.place, f"{key} {number}")
            yield Passage(
                made_id(name, f"{key}:{number}", data.place),
                fields.string("text"),
                title=fields.optional_string("title"),
            )


def _rest(fields: Fields, data: Fields, used: set[str]) -> dict[str, Any]:
    """What a task says besides: the other keys of its data, then its own `meta`."""
    taken = {*used, *PASSAGES, *ANNOTATIONS, "id", "meta"}
    left = {key: v for key, v in data.raw.items() if key not in taken and v is not None}
    return left | dict(fields.object("meta") or {})
