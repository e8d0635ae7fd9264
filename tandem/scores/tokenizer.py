"""Ways to count tokens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from .options import WHITESPACE

FILE = "file:"
UNKNOWN = "unknown"
"""In place of a tokenizer that is not at hand: no text has tokens."""


@dataclass(frozen=True)
class Tokenizer:
    """A way to count tokens.

    `name` identifies it. For a tokenizer from a file, the name contains the file's digest but not
    its path, which means nothing on another machine.
    """

    name: str
    count: Callable[[str], int]


def tokenizer(name: str) -> Tokenizer:
    """Return a way to count: `whitespace`, `unknown`, or `file:PATH`.

    The file is a tokenizer.json of the library tokenizers, whose special tokens are not counted.
    Raises ValueError if there is no such tokenizer, or the library is not installed.
    """
    if name == WHITESPACE:
        return Tokenizer(WHITESPACE, lambda text: len(text.split()))
    if name == UNKNOWN:
        return Tokenizer(UNKNOWN, lambda text: 0)
    if not name.startswith(FILE):
        raise ValueError(f"no tokenizer is called {name!r}; it is whitespace or file:PATH")
    return _of_file(Path(name.removeprefix(FILE)))


def _of_file(path: Path) -> Tokenizer:
    try:
        from tokenizers import Tokenizer as Library
    except ImportError as error:
        raise ValueError("a tokenizer's file needs the package tokenizers; install it") from error
    try:
        content = path.read_bytes()
        found = Library.from_str(content.decode("utf-8"))
    except Exception as error:  # the library raises plain Exception for an invalid file
        raise ValueError(f"{path}: cannot be read as a tokenizer.json ({error})") from error
    name = f"{path.name} (sha256 {sha256(content).hexdigest()[:12]})"
    return Tokenizer(name, lambda text: len(found.encode(text, add_special_tokens=False).ids))
