"""Prerequisites: which items have to wait for another campaign or another condition, and why.

`base` defines the two kinds of rule and their common conditions. `RULES` has the rule of each
protocol that may have a prerequisite, with a module for each. `WAIT_RULES` has the rules that make
items wait, by campaign option. `PRACTICE` is the only such rule without an option. Callers use the
functions of this module. A campaign without prerequisite, validation and practice costs no query.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import reduce

from django.db.models import Q

from annotation.campaigns.design import Design, DesignError
from annotation.campaigns.sampling import asks_judges_more
from annotation.gold import scoring
from annotation.models import Assignment, Campaign, Item, Rater, User
from annotation.people.membership import readable_judges
from annotation.prerequisites import grounded_answer, label_validation, rubric_passage
from annotation.prerequisites.base import PrerequisiteRule, WaitRule, prerequisite_of
from annotation.presentation import design, units_of_audience
from annotation.protocols.base import Protocol
from annotation.registry import get_protocol
from datasets.models import Batch
from tandem.messages import Message
from tandem.similar import did_you_mean

RULES: dict[str, PrerequisiteRule] = {
    "grounded-answer": grounded_answer.RULES,
    "rubric-passage": rubric_passage.RULES,
}


def _not_ready(campaign: Campaign, rater: Rater) -> Q:
    return ~RULES[campaign.protocol].ready(campaign, rater)


def _describe(campaign: Campaign) -> Message:
    return RULES[campaign.protocol].describe(campaign)


WAIT_RULES: dict[str, WaitRule] = {
    "prerequisite": WaitRule(_not_ready, _describe),
    "validates": WaitRule(label_validation.unlabelled_items, label_validation.describe_wait),
}


PRACTICE = WaitRule(scoring.waiting_for_practice, scoring.describe_practice)


def wait_rules(campaign: Campaign) -> list[WaitRule]:
    """Return the rules that make items of this campaign wait. Most campaigns have none."""
    found = [wait for option, wait in WAIT_RULES.items() if campaign.options.get(option)]
    return found if campaign.practice_of_id is None else [PRACTICE, *found]


def waiting_items(campaign: Campaign, rater: Rater) -> Q:
    """Return the items that this person may not get yet, as a condition on `Item`."""
    found = Q(pk__in=())
    for wait in wait_rules(campaign):
        found |= wait.selects(campaign, rater)
    return found


def describe_waits(campaign: Campaign) -> str:
    """Return what items may wait for, as the end of the sentence "waits for …", or nothing."""
    waits = [wait.describe(campaign) for wait in wait_rules(campaign)]
    return reduce(_and_for, waits) if waits else ""


def _and_for(one: Message, other: Message) -> Message:
    return Message("%(one)s and for %(other)s", one=one, other=other)


def units_asked(item: Item, rater: Rater, names: list[str]) -> list[str]:
    """Return the units of a ready item that a person is asked, in the order of `names`."""
    if prerequisite_of(item.campaign):
        names = RULES[item.campaign.protocol].asks(item, rater, names)
    names = units_for_people(item, names)
    return (
        label_validation.units_labelled(item, names)
        if label_validation.validated_judge(item.campaign)
        else names
    )


def units_for_people(item: Item, names: list[str]) -> list[str]:
    """Return the units, of those named, that are not for judges alone."""
    if item.drawn is not None:
        drawn = set(item.drawn)
        names = [name for name in names if name in drawn]
    return units_of_audience(item.campaign, item, "people", names)


def judge_shown(campaign: Campaign) -> str:
    """Return the judge whose labels people see beside the questions, or an empty string."""
    return label_validation.validated_judge(campaign)


def ready_for_judges(campaign: Campaign) -> Q:
    """Return the items that judges may be asked now, as a condition on `Item`."""
    if not prerequisite_of(campaign) or design(campaign).judge_sampling == "all":
        return Q()
    return RULES[campaign.protocol].judges(campaign)


def units_asked_of_judges(item: Item, names: list[str]) -> list[str]:
    """Return the units of a ready item that judges are asked, in the order of `names`.

    They are the units that people are asked, so that each judge's label can be compared. If people
    were asked no unit, judges are asked none either. With `judge_sampling`, it is every unit.
    """
    if not prerequisite_of(item.campaign) or design(item.campaign).judge_sampling == "all":
        return names
    return RULES[item.campaign.protocol].asks_judges(item, names)


def units_asked_so_far(campaign: Campaign, items: Collection[int]) -> dict[int, set[str]] | None:
    """Return the names of the units of these items that people were asked; None means all."""
    samples = prerequisite_of(campaign) and RULES[campaign.protocol].samples(campaign)
    if not samples and not asks_judges_more(design(campaign), get_protocol(campaign)):
        return None
    found: dict[int, set[str]] = {pk: set() for pk in items}
    drawn = Item.objects.filter(pk__in=items, drawn__isnull=False).values_list("pk", "drawn")
    people = Assignment.objects.filter(item__in=items, rater__kind=Rater.Kind.HUMAN)
    for pk, names in [*drawn, *people.values_list("item_id", "asked")]:
        found[pk].update(names)
    return found


def check_prerequisite(
    protocol: Protocol, batch: Batch, design: Design, by: User | None = None
) -> None:
    """Check the prerequisite of a design, and the options that need one.

    Raises DesignError unless the prerequisite exists, and has this batch and a suitable protocol,
    and `by` may read the judge that is named.
    """
    if design.sampling == "own" and not design.prerequisite:
        raise DesignError(
            "option sampling=own needs earlier answers; give a prerequisite too", "sampling"
        )
    if design.strata:
        _check_strata(protocol, design, by)
    if design.gate and not (design.prerequisite and protocol.name == "grounded-answer"):
        raise DesignError(
            "option gate is for a second round of grounded-answer; leave it out", "gate"
        )
    if design.prerequisite:
        _check_campaign(protocol, batch, design.prerequisite)
        _check_turn(protocol, design)


def _check_campaign(protocol: Protocol, batch: Batch, name: str) -> None:
    if protocol.name not in RULES:
        raise DesignError(
            f"option prerequisite does not apply to {protocol.name}; leave it out", "prerequisite"
        )
    first = Campaign.objects.filter(name=name).first()
    if first is None:
        raise DesignError(
            f"option prerequisite names campaign {name!r}, which does not exist", "prerequisite"
        )
    if first.batch_id != batch.pk:
        raise DesignError(
            f"campaign {name!r} is over another batch; name one over {batch.name!r}", "prerequisite"
        )
    fit = RULES[protocol.name].after
    if first.protocol not in fit:
        wrong = f"{protocol.name} follows {' or '.join(fit)}, and campaign {name!r} is"
        raise DesignError(f"{wrong} {first.protocol}; name another", "prerequisite")


def _check_turn(protocol: Protocol, design: Design) -> None:
    """Check that a campaign after written answers either revises or validates them."""
    if protocol.written and len({"action", "grounded"} & set(design.variables)) != 1:
        choices = "either action, for a second round, or grounded, to validate the answers"
        raise DesignError(
            f"option prerequisite needs option variables with {choices}; change it", "prerequisite"
        )


def _check_strata(protocol: Protocol, design: Design, by: User | None) -> None:
    shared = protocol.sampled and design.prerequisite and design.sampling in (None, "shared")
    if not shared:
        raise DesignError(
            "option strata is for a shared sample with a prerequisite; leave it out", "strata"
        )
    judges = set(readable_judges(by).values_list("name", flat=True))
    if design.strata not in judges:
        hint = did_you_mean(design.strata, judges, "correct the name")
        raise DesignError(
            f"option strata names judge {design.strata!r}, which does not exist; {hint}", "strata"
        )
