"""Making a campaign: its items and units from a batch, drawn as its design says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.db import IntegrityError, transaction

from annotation.declared import DECLARED, declared
from annotation.design import Design, DesignError
from annotation.drawing import DrawnQuery, draw_queries
from annotation.follows.checking import check_prerequisite
from annotation.follows.validating import check_validates, named
from annotation.itemmaking import ItemWriter, drafted_items, share_out
from annotation.models import Campaign, Item, QueryDraw, Unit, UnitDraw, User
from annotation.presenting import design as stored
from annotation.presenting import schema
from annotation.protocols.base import Protocol
from annotation.protocols.schema import UnknownVariableError, schema_of
from annotation.references import check_named, check_practice, may_read
from annotation.roles import Role
from annotation.terms import Terms, apply_terms, check_terms, differ
from audit.recording import record
from datasets import models as material
from datasets.db.bulk import bulk_write, refresh_statistics

_DRAW = (
    "campaign_id", "query_id", "kind", "seed", "wave", "probability", "drawn", "role",
    "role_probability",
)  # fmt: skip


@dataclass(frozen=True)
class Made:
    """What was made. `unchanged` where the same campaign was there before."""

    campaign: Campaign
    items: int
    units: int
    places: int
    unchanged: bool = False


def create_campaign(
    name: str,
    protocol: str,
    batch: material.Batch,
    design: Design,
    progress: Callable[[int], None] = lambda done: None,
    terms: Terms | None = None,
    by: User | None = None,
) -> Made:
    """Makes a campaign and its items, all or nothing. Raises DesignError.

    `by` may name only campaigns that this account may read; nobody is given where a command asks.
    """
    terms = terms or Terms()
    with transaction.atomic():
        campaign = checked_campaign(name, protocol, batch, design)
        if there := Campaign.objects.filter(name=name).first():
            return _same(there, campaign, terms, by)
        check_references(campaign, design, by)
        check_terms(campaign, terms)
        check_practice(campaign, terms, by)
        campaign.save()
        apply_terms(campaign, terms, by)
        _write_items(campaign, design, declared(campaign), progress)
        made = _counted(campaign)
        if not made.items:
            raise DesignError(f"batch {batch.name!r} has nothing for {protocol}; choose another")
        _tell(made, design)
    return made


def _tell(made: Made, design: Design) -> None:
    campaign, options = made.campaign, design.options()
    record("campaign.made", campaign.pk, campaign, after=options, items=made.items)


def create_once(
    name: str, protocol: str, batch: material.Batch, design: Design, terms: Terms, by: User
) -> Made:
    """The same for requests, of which two may come at the same moment. Raises DesignError."""
    try:
        return create_campaign(name, protocol, batch, design, terms=terms, by=by)
    except IntegrityError:
        # Somebody made one of this name just now: it is there to compare with.
        return create_campaign(name, protocol, batch, design, terms=terms, by=by)


def checked_campaign(name: str, protocol: str, batch: material.Batch, design: Design) -> Campaign:
    """The campaign as it would be stored, once its name and options are sound by themselves."""
    _check_name(name)
    task = _reading(DECLARED[protocol], design)
    _check_options(task, design)
    return Campaign(
        name=name,
        protocol=protocol,
        protocol_version=task.version,
        batch=batch,
        raters_per_item=design.raters_per_item,
        overlap=design.overlap,
        human_share=design.human_share,
        options=design.options(),
        seed=design.seed,
    )


def check_references(campaign: Campaign, design: Design, by: User | None = None) -> None:
    """Whether the campaigns and judges that a design names are there, `by`'s to read, and fit."""
    check_named("option prerequisite", design.prerequisite, by)
    check_named("option passages", design.passages.partition(":")[2], by)
    check_named("option validates", named(design.validates)[1], by)
    protocol = declared(campaign)
    _check_passages(design)
    check_prerequisite(protocol, campaign.batch, design)
    check_validates(protocol, campaign.batch, design)


def roles_before(campaign: Campaign) -> dict[str, Role] | None:
    """The roles of queries in the campaign that this one follows; None where it follows none."""
    first = campaign.options.get("prerequisite")
    if not first:
        return None
    drawn = QueryDraw.objects.filter(campaign__name=first)
    return {
        key: Role(role, chance)
        for key, role, chance in drawn.values_list("query__key", "role", "role_probability")
    }


def _same(there: Campaign, wanted: Campaign, terms: Terms, by: User | None) -> Made:
    same = (there.protocol, there.batch_id) == (wanted.protocol, wanted.batch_id)
    # Of another's campaign nobody learns by trying what its design is.
    if not may_read(there, by) or not same or stored(there) != stored(wanted):
        raise DesignError(f"a campaign called {there.name!r} has another design; choose a new name")
    if differ(there, terms):
        wrong = f"campaign {there.name!r} is there with another deadline, guideline or the like"
        raise DesignError(f"{wrong}; change it on its page, or by set_campaign")
    return _counted(there, unchanged=True)


def _counted(campaign: Campaign, unchanged: bool = False) -> Made:
    items = campaign.items
    places = sum(items.values_list("quota", flat=True))
    units = Unit.objects.filter(item__campaign=campaign).count()
    return Made(campaign, items.count(), units, places, unchanged)


def _check_name(name: str) -> None:
    longest = Campaign._meta.get_field("name").max_length or 0
    if not name.strip() or len(name) > longest:
        raise DesignError(f"its name is blank or longer than {longest} characters; choose another")


def _reading(protocol: Protocol, design: Design) -> Protocol:
    """The protocol as the option `points` has it."""
    try:
        return protocol.read_as(design.points or "")
    except KeyError as error:
        wrong = f"option points means nothing to {protocol.name}"
        raise DesignError(f"{wrong}; leave it out") from error


def _check_options(protocol: Protocol, design: Design) -> None:
    """Refuses an option that the protocol would not heed."""
    try:
        asked = schema_of(protocol, design.variables, design.categories)
    except UnknownVariableError as error:
        raise DesignError(f"{error}; see the protocol's variables") from error
    idle = {
        "categories": design.categories and asked.variable("category") is None,
        "sampling": design.sampling in ("own", "shared") and not protocol.drawn,
        "passages": design.passages != "all" and "passages" not in protocol.needs,
    }
    if protocol.reading == "answers" and design.passages != "all":
        raise DesignError(
            "option passages does not go with points=answers, which shows the whole context of a "
            "report; leave it out"
        )
    for option in (name for name, means_nothing in idle.items() if means_nothing):
        raise DesignError(f"option {option} means nothing to {protocol.name}; leave it out")


def _check_passages(design: Design) -> None:
    name = design.passages.partition(":")[2]
    other = Campaign.objects.filter(name=name).first()
    if name and other is None:
        raise DesignError(f"option passages names campaign {name!r}, which is not there; mend it")
    if other and schema(other).variable("relevant") is None:
        raise DesignError(f"campaign {name!r} does not ask which passages are relevant; name one")


def _write_items(
    campaign: Campaign,
    design: Design,
    protocol: Protocol,
    progress: Callable[[int], None],
) -> None:
    queries = dict(campaign.batch.queries.values_list("key", "pk"))
    drawn = draw_queries(list(queries), design, roles_before(campaign))
    _write_draws(campaign, design, queries, drawn)
    writer = ItemWriter(campaign, design, protocol, drawn)
    for position, drafted in enumerate(drafted_items(campaign, protocol)):
        writer.add(position, drafted)
        progress(position + 1)
    writer.flush()
    if design.overlap < 1 and design.raters_per_item > 1:
        share_out(campaign, design)
    refresh_statistics(Item, Unit, UnitDraw)


def _write_draws(
    campaign: Campaign, design: Design, queries: dict[str, int], drawn: dict[str, DrawnQuery]
) -> None:
    rows = (
        (campaign.pk, queries[key], of.kind, design.seed, 1, of.probability, of.drawn, *of.role)
        for key, of in drawn.items()
    )
    bulk_write(QueryDraw, _DRAW, rows)
