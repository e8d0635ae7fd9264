"""The texts that people wrote in a campaign, from its stored responses."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from django.db.models import Exists, OuterRef, Q

from analysis.campaigns.written_rounds import (
    FirstAnswers,
    WrittenFact,
    by_question,
    round_in,
    text_in,
    with_rounds,
)
from annotation.models import Assignment, Campaign, Label, Response
from annotation.people.membership import exclusion_reasons
from annotation.prerequisites.base import prerequisite_of
from annotation.prerequisites.grounded_answer import first_answers
from annotation.presentation import schema
from annotation.trust.roles import without_certify
from tandem.sections.written import WrittenAnswers


def written_answers(campaign: Campaign, with_exposed: bool = False) -> WrittenAnswers | None:
    """Return people's answers by question; None if the campaign asks for none.

    Answers by people who could see others' answers are left out, unless `with_exposed`. If the
    campaign has a prerequisite, the prerequisite has the first answers, and the campaign the second
    ones.
    """
    if schema(campaign).written("query") is None:
        return None
    facts = list(_facts(campaign, with_exposed))
    first = _first(campaign) if prerequisite_of(campaign) else None
    return with_rounds(facts, first, partial(_count_skips, campaign))


def _facts(campaign: Campaign, with_exposed: bool) -> Iterator[WrittenFact]:
    """Yield the answers in the order in which the assignments were created."""
    current = Response.objects.filter(
        current=True,
        assignment__item__campaign=campaign,
        assignment__rater__kind="human",
        assignment__replicate=0,
        assignment__assisted_by="",
    ).exclude(assignment__rater__name__in=exclusion_reasons(campaign.name))
    current = without_certify(current, campaign, "assignment")
    columns = ("assignment__item__query__key", "assignment__rater__name", "payload")
    # Answers of unknown exposure are not counted as exposed.
    unmarked = current if with_exposed else current.exclude(exposed__isnull=False, exposed=True)
    for query, rater, payload in unmarked.order_by("assignment_id").values_list(*columns):
        if (text := text_in(payload["units"])) is not None:
            yield WrittenFact(query, rater, text, _round(payload))


def _round(payload: Any) -> int | None:
    details = payload.get("details", {}).values()
    return round_in(detail.get("meta") or {} for each in details for detail in each.values())


def _first(campaign: Campaign) -> FirstAnswers:
    columns = ("assignment__item__query__key", "assignment__rater__name", "payload")
    found = first_answers(campaign).values_list(*columns)
    return by_question((query, rater, payload["units"]) for query, rater, payload in found)


def _count_skips(campaign: Campaign) -> int:
    """Count people's skips: declared ones and empty answers."""
    people = Assignment.objects.filter(
        item__campaign=campaign, rater__kind="human", replicate=0, assisted_by=""
    ).exclude(rater__name__in=exclusion_reasons(campaign.name))
    skip = Label.objects.filter(
        response__assignment=OuterRef("pk"), response__current=True, variable="action", value="skip"
    )
    return people.filter(Q(status="declined") | Q(Exists(skip))).count()
