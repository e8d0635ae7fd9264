"""Read a protocol from a file: one TOML document, and the texts that it names beside it.

`file_structure` checks the form and `file_rules` what holds between the parts. Nothing in a file is
executed.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from tandem.files.rows import InputError, Place
from tandem.files.toml import read_toml
from tandem.protocols.base import Declaration, Variable
from tandem.protocols.file_rules import declare
from tandem.protocols.file_structure import (
    JSON,
    LONGEST,
    Problems,
    ProtocolFileError,
    hidden_character,
    parse,
)

LONGEST_PART = 100_000
Declared = TypeVar("Declared", bound=Declaration)


@dataclass(frozen=True)
class ProtocolFile:
    """A checked file: its text, the texts beside it by name, and what they declare.

    `guidelines` are by language, `german` translates texts of the declaration, and `prompt` is
    empty where judges get the shared one. `sections` are the headings of the guideline that are
    about variables, and `lacks` says why a batch may give no items.
    """

    text: str
    parts: Mapping[str, str]
    declaration: Declaration
    guidelines: Mapping[str, str]
    german: Mapping[str, str] = field(default_factory=dict)
    prompt: str = ""
    sections: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    lacks: str = ""

    def variable(self, name: str) -> Variable:
        """Return a variable by its name. Raises StopIteration if there is none."""
        return next(v for v in self.declaration.variables if v.name == name)

    @property
    def digest(self) -> str:
        return digest_of(self.text, self.parts)

    def in_german(self, declaration: Declared) -> Declared:
        """Return a declaration of this file with its texts in German, where the file has it."""
        say = self.german.get
        variables = tuple(
            dataclasses.replace(
                v,
                question=say(v.question, v.question),
                words={code: say(v.word(code), v.word(code)) for code in v.answers},
                meanings={code: say(text, text) for code, text in v.meanings.items()},
            )
            for v in declaration.variables
        )
        written = declaration.written
        if written is not None:
            written = dataclasses.replace(written, question=say(written.question, written.question))
        title = say(declaration.title, declaration.title)
        return dataclasses.replace(declaration, title=title, variables=variables, written=written)


def digest_of(text: str, parts: Mapping[str, str]) -> str:
    """Return the SHA-256 of a file and all texts that it names, hexadecimal."""
    whole = json.dumps([text, dict(sorted(parts.items()))], ensure_ascii=False)
    return hashlib.sha256(whole.encode()).hexdigest()


Open = Callable[[str], str]
"""Returns the text beside the file with a name. Raises OSError or UnicodeDecodeError."""


def read_protocol(text: str, name: str, open_part: Open | None = None) -> ProtocolFile:
    """Return the protocol in a file's text. Raises ProtocolFileError with every problem.

    `name` is the file as the user named it. Without `open_part` the file cannot name others.
    """
    document, problems = parse(text, name)
    return _read(document, text, problems, open_part)


def _read(document: JSON, text: str, problems: Problems, open_part: Open | None) -> ProtocolFile:
    declaration = declare(document, problems)
    parts = _Parts(document, problems, open_part)
    guidelines, prompt = parts.guidelines(), parts.text("judge", "prompt")
    problems.check()
    return ProtocolFile(
        text,
        parts.found,
        declaration,
        guidelines,
        document.get("german", {}),
        prompt,
        {name: tuple(about) for name, about in document["guideline"].get("sections", {}).items()},
        document["item"].get("lacks", ""),
    )


def read_shipped(path: Path) -> ProtocolFile:
    """Read a file of Tandem's own. A test checks its form, which takes longer than reading it."""
    text = path.read_text("utf-8")
    return _read(read_toml(text), text, Problems(path.name, text), _beside(path))


class _Parts:
    """The texts beside a file that it names."""

    def __init__(self, document: JSON, problems: Problems, open_part: Open | None) -> None:
        self.document, self.wrong, self.open_part = document, problems.add, open_part
        self.found: dict[str, str] = {}

    def guidelines(self) -> dict[str, str]:
        table = self.document["guideline"]
        found = {"en": table.get("en") or self.text("guideline", "file")}
        if german := table.get("de") or self.text("guideline", "file_de"):
            found["de"] = german
        if "en" in table and "file" in table:
            self.wrong("guideline has a text and a file", "leave one out", "guideline", "file")
        return found

    def text(self, table: str, key: str) -> str:
        """Return the text of the file that a key names; empty without the key."""
        name = self.document.get(table, {}).get(key)
        if name is None:
            return ""
        if self.open_part is None:
            self.wrong(
                f"{key} names a file, and none comes with this one",
                "put the text here, or add the protocol by the command", table, key,
            )  # fmt: skip
            return ""
        try:
            text = self.open_part(name)
        except (OSError, UnicodeDecodeError, LookupError):
            self.wrong(f"{name} cannot be read as UTF-8", "put it beside this file", table, key)
            return ""
        if not text.strip() or len(text) > LONGEST_PART:
            self.wrong(
                f"{name} is empty or has over {LONGEST_PART:,} characters", "change it", table, key
            )
        elif hidden := hidden_character(text.replace("\n", "").replace("\r", "")):
            self.wrong(f"{name} has the character U+{ord(hidden):04X}", "remove it", table, key)
        self.found[name] = text
        return text


def read_path(path: Path) -> ProtocolFile:
    """Read a protocol from a file on disk. Raises ProtocolFileError, OSError."""
    with path.open("rb") as file:
        sent = file.read(4 * LONGEST + 1)
    try:
        text = sent.decode()
    except UnicodeDecodeError as error:
        line = sent[: error.start].count(b"\n") + 1
        wrong = InputError(Place(str(path), line), "it is not UTF-8", "save it as UTF-8")
        raise ProtocolFileError([wrong]) from error
    return read_protocol(text, str(path), _beside(path))


def _beside(path: Path) -> Open:
    def open_part(name: str) -> str:
        with (path.parent / name).open("rb") as file:
            return file.read(4 * LONGEST_PART + 1).decode()

    return open_part
