"""Lists of phrases that decline to answer: versioned files in this package, or a custom file."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "refusal_texts"
FILE = "file:"
WRONG = "it holds `phrases`, a list of texts that are not blank, and so does each of its `systems`"
WRONG_HEDGES = "its `hedges` are a list of texts that are not blank"
SENTENCE_END = re.compile(r"[.!?](?:\s|$)")
TURN = re.compile(r"\bbut\b")


@dataclass(frozen=True)
class RefusalList:
    """Phrases that decline to answer. An answer that contains one of them is a refusal.

    `hedges` are phrases that refuse unless a *but* follows in their sentence: "I don't know the
    day, but it was in 1890" is an answer. `systems` replaces both lists for systems with phrases of
    their own.
    """

    name: str
    about: str
    phrases: tuple[str, ...]
    systems: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    hedges: tuple[str, ...] = ()

    def refuses(self, answer: str, system: str = "") -> bool:
        """Return whether the answer is empty or contains a phrase, ignoring case and blanks."""
        text = _plain(answer)
        if not text:
            return True
        if system in self.systems:
            return any(each in text for each in self.systems[system])
        return any(each in text for each in self.phrases) or any(
            _stands_alone(each, text) for each in self.hedges
        )


def refusal_list(name: str) -> RefusalList:
    """Return the list with this name, or the list in a file, for `file:PATH`.

    The name of a list from a file is derived from its content, not from its path.
    Raises ValueError if there is no list with this name, or the file contains none.
    """
    return _of_file(Path(name.removeprefix(FILE))) if name.startswith(FILE) else _shipped(name)


@cache
def _shipped(name: str) -> RefusalList:
    known = refusal_lists()
    if name not in known:
        there = ", ".join((*known, f"{FILE}PATH"))
        raise ValueError(f"no list of refusals is called {name!r}; there are {there}")
    return _list(name, tomllib.loads((FOLDER / f"{name}.toml").read_text("utf-8")))


def _of_file(path: Path) -> RefusalList:
    try:
        content = path.read_bytes()
        found = tomllib.loads(content.decode("utf-8"))
        return _list(f"{path.name} (sha256 {sha256(content).hexdigest()[:12]})", found)
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"{path}: cannot be read as a list of refusals ({error})") from error


def _list(name: str, found: Mapping[str, Any]) -> RefusalList:
    systems = found.get("systems", {})
    if not isinstance(systems, Mapping):
        raise ValueError(WRONG)
    own = {system: _phrases(of) for system, of in systems.items()}
    hedges = _texts(found.get("hedges", []), WRONG_HEDGES)
    return RefusalList(name, str(found.get("about", "")), _phrases(found), own, hedges)


def _phrases(of: Any) -> tuple[str, ...]:
    return _texts(of.get("phrases") if isinstance(of, Mapping) else None, WRONG)


def _texts(found: Any, wrong: str) -> tuple[str, ...]:
    if not isinstance(found, list) or not all(isinstance(p, str) and p.strip() for p in found):
        raise ValueError(wrong)
    return tuple(map(_plain, found))


def _stands_alone(hedge: str, text: str) -> bool:
    """Return whether a sentence of the text ends after the hedge without a *but*."""
    _, *after = text.split(hedge)
    return any(not TURN.search(SENTENCE_END.split(rest, maxsplit=1)[0]) for rest in after)


def refusal_lists() -> list[str]:
    """Return the names of all shipped lists."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def _plain(text: str) -> str:
    return " ".join(text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").casefold().split())
