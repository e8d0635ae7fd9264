"""Where uploaded files wait until they become a batch, and what kind of file each one is.

Files are kept under names of our own in TANDEM_DATA_DIR/uploads/KEY/, numbered, beside the
progress of their process. No URL serves them. The kind follows from the content alone: neither the
file's name nor the type sent with it is trusted.
"""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import TemporaryUploadedFile

from datasets.models import Upload
from datasets.rows import InputError, Place

LOOKED_AT = 64 * 1024
PACKED = {
    b"\x1f\x8b": "gzip",
    b"PK\x03\x04": "zip, or an office file",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"7z\xbc\xaf\x27\x1c": "7z",
}
FOREIGN = {
    b"%PDF-": "a PDF",
    b"PAR1": "Parquet",
    b"SQLite format 3\x00": "a database",
    b"\x7fELF": "a program",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
}
# query, Q0, document, rank, score, tag
_RUN = re.compile(rb"\s*\S+\s+\S+\s+\S+\s+\d+\s+[-+.\deE]+\s+\S+\s*")


def suffix_of(path: Path, name: str) -> str:
    """The suffix that readers know the content by. Raises InputError for what is no text."""
    with path.open("rb") as file:
        begin = file.read(LOOKED_AT)
    _refuse(begin, name)
    first = next((line for line in begin.splitlines() if line.strip()), b"").strip()
    if _RUN.fullmatch(first):
        return ".run"
    # An object on its own line is a record; anything else that begins like JSON is one document.
    return ".json" if first.startswith(b"[") or first == b"{" else ".jsonl"


def _refuse(begin: bytes, name: str) -> None:
    for magic, what in PACKED.items():
        if begin.startswith(magic):
            mend = "unpack it, and upload the files in it"
            raise InputError(Place(name), f"is packed ({what})", mend)
    for magic, what in FOREIGN.items():
        if begin.startswith(magic):
            raise InputError(Place(name), f"is {what}", "give JSON Lines in UTF-8, or a TREC run")


PROGRESS = "progress.json"
SHOWN_NAME = 100
INCOMING = "incoming"
MEGABYTE = 1024 * 1024


def root() -> Path:
    return Path(settings.DATA_DIR) / "uploads"


def folder(key: str) -> Path:
    return root() / key


def paths(upload: Upload) -> list[Path]:
    """The files in the order in which they were sent."""
    return [folder(upload.key) / each["stored"] for each in upload.files]


def take(key: str, files: Sequence[TemporaryUploadedFile]) -> list[dict[str, Any]]:
    """Takes received files in. Raises InputError for a file whose content cannot be read as text.

    What is told of each is its number's name here, the name that it came with, and its bytes.
    """
    folder(key).mkdir(mode=0o700, parents=True)
    return [_taken(folder(key), number, each) for number, each in enumerate(files)]


def _taken(into: Path, number: int, file: TemporaryUploadedFile) -> dict[str, Any]:
    received, name = Path(file.temporary_file_path()), shown_name(file.name or "")
    stored = f"{number}{suffix_of(received, name)}"
    try:
        (into / stored).hardlink_to(received)
    except OSError:
        # Another disk, or one that knows no such links.
        shutil.copyfile(received, into / stored)
    return {"name": name, "bytes": file.size, "stored": stored}


def shown_name(name: str) -> str:
    """A file's name as it may stand in a message."""
    kept = "".join(c for c in name if c.isprintable())
    return kept[:SHOWN_NAME] or "a file without a name"


def in_their_words(upload: Upload, message: str) -> str:
    """A message with the names that the files came with for the paths that they lie under here."""
    for each, path in zip(upload.files, paths(upload), strict=True):
        message = message.replace(str(path), each["name"])
    return message.replace(str(folder(upload.key)), "the files")


def note_progress(key: str, done: int, total: int) -> None:
    """Written whole beside the files, since the database may be held by the load itself."""
    beside = folder(key) / f"{PROGRESS}.new"
    beside.write_text(json.dumps({"done": done, "total": total}), "utf-8")
    beside.rename(folder(key) / PROGRESS)


@dataclass(frozen=True)
class Progress:
    """How many queries were read, of how many at most, and seconds since that was noted."""

    done: int
    total: int
    age: float


def progress(key: str) -> Progress | None:
    """None before the first note."""
    file = folder(key) / PROGRESS
    try:
        noted = json.loads(file.read_text("utf-8"))
        return Progress(int(noted["done"]), int(noted["total"]), time.time() - file.stat().st_mtime)
    except (OSError, ValueError):
        return None


def lines(upload: Upload) -> int:
    """How many lines the files have, which is the most that they can hold of queries."""
    return sum(_lines(path) for path in paths(upload))


def _lines(path: Path) -> int:
    with path.open("rb") as file:
        return 1 + sum(part.count(b"\n") for part in iter(lambda: file.read(MEGABYTE), b""))


def remove(key: str) -> None:
    shutil.rmtree(folder(key), ignore_errors=True)


def forget_progress(key: str) -> None:
    (folder(key) / PROGRESS).unlink(missing_ok=True)


def leftovers(older_than: float) -> list[Path]:
    """Folders of uploads, and files of uploads that broke off on their way, of so many seconds."""
    now, found = time.time(), []
    for path in [*root().glob("*"), *(root() / INCOMING).glob("*")]:
        try:
            old = now - path.stat().st_mtime > older_than
        except OSError:
            continue
        if old and path.name != INCOMING:
            found.append(path)
    return found
