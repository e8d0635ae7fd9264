"""All tasks that a campaign may have: protocols, preparation steps, and files of teams."""

from __future__ import annotations

import typing
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
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
from annotation.protocols.declared import FileProtocol


class Asking(typing.Protocol):
    """What the task of a campaign depends on."""

    @property
    def protocol(self) -> str: ...

    @property
    def protocol_version(self) -> str: ...

    @property
    def options(self) -> Any: ...

    @property
    def protocol_file_id(self) -> uuid.UUID | None: ...


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
    return task_of(
        campaign.protocol,
        campaign.protocol_version,
        campaign.options.get("points") or "",
        campaign.protocol_file_id,
    )


def is_known(campaign: Asking) -> bool:
    """Whether the site still has the task of a campaign."""
    return campaign.protocol_file_id is not None or campaign.protocol in DECLARED


def task_of(name: str, version: str, points: str = "", stored: uuid.UUID | None = None) -> Protocol:
    """Return a task by its name and version, or by its stored file, in a reading."""
    if stored is not None:
        return stored_protocol(stored)
    return DECLARED[name].as_of(version).read_as(points)


def stored_protocol(stored: uuid.UUID) -> FileProtocol:
    """Return the protocol of a stored file, which never changes, or a draft of one."""
    return _drafts.get(stored) or read_stored(stored)


def read_stored(stored: uuid.UUID) -> FileProtocol:
    """Return the protocol of a file in the site's database; releases are verified without one."""
    if not _readers:
        raise LookupError(f"there is no database with the protocol {stored}")
    return _readers[-1](stored)


_readers: list[Callable[[uuid.UUID], FileProtocol]] = []


def register_reader(read: Callable[[uuid.UUID], FileProtocol]) -> None:
    """Let `stored_protocol` read files by this function."""
    _readers.append(read)


_drafts: dict[uuid.UUID, FileProtocol] = {}


@contextmanager
def drafted(protocol: FileProtocol) -> Iterator[FileProtocol]:
    """Let campaigns that are not stored use a protocol that is not stored either."""
    draft = replace(protocol, stored=uuid.uuid4())
    assert draft.stored is not None
    _drafts[draft.stored] = draft
    try:
        yield draft
    finally:
        del _drafts[draft.stored]
