"""Update the database as far as a study file and people's answers allow.

Each step is done completely or not at all, and is recognised by its result. So if a process is
killed, the next `apply` continues from there and reaches the same state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from django.core.management.base import CommandError

from analysis.models import Study
from analysis.study.evaluators import changed_in, declare_those_in
from analysis.study.file import EVALUATOR, StudyFile
from analysis.study.keys import keys_of
from analysis.study.parts import PLAN, Action, Key, Stage
from analysis.study.stages import link, stage_of, stages_of, store
from tandem.files.rows import InputError
from tandem.options import named_options


@dataclass
class Applied:
    """The completed actions, as lines by part, and the stages afterwards."""

    done: dict[Key, list[str]] = field(default_factory=dict)
    stages: dict[Key, Stage] = field(default_factory=dict)

    @property
    def waits(self) -> list[str]:
        return [line for stage in self.stages.values() for line in stage.waits]


def apply(file: StudyFile, say: Callable[[Key, str], None] = lambda key, line: None) -> Applied:
    """Carry out the steps, part by part, and stop after each part that waits for people.

    `say` is called with a line when a step begins. Raises InputError once the steps before the
    error are done. Nothing that has labels is changed, and no step is left half done.
    """
    # Contradictions are rejected before anything is changed.
    stages_of(file)
    study = store(file)
    applied = Applied()
    for position, part in enumerate(file.parts):
        link(study, part, position)
        stage = stage_of(file, part, study, applied.stages)
        said = set[str]()
        while not stage.blocked and (todo := [a for a in stage.actions if a.words not in said]):
            lines = applied.done.setdefault(part.key, [])
            lines += _do(file, stage, todo, study, position, say)
            said |= {action.words for action in todo}
            stage = stage_of(file, part, study, applied.stages)
            # Only a preparation is built once its other actions are done.
            if stage.exists:
                break
        applied.stages[part.key] = stage
        if part.key.kind == PLAN and part.key in applied.done:
            # A plan changes which queries of its campaign people are asked about.
            campaign = file.part("campaign", part.options["campaign"])
            applied.stages[campaign.key] = stage_of(file, campaign, study, applied.stages)
    for name, words in changed_in(file, study).items():
        say(Key(EVALUATOR, name), words)
        applied.done[Key(EVALUATOR, name)] = [words]
    declare_those_in(file, study)
    return applied


def _do(
    file: StudyFile,
    stage: Stage,
    todo: Iterable[Action],
    study: Study,
    position: int,
    say: Callable[[Key, str], None],
) -> list[str]:
    lines: list[str] = []
    for action in todo:
        say(stage.key, action.words)
        try:
            lines += action.do()
        except (CommandError, ValueError) as error:
            raise _failed(file, stage, error) from error
        link(study, stage.part, position)
    return lines


def _failed(file: StudyFile, stage: Stage, error: Exception) -> InputError:
    # A team may be given to the command as well, for all tables together.
    keys = {*keys_of(stage.part.command)} - {"team"}
    message = named_options(str(error), '{name} = "{value}"', keys)
    wrong, _, remedy = message.rstrip(".").rpartition("; ")
    return file.error(
        stage.part, wrong or remedy, remedy if wrong else "correct it and apply again"
    )
