"""The declaration of a check, and what it finds. Imports no Django, which may not even start."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

WELL, WARNING, MEND = "well", "warning", "mend"
EXIT_STATUS = 1
"""The exit status of the command if something must be mended."""


@dataclass(frozen=True)
class Finding:
    """What a check found, in a sentence; unless all is well, `mend` says what to do."""

    status: str
    says: str
    mend: str = ""


@dataclass(frozen=True)
class Check:
    """A check: its name, what it looks at, and its function.

    A check that `needs_database` is left out while the database is away. A slow one may wait for
    seconds, so no page runs it.
    """

    name: str
    title: str
    run: Callable[[], Finding | Iterable[Finding]]
    needs_database: bool = True
    is_slow: bool = False


@dataclass(frozen=True)
class Line:
    """A finding under the name and title of its check."""

    name: str
    title: str
    status: str
    says: str
    mend: str = ""

    def __str__(self) -> str:
        text = f"{self.status:8}{self.name}: {self.says}"
        return f"{text}. {self.mend}." if self.mend else f"{text}."


def well(says: str) -> Finding:
    return Finding(WELL, says)


def warning(says: str, mend: str) -> Finding:
    return Finding(WARNING, says, mend)


def must_mend(says: str, mend: str) -> Finding:
    return Finding(MEND, says, mend)


def is_well(lines: Iterable[Line]) -> bool:
    """Return whether nothing must be mended. Warnings do not count."""
    return all(line.status != MEND for line in lines)


def as_json(lines: list[Line]) -> dict[str, Any]:
    return {"well": is_well(lines), "checks": [asdict(line) for line in lines]}


def settings_line(error: str) -> Line:
    """Return the finding that no setting could be read, so that nothing else was examined."""
    return Line(
        "settings", "Settings", MEND, error, "Correct the setting, and run the doctor again"
    )
