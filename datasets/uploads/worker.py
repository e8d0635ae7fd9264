"""Inspect or load an upload, in a separate process.

Inspecting reads and checks the files as loading does, but stores nothing. A process claims the
upload by writing its turn, and may write a result only while the upload still has that turn.
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

from datasets.derivation import DerivationError
from datasets.extension import extend_batch, recognise_format
from datasets.loading import check_content, check_queries, load_batch
from datasets.material import Digest, as_line
from datasets.models import Batch, Upload
from datasets.readers import read, recognise
from datasets.uploads import quarantine
from tandem.files.rows import InputError, Place, Query, ReadNotes
from tandem.verbs import verb_of

State = Upload.State
AT_WORK = (State.READING, State.KEEPING)
PARTS = ("questions", "key_points", "reports", "rankings")
SHOWN_QUERIES, SHOWN_PARTS, SHOWN_CHARACTERS = 3, 3, 400
MAX_QUERIES = 500_000
BEAT_SECONDS = 1.0
WARNINGS_KEPT = 500
TOO_BIG = "the files need more memory or time than an upload may use"
TOO_BIG_REMEDY = f"split them, or load them with {verb_of('load_batch')}"


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


def work(key: str, turn: uuid.UUID | None = None) -> None:
    """Inspect or load an upload that is waiting, unless another process has its turn.

    `turn` identifies this attempt for the process that watches it.
    """
    upload = _claim(key, turn or uuid.uuid4())
    if upload is None:
        return
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


def _claim(key: str, turn: uuid.UUID) -> Upload | None:
    waiting = Upload.objects.filter(key=key, state__in=AT_WORK, turn=None)
    if not waiting.update(turn=turn, changed_at=timezone.now()):
        return None
    return Upload.objects.get(key=key)


def _end(upload: Upload, **values: object) -> None:
    """Close the upload if this process still has the turn. Raises LostTurnError otherwise."""
    same_turn = Upload.objects.filter(pk=upload.pk, turn=upload.turn)
    if not same_turn.update(turn=None, changed_at=timezone.now(), **values):
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
