"""Inspecting or loading an upload, in a process of its own.

Inspecting reads and checks the files as loading does, and stores nothing. The process that takes
the turn works, and only the process that still holds the turn may write the result.
"""

from __future__ import annotations

import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from datasets.loading import LoadReport, check_content, checked, load_batch
from datasets.material import Digest, as_line
from datasets.models import Batch, Upload
from datasets.readers import read, recognise
from datasets.rows import InputError, Place, Query, ReadNotes
from datasets.uploads import quarantine

PARTS = ("questions", "key_points", "reports", "rankings")
FIRST, FIRST_PARTS, FIRST_CHARACTERS = 3, 3, 400
MOST_QUERIES = 500_000


@dataclass
class Understood:
    """`counts` are those that a load would report; `first` the first queries, their texts cut."""

    format: str
    digest: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=dict)
    first: list[dict[str, Any]] = field(default_factory=list)


def understand(
    paths: Sequence[Path], format: str | None, progress: Callable[[int], None]
) -> Understood:
    """Reads files through. Raises InputError, in the words in which the command refuses them."""
    found = Understood(format or recognise(paths))
    notes, digest, counts = ReadNotes(), Digest(), Counter[str]()
    passages: set[str] = set()
    for query in checked(read(paths, found.format, notes), notes, digest, progress):
        counts["queries"] += 1
        counts.update({part: len(getattr(query, part)) for part in PARTS})
        passages.update(passage.id for passage in query.passages)
        if len(found.first) < FIRST:
            found.first.append(_cut(query))
        if counts["queries"] > MOST_QUERIES:
            wrong = f"holds more than {MOST_QUERIES:,} queries"
            raise InputError(Place(str(paths[0])), wrong, "load it with manage.py load_batch")
    check_content(paths, counts["queries"], digest)
    counts["passages"] = len(passages)
    found.digest, found.counts = digest.hexdigest(), dict(counts)
    found.warnings, found.skipped = notes.warnings, notes.skipped
    return found


def _cut(query: Query) -> dict[str, Any]:
    """A query as its line holds it, of each kind of part the first few, and `more` of the rest."""
    line = as_line(query)
    more: dict[str, int] = {}
    for name, value in line.items():
        if isinstance(value, list):
            more[name] = max(0, len(value) - FIRST_PARTS)
            line[name] = [_short(part) for part in value[:FIRST_PARTS]]
    line.pop("meta", None)
    return _short(line) | {"more": {name: count for name, count in more.items() if count}}


def _short(part: Any) -> Any:
    if isinstance(part, str):
        return part if len(part) <= FIRST_CHARACTERS else part[:FIRST_CHARACTERS] + "…"
    if isinstance(part, dict):
        kept = (
            "id",
            "text",
            "title",
            "system",
            "source",
            "asked_at",
            "passages",
            "references",
            *PARTS,
        )
        return {k: v if isinstance(v, list) else _short(v) for k, v in part.items() if k in kept}
    return part


State = Upload.State
AT_WORK = (State.READING, State.KEEPING)
BEAT_SECONDS = 1.0
WARNINGS_KEPT = 500
TOO_BIG = "the files need more memory or time than the browser's door gives"
TOO_BIG_MEND = "split them, or load them with manage.py load_batch"


class LostTurnError(Exception):
    """Somebody else has the upload now; nothing that was done here counts."""


class SpentError(Exception):
    """The process has used up its time."""


def work(key: str, turn: uuid.UUID | None = None) -> None:
    """Does what an upload waits for, if it waits and nobody else is at it.

    `turn` is the name of this attempt, where somebody watches it.
    """
    upload = _taken(key, turn or uuid.uuid4())
    if upload is None:
        return
    try:
        with _beating(upload) as count:
            (_look_through if upload.state == State.READING else _keep)(upload, count)
    except LostTurnError:
        return
    except InputError as error:
        refuse(upload, quarantine.in_their_words(upload, str(error)))
    except (MemoryError, SpentError):
        # It may have been cut off in the middle of a query.
        connection.close()
        refuse(upload, f"{TOO_BIG}; {TOO_BIG_MEND}")


def refuse(upload: Upload, reason: str) -> None:
    """The end of a reading that cannot be taken: the files go. A load can be ordered once more."""
    loading = upload.state == State.KEEPING
    state = State.READY if loading else State.REFUSED
    try:
        _end(upload, state=state, error=" ".join(reason.split()))
    except LostTurnError:
        return
    if not loading:
        quarantine.remove(upload.key)


def _taken(key: str, turn: uuid.UUID) -> Upload | None:
    waiting = Upload.objects.filter(key=key, state__in=AT_WORK, turn=None)
    if not waiting.update(turn=turn, changed_at=timezone.now()):
        return None
    return Upload.objects.get(key=key)


def _end(upload: Upload, **values: object) -> None:
    """Closes the row for who has the turn. Raises LostTurnError."""
    mine = Upload.objects.filter(pk=upload.pk, turn=upload.turn)
    if not mine.update(turn=None, changed_at=timezone.now(), **values):
        raise LostTurnError


class Count:
    """How far the work is, told to the folder by a thread once a second."""

    def __init__(self, total: int) -> None:
        self.done, self.total = 0, total

    def __call__(self, done: int) -> None:
        self.done = done


@contextmanager
def _beating(upload: Upload) -> Iterator[Count]:
    known = upload.found.get("counts", {}).get("queries")
    count, ended = Count(known or quarantine.lines(upload)), threading.Event()
    quarantine.note_progress(upload.key, 0, count.total)

    def beat() -> None:
        while not ended.wait(BEAT_SECONDS):
            try:
                quarantine.note_progress(upload.key, count.done, count.total)
            except OSError:
                return

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield count
    finally:
        ended.set()
        thread.join()


def _look_through(upload: Upload, count: Count) -> None:
    found = asdict(understand(quarantine.paths(upload), upload.format or None, count))
    digest, warnings = found.pop("digest"), found["warnings"]
    said = [quarantine.in_their_words(upload, each) for each in warnings[:WARNINGS_KEPT]]
    found |= {"warnings": said, "warning_count": len(warnings)}
    _end(upload, state=State.READY, digest=digest, found=found, error="")


def _keep(upload: Upload, count: Count) -> None:
    """The batch and the word that it is there stand together, or neither does."""
    with transaction.atomic():
        try:
            with transaction.atomic():
                report = _loaded(upload, count)
        except IntegrityError:
            # Somebody loaded a batch of that name meanwhile: the same content is there, or other.
            report = _loaded(upload, count)
        batch = Batch.objects.get(name=upload.name)
        found = {**upload.found, "unchanged": report.unchanged}
        _end(upload, state=State.KEPT, batch=batch, found=found)
    quarantine.remove(upload.key)


def _loaded(upload: Upload, count: Count) -> LoadReport:
    paths, format = quarantine.paths(upload), str(upload.found["format"])
    report = load_batch(paths, upload.name, format, count, upload.digest)
    if not report.unchanged:
        said = [quarantine.in_their_words(upload, each) for each in report.warnings]
        Batch.objects.filter(name=upload.name).update(warnings=said)
    return report
