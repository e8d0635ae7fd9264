"""The folder of uploaded files until they become a batch, and the detection of their kind.

Files are stored under numbered names in TANDEM_DATA_DIR/uploads/KEY/, beside the progress of their
process. No URL serves them. The kind of a file is detected from its content alone, since neither
its name nor its declared type is trusted.
"""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from os import SEEK_END
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import TemporaryUploadedFile

from datasets.models import Upload
from tandem.files.columnar import MAGIC
from tandem.files.rows import InputError, Place

SAMPLE_BYTES = 64 * 1024
PROGRESS = "progress.json"
MAX_SHOWN_NAME = 100
INCOMING = "incoming"
MEGABYTE = 1024 * 1024
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
    b"SQLite format 3\x00": "a database",
    b"\x7fELF": "a program",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
}
# query, Q0, document, rank, score, tag
_RUN = re.compile(rb"\s*\S+\s+\S+\s+\S+\s+\d+\s+[-+.\deE]+\s+\S+\s*")


def suffix_of(path: Path, name: str) -> str:
    """Return the suffix for the kind of content. Raises InputError for another binary file."""
    with path.open("rb") as file:
        begin = file.read(SAMPLE_BYTES)
        file.seek(-min(len(MAGIC), len(begin)), SEEK_END)
        is_whole = len(begin) > 2 * len(MAGIC) and file.read() == MAGIC
    _check_kind(begin, name)
    if begin.startswith(MAGIC):
        if not is_whole:
            raise InputError(Place(name), "is Parquet", "its end is missing: upload the whole file")
        return ".parquet"
    first = next((line for line in begin.splitlines() if line.strip()), b"").strip()
    if _RUN.fullmatch(first):
        return ".run"
    # An object on its own line is a record; other JSON is one document.
    return ".json" if first.startswith(b"[") or first == b"{" else ".jsonl"


def _check_kind(begin: bytes, name: str) -> None:
    for magic, what in PACKED.items():
        if begin.startswith(magic):
            remedy = "unpack it, and upload its files"
            raise InputError(Place(name), f"is packed ({what})", remedy)
    for magic, what in FOREIGN.items():
        if begin.startswith(magic):
            remedy = "upload JSON Lines in UTF-8, a JSON array, Parquet or a TREC run"
            raise InputError(Place(name), f"is {what}", remedy)


def root() -> Path:
    return Path(settings.DATA_DIR) / "uploads"


def folder(key: str) -> Path:
    return root() / key


def paths(upload: Upload) -> list[Path]:
    """Return the stored files in the order of the upload."""
    return [folder(upload.key) / each["stored"] for each in upload.files]


def store(key: str, files: Sequence[TemporaryUploadedFile]) -> list[dict[str, Any]]:
    """Store received files; return each one's stored name, original name and size in bytes.

    Raises InputError for a file whose content is neither text nor Parquet.
    """
    folder(key).mkdir(mode=0o700, parents=True)
    return [_store_file(folder(key), number, each) for number, each in enumerate(files)]


def _store_file(into: Path, number: int, file: TemporaryUploadedFile) -> dict[str, Any]:
    received, name = Path(file.temporary_file_path()), printable_name(file.name or "")
    stored = f"{number}{suffix_of(received, name)}"
    try:
        (into / stored).hardlink_to(received)
    except OSError:
        # The folder is on another disk, or its disk has no hard links.
        shutil.copyfile(received, into / stored)
    return {"name": name, "bytes": file.size, "stored": stored}


def printable_name(name: str) -> str:
    """Return a file's name, made safe for a message."""
    printable = "".join(c for c in name if c.isprintable())
    return printable[:MAX_SHOWN_NAME] or "a file without a name"


def with_original_names(upload: Upload, message: str) -> str:
    """Replace the stored paths in a message by the original names of the files."""
    for each, path in zip(upload.files, paths(upload), strict=True):
        message = message.replace(str(path), each["name"])
    return message.replace(str(folder(upload.key)), "the files")


def note_progress(key: str, done: int, total: int) -> None:
    """Write the progress to a file, since the load itself may lock the database."""
    new = folder(key) / f"{PROGRESS}.new"
    new.write_text(json.dumps({"done": done, "total": total}), "utf-8")
    new.rename(folder(key) / PROGRESS)


@dataclass(frozen=True)
class Progress:
    """Queries read, their maximum, and the age of this note in seconds."""

    done: int
    total: int
    age: float


def progress(key: str) -> Progress | None:
    """Return the last progress noted, or None."""
    file = folder(key) / PROGRESS
    try:
        noted = json.loads(file.read_text("utf-8"))
        return Progress(int(noted["done"]), int(noted["total"]), time.time() - file.stat().st_mtime)
    except (OSError, ValueError):
        return None


def lines(upload: Upload) -> int:
    """Count the lines of the files, which is the maximum number of queries."""
    return sum(_lines(path) for path in paths(upload))


def _lines(path: Path) -> int:
    with path.open("rb") as file:
        return 1 + sum(part.count(b"\n") for part in iter(lambda: file.read(MEGABYTE), b""))


def remove(key: str) -> None:
    shutil.rmtree(folder(key), ignore_errors=True)


def forget_progress(key: str) -> None:
    (folder(key) / PROGRESS).unlink(missing_ok=True)


def leftovers(older_than: float) -> list[Path]:
    """Return folders of uploads and incomplete incoming files that are older, in seconds."""
    now, found = time.time(), []
    for path in [*root().glob("*"), *(root() / INCOMING).glob("*")]:
        try:
            old = now - path.stat().st_mtime > older_than
        except OSError:
            continue
        if old and path.name != INCOMING:
            found.append(path)
    return found
