"""Campaigns in which people confirm or correct a judge's labels: an item waits for the judge.

The option `validates` is `JUDGE`, whose current answers in the campaign itself are shown, or
`JUDGE@CAMPAIGN` for those in another campaign. It is split at the last @; `JUDGE@` is this
campaign too, for a judge whose name contains an @.
"""

from __future__ import annotations

from django.db.models import Exists, OuterRef, Q, QuerySet

from annotation.campaigns.design import Design, DesignError
from annotation.models import Assignment, Campaign, Item, Label, Rater, Unit
from annotation.presentation import schema
from annotation.protocols.base import Protocol
from annotation.protocols.schema import schema_of
from datasets.models import Batch


def named(option: str) -> tuple[str, str]:
    """The judge and the campaign of an option `validates`; no campaign is this one."""
    judge, at, campaign = option.rpartition("@")
    return (judge, campaign) if at else (option, "")


def validated_judge(campaign: Campaign) -> str:
    """Whose verdicts this campaign shows; nobody's, unless it was made to validate a judge."""
    return named(str(campaign.options.get("validates") or ""))[0]


def verdict_campaign(campaign: Campaign) -> str:
    """The name of the campaign in which those verdicts were given."""
    return named(str(campaign.options.get("validates") or ""))[1] or campaign.name


def waits(campaign: Campaign, rater: Rater) -> Q:
    """The items without a verdict, and those of which the judge has not closed every part."""
    judge, source = validated_judge(campaign), verdict_campaign(campaign)
    parts = Assignment.objects.filter(
        item__campaign__name=source, item__key=OuterRef("key"), rater__name=judge, replicate=0
    )
    judged = Unit.objects.filter(Exists(_of_unit(judge, source)), item=OuterRef("pk"))
    return ~Q(Exists(judged)) | Q(Exists(parts.filter(status__in=("open", "leased"))))


def asked(item: Item, names: list[str]) -> list[str]:
    """The units that the judge has a verdict on: where it failed, there is nothing to validate."""
    judge, source = validated_judge(item.campaign), verdict_campaign(item.campaign)
    units = item.units.filter(Exists(_of_unit(judge, source)))
    judged = set(units.values_list("name", flat=True))
    return [name for name in names if name in judged]


def _of_unit(judge: str, source: str) -> QuerySet[Label]:
    """The judge's labels of the outer unit, which may stand in another campaign's like item."""
    return Label.objects.filter(
        response__current=True,
        response__assignment__rater__name=judge,
        response__assignment__replicate=0,
        unit__item__campaign__name=source,
        unit__item__key=OuterRef("item__key"),
        unit__kind=OuterRef("kind"),
        unit__key=OuterRef("key"),
    )


def words(campaign: Campaign) -> str:
    return f"the verdicts of judge {validated_judge(campaign)}"


def check_validates(protocol: Protocol, batch: Batch, design: Design) -> None:
    """Whether there is such a judge, and a campaign that asked it the same. Raises DesignError."""
    if not design.validates:
        return
    if protocol.listed:
        own = "people write its points before they see any other"
        raise DesignError(f"option validates does not go with {protocol.name}: {own}; leave it out")
    judge, source = named(design.validates)
    if not Rater.objects.filter(name=judge, kind=Rater.Kind.JUDGE).exists():
        known = "make it with create_judge, or import its labels into a campaign first"
        raise DesignError(f"option validates names judge {judge!r}, which is not there; {known}")
    if design.prerequisite and protocol.sampled and design.sampling != "all":
        drawn = "a judge may not have been asked what is drawn for people; take sampling=all"
        raise DesignError(f"option validates does not go with a prerequisite here: {drawn}")
    if source:
        _check_source(protocol, batch, design, source)


def _check_source(protocol: Protocol, batch: Batch, design: Design, name: str) -> None:
    source = Campaign.objects.filter(name=name).first()
    if source is None:
        raise DesignError(f"option validates names campaign {name!r}, which is not there; mend it")
    if (source.batch_id, source.protocol) != (batch.pk, protocol.name):
        wrong = f"campaign {name!r} is over another batch or protocol"
        raise DesignError(f"{wrong}; name one of {protocol.name} over {batch.name!r}")
    wanted = schema_of(protocol, design.variables, design.categories).variables
    if schema(source).variables != wanted:
        raise DesignError(f"campaign {name!r} asks other variables; give both the same")
