"""What is done with an upload in a process of its own: looking through it, or loading it.

Whoever takes the turn works; the end is written only by who still has it.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict

from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from datasets.loading import LoadReport, load_batch
from datasets.models import Batch, Upload
from datasets.rows import InputError
from datasets.uploads import quarantine
from datasets.uploads.understanding import understand

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
