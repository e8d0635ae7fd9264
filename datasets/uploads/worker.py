"""Uploads as a source of work: inspect or load one, in a process with limits.

Inspecting reads and checks the files as loading does, but stores nothing. A worker claims the
upload by writing its turn, and its process may write a result only while the upload still has that
turn.
"""

from __future__ import annotations

import signal
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from django.db import IntegrityError, connection, transaction
from django.db.models import QuerySet
from django.utils import timezone

from datasets.derivation import DerivationError
from datasets.extension import extend_batch, recognise_format
from datasets.loading import check_content, check_queries, load_batch
from datasets.material import Digest, as_line
from datasets.models import Batch, Upload
from datasets.readers import read, recognise
from datasets.uploads import quarantine
from datasets.work.sources import Source, Taken
from tandem.files.rows import InputError, Place, Query, ReadNotes
from tandem.verbs import verb_of

State = Upload.State
AT_WORK = (State.READING, State.KEEPING)
PARTS = ("questions", "key_points", "nuggets", "reports", "rankings")
SHOWN_QUERIES, SHOWN_PARTS, SHOWN_CHARACTERS = 3, 3, 400
MAX_QUERIES = 500_000
BEAT_SECONDS = 1.0
WARNINGS_KEPT = 500
TOO_BIG = "the files need more memory or time than an upload may use"
TOO_BIG_REMEDY = f"split them, or load them with {verb_of('load_batch')}"
PROCESS_ENDED = (
    "the process that worked on the files ended, probably for lack of memory; "
    f"try again, or load them with {verb_of('load_batch')}"
)
UPLOAD = "upload"
MOST_AT_ONCE = 4
MEMORY_MB = 1536
SECONDS, KILL_SECONDS = 900, 1000


@dataclass
class Inspection:
    """The result of reading an upload: `counts` as a load reports them, and the `first` queries."""

    format: str
    digest: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=dict)
    first: list[dict[str, Any]] = field(default_factory=list)


def inspect(
    paths: Sequence[Path], format: str | None, progress: Callable[[int], None]
) -> Inspection:
    """Read and check all files. Raises InputError with the message that the command gives."""
    found = Inspection(format or recognise(paths))
    notes, digest, counts = ReadNotes(), Digest(), Counter[str]()
    passages: set[str] = set()
    for query in check_queries(read(paths, found.format, notes), notes, digest, progress):
        counts["queries"] += 1
        counts.update({part: len(getattr(query, part)) for part in PARTS})
        passages.update(passage.id for passage in query.passages)
        if len(found.first) < SHOWN_QUERIES:
            found.first.append(_shorten_query(query))
        if counts["queries"] > MAX_QUERIES:
            wrong = f"has more than {MAX_QUERIES:,} queries"
            raise InputError(Place(str(paths[0])), wrong, f"load it with {verb_of('load_batch')}")
    check_content(paths, counts["queries"], digest)
    counts["passages"] = len(passages)
    found.digest, found.counts = digest.hexdigest(), dict(counts)
    found.warnings, found.skipped = notes.warnings, notes.skipped
    return found


def inspect_extension(
    paths: Sequence[Path],
    format: str | None,
    source: Batch,
    name: str,
    progress: Callable[[int], None],
) -> Inspection:
    """Check files that add to a batch, and count what they add. Raises InputError."""
    found = Inspection(format or recognise_format(paths))

    def look(line: Query) -> None:
        if len(found.first) < SHOWN_QUERIES:
            found.first.append(_shorten_query(line))

    try:
        made = extend_batch(paths, name, source, found.format, progress, dry_run=True, look=look)
    except DerivationError as error:
        raise InputError(Place(str(paths[0])), str(error), "correct it") from error
    found.digest, found.counts = made.digest, dict(made.tally.kept)
    return found


def _shorten_query(query: Query) -> dict[str, Any]:
    """Return a query's line with a few parts of each kind; `more` counts the others."""
    line = as_line(query)
    more: dict[str, int] = {}
    for name, value in line.items():
        if isinstance(value, list):
            more[name] = max(0, len(value) - SHOWN_PARTS)
            line[name] = [_shorten(part) for part in value[:SHOWN_PARTS]]
    return _shorten(line) | {"more": {name: count for name, count in more.items() if count}}


def _shorten(part: Any) -> Any:
    if isinstance(part, str):
        return part if len(part) <= SHOWN_CHARACTERS else part[:SHOWN_CHARACTERS] + "…"
    if isinstance(part, dict):
        kept = (
            "id",
            "text",
            "title",
            "system",
            "source",
            "role",
            "history",
            "asked_at",
            "passages",
            "references",
            *PARTS,
        )
        return {k: v if isinstance(v, list) else _shorten(v) for k, v in part.items() if k in kept}
    return part


class LostTurnError(Exception):
    """Another process has the upload now, so this one's result does not count."""


class SpentError(Exception):
    """The process has used up its time."""


def uploads() -> Source:
    def has_room(at_work: Counter[str], places: int) -> bool:
        return places > 0 and at_work[UPLOAD] < MOST_AT_ONCE

    return Source(UPLOAD, take, has_room)


def take(key: str = "", seconds: float | None = None) -> Taken | None:
    """Claim an upload that waits: the one with a key, or the oldest."""
    waiting = Upload.objects.filter(**{"key": key} if key else {}, state__in=AT_WORK, turn=None)
    for found in waiting.order_by("changed_at").values_list("key", flat=True):
        if upload := claim(found):
            return Taken(
                f"upload {upload.key}",
                partial(_carry_out_in_time, upload),
                fail=lambda reason: refuse(upload, PROCESS_ENDED),
                renew=lambda done, total: _of_turn(upload).exists(),
                release=lambda: _of_turn(upload).update(turn=None, changed_at=timezone.now()),
                memory_mb=MEMORY_MB,
                seconds=KILL_SECONDS,
            )
    return None


def _carry_out_in_time(upload: Upload, progress: Callable[[int, int], None]) -> None:
    def stop(*_: object) -> NoReturn:
        raise SpentError

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    carry_out(upload)


def carry_out(upload: Upload) -> None:
    """Inspect or load a claimed upload."""
    try:
        with _beating(upload) as count:
            (_inspect if upload.state == State.READING else _load)(upload, count)
    except LostTurnError:
        return
    except InputError as error:
        refuse(upload, quarantine.with_original_names(upload, str(error)))
    except (MemoryError, SpentError):
        # The limit may have interrupted a database query.
        connection.close()
        refuse(upload, f"{TOO_BIG}; {TOO_BIG_REMEDY}")


def refuse(upload: Upload, reason: str) -> None:
    """Record why an upload failed. Its files are deleted, unless the load can be retried."""
    loading = upload.state == State.KEEPING
    state = State.READY if loading else State.REFUSED
    try:
        _end(upload, state=state, error=" ".join(reason.split()))
    except LostTurnError:
        return
    if not loading:
        quarantine.remove(upload.key)


def claim(key: str) -> Upload | None:
    """Give an upload that waits a turn. None if another worker was faster."""
    waiting = Upload.objects.filter(key=key, state__in=AT_WORK, turn=None)
    turn = uuid.uuid4()
    waiting.update(turn=turn, changed_at=timezone.now())
    return Upload.objects.filter(key=key, turn=turn).first()


def _of_turn(upload: Upload) -> QuerySet[Upload]:
    return Upload.objects.filter(pk=upload.pk, turn=upload.turn)


def _end(upload: Upload, **values: object) -> None:
    """Close the upload if this process still has the turn. Raises LostTurnError otherwise."""
    if not _of_turn(upload).update(turn=None, changed_at=timezone.now(), **values):
        raise LostTurnError


class Count:
    """The progress of the work, which a thread writes to the folder once a second."""

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


def _inspect(upload: Upload, count: Count) -> None:
    paths, format = quarantine.paths(upload), upload.format or None
    if upload.extends is None:
        found = asdict(inspect(paths, format, count))
    else:
        found = asdict(inspect_extension(paths, format, upload.extends, upload.name, count))
    digest, warnings = found.pop("digest"), found["warnings"]
    shown = [quarantine.with_original_names(upload, each) for each in warnings[:WARNINGS_KEPT]]
    found |= {"warnings": shown, "warning_count": len(warnings)}
    _end(upload, state=State.READY, digest=digest, found=found, error="")


def _load(upload: Upload, count: Count) -> None:
    """Create the batch and mark the upload as loaded in one transaction."""
    with transaction.atomic():
        try:
            with transaction.atomic():
                unchanged = _load_batch(upload, count)
        except IntegrityError:
            # A batch of that name was loaded meanwhile; the second try compares its content.
            unchanged = _load_batch(upload, count)
        batch = Batch.objects.get(name=upload.name)
        found = {**upload.found, "unchanged": unchanged}
        _end(upload, state=State.KEPT, batch=batch, found=found)
    quarantine.remove(upload.key)


def _load_batch(upload: Upload, count: Count) -> bool:
    """Create the batch; return whether it existed already. Raises InputError."""
    paths, format = quarantine.paths(upload), str(upload.found["format"])
    names = [each["name"] for each in upload.files]
    if upload.extends is not None:
        return _extend(upload, upload.extends, paths, names, count)
    team, by = upload.team, upload.user
    report = load_batch(paths, upload.name, format, count, upload.digest, names, team, by)
    if not report.unchanged:
        warnings = [quarantine.with_original_names(upload, each) for each in report.warnings]
        Batch.objects.filter(name=upload.name).update(warnings=warnings)
    return report.unchanged


def _extend(
    upload: Upload, source: Batch, paths: Sequence[Path], names: Sequence[str], count: Count
) -> bool:
    format, by = str(upload.found["format"]), upload.user_id
    try:
        made = extend_batch(paths, upload.name, source, format, count, by, names)
    except DerivationError as error:
        wrong, _, remedy = str(error).rpartition("; ")
        raise InputError(Place(str(paths[0])), wrong or remedy, remedy) from error
    if made.digest != upload.digest:
        raise InputError(
            Place(str(paths[0])), "has other content than its preview", "send it again"
        )
    return made.unchanged
