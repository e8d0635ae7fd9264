"""What goes into `annotation.submit` beside the answer, and what comes out of it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from annotation.answer import Detail
from annotation.models import Assignment, Draft, Response
from annotation.protocols.checking import Problem


class ConflictError(Exception):
    """Somebody saved in between: `current` is the response that stands now."""

    def __init__(self, current: Response) -> None:
        self.current = current
        super().__init__(f"revision {current.revision} was saved in between")


class LostLeaseError(Exception):
    """The assignment was given to another worker; this answer comes too late to count."""


@dataclass(frozen=True)
class Circumstances:
    """How an answer came about; everything has a sound default.

    `key` is the client's own for this save. `seen` is the revision that the client had before it
    (0: none), checked if given. `lease` is checked if given. `basis` is what a page had shown, if
    that was another guideline than today's. An import brings its own `revision`,
    `created_at`, `details` by unit name and variable, and `missing` reasons in the same order.
    """

    key: str | None = None
    seen: int | None = None
    lease: uuid.UUID | None = None
    seconds: float | None = None
    basis: str | None = None
    revision: int | None = None
    created_at: datetime | None = None
    details: Mapping[tuple[str, str], Detail] = field(default_factory=dict)
    missing: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """The response that stands, and whether this call made it."""

    response: Response
    created: bool
    warnings: tuple[Problem, ...] = ()


class Stands(NamedTuple):
    """What stands after one answer of a group: its revision, and whether this call made it."""

    revision: int
    created: bool


@dataclass(frozen=True)
class Held:
    """An assignment whose row is locked, with the answer and the draft that stand for it."""

    assignment: Assignment
    current: Response | None
    draft: Draft | None
