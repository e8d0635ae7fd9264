"""All tasks that a campaign may have: the protocols and the preparation steps."""

from __future__ import annotations

import typing
from typing import Any

from annotation.preparation.base import Step
from annotation.preparation.steps.answer_points import STEP as ANSWER_POINTS
from annotation.preparation.steps.decomposition import STEP as DECOMPOSITION
from annotation.preparation.steps.key_points import STEP as KEY_POINTS
from annotation.preparation.steps.merging import STEP as MERGING
from annotation.preparation.steps.missed_points import STEP as MISSED_POINTS
from annotation.preparation.steps.new_questions import STEP as NEW_QUESTIONS
from annotation.preparation.steps.passages import STEP as PASSAGES
from annotation.preparation.steps.question_score import STEP as QUESTION_SCORE
from annotation.preparation.steps.questions import STEP as QUESTIONS
from annotation.preparation.steps.ratings import STEP as RATINGS
from annotation.preparation.steps.report_request import STEP as REPORT_REQUEST
from annotation.preparation.steps.request import STEP as REQUEST
from annotation.preparation.steps.scoring import STEP as SCORING
from annotation.preparation.steps.sentence_splitting import STEP as SENTENCES_BY_AUTHOR
from annotation.preparation.steps.sentences import STEP as SENTENCES
from annotation.preparation.steps.sub_questions import STEP as SUB_QUESTIONS
from annotation.protocols import PROTOCOLS
from annotation.protocols.base import Protocol


class Asking(typing.Protocol):
    """What the task of a campaign depends on."""

    @property
    def protocol(self) -> str: ...

    @property
    def protocol_version(self) -> str: ...

    @property
    def options(self) -> Any: ...


STEPS: dict[str, Step] = {
    step.name: step
    for step in (
        REQUEST,
        REPORT_REQUEST,
        SUB_QUESTIONS,
        QUESTIONS,
        QUESTION_SCORE,
        NEW_QUESTIONS,
        DECOMPOSITION,
        PASSAGES,
        RATINGS,
        KEY_POINTS,
        MISSED_POINTS,
        MERGING,
        SCORING,
        ANSWER_POINTS,
        SENTENCES_BY_AUTHOR,
        SENTENCES,
    )
}


TASKS: dict[str, Step] = {step.task.name: step for step in STEPS.values() if step.task is not None}
"""The steps that have a task of their own, by its name."""
DECLARED: dict[str, Protocol] = PROTOCOLS | {
    name: step.task for name, step in TASKS.items() if step.task is not None
}


def get_protocol(campaign: Asking) -> Protocol:
    """Return the task of a campaign, in its version and in the reading of its option `points`."""
    task = DECLARED[campaign.protocol].as_of(campaign.protocol_version)
    return task.read_as(campaign.options.get("points") or "")
