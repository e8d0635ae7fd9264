"""The files of results, in TANDEM_DATA_DIR/jobs: written whole, read, deleted by age and size.

A file is named after the attempt that wrote it, so a late attempt replaces no other's. It gets its
name when it is complete and on the disk.
"""

from __future__ import annotations

import json
import os
import time
from datetime import timedelta
from pathlib import Path
from typing import Any, BinaryIO

from django.conf import settings
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from audit.looks import deliver
from datasets.models import Job
from datasets.work.kinds import Result

State = Job.State
ENDED = (State.DONE, State.FAILED, State.CANCELLED)
RETENTION = timedelta(days=7)
NEW_SECONDS = 3600
MEGABYTE = 1024 * 1024
PARTIAL = ".part"
PARTIAL_SECONDS = 24 * 3600
GROWING, CHECKING = "growing", "checking"
"""The stages of a running job's result: parts are missing, or only a check of the whole."""


class GoneError(Exception):
    """The file of a result was deleted because of its age or for lack of room."""


def folder() -> Path:
    found = Path(settings.DATA_DIR) / "jobs"
    found.mkdir(mode=0o700, parents=True, exist_ok=True)
    return found


def write(name: str, result: Result) -> dict[str, Any]:
    """Write the file of a result, or none; return its description. Raises OSError."""
    path, partial = folder() / name, folder() / f"{name}{PARTIAL}"
    try:
        with os.fdopen(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            for piece in result.pieces:
                file.write(piece)
            size = file.tell()
            file.flush()
            os.fsync(file.fileno())
        partial.rename(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    return {"file": name, "name": result.name, "media_type": result.media_type, "bytes": size}


def open_result(job: Job) -> BinaryIO:
    """Open the file of a finished job for a person, and note that it is in use.

    Raises GoneError.
    """
    path = folder() / str(job.result.get("file", ""))
    try:
        file = path.open("rb")
        os.utime(path)
    except OSError as error:
        raise GoneError from error
    deliver(job.result.get("notes", ()))
    return file


def ready(jobs: QuerySet[Job]) -> QuerySet[Job]:
    """Return those jobs whose whole result exists, although it may still be being checked."""
    checked = Q(state=State.RUNNING, result__stage=CHECKING)
    return jobs.filter(Q(state=State.DONE) | checked)


def is_ready(job: Job) -> bool:
    """Return whether the whole result exists, although it may still be being checked."""
    return job.state == State.DONE or _is_at(job, CHECKING)


def has_result(job: Job) -> bool:
    return is_ready(job) and _exists(job)


def has_part(job: Job) -> bool:
    """Return whether a running job has published a part of its result."""
    return _is_at(job, GROWING) and _exists(job)


def _is_at(job: Job, stage: str) -> bool:
    return job.state == State.RUNNING and job.result.get("stage") == stage


def _exists(job: Job) -> bool:
    return (folder() / str(job.result.get("file", ""))).is_file()


def value(job: Job) -> Any:
    """Return the result of a finished job whose result is a value for JSON. Raises GoneError."""
    with open_result(job) as file:
        return json.loads(file.read())


def remove(name: str) -> None:
    (folder() / name).unlink(missing_ok=True)


def forget(**options: object) -> int:
    """Delete the jobs with these options, such as those of a campaign, that have files, and these.

    For results that nobody may read any more. Returns the number of jobs.
    """
    asked = {f"options__{name}": value for name, value in options.items()}
    shown = Q(state=State.DONE) | Q(state=State.RUNNING, result__has_key="file")
    gone = list(Job.objects.filter(shown, **asked))
    Job.objects.filter(pk__in=[job.pk for job in gone]).delete()
    for job in gone:
        if name := job.result.get("file"):
            remove(name)
    return len(gone)


def sweep() -> int:
    """Delete jobs that ended long ago, and the least recently used results if room is short.

    A result that was read within the last week stays if there is room. Returns the number of jobs.
    """
    ended = Job.objects.filter(state__in=ENDED, ended_at__lt=Now() - RETENTION)
    recent = {path.name for path in _files() if _age(path) < RETENTION.total_seconds()}
    old = [job for job in ended if job.result.get("file") not in recent]
    old += _without_room()
    Job.objects.filter(pk__in=[job.pk for job in old]).delete()
    for job in old:
        if name := job.result.get("file"):
            remove(name)
    _remove_leftovers()
    return len(old)


def _without_room() -> list[Job]:
    """Return the least recently used finished jobs whose files exceed the available room.

    Files read or written within an hour always stay, since somebody may wait for them.
    """
    room = settings.TANDEM_JOB_RESULTS_MB * MEGABYTE
    beyond = []
    for path in sorted(_files(), key=_age):
        room -= path.stat().st_size
        if room < 0 and _age(path) > NEW_SECONDS:
            beyond.append(path.name)
    return [job for job in Job.objects.filter(state=State.DONE) if job.result["file"] in beyond]


def _remove_leftovers() -> None:
    """Delete files that a killed process left behind, and files that belong to no job."""
    known = {job.result.get("file") for job in Job.objects.filter(state=State.DONE)}
    for path in folder().iterdir():
        is_result = len(path.name) == 2 * 32 + 1 or path.suffix == PARTIAL
        if is_result and path.name not in known and _age(path) > PARTIAL_SECONDS:
            path.unlink(missing_ok=True)


def _files() -> list[Path]:
    return [path for path in folder().iterdir() if len(path.name) == 2 * 32 + 1]


def _age(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except OSError:
        return 0.0
