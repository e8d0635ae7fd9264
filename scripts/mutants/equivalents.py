"""Mutants without an observable effect, with the reason for each.

An entry in `equivalent.toml` identifies its change without a line number, so it still applies when
code moves.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from scripts.mutants.sampling import Mutant

FILE = Path(__file__).with_name("equivalent.toml")
KEYS = ("path", "function", "before", "after")


class WrongEntryError(Exception):
    """An entry that is incomplete."""


def reasons(file: Path = FILE) -> dict[tuple[str, ...], str]:
    """Return the reason of each entry by path, function, and the lines before and after."""
    entries = tomllib.loads(file.read_text("utf-8")).get("mutant", [])
    for number, entry in enumerate(entries, start=1):
        missing = [key for key in (*KEYS, "reason") if not str(entry.get(key, "")).strip()]
        if missing and missing != ["after"]:
            raise WrongEntryError(f"{file.name}, entry {number}: {', '.join(missing)} is missing")
    return {tuple(str(entry[key]) for key in KEYS): str(entry["reason"]) for entry in entries}


def key(mutant: Mutant) -> tuple[str, ...]:
    return (mutant.path, mutant.edit.function, *mutant.changed)


def entry(mutant: Mutant) -> str:
    """Return the entry of a mutant, for the file."""
    values = dict(zip(KEYS, key(mutant), strict=True))
    lines = [f"{name} = '''{value}'''" for name, value in values.items()]
    return "\n".join(["[[mutant]]", *lines, 'reason = ""'])
