"""What a sent file is, by its content: its name and the type that comes with it say nothing."""

from __future__ import annotations

import re
from pathlib import Path

from datasets.rows import InputError, Place

LOOKED_AT = 64 * 1024
PACKED = {
    b"\x1f\x8b": "gzip", b"PK\x03\x04": "zip, or an office file", b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd", b"7z\xbc\xaf\x27\x1c": "7z",
}  # fmt: skip
FOREIGN = {
    b"%PDF-": "a PDF", b"PAR1": "Parquet", b"SQLite format 3\x00": "a database",
    b"\x7fELF": "a program", b"\x89PNG": "a picture", b"\xff\xd8\xff": "a picture",
}  # fmt: skip
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
