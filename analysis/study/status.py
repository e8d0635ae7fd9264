"""The progress of a study: each stage of the chain with its counts, and the next step in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from analysis.models import Study
from analysis.study.file import StudyFile, parse_study
from analysis.study.parts import Key, Stage
from analysis.study.stages import stages_of

STATES = {
    "blocked": "not yet",
    "missing": "to be created",
    "open": "something left to do",
    "waiting": "people have to work",
    "behind": "labels changed since it was derived",
    "done": "done",
}


@dataclass(frozen=True)
class StudyStatus:
    """A study's stages in order, and its next step."""

    name: str
    preset: str
    stages: tuple[Stage, ...]

    @property
    def next(self) -> str:
        """Describe the next step and who has to do it, or say that all stages are done."""
        for stage in self.stages:
            if stage.actions and not stage.blocked:
                return f"Run study apply: it will {stage.actions[0].words} ({stage.key})."
        waits = [line for stage in self.stages for line in stage.waits]
        behind = [stage.behind for stage in self.stages if stage.behind]
        if waits or behind:
            return (waits or behind)[0]
        return "All stages are done: read the results, or write a release with study freeze."

    def as_json(self) -> dict[str, Any]:
        return {
            "study": self.name,
            "preset": self.preset or None,
            "stages": [stage_json(stage) for stage in self.stages],
            "next": self.next,
        }


def status(file: StudyFile) -> StudyStatus:
    """Return the status of the study of a file. Raises InputError."""
    return StudyStatus(file.name, file.preset, tuple(stages_of(file).values()))


def status_of(study: Study) -> StudyStatus:
    """Return the status of a stored study, by the file that was last applied. Raises InputError."""
    return status(parse_study(study.text))


def stage_json(stage: Stage) -> dict[str, Any]:
    return {
        "kind": stage.key.kind,
        "name": stage.key.name,
        "state": stage.state,
        "counts": stage.counts,
        "todo": [action.words for action in stage.actions],
        "waits": list(stage.waits),
        "behind": stage.behind or None,
        "says": stage.says or None,
        "after": [str(key) for key in stage.blocked],
        "next": next_of(stage),
    }


def next_of(stage: Stage) -> str:
    """Describe the next step of a stage."""
    if stage.blocked and stage.actions:
        return f"after {_listed(stage.blocked)}: {stage.actions[0].words}"
    if stage.actions:
        return stage.actions[0].words
    if stage.behind:
        return stage.behind
    return stage.waits[0] if stage.waits else ""


def _listed(keys: tuple[Key, ...]) -> str:
    return " and ".join(map(str, keys))


def counts_line(counts: Mapping[str, Any]) -> str:
    """Return counts as one line, without those that are zero."""
    named = ((name.replace("_", " "), n) for name, n in counts.items() if n and n is not True)
    return ", ".join(f"{n} {name}" for name, n in named if isinstance(n, int))
