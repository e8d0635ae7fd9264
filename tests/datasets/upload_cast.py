"""Uploaded files, and uploads whose process runs within the test."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile, TemporaryUploadedFile

from annotation.models import User
from datasets.models import Upload
from datasets.uploads.receiving import receive
from datasets.uploads.worker import carry_out, claim
from tests.cast import BATCH, Line


def as_file(lines: Iterable[Mapping[str, Any]] = BATCH) -> bytes:
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()


def posted(content: bytes | None = None, name: str = "study.jsonl") -> SimpleUploadedFile:
    """A file for a form."""
    return SimpleUploadedFile(name, as_file() if content is None else content)


def received(content: bytes | None = None, name: str = "study.jsonl") -> TemporaryUploadedFile:
    """A file as left by the streaming of a request."""
    data = as_file() if content is None else content
    file = TemporaryUploadedFile(name, "application/octet-stream", len(data), None)
    file.write(data)
    file.flush()
    file.seek(0)
    return file


def sent(user: User, *contents: bytes | None, name: str = "", format: str = "") -> Upload:
    """An upload that waits for its process."""
    files = [received(content) for content in contents or (None,)]
    return receive(user, files, name, format)


def read(user: User, *contents: bytes | None, name: str = "", format: str = "") -> Upload:
    """An upload that has been inspected."""
    return worked(sent(user, *contents, name=name, format=format))


def work(key: str) -> None:
    """Do what a process does with an upload that waits."""
    if upload := claim(key):
        carry_out(upload)


def worked(upload: Upload) -> Upload:
    work(upload.key)
    upload.refresh_from_db()
    return upload


def changed(line: Line, **changes: Any) -> Line:
    return {**line, **changes}
