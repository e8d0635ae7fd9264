"""Campaigns whose items wait: for a campaign that comes first, or for something else.

`FOLLOWS` has the rule of each protocol that may follow another campaign. `WAITS` has every reason
to wait, by the option of the campaign that brings it, and `PRACTICE` the one that is no option; a
campaign with none of these takes the fast way past all of this.
"""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import Q

from annotation.follows import grounded_answer, rubric_passage, validating
from annotation.follows.base import Follows, Wait, prerequisite_of
from annotation.gold import scoring
from annotation.models import Assignment, Campaign, Item, Rater

FOLLOWS: dict[str, Follows] = {
    "grounded-answer": grounded_answer.FOLLOWS,
    "rubric-passage": rubric_passage.FOLLOWS,
}


def _not_ready(campaign: Campaign, rater: Rater) -> Q:
    return ~FOLLOWS[campaign.protocol].ready(campaign, rater)


def _words(campaign: Campaign) -> str:
    return FOLLOWS[campaign.protocol].words(campaign)


WAITS: dict[str, Wait] = {
    "prerequisite": Wait(_not_ready, _words),
    "validates": Wait(validating.waits, validating.words),
}


PRACTICE = Wait(scoring.holds_back, scoring.words)


def reasons(campaign: Campaign) -> list[Wait]:
    """Why items of this campaign may have to wait; most campaigns have no reason."""
    found = [wait for option, wait in WAITS.items() if campaign.options.get(option)]
    return found if campaign.practice_of_id is None else [PRACTICE, *found]


def waits_for(campaign: Campaign, rater: Rater) -> Q:
    """The items of a campaign that this person may not be given yet, as a condition on `Item`."""
    found = Q(pk__in=())
    for wait in reasons(campaign):
        found |= wait.holds(campaign, rater)
    return found


def why(campaign: Campaign) -> str:
    """What its items may wait for, in words that follow "waits for"; nothing where none does."""
    return " and for ".join(wait.words(campaign) for wait in reasons(campaign))


def asked_of(item: Item, rater: Rater, names: list[str]) -> list[str]:
    """The units of a ready item that a person is asked, in the given order of its names."""
    if prerequisite_of(item.campaign):
        names = FOLLOWS[item.campaign.protocol].asks(item, rater, names)
    return validating.asked(item, names) if validating.validated_judge(item.campaign) else names


def verdicts_seen(campaign: Campaign) -> str:
    """The judge whose verdicts people see beside the questions; nobody in most campaigns."""
    return validating.validated_judge(campaign)


def ready_for_judges(campaign: Campaign) -> Q:
    """The items of a campaign that judges may be asked now, as a condition on `Item`."""
    if not prerequisite_of(campaign):
        return Q()
    return FOLLOWS[campaign.protocol].judges(campaign)


def asked_of_judges(item: Item, names: list[str]) -> list[str]:
    """The units of such an item that judges are asked, in the given order; none where nobody was.

    They are those that people are asked, so that each of a judge's labels has a human beside it.
    """
    if not prerequisite_of(item.campaign):
        return names
    return FOLLOWS[item.campaign.protocol].asks_judges(item, names)


def asked_so_far(campaign: Campaign, items: Collection[int]) -> dict[int, set[str]] | None:
    """The names of the units that anybody is asked of these items by now; None for all of them."""
    if not prerequisite_of(campaign) or not FOLLOWS[campaign.protocol].draws(campaign):
        return None
    found: dict[int, set[str]] = {pk: set() for pk in items}
    drawn = Item.objects.filter(pk__in=items, drawn__isnull=False).values_list("pk", "drawn")
    people = Assignment.objects.filter(item__in=items, rater__kind=Rater.Kind.HUMAN)
    for pk, names in [*drawn, *people.values_list("item_id", "asked")]:
        found[pk].update(names)
    return found
