"""Campaigns in which people confirm or correct a judge's labels: an item waits for the judge.

The option `validates` is `JUDGE`, whose current answers in the campaign itself are shown, or
`JUDGE@CAMPAIGN` for those in another campaign. It is split at the last @; `JUDGE@` is this
campaign too, for a judge whose name contains an @.
"""

from __future__ import annotations

from django.db.models import Exists, OuterRef, Q, QuerySet

from annotation.campaigns.design import Design, DesignError
from annotation.models import Assignment, Campaign, Item, Label, Rater, Unit, User
from annotation.people.membership import readable_judges
from annotation.presentation import schema
from annotation.protocols.base import Protocol
from annotation.protocols.schema import schema_of
from datasets.models import Batch
from tandem.messages import Message
from tandem.similar import did_you_mean
from tandem.verbs import verb_of


def parse_validates(option: str) -> tuple[str, str]:
    """Return the judge and the campaign in an option `validates`. No name means this campaign."""
    judge, at, campaign = option.rpartition("@")
    return (judge, campaign) if at else (option, "")


def validated_judge(campaign: Campaign) -> str:
    """Return the judge whose labels this campaign validates, or an empty string."""
    return parse_validates(str(campaign.options.get("validates") or ""))[0]


def source_campaign(campaign: Campaign) -> str:
    """Return the name of the campaign that has the judge's labels."""
    return parse_validates(str(campaign.options.get("validates") or ""))[1] or campaign.name


def unlabelled_items(campaign: Campaign, rater: Rater) -> Q:
    """Select items without a judge's label, and items that the judge has not finished."""
    judge, source = validated_judge(campaign), source_campaign(campaign)
    parts = Assignment.objects.filter(
        item__campaign__name=source, item__key=OuterRef("key"), rater__name=judge, replicate=0
    )
    judged = Unit.objects.filter(Exists(_of_unit(judge, source)), item=OuterRef("pk"))
    return ~Q(Exists(judged)) | Q(Exists(parts.filter(status__in=("open", "leased"))))


def units_labelled(item: Item, names: list[str]) -> list[str]:
    """Return the units that the judge has labelled, since the others have nothing to validate."""
    judge, source = validated_judge(item.campaign), source_campaign(item.campaign)
    units = item.units.filter(Exists(_of_unit(judge, source)))
    judged = set(units.values_list("name", flat=True))
    return [name for name in names if name in judged]


def _of_unit(judge: str, source: str) -> QuerySet[Label]:
    """Return the judge's labels for the outer unit, perhaps from the same item of the source."""
    return Label.objects.filter(
        response__current=True,
        response__assignment__rater__name=judge,
        response__assignment__replicate=0,
        unit__item__campaign__name=source,
        unit__item__key=OuterRef("item__key"),
        unit__kind=OuterRef("kind"),
        unit__key=OuterRef("key"),
    )


def describe_wait(campaign: Campaign) -> Message:
    return Message("the labels from judge %(judge)s", judge=validated_judge(campaign))


def check_validates(
    protocol: Protocol, batch: Batch, design: Design, by: User | None = None
) -> None:
    """Check that `by` may read the judge, and that the source asked the same.

    Raises DesignError.
    """
    if not design.validates:
        return
    if protocol.listed:
        own = "people write their points before they see others"
        raise DesignError(
            f"option validates cannot be used with {protocol.name}: {own}; leave it out",
            "validates",
        )
    judge, source = parse_validates(design.validates)
    judges = set(readable_judges(by).values_list("name", flat=True))
    if judge not in judges:
        advice = (
            f"create it with {verb_of('create_judge')}, or import its labels into a campaign first"
        )
        hint = did_you_mean(judge, judges, advice)
        raise DesignError(
            f"option validates names judge {judge!r}, which does not exist; {hint}", "validates"
        )
    if design.prerequisite and protocol.sampled and design.sampling != "all":
        reason = "the judge may not have been asked the units sampled for people; use sampling=all"
        raise DesignError(
            f"option validates cannot be combined with a prerequisite here: {reason}", "validates"
        )
    if source:
        _check_source(protocol, batch, design, source)


def _check_source(protocol: Protocol, batch: Batch, design: Design, name: str) -> None:
    source = Campaign.objects.filter(name=name).first()
    if source is None:
        raise DesignError(
            f"option validates names campaign {name!r}, which does not exist", "validates"
        )
    if (source.batch_id, source.protocol) != (batch.pk, protocol.name):
        wrong = f"campaign {name!r} is over another batch or protocol"
        raise DesignError(f"{wrong}; name one of {protocol.name} over {batch.name!r}", "validates")
    variables = schema_of(protocol, design.variables, design.categories).variables
    if schema(source, "judges").variables != variables:
        raise DesignError(
            f"campaign {name!r} asks other variables; give both the same", "validates"
        )
