"""The library of judge files: published designs, in our words, to start from.

Each file of `files` names its source, its scale, what it was validated on and its weaknesses, and
has fixtures. No file has a published prompt word for word, since its words belong to its authors.
`versions.json` has the SHA-256 of every version of each file, the current one last: a judge that
was created from an earlier version keeps it.
"""

from __future__ import annotations

import json
from functools import cache
from hashlib import sha256
from pathlib import Path

from judging.judge_file.document import JudgeFile, read_file

FILES = Path(__file__).parent / "files"
VERSIONS = Path(__file__).parent / "versions.json"


@cache
def names() -> tuple[str, ...]:
    """Return the names of the library's files, in alphabetical order."""
    return tuple(sorted(path.stem for path in FILES.glob("*.toml")))


def text_of(name: str) -> str:
    """Return the text of a file. Raises KeyError if the library has none of that name."""
    if name not in names():
        raise KeyError(name)
    return (FILES / f"{name}.toml").read_text("utf-8")


def files() -> dict[str, JudgeFile]:
    """Return all files by name, read and checked."""
    return {name: read_file(text_of(name)) for name in names()}


@cache
def versions() -> dict[str, list[str]]:
    """Return the SHA-256 of every version of each file by name, the current one last."""
    found: dict[str, list[str]] = json.loads(VERSIONS.read_text("utf-8"))
    return found


def is_earlier_version(earlier: str, current: str) -> bool:
    """Return whether a text is an earlier version of the library's file with the current text."""
    before, now = (sha256(text.encode()).hexdigest() for text in (earlier, current))
    return any(now == known[-1] and before in known for known in versions().values())
