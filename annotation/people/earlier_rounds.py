"""Earlier rounds of a campaign, and which people they keep from an item of this one.

A second round and a validation of written answers go to another person than the one who was asked
before. A sample of a person's own answers (`sampling=own`) goes only to people who have answered. A
slot that a fixed share allots to the wrong person would never be answered.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet

from annotation.models import Allotment, Assignment, Campaign, Item
from annotation.registry import get_protocol

ANOTHER = "{} was asked the same in an earlier round, and this round needs another person"
OWN = "{} does not answer the same in {!r}, from whose answers the questions are sampled"


def first_round(campaign: Campaign) -> str:
    """Return the name of the campaign that comes before this one, or an empty string."""
    return str(campaign.options.get("prerequisite") or "")


def earlier_campaigns(campaign: Campaign) -> list[str]:
    """Return the names of the campaigns before this one, back to the first."""
    names: list[str] = []
    before = first_round(campaign)
    while before and before not in names:
        names.append(before)
        options = Campaign.objects.filter(name=before).values_list("options", flat=True).first()
        before = str((options or {}).get("prerequisite") or "")
    return names


def needs_another_person(campaign: Campaign) -> bool:
    return bool(first_round(campaign)) and bool(get_protocol(campaign).written)


def needs_own_answers(campaign: Campaign) -> bool:
    return bool(first_round(campaign)) and campaign.options.get("sampling") == "own"


def why(campaign: Campaign, who: str) -> str:
    """Return why an earlier round keeps people from items here, as a clause about `who`."""
    return (ANOTHER if needs_another_person(campaign) else OWN).format(who, first_round(campaign))


def void(campaign: Campaign) -> Q | None:
    """Return the condition on an allotment that its person can never answer the item.

    None if no earlier round excludes anybody from an item of this campaign.
    """
    user, query = OuterRef("user"), OuterRef("item__query")
    begun = Assignment.objects.filter(item=OuterRef("item"), rater__user=user)
    if needs_another_person(campaign):
        asked = Assignment.objects.filter(
            item__campaign__name__in=earlier_campaigns(campaign),
            item__query=query,
            rater__user=user,
        )
        return Q(Exists(asked)) & ~Q(Exists(begun))
    if needs_own_answers(campaign):
        first = first_round(campaign)
        own = _taking_part(first).filter(item__query=query, rater__user=user)
        return ~Q(Exists(own)) & ~Q(Exists(_free(first).filter(query=query))) & ~Q(Exists(begun))
    return None


def barred_items(campaign: Campaign, users: Collection[int]) -> Mapping[int, set[int]]:
    """Return the users among these who can never answer the items of a query, by query.

    This follows from the earlier rounds so far: who was asked, and who will be asked because of a
    share.
    """
    if needs_another_person(campaign):
        return _asked_or_allotted(earlier_campaigns(campaign), users)
    if needs_own_answers(campaign):
        return _without_own(campaign, users)
    return {}


def _asked_or_allotted(names: list[str], users: Collection[int]) -> Mapping[int, set[int]]:
    found: dict[int, set[int]] = defaultdict(set)
    asked = Assignment.objects.filter(item__campaign__name__in=names, rater__user__in=users)
    allotted = Allotment.objects.filter(
        item__campaign__name__in=names, item__campaign__is_open=True, user__in=users
    )
    for query, user in asked.values_list("item__query", "rater__user").distinct():
        found[query].add(user)
    for query, user in allotted.values_list("item__query", "user").distinct():
        found[query].add(user)
    return found


def _without_own(campaign: Campaign, users: Collection[int]) -> Mapping[int, set[int]]:
    first = first_round(campaign)
    can: dict[int, set[int]] = defaultdict(set)
    for query, user in _taking_part(first).values_list("item__query", "rater__user").distinct():
        can[query].add(user)
    allotted = Allotment.objects.filter(item__campaign__name=first, item__campaign__is_open=True)
    for query, user in allotted.values_list("item__query", "user").distinct():
        can[query].add(user)
    # A person with a share in that round gets only the items allotted to them.
    sharing = set(Campaign.objects.filter(name=first).values_list("person_shares__user", flat=True))
    free = set(_free(first).values_list("query", flat=True))
    queries = campaign.items.values_list("query", flat=True).distinct()
    return {
        query: {
            user
            for user in users
            if user not in can[query] and (user in sharing or query not in free)
        }
        for query in queries
    }


def _taking_part(first: str) -> QuerySet[Assignment]:
    return Assignment.objects.filter(
        item__campaign__name=first, status__in=("open", "done"), replicate=0, scope=""
    )


def _free(first: str) -> QuerySet[Item]:
    """Return the items of a campaign that any person can still take."""
    items = Item.objects.filter(
        campaign__name=first, campaign__is_open=True, use=Item.Use.STUDY, taken__lt=F("quota")
    )
    return items.annotate(shared=Count("allotments")).filter(shared__lt=F("quota"))
