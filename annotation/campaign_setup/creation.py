"""Create a campaign: its items and units from a batch, sampled by its design."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from annotation.campaign_setup.carrying import carry_over, find_continued
from annotation.campaigns.design import Design, DesignError
from annotation.campaigns.relevance import Uses, relevance_of
from annotation.campaigns.sampling import (
    EVALUATION,
    SampledQuery,
    SampledUnit,
    Split,
    sample_queries,
    sample_shared_items,
    sample_units,
)
from annotation.campaigns.settings import (
    CampaignSettings,
    apply_settings,
    check_named,
    check_practice,
    check_settings,
    may_read,
    settings_differ,
)
from annotation.models import Campaign, Item, QuerySampling, Unit, UnitSampling, User
from annotation.people.shares import ShareError, allot
from annotation.prerequisites import check_prerequisite
from annotation.prerequisites.label_validation import check_validates, parse_validates
from annotation.presentation import design as stored
from annotation.presentation import items_of, schema
from annotation.protocols.base import ItemSpec, Protocol
from annotation.protocols.schema import UnknownVariableError, schema_of
from annotation.registry import DECLARED, declared
from audit.recording import record
from datasets import models
from datasets.db.bulk import Row, bulk_write, refresh_statistics, reserve
from datasets.material import stored_rows
from datasets.teams import seen_by
from datasets.text import number_of_words

CHUNK = 500
_ITEM = (
    "id",
    "campaign_id",
    "key",
    "position",
    "query_id",
    "report_id",
    "passage_id",
    "key_point_id",
    "shown_passages",
    "passage_uses",
    "quota",
    "taken",
    "probability",
    "words",
)
_UNIT = ("item_id", "kind", "key", "name", "position")
_UNIT_DRAW = (
    "item_id",
    "unit_kind",
    "key",
    "position",
    "kind",
    "seed",
    "wave",
    "probability",
    "drawn",
)


@dataclass(frozen=True)
class Drafted:
    """An item to be created. `passages` are those that it shows, with their uses (None: all)."""

    query: int
    query_key: str
    spec: ItemSpec
    passages: list[str] | None
    uses: Uses | None


def drafted_items(campaign: Campaign, protocol: Protocol) -> Iterator[Drafted]:
    """Yield the items of each query, in the batch's order. The campaign need not be stored.

    Raises DesignError if two items, or two units of an item, would have the same key.
    """
    keys: set[str] = set()
    for query, row in stored_rows(campaign.batch, protocol.needs):
        left = relevance_of(campaign, row)
        shown, uses = (left.passages, left.uses) if left else (None, None)
        for spec in items_of(campaign, row, shown, uses):
            if not spec.units:
                continue
            if spec.key in keys:
                wrong = f"two items would have the key {spec.key!r}; rename an id in the batch"
                raise DesignError(wrong)
            if repeated := _find_repeated_key(spec):
                wrong = f"two units of item {spec.key!r} would have the key {repeated!r}"
                raise DesignError(f"{wrong}; rename an id in the batch")
            keys.add(spec.key)
            yield Drafted(query, row.id, spec, shown, uses)


def asked_items(campaign: Campaign, protocol: Protocol, design: Design) -> Iterator[Drafted]:
    """Yield the items of a campaign in its order: the chosen ones, or all of the batch's.

    Raises DesignError if the batch has no item with a chosen key.
    """
    if not design.chosen:
        yield from drafted_items(campaign, protocol)
        return
    wanted = set(design.chosen)
    found = {
        each.spec.key: each for each in drafted_items(campaign, protocol) if each.spec.key in wanted
    }
    for key in design.chosen:
        if key not in found:
            wrong = f"batch {campaign.batch.name!r} has no item {key!r} for {protocol.name}"
            raise DesignError(f"{wrong}; correct it, or leave it out", "chosen")
        yield found[key]


def _find_repeated_key(spec: ItemSpec) -> str | None:
    """Return a key that two units of a kind would share, since ids may contain a slash."""
    counts = Counter((unit.kind, unit.key) for unit in spec.units)
    return next((key for (_, key), count in counts.items() if count > 1), None)


def reduce_quotas(campaign: Campaign, design: Design) -> None:
    """Keep all slots of the sampled items, and leave one slot to each of the others."""
    asked = campaign.items.filter(quota__gt=0)
    kept = sample_shared_items(list(asked.values_list("key", flat=True)), design)
    single = [item for item in asked.iterator() if item.key not in kept]
    for item in single:
        item.quota = 1
    Item.objects.bulk_update(single, ["quota"], batch_size=CHUNK)


class ItemWriter:
    """Write items with their units, a chunk at a time."""

    def __init__(
        self,
        campaign: Campaign,
        design: Design,
        protocol: Protocol,
        queries: Mapping[str, SampledQuery],
    ) -> None:
        self.campaign, self.design, self.protocol = campaign, design, protocol
        self.queries = queries
        self.chunk: list[tuple[int, Drafted]] = []

    def add(self, position: int, drafted: Drafted) -> None:
        self.chunk.append((position, drafted))
        if len(self.chunk) == CHUNK:
            self.flush()

    def flush(self) -> None:
        keys = reserve(Item, len(self.chunk))
        drawn = [
            (key, sample_units(of.spec.key, of.spec.units, self.design, self.protocol))
            for key, (_, of) in zip(keys, self.chunk, strict=True)
        ]
        bulk_write(Item, _ITEM, self._items(keys))
        bulk_write(Unit, _UNIT, (row for key, units in drawn for row in _unit_rows(key, units)))
        draws = (
            row for key, units in drawn for row in _unit_draw_rows(key, units, self.design.seed)
        )
        bulk_write(UnitSampling, _UNIT_DRAW, draws)
        self.chunk = []

    def _items(self, keys: Sequence[int]) -> Iterator[Row]:
        specs = [drafted.spec for _, drafted in self.chunk]
        reports = self._stored(models.Report, (spec.report for spec in specs))
        passages = self._stored(models.Passage, (spec.passage for spec in specs))
        points = self._stored(models.KeyPoint, (spec.key_point for spec in specs))
        for key, (position, drafted) in zip(keys, self.chunk, strict=True):
            spec, query = drafted.spec, self.queries[drafted.query_key]
            about = reports[spec.report], passages[spec.passage], points[spec.key_point]
            quota = self.design.raters_per_item if query.drawn else 0
            yield (
                key,
                self.campaign.pk,
                spec.key,
                position,
                drafted.query,
                *about,
                drafted.passages,
                drafted.uses,
                quota,
                0,
                query.probability,
                sum(number_of_words(text.text) for text in spec.texts),
            )

    def _stored(
        self,
        model: type[models.Report | models.Passage | models.KeyPoint],
        wanted: Iterable[str | None],
    ) -> dict[str | None, int | None]:
        """Return primary keys by the batch's own ids, and None for None."""
        named = {key for key in wanted if key}
        found: dict[str | None, int | None] = {None: None}
        if named:
            rows = model._default_manager.filter(batch=self.campaign.batch_id, key__in=named)
            found |= dict(rows.order_by().values_list("key", "pk"))
        return found


def _unit_rows(item: int, units: Iterable[SampledUnit]) -> Iterator[Row]:
    """Yield the rows of units that are asked or may still be sampled."""
    asked = [unit for unit in units if unit.drawn is not False]
    for position, unit in enumerate(asked):
        yield item, unit.spec.kind, unit.spec.key, unit.name, position


def _unit_draw_rows(item: int, units: Iterable[SampledUnit], seed: int) -> Iterator[Row]:
    for position, (_, spec, kind, wave, chance, drawn) in enumerate(units):
        yield item, spec.kind, spec.key, position, kind, seed, wave, chance, drawn


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
) -> CreatedCampaign:
    """Create a campaign and its items, in one transaction. Raises DesignError.

    The design may name only campaigns that `by` may read. `by` is None for a command. The campaign
    belongs to `team`, by default to the batch's. From the campaign that it `continues`, answers are
    carried over.
    """
    settings = settings or CampaignSettings()
    with transaction.atomic():
        campaign = checked_campaign(name, protocol, batch, design)
        campaign.team, campaign.made_by = team or batch.team, by
        old = campaign.continues = find_continued(continues, campaign, by)
        if old and design.chosen and (design.development or design.audit):
            raise DesignError(
                f"chosen items have the splits of {old.name!r}, which it continues; give no shares",
                "development",
            )
        # A judge's answers are carried only under the guideline that it had.
        campaign.trims_guideline = old is None or old.trims_guideline
        if existing := Campaign.objects.filter(name=name).first():
            return _check_unchanged(existing, campaign, settings, by)
        _check_batch(campaign)
        check_references(campaign, design, by)
        check_settings(campaign, settings)
        check_practice(campaign, settings, by)
        campaign.save()
        apply_settings(campaign, settings, by)
        _write_items(campaign, design, declared(campaign), progress)
        carried = carry_over(campaign, old) if old else 0
        if campaign.has_shares:
            _allot(campaign)
        created = _count_created(campaign, carried=carried)
        if not created.items:
            raise DesignError(
                f"batch {batch.name!r} has nothing for {protocol}; choose another", "batch"
            )
        _record_creation(created, design)
    return created


def _allot(campaign: Campaign) -> None:
    try:
        allot(campaign)
    except ShareError as error:
        raise DesignError(str(error), "shares") from error


def _check_batch(campaign: Campaign) -> None:
    """Check that the team of a campaign may read its batch. Raises DesignError."""
    rows = models.Batch.objects.filter(seen_by(models.Batch, campaign.team), pk=campaign.batch_id)
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
) -> CreatedCampaign:
    """Like `create_campaign`, for requests, of which two may come at the same moment."""
    given: dict[str, Any] = {
        "settings": settings,
        "by": by,
        "team": team,
        "continues": continues,
    }
    try:
        return create_campaign(name, protocol, batch, design, **given)
    except IntegrityError:
        # Another request has just created a campaign of this name, which is compared now.
        return create_campaign(name, protocol, batch, design, **given)


def checked_campaign(name: str, protocol: str, batch: models.Batch, design: Design) -> Campaign:
    """Return the campaign as it would be stored, after checking its name and options."""
    _check_name(name)
    task = _protocol_reading(DECLARED[protocol], design)
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
    """Check that the campaigns and judges of a design exist, are readable by `by`, and fit."""
    check_named("prerequisite", design.prerequisite, by)
    check_named("passages", design.passages.partition(":")[2], by)
    check_named("validates", parse_validates(design.validates)[1], by)
    protocol = declared(campaign)
    _check_passages(design)
    check_prerequisite(protocol, campaign.batch, design)
    check_validates(protocol, campaign.batch, design)


def splits_before(campaign: Campaign) -> dict[str, Split] | None:
    """Return the splits of queries in an earlier campaign: the prerequisite, or None without one.

    Items that were chosen from a campaign have the splits that their queries have there, so that no
    query on which a prompt was tuned becomes one for evaluation.
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
    existing: Campaign, new: Campaign, settings: CampaignSettings, by: User | None
) -> CreatedCampaign:
    before, now = ((each.protocol, each.batch_id, each.continues_id) for each in (existing, new))
    same = before == now
    if not may_read(existing, by) or existing.team_id != new.team_id:
        # It may be another team's, of which nothing is told but that the name is taken.
        raise DesignError(f"the name {existing.name!r} is taken; choose another", "name")
    if not same or stored(existing) != stored(new):
        raise DesignError(
            f"a campaign called {existing.name!r} has another design; choose a new name", "name"
        )
    if settings_differ(existing, settings):
        wrong = f"campaign {existing.name!r} exists with another deadline, guideline or the like"
        raise DesignError(f"{wrong}; change it on its page, or by set_campaign", "name")
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
    if not name.strip() or len(name) > longest:
        raise DesignError(
            f"its name is blank or longer than {longest} characters; choose another", "name"
        )


def _protocol_reading(protocol: Protocol, design: Design) -> Protocol:
    """Return the reading of the protocol for the option `points`."""
    try:
        return protocol.read_as(design.points or "")
    except KeyError as error:
        wrong = f"option points does not apply to {protocol.name}"
        raise DesignError(f"{wrong}; leave it out", "points") from error


def _check_options(protocol: Protocol, design: Design) -> None:
    """Raise DesignError for an option that has no effect with this protocol."""
    try:
        asked = schema_of(protocol, design.variables, design.categories)
    except UnknownVariableError as error:
        raise DesignError(f"{error}; see the protocol's variables", "variables") from error
    idle = {
        "categories": design.categories and asked.variable("category") is None,
        "sampling": design.sampling in ("own", "shared") and not protocol.sampled,
        "passages": design.passages != "all" and "passages" not in protocol.needs,
    }
    if protocol.reading == "answers" and design.passages != "all":
        raise DesignError(
            "option passages does not go with points=answers, which shows the whole context of a "
            "report; leave it out",
            "passages",
        )
    for option in (name for name, means_nothing in idle.items() if means_nothing):
        raise DesignError(
            f"option {option} does not apply to {protocol.name}; leave it out", option
        )


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
    items: Iterable[Drafted] = asked_items(campaign, protocol, design)
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
