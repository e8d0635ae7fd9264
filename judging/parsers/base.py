"""The interface of a parser: the expected answer, the reading, and the error if there is none.

A parser knows neither Django nor a server.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, get_args

from judging.backends.base import Answer, AskedUnit

Step = Literal[
    "as-is",
    "thinking",
    "fence",
    "prose",
    "trailing-comma",
    "smart-quotes",
    "line-breaks",
    "comments",
    "python",
    "boolean",
    "keys",
    "wrapper",
    "invisible",
    "struck-out",
    "width",
    "html",
    "latex",
    "markdown",
]
STEPS: tuple[Step, ...] = get_args(Step)
"""The steps by which an answer is found. `judging.parsers.ladder` says what those on JSON do, and
`judging.parsers.normal` those on a text that a verdict is read from."""

Fault = Literal["unreadable", "ambiguous", "refused", "off-label", "unmatched"]
UnitVariable = tuple[str, str]
"""A unit's name, as the judge is shown it, and a variable."""


class UnreadError(ValueError):
    """Nothing can be read. `fault` is the missing reason, and the message says what is wrong."""

    def __init__(self, message: str, fault: Fault = "unreadable") -> None:
        super().__init__(message)
        self.fault: Fault = fault


@dataclass(frozen=True)
class ExpectedAnswer:
    """The form of a complete answer: an entry for each unit.

    `fits` tells whether an object is such an answer; it is called only if a text contains several
    objects. With `by_unit`, the object is the one unit's entry.
    """

    units: tuple[AskedUnit, ...]
    by_unit: bool = False
    fits: Callable[[Mapping[str, Any]], bool] = lambda answer: True


@dataclass(frozen=True)
class Score:
    """A label's details besides its code, as in `annotation.answers.types.Detail`."""

    value: float | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Reading:
    """The result of reading one answer. `units` has an entry for each unit, by name. `steps` are
    the steps of the ladder that were needed. `text` is the corrected completion, in which
    corrections keep the length. The object that was read begins at `start`. `scores` and `missing`
    are given by parsers that read probabilities: a variable in `missing` has a reason instead of a
    code. `grades` are the verdicts as the judge gave them, where its file maps several of them to
    one code. `places` are the spans of the completion from which verdicts were read. `own` counts,
    by variable and code, the verdicts on the sentences of a judge that splits a text itself.
    """

    units: Mapping[str, Any]
    steps: tuple[Step, ...] = ("as-is",)
    text: str = ""
    start: int = 0
    scores: Mapping[UnitVariable, Score] = field(default_factory=dict)
    missing: Mapping[UnitVariable, Fault] = field(default_factory=dict)
    grades: Mapping[UnitVariable, str] = field(default_factory=dict)
    places: Mapping[UnitVariable, tuple[int, int]] = field(default_factory=dict)
    own: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


class Parser(Protocol):
    """Reads a judge's answers.

    `whole` tells whether it reads every key of a unit; otherwise `reads` names the keys: its
    variables, and for a judge that writes, its texts and lists.
    `several` tells whether it reads an answer to several units.
    """

    @property
    def whole(self) -> bool: ...

    @property
    def several(self) -> bool: ...

    @property
    def reads(self) -> tuple[str, ...]: ...

    def read(self, answer: Answer, expected: ExpectedAnswer) -> Reading:
        """Read one answer. Raises UnreadError."""
        ...
