"""The files that a build may copy, according to .dockerignore."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath


def ignore_patterns(text: str) -> list[str]:
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def is_ignored(path: str, patterns: Sequence[str]) -> bool:
    """Return whether a file is excluded: the last pattern that matches it or a parent decides."""
    parents = [str(each) for each in PurePosixPath(path).parents if str(each) != "."]
    verdict = False
    for pattern in patterns:
        fits = _fitting(pattern.removeprefix("!").strip("/"))
        if any(fits.fullmatch(each) for each in (path, *parents)):
            verdict = not pattern.startswith("!")
    return verdict


def _fitting(pattern: str) -> re.Pattern[str]:
    parts = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    words = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    return re.compile("".join(parts.get(word, re.escape(word)) for word in words))


def context_files(folder: Path, patterns: Sequence[str]) -> set[str]:
    """Return the files that a build may copy, as POSIX paths relative to the folder."""
    kept = tuple(each[1:].split("/")[0] for each in patterns if each.startswith("!"))
    found = set()
    for top in folder.iterdir():
        # Not searched, since it may be large: a virtual environment, a history, a data folder.
        if is_ignored(top.name, patterns) and top.name not in kept and "**" not in kept:
            continue
        files = [top] if top.is_file() else top.rglob("*")
        found |= {each.relative_to(folder).as_posix() for each in files if each.is_file()}
    return {each for each in found if not is_ignored(each, patterns)}
