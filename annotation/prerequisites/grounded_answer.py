"""Second round and validation of grounded answers, always by another person.

An item of the second round is ready once another person's first answer to the same question exists.
A person who was asked the question in an earlier campaign is not asked again. With the option
`gate` only answers whose selected sentences leave a gap go to the second round. In a validation
pass, nobody judges an answer to a question that they were asked themselves.
"""

from __future__ import annotations

from django.db.models import Exists, OuterRef, Q, QuerySet

from annotation.models import Assignment, Campaign, Item, Rater, Response
from annotation.people.earlier_rounds import earlier_campaigns
from annotation.prerequisites.base import PrerequisiteRule, prerequisite_of
from annotation.presentation import (
    FirstAnswer,
    answers_by_others,
    design,
    read_first_answer,
    schema,
    usable_answers,
    validates_answers,
    with_a_gap,
)
from datasets.text import lines_of
from tandem.messages import Message, Word
from tandem.protocols.base import ItemSpec
from tandem.protocols.schema import Schema
from tandem.protocols.validation import PASSAGE, Channel, Entry, Problem, Prose, RefusedError

KEEP, MODIFY = Word("keep", "Keep"), Word("modify", "Modify")


def ready(campaign: Campaign, rater: Rater) -> Q:
    mine = Assignment.objects.filter(
        item__campaign__name__in=earlier_campaigns(campaign),
        item__query=OuterRef("query"),
        rater=rater,
    )
    if validates_answers(campaign, schema(campaign)):
        return ~Q(Exists(mine))
    answers = first_answers(campaign).filter(assignment__item__query=OuterRef("query"))
    return Q(Exists(answers)) & ~Q(Exists(mine))


def ready_for_judges(campaign: Campaign) -> Q:
    """Select no items in a second round, since judges see no first answer; otherwise select all."""
    return Q() if schema(campaign).variable("action") is None else Q(pk__in=())


def first_answers(campaign: Campaign) -> QuerySet[Response]:
    """Return the answers that a second round may show, those of the oldest slot first."""
    answers = usable_answers(prerequisite_of(campaign))
    return with_a_gap(answers) if design(campaign).gate else answers


def first_answer(item: Item, rater: Rater) -> FirstAnswer | None:
    """Return another person's answer that this person sees in the second round."""
    campaign = item.campaign
    if not prerequisite_of(campaign) or schema(campaign).variable("action") is None:
        return None
    answers = answers_by_others(first_answers(campaign), rater.pk)
    shown = answers.filter(assignment__item__query=item.query_id).first()
    return read_first_answer(shown) if shown else None


def shown_beside(assignment: Assignment) -> str:
    """Return the first answer that this person is shown, or an empty string."""
    first = first_answer(assignment.item, assignment.rater)
    return first.text if first else ""


def check_action(assignment: Assignment, entries: list[Entry], channel: Channel) -> None:
    """Check that a kept answer equals the first answer, and that a modified one differs.

    Raises RefusedError. Imports are not checked, since history cannot be changed. Judges see no
    first answer.
    """
    acted = [e for e in entries if e.values.get("action") in ("keep", "modify") and e.written]
    if not acted or channel not in ("page", "api"):
        return
    first = first_answer(assignment.item, assignment.rater)
    if first is None:
        none = Message("there is no first answer here; skip, or ask the researcher")
        raise RefusedError([Problem(acted[0].name, "action", none)])
    problems = [
        Problem(entry.name, "action", wrong)
        for entry in acted
        if (wrong := _wrong(entry.values["action"], entry.written, first))
    ]
    if problems:
        raise RefusedError(problems)


def check_grounds(asked: Schema, spec: ItemSpec, entries: list[Entry], channel: Channel) -> None:
    """Check that no answer is written if no passage is shown, since it must be a deflection then.

    Raises RefusedError. Imports are not checked, since history cannot be changed. Judges are not
    checked either: if a judge answers nevertheless, that is an error to record.
    """
    if asked.protocol.name != "grounded-answer" or channel not in ("page", "api"):
        return
    if any(text.field.startswith(PASSAGE) for text in spec.texts):
        return
    wrong = Message(
        "is written although there is no passage to write it from; give %(yes)s for %(deflected)s",
        yes=asked.coded("deflected", "yes", "query"),
        deflected=asked.named("deflected", "query"),
    )
    problems = [Problem(entry.name, "written", wrong) for entry in entries if entry.written]
    if problems:
        raise RefusedError(problems)


def _wrong(action: str, written: Prose | None, first: FirstAnswer) -> Message | None:
    same = written is not None and lines_of(written.text) == lines_of(first.text)
    if action == "keep" and not same:
        return Message(
            "is %(keep)s, but the text is not the first answer; use it unchanged, or give "
            "%(modify)s",
            keep=KEEP,
            modify=MODIFY,
        )
    if action == "modify" and same:
        return Message(
            "is %(modify)s, but the text is the first answer unchanged; change it, or give "
            "%(keep)s",
            keep=KEEP,
            modify=MODIFY,
        )
    return None


def describe_wait(campaign: Campaign) -> Message:
    first = prerequisite_of(campaign)
    if validates_answers(campaign, schema(campaign)):
        return Message(
            "another person, as you were asked the same request in “%(first)s”", first=first
        )
    return Message("a first answer by another person in “%(first)s”", first=first)


RULES = PrerequisiteRule(
    after=("grounded-answer",), ready=ready, judges=ready_for_judges, describe=describe_wait
)
