"""Which items have to wait for a prerequisite campaign or another condition, and why.

`FOLLOWS` has the rule of each protocol that may follow another campaign. `WAITS` has every reason
to wait, by the option of the campaign that brings it, and `PRACTICE` the one that is no option. A
campaign with none of these skips all of this. A design that could not follow what it names is
refused.
"""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import Q

from annotation.campaigns.design import Design, DesignError
from annotation.gold import scoring
from annotation.models import Assignment, Campaign, Item, Rater
from annotation.prerequisites import grounded_answer, rubric_passage, verdict_validation
from annotation.prerequisites.base import Follows, Wait, prerequisite_of
from annotation.protocols.base import Protocol
from datasets.models import Batch

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
    "validates": Wait(verdict_validation.waits, verdict_validation.words),
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
    return (
        verdict_validation.asked(item, names)
        if verdict_validation.validated_judge(item.campaign)
        else names
    )


def verdicts_seen(campaign: Campaign) -> str:
    """The judge whose verdicts people see beside the questions; nobody in most campaigns."""
    return verdict_validation.validated_judge(campaign)


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


def check_prerequisite(protocol: Protocol, batch: Batch, design: Design) -> None:
    """Whether the prerequisite is there, of this batch and of a fit protocol. Raises DesignError.

    With the options that need one.
    """
    if design.sampling == "own" and not design.prerequisite:
        raise DesignError("option sampling=own draws from earlier answers; give a prerequisite too")
    if design.strata:
        _check_strata(protocol, design)
    if design.gate and not (design.prerequisite and protocol.name == "grounded-answer"):
        raise DesignError("option gate is for a second round of grounded-answer; leave it out")
    if design.prerequisite:
        _check_campaign(protocol, batch, design.prerequisite)
        _check_turn(protocol, design)


def _check_campaign(protocol: Protocol, batch: Batch, name: str) -> None:
    if protocol.name not in FOLLOWS:
        raise DesignError(f"option prerequisite means nothing to {protocol.name}; leave it out")
    first = Campaign.objects.filter(name=name).first()
    if first is None:
        raise DesignError(f"option prerequisite names campaign {name!r}, which is not there")
    if first.batch_id != batch.pk:
        raise DesignError(f"campaign {name!r} is over another batch; name one over {batch.name!r}")
    fit = FOLLOWS[protocol.name].after
    if first.protocol not in fit:
        wrong = f"{protocol.name} follows {' or '.join(fit)}, and campaign {name!r} is"
        raise DesignError(f"{wrong} {first.protocol}; name another")


def _check_turn(protocol: Protocol, design: Design) -> None:
    """Whether a campaign after a written answer says what it does with it."""
    if protocol.written and len({"action", "grounded"} & set(design.variables)) != 1:
        wanted = "either action, for a second round, or grounded, to validate the answers"
        raise DesignError(f"option prerequisite needs option variables with {wanted}; mend it")


def _check_strata(protocol: Protocol, design: Design) -> None:
    shared = protocol.sampled and design.prerequisite and design.sampling in (None, "shared")
    if not shared:
        raise DesignError("option strata is for a shared draw with a prerequisite; leave it out")
    if not Rater.objects.filter(name=design.strata, kind=Rater.Kind.JUDGE).exists():
        raise DesignError(f"option strata names judge {design.strata!r}, which is not there")
