"""Lists of refusals: files beside this module, each with its version in its name."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "refusals"


@dataclass(frozen=True)
class RefusalList:
    """Phrases that say that there is no answer; an answer that holds one of them refuses."""

    name: str
    about: str
    phrases: tuple[str, ...]

    def refuses(self, answer: str) -> bool:
        """Whether the answer is empty or holds a phrase; case, blanks and apostrophes aside."""
        text = _plain(answer)
        return not text or any(phrase in text for phrase in self.phrases)


@cache
def refusal_list(name: str) -> RefusalList:
    """The list of that name. Raises ValueError where there is none."""
    known = refusal_lists()
    if name not in known:
        raise ValueError(f"no list of refusals is called {name!r}; there are {', '.join(known)}")
    found = tomllib.loads((FOLDER / f"{name}.toml").read_text("utf-8"))
    return RefusalList(name, found["about"], tuple(map(_plain, found["phrases"])))


def refusal_lists() -> list[str]:
    """The names of all lists."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def _plain(text: str) -> str:
    return " ".join(text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").casefold().split())
