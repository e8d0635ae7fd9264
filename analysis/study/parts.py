"""The parts of a study: its batches, campaigns and judges, each with what it needs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.study.keys import Options
from analysis.study.protocols import ProtocolBeside
from annotation.derivation.decisions import MODES


@dataclass(frozen=True, order=True)
class Key:
    """The identity of a part within its study."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


@dataclass(frozen=True)
class LabelsFile:
    """Labels to import into a campaign, with the options of `import_labels`."""

    path: Path
    options: Mapping[str, Any]


@dataclass(frozen=True)
class JudgeRequest:
    """A judge to run over a campaign, with the limits of its run, as options of `run_judge`."""

    judge: str
    terms: Mapping[str, Any]


@dataclass(frozen=True)
class Part:
    """A table of the file: a batch, campaign or judge, with the options of its command.

    `needs` has the parts that come first. Of those, the campaigns in `awaits` have to be finished,
    not just created. `protocol` is the file that a campaign names as its protocol.
    """

    key: Key
    command: str
    options: Options
    needs: tuple[Key, ...]
    line: int | None
    awaits: tuple[Key, ...] = ()
    labels: tuple[LabelsFile, ...] = ()
    judges: tuple[JudgeRequest, ...] = ()
    protocol: ProtocolBeside | None = None

    @property
    def name(self) -> str:
        return self.key.name

    @property
    def awaits_people(self) -> bool:
        """Whether it waits for all people, not just for one rater."""
        return self.options.get("decided_by", MODES[0]) in MODES


def table_of(key: Key) -> str:
    """Return the heading of a part's table, as `Lines` writes it."""
    return re.sub(r"[\s\"']", "", f"{key.kind}.{key.name}")
