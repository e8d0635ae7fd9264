"""The library of judge files: published designs, in our words, to start from.

Each file of `files` names its source, its scale, what it was validated on and its weaknesses, and
has fixtures. No file has a published prompt word for word, since its words belong to its authors.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from judging.judge_file.document import JudgeFile, read_file

FILES = Path(__file__).parent / "files"


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
