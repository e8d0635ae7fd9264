"""Receiving files: rate limits, and a row with the files in the quarantine."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from datetime import timedelta
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
from datasets.loading import check_name
from datasets.models import Batch, Team, Upload
from datasets.readers import READERS
from datasets.teams import TeamError, team_for
from datasets.uploads import quarantine
from datasets.uploads.cleaning import clean
from datasets.work import wake
from tandem.files.jsonl import excerpt
from tandem.files.rows import InputError, Place
from tandem.verbs import verb_of

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
