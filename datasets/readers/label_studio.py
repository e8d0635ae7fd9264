"""Reader of Label Studio's text tasks: each task becomes a query with reports and passages.

The name of a key in a task's `data` decides what its text becomes; unknown keys go into `meta`. A
task with a single text becomes a query and a report with that text, so that it suits protocols
about queries and about reports. A text that is the address of an image, a recording or another file
is refused. Annotations are not part of a batch: `tandem labels import` reads them from the same
file.

Both JSON exports are read. JSON_MIN has one object for each annotation, in which data and answers
are beside each other: only texts under known keys are used.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from tandem.files.fields import Fields, part_id
from tandem.files.jsonl import excerpt, objects
from tandem.files.rows import InputError, Located, Passage, Place, Query, ReadNotes, Report
from tandem.verbs import verb_of

SUMMARY = "Label Studio: its JSON or JSON_MIN export, or JSON Lines of tasks with texts under data"

QUERIES = ("query", "question", "prompt")
REPORTS = ("report", "answer", "response", "text")
PASSAGES = ("passages", "passage", "context", "document")
PEOPLES, JUDGES = ("annotations", "completions"), ("predictions",)
"""The keys of a task that hold people's answers, formerly `completions`, and models' answers."""
FLAT = ("annotator", "annotation_id")
"""The keys by which an object of JSON_MIN is known."""
FLAT_OWN = ("id", *FLAT, "created_at", "updated_at", "lead_time", "agreement")
"""The keys of an object of JSON_MIN that are neither data nor answers."""

MEDIA = "an image, a recording or a file"

_SCHEME = re.compile(r"(?:https?|ftps?|s3|gs|file|dbfs|azure-blob|azure_spi)://\S+", re.IGNORECASE)
_STORED = re.compile(r"/(?:data|storage-data|tasks|projects)/\S.*|data:[\w.+-]+/[\w.+-]+[;,]\S*")
_FILE = re.compile(
    r"[^\s?#]+\.(?:jpe?g|png|gif|bmp|webp|svg|tiff?|heic|dcm|mp3|wav|flac|ogg|oga|m4a|aac|opus|"
    r"mp4|m4v|mov|avi|mkv|webm|mpe?g|pdf)(?:[?#]\S*)?",
    re.IGNORECASE,
)
_TAG = re.compile(r"<[^<>]*>")
_MEDIA_TAG = re.compile(r"<(?:img|audio|video|embed|object|iframe|source)\b", re.IGNORECASE)
_MEDIA_KEYS = frozenset(["image", "images", "img", "audio", "video", "picture", "photo", "pdf"])
_MEDIA_RESULTS = re.compile(
    r"(?:rectangle|polygon|ellipse|keypoint|brush|bitmask|vector|videorectangle|timeline|"
    r"timeseries)(?:labels)?"
)


def recognises(path: Path, first: Mapping[str, Any] | None) -> bool:
    return first is not None and (isinstance(first.get("data"), dict) or is_flat(first))


def is_flat(record: Mapping[str, Any]) -> bool:
    """Whether an object is from JSON_MIN: an annotation, with the data of its task beside it."""
    return "data" not in record and record.keys() >= set(FLAT)


def read(paths: Sequence[Path], notes: ReadNotes) -> Iterator[Located]:
    """Yield each task of the files as a query. A task without an id gets its number, from 1.

    Raises InputError for a task without a text, such as one about an image, and for a task with
    several texts under unknown keys. Annotations and drafts are counted as skipped.
    """
    number = 0
    reader = _Reader(notes)
    for path in paths:
        for line, record in objects(path):
            number += 1
            fields = Fields(record, Place(str(path), line))
            if (query := reader.query(fields, task_id(record) or str(number))) is not None:
                yield Located(query, fields.place)
    reader.finish()


def task_id(task: Mapping[str, Any]) -> str | None:
    """Return a task's id, or the one in its data, as text."""
    data = task.get("data")
    for value in (task.get("id"), data.get("id") if isinstance(data, dict) else None):
        if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
            return str(value)
    return None


def answers_under(fields: Fields, keys: Sequence[str], notes: ReadNotes) -> Iterator[Fields]:
    """Yield a task's answers under these keys. The default export has the bare ids of some of
    them, which are counted as skipped. Raises InputError for anything but a list.
    """
    for key in keys:
        values = fields.raw.get(key)
        if not isinstance(values, list):
            fields.objects(key, key.removesuffix("s"))
            continue
        for number, value in enumerate(values, 1):
            if isinstance(value, int | str) and not isinstance(value, bool):
                notes.skip(f"{key} that are only an id in the file")
            else:
                yield Fields(value, fields.place, f"{key.removesuffix('s')} {number}")


def skip_drafts(fields: Fields, notes: ReadNotes) -> None:
    """Count a task's drafts, which nobody has submitted."""
    drafts = fields.raw.get("drafts")
    if isinstance(drafts, list) and drafts:
        notes.skip("drafts, which nobody submitted", len(drafts))


def media_keys(data: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the keys of a task's data under which images, recordings or other files are."""
    return tuple(key for key, value in data.items() if _is_media(key, value))


def _is_media(key: str, value: Any) -> bool:
    """Whether a value is the address of media, or HTML with nothing else."""
    if isinstance(value, list | dict):
        each = list(value.values() if isinstance(value, dict) else value)
        return bool(each) and all(_is_media(key, one) for one in each)
    if not isinstance(value, str) or not (text := value.strip()):
        return False
    return (
        _STORED.fullmatch(text) is not None
        or _FILE.fullmatch(text) is not None
        or (key.lower() in _MEDIA_KEYS and len(text.split()) == 1)
        or (_MEDIA_TAG.search(text) is not None and not _TAG.sub("", text).strip())
    )


def _is_address(key: str, value: str) -> bool:
    """Whether a value is no text but an address. A query may be the address of a page."""
    is_page = key not in QUERIES and _SCHEME.fullmatch(value.strip()) is not None
    return is_page or _is_media(key, value)


class _Reader:
    """Turns tasks into queries, and counts what it leaves out."""

    def __init__(self, notes: ReadNotes) -> None:
        self.notes = notes
        self.beside: Counter[str] = Counter()
        self.texts: dict[str, dict[str, str]] = {}

    def query(self, fields: Fields, name: str) -> Query | None:
        """Return a task as a query; None for a further annotation of a task in JSON_MIN."""
        if is_flat(fields.raw):
            return self._flat_query(fields, name)
        results = self._skip_answers(fields)
        data = Fields(fields.object("data") or fields.raw, fields.place, "data")
        return self._query(data, name, results, fields.raw.get("meta"))

    def finish(self) -> None:
        """Note the media that nobody will see."""
        for key, count in self.beside.items():
            self.notes.warnings.append(
                f"{count} tasks have the address of {MEDIA} beside their text, under "
                f"{excerpt(key)} of their data; nobody will see it, since Tandem shows texts only"
            )

    def _flat_query(self, fields: Fields, name: str) -> Query | None:
        self.notes.skip(f"annotations, which {verb_of('import_labels')} reads")
        known = (*QUERIES, *REPORTS, *PASSAGES)
        own = {key: value for key, value in fields.raw.items() if key not in FLAT_OWN}
        texts = {key: value for key, value in own.items() if key in known}
        earlier = self.texts.setdefault(name, texts)
        if earlier is not texts and earlier == texts:
            return None
        if left := len(own) - len(texts):
            self.notes.skip("keys of JSON_MIN that may be answers, not data", left)
        if not texts and len(own) > 1:
            media = media_keys(own)
            if media:
                _refuse_media(fields.place, media[0], own[media[0]])
            wrong = "JSON_MIN does not say which of its keys is the task's text"
            remedy = f"name it {', '.join((*QUERIES, *REPORTS))}, or export the project as JSON"
            raise InputError(fields.place, wrong, remedy)
        return self._query(Fields(texts or own, fields.place, "data"), name, set(), None)

    def _skip_answers(self, fields: Fields) -> set[str]:
        """Count a task's answers, and return the types of their results."""
        types: set[str] = set()
        for keys in (PEOPLES, JUDGES):
            for answer in answers_under(fields, keys, self.notes):
                what = answer.of.split(" ")[0] + "s"
                self.notes.skip(f"{what}, which {verb_of('import_labels')} reads")
                results = answer.raw.get("result")
                for each in results if isinstance(results, list) else ():
                    types.add(str(each.get("type")) if isinstance(each, dict) else "")
        skip_drafts(fields, self.notes)
        return types

    def _query(self, data: Fields, name: str, results: set[str], meta: Any) -> Query:
        given = {k: v for k, v in data.raw.items() if isinstance(v, str) and v.strip()}
        texts = {k: v for k, v in given.items() if k != "id" and not _is_address(k, v)}
        media = media_keys(data.raw)
        has_text = bool(texts.keys() - set(PASSAGES))
        for key in dict.fromkeys((*given, *media)):
            is_text = key in (*QUERIES, *REPORTS, *PASSAGES) or not has_text
            if is_text and key not in texts and key != "id":
                _refuse_media(data.place, key, data.raw[key])
        self.beside.update(media)
        query = next((key for key in QUERIES if key in texts), None)
        reports = [key for key in REPORTS if key in texts]
        main = query or (reports[0] if reports else _only(data, texts, results))
        return Query(
            id=name,
            text=texts[main],
            passages=tuple(_passages(data, name)),
            reports=tuple(
                Report(part_id(name, key, data.place), texts[key])
                for key in reports or ([] if query else [main])
            ),
            meta=_meta(meta, data, {main, *reports}) or None,
        )


def _refuse_media(place: Place, key: str, value: Any) -> NoReturn:
    shown = excerpt(value if isinstance(value, str) else str(value))
    wrong = (
        f'"{key}" of data is the address of an image, a recording or a file, not a text: {shown}'
    )
    raise InputError(place, wrong, "put the text itself there, or leave the task out")


def _only(data: Fields, texts: Mapping[str, str], results: set[str]) -> str:
    """Return the key of a task's only text, if the text's role cannot be told from its key."""
    keys = [key for key in texts if key not in PASSAGES]
    marked = next((kind for kind in sorted(results) if _MEDIA_RESULTS.fullmatch(kind)), None)
    if len(keys) == 1 and marked is None:
        return keys[0]
    known = ", ".join((*QUERIES, *REPORTS))
    remedy = f"rename a key of its data to one of {known}"
    if marked is not None:
        wrong = f"the task is about an image or a recording, since it has results of type {marked}"
        raise InputError(data.place, wrong, f"leave it out, or {remedy}")
    wrong = (
        "the task has several texts, and none under a known key"
        if keys
        else "the task has no text of its own"
    )
    raise InputError(data.place, wrong, remedy)


def _passages(data: Fields, name: str) -> Iterator[Passage]:
    """Yield the passages: a text, a list of texts, or a list of objects with a text."""
    for key in PASSAGES:
        value = data.raw.get(key)
        entries = value if isinstance(value, list) else [value] if value else []
        for number, entry in enumerate(entries, 1):
            raw = entry if isinstance(entry, dict) else {"text": entry}
            fields = Fields(raw, data.place, f"{key} {number}")
            text = fields.string("text")
            if _is_address(key, text):
                _refuse_media(data.place, key, text)
            yield Passage(
                part_id(name, f"{key}:{number}", data.place),
                text,
                title=fields.optional_string("title"),
            )


def _meta(own: Any, data: Fields, used: set[str]) -> dict[str, Any]:
    """Return the unused keys of a task's data, with the task's own `meta`."""
    used = {*used, *PASSAGES, *PEOPLES, *JUDGES, "id", "meta"}
    unused = {key: v for key, v in data.raw.items() if key not in used and v is not None}
    return unused | (own if isinstance(own, dict) else {"meta": own} if own else {})
