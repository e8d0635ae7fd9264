"""The parts of a study: batches, campaigns, judges and plans, and the stage of each."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from analysis.study.keys import Options
from analysis.study.protocols import ProtocolBeside
from annotation.derivation.decisions import MODES
from tandem.document import join_words

PLAN = "trust"
"""The kind of a plan, which is in no study but in its campaign."""


@dataclass(frozen=True, order=True)
class Key:
    """The identity of a part within its study."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


@dataclass(frozen=True)
class ImportedFile:
    """A file of labels or reviews, with the options of the command that imports it."""

    path: Path
    options: Mapping[str, Any]


@dataclass(frozen=True)
class JudgeRequest:
    """A judge to run, with the limits of its run, as options of `run_judge` or `prepare_batch`."""

    judge: str
    terms: Mapping[str, Any]


@dataclass(frozen=True)
class Part:
    """A table of the file: a batch, campaign, judge or plan, with the options of its command.

    `needs` has the parts that come first. Of those, the campaigns in `awaits` have to be finished,
    not just created. `protocol` is the file that a campaign names as its protocol. A batch that a
    preparation step builds has the step's judge in `judges`, and `reviews` of its answers.
    """

    key: Key
    command: str
    options: Options
    needs: tuple[Key, ...]
    line: int | None
    awaits: tuple[Key, ...] = ()
    labels: tuple[ImportedFile, ...] = ()
    judges: tuple[JudgeRequest, ...] = ()
    protocol: ProtocolBeside | None = None
    reviews: tuple[ImportedFile, ...] = ()

    @property
    def name(self) -> str:
        return self.key.name

    @property
    def awaits_people(self) -> bool:
        """Whether it waits for all people, not just for one rater."""
        return self.key.kind != PLAN and self.options.get("decided_by", MODES[0]) in MODES

    @property
    def first_step(self) -> str:
        """The action that creates it, in words that can follow "to"."""
        options = self.options
        if self.command == "load_batch":
            return f"load {', '.join(path.name for path in options['paths'])}"
        if self.command == "derive_batch":
            sources = " and ".join(key.name for key in self.awaits) or options["batch"]
            return f"derive it by {options['rule']} from {sources}"
        if self.command == "build_batch":
            return f"build it by step {options['step']} from {options['batch']}"
        if self.command == "trust":
            return f"commit to a plan: what {options['judge']} may decide on {options['variable']}"
        if self.command == "compare_systems":
            return f"commit to a plan: which of {join_words(options['systems'])} is better"
        if self.command == "create_judge":
            return f"create it ({options['backend']})"
        return f"create it ({options['protocol']} over {options['batch']})"


@dataclass(frozen=True)
class Action:
    """One action on a part, in words that can follow "to" (`load …`, `create …`)."""

    words: str
    do: Callable[[], list[str]]


@dataclass(frozen=True)
class Stage:
    """A part and its current state.

    `blocked` has the required parts that do not exist or are not finished yet. `behind` is set if
    labels have changed since the part was derived, and says what to do. `says` has what a plan's
    labels have shown so far.
    """

    part: Part
    exists: bool
    actions: tuple[Action, ...] = ()
    waits: tuple[str, ...] = ()
    blocked: tuple[Key, ...] = ()
    behind: str = ""
    counts: dict[str, Any] = field(default_factory=dict)
    says: str = ""

    @property
    def key(self) -> Key:
        return self.part.key

    @property
    def state(self) -> str:
        """One of blocked, missing, open, waiting, behind and done."""
        if not self.exists:
            if self.blocked:
                return "blocked"
            return "waiting" if self.waits and not self.actions else "missing"
        if self.actions:
            return "open"
        if self.behind:
            return "behind"
        return "waiting" if self.waits else "done"


def table_of(key: Key) -> str:
    """Return the heading of a part's table, as `Lines` writes it."""
    return re.sub(r"[\s\"']", "", f"{key.kind}.{key.name}")
