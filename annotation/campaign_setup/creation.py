"""Create a campaign: its items and units from a batch, sampled by its design."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from annotation.campaign_setup.carry_over import carry_over, find_continued
from annotation.campaign_setup.items import DraftItem, ItemWriter, asked_items, reduce_quotas
from annotation.campaigns.changes import (
    apply_settings,
    check_named,
    check_practice,
    check_settings,
    may_read,
    settings_differ,
)
from annotation.campaigns.design import Design, DesignError
from annotation.campaigns.sampling import (
    EVALUATION,
    SampledQuery,
    Split,
    sample_queries,
    sampling_kind,
)
from annotation.campaigns.settings import CampaignSettings
from annotation.models import Campaign, Item, QuerySampling, Unit, UnitSampling, User
from annotation.people.membership import keep_access
from annotation.people.shares import ShareError, allot
from annotation.prerequisites import check_prerequisite
from annotation.prerequisites.label_validation import check_validates, parse_validates
from annotation.presentation import design as stored
from annotation.presentation import schema
from annotation.protocol_files import ProtocolError, find_task
from annotation.protocols.base import Protocol
from annotation.protocols.items import CITATION
from annotation.protocols.schema import CampaignSchema, schema_of
from annotation.registry import DECLARED, get_protocol
from audit.recording import record
from datasets import models
from datasets.access import visible_to_team
from datasets.db.bulk import bulk_write, refresh_statistics
from tandem.names import why_no_name
from tandem.protocols.schema import UnknownVariableError
from tandem.verbs import verb_of

_QUERY_DRAW = (
    "campaign_id",
    "query_id",
    "kind",
    "seed",
    "wave",
    "probability",
    "drawn",
    "role",
    "role_probability",
)


@dataclass(frozen=True)
class CreatedCampaign:
    """A campaign and its size. `unchanged` if the same campaign existed before."""

    campaign: Campaign
    items: int
    units: int
    places: int
    unchanged: bool = False
    carried: int = 0


def create_campaign(
    name: str,
    protocol: str,
    batch: models.Batch,
    design: Design,
    progress: Callable[[int], None] = lambda done: None,
    settings: CampaignSettings | None = None,
    by: User | None = None,
    team: models.Team | None = None,
    continues: str = "",
    pool: str | None = None,
) -> CreatedCampaign:
    """Create a campaign and its items, in one transaction. Raises DesignError.

    The design may name only campaigns that `by` may read. `by` is None for a command. The campaign
    belongs to `team`, by default to the batch's. From the campaign that it `continues`, answers are
    carried over. Its pool is named unless another is given, and a researcher who creates a campaign
    with a named pool becomes a member, so as to keep access.
    """
    settings = settings or CampaignSettings()
    with transaction.atomic():
        campaign = checked_campaign(name, protocol, batch, design, team)
        campaign.team, campaign.made_by = team or batch.team, by
        campaign.pool = pool or campaign.pool
        old = continue_campaign(campaign, continues, design, by)
        if existing := Campaign.objects.filter(name=name).first():
            return _check_unchanged(existing, campaign, settings, by, pool)
        _check_batch(campaign)
        check_references(campaign, design, by)
        check_practice(campaign, settings, by)
        check_settings(campaign, settings)
        campaign.save()
        apply_settings(campaign, settings, by)
        _write_items(campaign, design, get_protocol(campaign), progress)
        carried = carry_over(campaign, old) if old else 0
        if campaign.has_shares:
            _allot(campaign)
        created = _count_created(campaign, carried=carried)
        if not created.items:
            raise DesignError(
                f"batch {batch.name!r} has nothing for {protocol}; choose another", "batch"
            )
        _record_creation(created, design)
        keep_access(campaign, by)
    return created


def _allot(campaign: Campaign) -> None:
    try:
        allot(campaign)
    except ShareError as error:
        raise DesignError(str(error), "shares") from error


def _check_batch(campaign: Campaign) -> None:
    """Check that the team of a campaign may read its batch. Raises DesignError."""
    rows = models.Batch.objects.filter(
        visible_to_team(models.Batch, campaign.team), pk=campaign.batch_id
    )
    if not rows.exists():
        wrong = f"batch {campaign.batch.name!r} belongs to another team than {campaign.team}"
        raise DesignError(f"{wrong}; let an admin share it first", "batch")


def _record_creation(created: CreatedCampaign, design: Design) -> None:
    campaign, options = created.campaign, design.options()
    record("campaign.made", campaign.pk, campaign, after=options, items=created.items)


def create_once(
    name: str,
    protocol: str,
    batch: models.Batch,
    design: Design,
    settings: CampaignSettings,
    by: User | None,
    team: models.Team,
    continues: str = "",
    pool: str | None = None,
) -> CreatedCampaign:
    """Like `create_campaign`, for requests: two equal ones may arrive at the same moment."""
    given: dict[str, Any] = {
        "settings": settings,
        "by": by,
        "team": team,
        "continues": continues,
        "pool": pool,
    }
    try:
        return create_campaign(name, protocol, batch, design, **given)
    except IntegrityError:
        # Another request has just created a campaign of this name, which is compared now.
        return create_campaign(name, protocol, batch, design, **given)


def checked_campaign(
    name: str,
    protocol: str | Protocol,
    batch: models.Batch,
    design: Design,
    team: models.Team | None = None,
) -> Campaign:
    """Return the campaign as it would be stored, after checking its name and options.

    `protocol` is a task, or its name: of the site's, or of those of the `team`.
    """
    _check_name(name)
    task = _protocol_reading(_task(protocol, batch, team), design)
    _check_options(task, design)
    return Campaign(
        name=name,
        protocol=task.name,
        protocol_version=task.version,
        protocol_file_id=task.stored,
        batch=batch,
        raters_per_item=design.raters_per_item,
        overlap=design.overlap,
        human_share=design.human_share,
        options=design.options(),
        seed=design.seed,
    )


def _task(protocol: str | Protocol, batch: models.Batch, team: models.Team | None) -> Protocol:
    if isinstance(protocol, Protocol):
        return protocol
    if protocol in DECLARED:
        return DECLARED[protocol]
    try:
        return find_task(protocol, team or batch.team)
    except ProtocolError as error:
        raise DesignError(str(error), "protocol") from error


def continue_campaign(
    campaign: Campaign, name: str, design: Design, by: User | None
) -> Campaign | None:
    """Let a new campaign continue the one with this name, and return that. Raises DesignError."""
    old = campaign.continues = find_continued(name, campaign, by)
    if old and design.chosen and (design.development or design.audit):
        raise DesignError(
            f"chosen items have the splits of {old.name!r}, which it continues; give no shares",
            "development",
        )
    # A judge's answers are carried only under the guideline that it had.
    campaign.trims_guideline = old is None or old.trims_guideline
    return old


def check_references(campaign: Campaign, design: Design, by: User | None = None) -> None:
    """Check that the campaigns and judges of a design exist, are readable by `by`, and fit."""
    check_named("prerequisite", design.prerequisite, by)
    check_named("passages", design.passages.partition(":")[2], by)
    check_named("validates", parse_validates(design.validates)[1], by)
    protocol = get_protocol(campaign)
    _check_passages(design)
    check_prerequisite(protocol, campaign.batch, design, by)
    check_validates(protocol, campaign.batch, design, by)


def splits_before(campaign: Campaign) -> dict[str, Split] | None:
    """Return the splits that queries have in an earlier campaign, or None without such a campaign.

    It is the prerequisite or, for chosen items, the continued campaign. So a query on which a
    prompt was tuned is never used for evaluation.
    """
    if first := campaign.options.get("prerequisite"):
        return _splits(QuerySampling.objects.filter(campaign__name=first))
    if campaign.options.get("chosen") and campaign.continues is not None:
        keys = campaign.batch.queries.values_list("key", flat=True)
        known = _splits(QuerySampling.objects.filter(campaign=campaign.continues))
        return {key: known.get(key, Split(EVALUATION, 1.0)) for key in keys}
    return None


def _splits(rows: QuerySet[QuerySampling]) -> dict[str, Split]:
    found = rows.values_list("query__key", "role", "role_probability")
    return {key: Split(role, chance) for key, role, chance in found}


def _check_unchanged(
    existing: Campaign,
    new: Campaign,
    settings: CampaignSettings,
    by: User | None,
    pool: str | None,
) -> CreatedCampaign:
    before, now = (
        (each.protocol, each.protocol_file_id, each.batch_id, each.continues_id)
        for each in (existing, new)
    )
    same = before == now
    if not may_read(existing, by) or existing.team_id != new.team_id:
        # The campaign may belong to another team, so the message only says that the name is taken.
        raise DesignError(f"the name {existing.name!r} is taken; choose another", "name")
    if not same or stored(existing) != stored(new):
        raise DesignError(
            f"a campaign called {existing.name!r} has another design; choose a new name", "name"
        )
    if settings_differ(existing, settings):
        wrong = f"campaign {existing.name!r} exists with other settings, such as its deadline or "
        "guideline"
        raise DesignError(
            f"{wrong}; change it on its page, or by {verb_of('set_campaign')}", "name"
        )
    if pool not in (None, existing.pool):
        wrong = f"the pool of campaign {existing.name!r} is {existing.pool}"
        raise DesignError(
            f"{wrong}; change it on its page People, or by {verb_of('campaign_people')}", "pool"
        )
    return _count_created(existing, unchanged=True)


def _count_created(
    campaign: Campaign, unchanged: bool = False, carried: int = 0
) -> CreatedCampaign:
    items = campaign.items
    places = sum(items.values_list("quota", flat=True))
    units = Unit.objects.filter(item__campaign=campaign).count()
    return CreatedCampaign(campaign, items.count(), units, places, unchanged, carried)


def _check_name(name: str) -> None:
    longest = Campaign._meta.get_field("name").max_length or 0
    if wrong := why_no_name(name, longest):
        raise DesignError(f"its name {wrong}; choose another", "name")


def _protocol_reading(protocol: Protocol, design: Design) -> Protocol:
    """Return the reading of the protocol for the option `points`."""
    try:
        return protocol.read_as(design.points or "")
    except KeyError as error:
        wrong = f"option points does not apply to {protocol.name}"
        raise DesignError(f"{wrong}; leave it out", "points") from error


def _check_options(protocol: Protocol, design: Design) -> None:
    """Raise DesignError for an option that has no effect with this protocol."""
    asked = [_check_variables(protocol, design, name) for name in ("variables", "judge_variables")]
    idle = {
        "categories": design.categories and not any(s.variable("category") for s in asked),
        "sampling": design.sampling in ("own", "shared") and not protocol.sampled,
        "judge_sampling": design.judge_sampling and not protocol.sampled,
        "passages": design.passages != "all" and "passages" not in protocol.needs,
        "same": design.same and not any(s.variables_of(CITATION) for s in asked),
    }
    if protocol.reading == "answers" and design.passages != "all":
        raise DesignError(
            "option passages cannot be combined with points=answers, which shows the whole "
            "context of a "
            "report; leave it out",
            "passages",
        )
    if design.same and sampling_kind(design, protocol) != "all":
        raise DesignError(
            "equal citations are asked once only where every citation is asked; give sampling=all",
            "same",
        )
    citations = [v for each in asked for v in each.variables_of(CITATION)]
    if design.same and any(v.several or v.level == "interval" for v in citations):
        raise DesignError(
            "a report gives means and shares by system of citations with numbers or several codes, "
            "so each of these is asked; leave same out",
            "same",
        )
    for option in (name for name, means_nothing in idle.items() if means_nothing):
        raise DesignError(
            f"option {option} does not apply to {protocol.name}; leave it out", option
        )


def _check_variables(protocol: Protocol, design: Design, option: str) -> CampaignSchema:
    """Return the schema under the variables that an option names. Raises DesignError."""
    try:
        return schema_of(protocol, getattr(design, option), design.categories)
    except UnknownVariableError as error:
        raise DesignError(f"{error}; see the protocol's variables", option) from error


def _check_passages(design: Design) -> None:
    name = design.passages.partition(":")[2]
    other = Campaign.objects.filter(name=name).first()
    if name and other is None:
        raise DesignError(
            f"option passages names campaign {name!r}, which does not exist; correct the name",
            "passages",
        )
    if other and schema(other).variable("relevant") is None:
        raise DesignError(
            f"campaign {name!r} does not ask which passages are relevant; name one", "passages"
        )


def _write_items(
    campaign: Campaign,
    design: Design,
    protocol: Protocol,
    progress: Callable[[int], None],
) -> None:
    queries = dict(campaign.batch.queries.values_list("key", "pk"))
    items: Iterable[DraftItem] = asked_items(campaign, protocol, design)
    chosen: set[str] = set()
    if design.chosen:
        items = list(items)
        chosen = {each.query_key for each in items}
    drawn = sample_queries(list(queries), design, splits_before(campaign), chosen)
    _write_draws(campaign, design, queries, drawn)
    writer = ItemWriter(campaign, design, protocol, drawn)
    for position, drafted in enumerate(items):
        writer.add(position, drafted)
        progress(position + 1)
    writer.flush()
    if design.overlap < 1 and design.raters_per_item > 1:
        reduce_quotas(campaign, design)
    refresh_statistics(Item, Unit, UnitSampling)


def _write_draws(
    campaign: Campaign, design: Design, queries: dict[str, int], drawn: dict[str, SampledQuery]
) -> None:
    rows = (
        (campaign.pk, queries[key], of.kind, design.seed, 1, of.probability, of.drawn, *of.role)
        for key, of in drawn.items()
    )
    bulk_write(QuerySampling, _QUERY_DRAW, rows)
