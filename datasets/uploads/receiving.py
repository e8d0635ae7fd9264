"""Receiving files, and what becomes of them: rate limits, previews, keep, discard or delete."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from dataclasses import fields
from datetime import timedelta
from functools import partial
from pathlib import PurePath
from typing import Any, cast

from django.contrib.auth import get_user_model
from django.core.files.uploadedfile import TemporaryUploadedFile, UploadedFile
from django.core.files.uploadhandler import TemporaryFileUploadHandler
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from audit.recording import record
from datasets.access import (
    ADMIN,
    NotManagedError,
    TeamError,
    managed_teams,
    team_for,
    visible_batches,
)
from datasets.loading import check_name
from datasets.models import Batch, Team, Upload
from datasets.readers import READERS
from datasets.uploads import quarantine
from datasets.uploads.worker import AT_WORK, WARNINGS_KEPT
from datasets.work import wake
from tandem.files.jsonl import excerpt
from tandem.files.rows import InputError, Place, Query
from tandem.verbs import verb_of

RETENTION = timedelta(hours=24)
INCOMING_SECONDS = 3 * 3600


def clean() -> int:
    """Delete uploads unchanged for a day, and files without one; return the number of uploads.

    Batches of kept uploads stay. A process may not run for a day, so none is interrupted.
    """
    old = Upload.objects.filter(changed_at__lt=timezone.now() - RETENTION)
    keys = list(old.values_list("key", flat=True))
    Upload.objects.filter(key__in=keys).delete()
    for key in keys:
        quarantine.remove(key)
    _delete_leftovers()
    return len(keys)


def _delete_leftovers() -> None:
    found = quarantine.leftovers(INCOMING_SECONDS)
    existing = set(
        Upload.objects.filter(key__in=[p.name for p in found]).values_list("key", flat=True)
    )
    for path in found:
        if path.is_dir() and path.name not in existing:
            quarantine.remove(path.name)
        elif path.is_file():
            path.unlink(missing_ok=True)


AN_HOUR, MAX_PER_HOUR = timedelta(hours=1), 6
MAX_UNDECIDED = 3
MAX_FILES = 50
FULL = (errno.ENOSPC, errno.EDQUOT)
NO_SPACE = "the disk of this site is full; tell an admin"
UNDECIDED = (Upload.State.READING, Upload.State.READY, Upload.State.KEEPING)


class TooOftenError(Exception):
    """The account has reached its limit; it may upload again in `seconds`."""

    def __init__(self, seconds: int) -> None:
        self.seconds = seconds
        minutes = -(-seconds // 60)
        super().__init__(
            f"the limit is {MAX_PER_HOUR} uploads per hour; try again in {minutes} minutes, "
            f"or load the files with {verb_of('load_batch')}"
        )


def into_files(request: HttpRequest) -> None:
    """Stream a request's files to the disk. Call this before the body is read."""
    request.upload_handlers = [TemporaryFileUploadHandler(request)]


def check_rate(user: Any) -> None:
    """Raise TooOftenError above the limit. It counts rows, so it covers both page and API."""
    now = timezone.now()
    recent = uploads_of(user).filter(created_at__gt=now - AN_HOUR).order_by("-created_at")
    times = list(recent.values_list("created_at", flat=True)[:MAX_PER_HOUR])
    if len(times) == MAX_PER_HOUR:
        raise TooOftenError(max(1, round((times[-1] + AN_HOUR - now).total_seconds())))


def uploads_of(user: Any) -> QuerySet[Upload]:
    return Upload.objects.filter(user=user)


def receive(
    user: Any,
    files: Sequence[UploadedFile],
    name: str,
    format: str,
    team: str = "",
    extends: Batch | None = None,
) -> Upload:
    """Store files as a new upload, and start a process that inspects them.

    The batch is to belong to the team of this name, or to the only one that the account manages.
    With `extends`, which the account has to manage, the files add to that batch's queries, and the
    new batch belongs to its team.
    Raises TooOftenError, and InputError for errors that are visible at once; then nothing is
    stored.
    """
    clean()
    upload = Upload(user=user, name=name.strip(), format=format)
    upload.name = upload.name or _name_of(files)
    upload.extends = extends
    upload.team = _team(user, team) if extends is None else extends.team
    try:
        with transaction.atomic():
            # The lock makes concurrent uploads of an account count towards the limit.
            get_user_model()._default_manager.select_for_update().get(pk=user.pk)
            check_rate(user)
            _check(upload, files)
            temporary = cast(Sequence[TemporaryUploadedFile], files)
            upload.files = quarantine.store(upload.key, temporary)
            upload.save(force_insert=True)
            record("upload.received", of=upload, files=len(upload.files))
            transaction.on_commit(lambda: wake.wake(wake.UPLOAD, upload.key))
    except BaseException:
        quarantine.remove(upload.key)
        raise
    return upload


def _team(user: Any, name: str) -> Team:
    try:
        return team_for(user, name.strip())
    except TeamError as error:
        wrong, _, remedy = str(error).partition("; ")
        raise InputError(Place("The team"), wrong, remedy or "name one") from error


def _name_of(files: Sequence[UploadedFile]) -> str:
    first = quarantine.printable_name(files[0].name or "") if files else ""
    return PurePath(first).stem[: Batch._meta.get_field("name").max_length]


def _check(upload: Upload, files: Sequence[UploadedFile]) -> None:
    if not files:
        raise InputError(Place("The upload"), "has no file", "choose one or more")
    if len(files) > MAX_FILES:
        wrong = f"has more than {MAX_FILES} files"
        raise InputError(Place("The upload"), wrong, "combine them into fewer")
    check_name(upload.name)
    if upload.format and upload.format not in READERS:
        wrong = f"there is no format {excerpt(upload.format)}"
        raise InputError(Place("--format"), wrong, f"choose one of {', '.join(READERS)}")
    if uploads_of(upload.user).filter(state__in=UNDECIDED).count() >= MAX_UNDECIDED:
        wrong = f"exceeds the limit of {MAX_UNDECIDED} undecided uploads"
        raise InputError(Place("The upload"), wrong, "keep or discard an earlier one first")


State = Upload.State
PATIENCE_SECONDS = 10
SILENT_SECONDS = 60
STATUS_REASONS = {
    State.READING: "its files are being read; wait until that is done",
    State.READY: "it has a newer preview; check that first",
    State.REFUSED: "it was refused; correct its files and upload them again",
    State.KEEPING: "it is being loaded; wait until that is done",
    State.KEPT: "it was kept; its batch is loaded",
    State.DISCARDED: "it was discarded; upload the files again",
}
STATUS_NAMES = {
    State.READING: ("Being read", "plain"),
    State.READY: ("Ready to review", "warn"),
    State.REFUSED: ("Refused", "no"),
    State.KEEPING: ("Being loaded", "plain"),
    State.KEPT: ("Kept", "yes"),
    State.DISCARDED: ("Discarded", "other"),
}


class StaleError(Exception):
    """The upload has changed since the person saw it."""

    def __init__(self, upload: Upload) -> None:
        reason = STATUS_REASONS[State(upload.state)]
        super().__init__(f"this upload was not changed: {reason}")


class TakenNameError(Exception):
    """Another batch has the name. If the person may not read it, nothing else is revealed."""

    def __init__(self, name: str, readable: bool) -> None:
        super().__init__(
            f"a batch called {name!r} has other content; choose another name, since a loaded "
            "batch never changes"
            if readable
            else f"the name {name!r} is taken; choose another"
        )


def keep(upload: Upload, seen: str, name: str, team: Team | None = None) -> None:
    """Start loading the content that the person saw, identified by the preview's digest.

    The batch will belong to `team`, by default to the upload's, or the only one that the person
    manages. Raises StaleError, TakenNameError, InputError if no batch can have the name, and
    NotManagedError for a person who no longer manages the team.
    """
    if upload.state in (State.KEEPING, State.KEPT) and seen == upload.digest:
        return
    if upload.state != State.READY or not seen or seen != upload.digest:
        raise StaleError(upload)
    name = name.strip() or upload.name
    check_name(name)
    same = visible_batches(upload.user).filter(name=name)
    if same.exclude(digest=upload.digest).exists():
        raise TakenNameError(name, readable=True)
    if Batch.objects.filter(name=name).exclude(pk__in=same).exists():
        raise TakenNameError(name, readable=False)
    managed = managed_teams(upload.user)
    team = team or upload.team or managed.first()
    if upload.user.role != ADMIN and (team is None or not managed.filter(pk=team.pk).exists()):
        raise NotManagedError
    ready = Upload.objects.filter(pk=upload.pk, state=State.READY, digest=seen)
    _order(upload, ready, "upload.kept", state=State.KEEPING, name=name, error="", team=team)


def restart_reading(upload: Upload, format: str) -> None:
    """Start reading the files again, in a named format or, with "", in the detected one."""
    if format and format not in READERS:
        raise InputError(Place("--format"), "is not one of the formats", "choose one of the list")
    ready = Upload.objects.filter(pk=upload.pk, state=State.READY)
    reset = {"format": format, "digest": "", "found": {}, "error": ""}
    _order(upload, ready, "upload.read", state=State.READING, **reset)


def discard(upload: Upload) -> None:
    """Discard an upload and delete its files. Raises StaleError if it is being loaded or kept."""
    discardable = Upload.objects.filter(pk=upload.pk, state__in=(State.READING, State.READY))
    if upload.state == State.DISCARDED:
        return
    now = timezone.now()
    values: dict[str, Any] = {
        "state": State.DISCARDED,
        "turn": None,
        "found": {},
        "error": "",
        "changed_at": now,
    }
    with transaction.atomic():
        discarded = discardable.update(**values)
        if discarded:
            record("upload.discarded", of=upload)
    if not discarded:
        upload.refresh_from_db()
        raise StaleError(upload)
    quarantine.remove(upload.key)


def begin_here(upload: Upload) -> None:
    """Work on an upload beside the web server, if no worker took it or its process has ended.

    Raises StaleError if a process is working on the upload.
    """
    if not (is_silent(upload) or is_waiting(upload)):
        raise StaleError(upload)
    same_turn = Upload.objects.filter(pk=upload.pk, state__in=AT_WORK, turn=upload.turn)
    if not same_turn.update(turn=None, changed_at=timezone.now()):
        upload.refresh_from_db()
        raise StaleError(upload)
    quarantine.forget_progress(upload.key)
    transaction.on_commit(wake.start_here)


def is_waiting(upload: Upload) -> bool:
    """Return whether no process has started on the upload for longer than a worker needs to."""
    since = timezone.now() - upload.changed_at
    waits = upload.state in AT_WORK and upload.turn is None
    return waits and since > timedelta(seconds=PATIENCE_SECONDS)


def is_silent(upload: Upload) -> bool:
    """Return whether the process that has the turn has reported no progress for too long."""
    if upload.state not in AT_WORK or upload.turn is None:
        return False
    noted = quarantine.progress(upload.key)
    silent = (timezone.now() - upload.changed_at).total_seconds() if noted is None else noted.age
    return silent > SILENT_SECONDS


def _order(upload: Upload, ready: QuerySet[Upload], event: str, **values: object) -> None:
    with transaction.atomic():
        updated = ready.update(turn=None, changed_at=timezone.now(), **values)
        if updated:
            record(event, of=upload, after=upload.digest)
    upload.refresh_from_db()
    if not updated:
        raise StaleError(upload)
    quarantine.forget_progress(upload.key)
    transaction.on_commit(partial(wake.wake, wake.UPLOAD, upload.key))


def upload_context(upload: Upload) -> dict[str, Any]:
    """Return the template context of an upload."""
    word, kind = STATUS_NAMES[State(upload.state)]
    found = upload.found
    return {
        "upload": upload,
        "word": word,
        "kind": kind,
        "at_work": upload.state in AT_WORK,
        "progress": quarantine.progress(upload.key) if upload.state in AT_WORK else None,
        "waiting": is_waiting(upload),
        "silent": is_silent(upload),
        "has_workers": wake.has_workers(),
        "bytes": sum(each["bytes"] for each in upload.files),
        "counts": [
            (f"{n:,}", what.replace("_", " ")) for what, n in found.get("counts", {}).items() if n
        ],
        "more_warnings": max(0, found.get("warning_count", 0) - WARNINGS_KEPT),
        "first": [_preview_query(line) for line in found.get("first", ())],
        "same_content": batches_with_same_content(upload),
    }


def batches_with_same_content(upload: Upload) -> list[Batch]:
    """Return the loaded batches with the same content."""
    if upload.state != State.READY:
        return []
    return list(visible_batches(upload.user).filter(digest=upload.digest))


def _preview_query(line: dict[str, Any]) -> dict[str, Any]:
    """Return a query of the preview with its parts by kind, and the number of further parts."""
    more = line.get("more", {})
    # PostgreSQL keeps no order of keys.
    kinds = [each.name for each in fields(Query) if isinstance(line.get(each.name), list)]
    parts = [
        {"name": name.replace("_", " "), "shown": line[name], "more": more.get(name, 0)}
        for name in kinds
        if line[name]
    ]
    return {"id": line["id"], "text": line["text"], "parts": parts}
