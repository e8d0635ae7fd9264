"""A campaign's labels as a frame with strata and baseline, its options, and what figures disclose.

A figure over many units says next to nothing about one of them. If a stratum, a variable, or the
score of a single report covers few units, the look exposes their items.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from django.core.cache import caches
from django.db.models import CharField, Count, Max, OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce, Length, NullIf

from analysis.campaigns.evaluators import campaign_evaluators
from analysis.campaigns.evidence import campaign_evidence
from annotation.exposure.detection import exposed_labels
from annotation.exposure.ledger import FEWEST_UNITS, MOST_NAMED, is_collecting, saw_figures
from annotation.missing_reasons import reasons
from annotation.models import Assignment, Campaign, Item, Label, QuerySampling, Rater, Unit
from annotation.people.membership import exclusion_reasons
from annotation.prerequisites.label_validation import source_campaign, validated_judge
from annotation.presentation import schema, schema_for
from annotation.trust.roles import without_certify
from datasets.models import Grounding, Report
from judging.floor import UnitKey as FloorPlace
from judging.floor import get_floor
from judging.models import Judge
from tandem.files.spelling import similar_names
from tandem.labels.exposed import AssistedKey
from tandem.labels.facts import FloorCodes, LabelFact, LabelKey, Scale, scale_of
from tandem.labels.frame import (
    EVALUATION,
    STRATUM,
    Families,
    Frame,
    VariableFrame,
    Warning,
    selected_frame,
    without_garbage_collection,
)
from tandem.labels.joined import UnitKey, first_labels, not_replaced
from tandem.labels.judge_metadata import with_judge_metadata
from tandem.labels.metadata import OF_META, dividing_strata, in_order, length_strata, text_of
from tandem.labels.selection import (
    ALL_LABELS,
    OWN_STRATA,
    AvailableValues,
    ReportOptions,
    Strata,
)
from tandem.sections.systems import MEASURES
from tandem.version import VERSION


def saw_frame(kind: str, campaign: Campaign, frame: Frame) -> None:
    """Record a look at the figures of a frame. `kind` says which figures.

    A report lists the scores of single items, too, where the frame has any.
    """
    if not is_collecting():
        return
    number = max((len(of.units.names) for of in frame.variables.values()), default=0)
    keys = {key for name in frame.variables for key in _in_small_figures(frame, name, kind)}
    if len(keys) > MOST_NAMED:
        saw_figures(kind, campaign, number, items=range(MOST_NAMED + 1))
        return
    items = Item.objects.filter(campaign=campaign, key__in=keys) if keys else Item.objects.none()
    saw_figures(kind, campaign, number, items=list(items.values_list("pk", flat=True)))


def _in_small_figures(frame: Frame, name: str, kind: str) -> Iterator[str]:
    """Yield the keys of items in figures that cover too few units."""
    variable = frame.variables[name]
    items = [item for item, _, _ in variable.units.names]
    if len(items) < FEWEST_UNITS:
        yield from items
        return
    yield from _of_raters(variable, items)
    for of in _values(variable, items, frame.strata):
        sizes = Counter(value for value in of if value is not None)
        small = {value for value, units in sizes.items() if units < FEWEST_UNITS}
        yield from (item for item, value in zip(items, of, strict=True) if value in small)
    if kind == "report" and name in {variable for variable, _ in MEASURES.values()}:
        yield from (item for item, units in Counter(items).items() if units < FEWEST_UNITS)


def _of_raters(variable: VariableFrame, items: list[str]) -> Iterator[str]:
    """Yield the items of raters with few labels, since their agreement covers few units."""
    for column in range(variable.codes.shape[1]):
        units = (variable.codes[:, column] >= 0).nonzero()[0]
        if len(units) < FEWEST_UNITS:
            yield from (items[unit] for unit in units)


def _values(
    variable: VariableFrame, items: list[str], strata: Strata
) -> Iterator[list[str | None]]:
    """Yield the value of each unit, stratum by stratum."""
    for name in OWN_STRATA:
        yield list(getattr(variable.units, name))
    for of in strata.values():
        yield [of.get(item) for item in items]


NO_RULE = "the lexical rule has no answer for categories other than yes and no or an ordered scale"
NO_TEXT = "the items show no text in which the lexical rule could look for words"
_NOT_MISSING: Value = Value(None, CharField())
_COLUMNS = (
    "response__assignment__item__key",
    "unit__key",
    "unit__kind",
    "variable",
    "value",
    _NOT_MISSING,
    "response__assignment__rater__name",
    "response__assignment__rater__kind",
    "response__assignment__replicate",
    "response__assignment__item__query__key",
    "response__assignment__item__report__system",
    "response__assignment__item__report__setting",
    NullIf("response__assignment__assisted_by", Value("")),
    "score",
    "response__exposed",
)
"""The columns of a label in the order of `LabelFact`."""
_PLACE = (
    "response__assignment__item__key",
    "unit__kind",
    "unit__key",
    "variable",
    "response__assignment__rater__name",
)
"""The columns of a label in the order of `LabelKey`."""
_ORDER = ("response__assignment__item__position", "unit__position", "id")


def with_floor(frame: Frame, campaign: Campaign) -> Frame:
    """Add the baseline to the frame of a campaign with a judge to compare."""
    if not any(rater.kind == "judge" for rater in frame.raters):
        return frame
    floor = get_floor(campaign)
    made = {
        name: replace(of, floor=_codes(of, floor.codes.get(name, {}), name in floor.without_rule))
        for name, of in frame.variables.items()
    }
    return replace(frame, variables=made)


def with_families(frame: Frame, campaign: Campaign) -> Frame:
    """Add the model families of the answers, if the batch names any, and of the judges."""
    families = families_of_answers(campaign)
    if not families.answers:
        return frame
    evaluators = campaign_evaluators([(campaign, frame)])
    names = {rater.name for rater in frame.raters}
    names |= {judge for each in evaluators for judge in each.judges}
    named = Judge.objects.filter(rater__name__in=names).exclude(family="")
    judges = dict(named.values_list("rater__name", "family"))
    for each in evaluators:
        # They are of one model, so the family of one is that of all.
        known = [judges[judge] for judge in each.judges if judge in judges]
        judges = dict.fromkeys(each.judges, known[0]) | judges if known else judges
    return replace(frame, families=replace(families, judges=judges))


def families_of_answers(campaign: Campaign) -> Families:
    """Return the model families of the answers in a campaign's batch, but not those of judges."""
    reports = Report.objects.filter(batch=campaign.batch, family__isnull=False)
    answers = {key: family for key, family in reports.values_list("key", "family") if family}
    if not answers:
        return Families()
    alone = Item.objects.filter(campaign=campaign, report__family__isnull=False)
    rows = alone.order_by().values_list("key", "report__family")
    return Families({key: family for key, family in rows if family}, answers)


def _codes(frame: VariableFrame, said: Mapping[FloorPlace, str], is_without: bool) -> FloorCodes:
    if is_without or not said:
        return FloorCodes(reason=NO_RULE if is_without else NO_TEXT)
    code = {category: n for n, category in enumerate(frame.scale.categories)}
    found = [code.get(said.get(place, ""), -1) for place in frame.units.names]
    return FloorCodes(np.array(found, dtype=np.int64), "")


@dataclass(frozen=True)
class JoinedCampaign:
    """A campaign whose labels are read together with those of others over the same units.

    The labels of `replaced` units are those of another one.
    """

    campaign: Campaign
    replaced: frozenset[UnitKey] = frozenset()

    def facts(self) -> Iterator[LabelFact]:
        return not_replaced(stored_labels(self.campaign), self.replaced)

    def metas(self) -> Iterator[tuple[LabelKey, dict[str, Any]]]:
        for place, meta in _judges_metas(self.campaign):
            if (place.item, place.kind, place.unit) not in self.replaced:
                yield place, meta


@without_garbage_collection()
def campaign_frame(
    campaign: Campaign,
    options: ReportOptions = ALL_LABELS,
    strata: Strata | None = None,
    kind: str = "measures",
    joined: Sequence[JoinedCampaign] = (),
) -> Frame:
    """Return the frame of a campaign's selected current labels and missing ones.

    Labels of trials, and answers to gold and practice items, whose right answers were known
    beforehand, are left out. Records a look of this `kind` at the frame's figures in the ledger.
    With `joined`, the labels are those of all these campaigns, of which it is one.
    """
    parts = joined or (JoinedCampaign(campaign),)
    scales: dict[str, Scale] = {}
    verdicts: dict[AssistedKey, str] = {}
    out: dict[str, str] = {}
    for part in parts:
        scales |= {v.name: scale_of(v) for v in schema(part.campaign).variables}
        verdicts |= verdicts_in_other_campaigns(part.campaign)
        out |= exclusion_reasons(part.campaign.name)
    facts = list(first_labels([part.facts() for part in parts]))
    frame = selected_frame(facts, options, strata or {}, scales, verdicts, out)
    frame = with_judge_metadata(frame, (meta for part in parts for meta in part.metas()))
    for part in parts:
        saw_frame(kind, part.campaign, frame)
    counts = {rater.name: rater.labels for rater in frame.raters}
    alike = [Warning("similar_raters", None, None, each) for each in similar_names("rater", counts)]
    return replace(frame, evidence=campaign_evidence(campaign), warnings=tuple(alike))


def _judges_metas(campaign: Campaign) -> list[tuple[LabelKey, dict[str, Any]]]:
    """Return the metadata of the judges' first labels, as far as they have any."""
    labels = Label.objects.filter(
        response__current=True,
        response__assignment__item__campaign=campaign,
        response__assignment__rater__kind=Rater.Kind.JUDGE,
        response__assignment__replicate=0,
        meta__isnull=False,
    )
    rows = labels.order_by().values_list(*_PLACE, "meta").iterator(chunk_size=5000)
    return [(LabelKey(*place), meta) for *place, meta in rows]


def stored_labels(campaign: Campaign) -> Iterator[LabelFact]:
    """Yield a campaign's current labels by item and unit, and then the missing ones.

    People's labels of queries that certify a judge are left out until the plan has ended.
    """
    labels = Label.objects.filter(
        response__current=True,
        response__assignment__item__campaign=campaign,
        response__assignment__item__use=Item.Use.STUDY,
    ).exclude(response__assignment__rater__kind=Rater.Kind.TRIAL)
    labels = without_certify(labels, campaign)
    ordered = labels.order_by(*_ORDER)
    marked = exposed_labels(labels)
    if not marked:
        yield from facts_of(ordered)
    else:
        # Only some units of an answer may be exposed.
        for pk, *row in ordered.values_list("pk", *_COLUMNS).iterator(chunk_size=5000):
            fact = LabelFact._make(row)
            yield fact._replace(exposed=pk in marked) if fact.exposed else fact
    yield from _missing(campaign)


def facts_of(labels: QuerySet[Label]) -> Iterator[LabelFact]:
    """Yield the facts of labels, in their order."""
    yield from map(LabelFact._make, labels.values_list(*_COLUMNS).iterator(chunk_size=5000))


def verdicts_in_other_campaigns(campaign: Campaign) -> dict[AssistedKey, str]:
    """Return the labels of the judge that a campaign validates, if another campaign holds them."""
    judge, source = validated_judge(campaign), source_campaign(campaign)
    if not judge or source == campaign.name:
        return {}
    labels = Label.objects.filter(
        response__current=True,
        response__assignment__rater__name=judge,
        response__assignment__replicate=0,
        unit__item__campaign__name=source,
    )
    rows = labels.values_list("unit__item__key", "unit__kind", "unit__key", "variable", "value")
    return {
        (judge, item, kind, unit, variable): value for item, kind, unit, variable, value in rows
    }


def _missing(campaign: Campaign) -> Iterator[LabelFact]:
    """Yield a fact for each variable that an assignment was asked for without giving a label."""
    closed = Assignment.objects.filter(item__campaign=campaign).exclude(
        status__in=("open", "leased", "done", "cancelled"), missing={}
    )
    closed = closed.filter(item__use=Item.Use.STUDY).exclude(rater__kind=Rater.Kind.TRIAL)
    closed = without_certify(closed, campaign, "")
    related = ("item__query", "item__report", "rater")
    for assignment in closed.select_related(*related).prefetch_related("item__units").iterator(500):
        units = {u.name: u for u in assignment.item.units.all() if u.name in assignment.asked}
        kinds = {name: unit.kind for name, unit in units.items()}
        asked = schema_for(campaign, assignment.rater.kind)
        for name, lost in reasons(assignment, asked, kinds).items():
            for variable, reason in lost.items():
                yield _missing_fact(assignment, units[name], variable, reason)


def _missing_fact(assignment: Assignment, unit: Unit, variable: str, reason: str) -> LabelFact:
    item, rater = assignment.item, assignment.rater
    return LabelFact(
        item=item.key,
        unit=unit.key,
        kind=unit.kind,
        variable=variable,
        value=None,
        missing=reason,
        rater=rater.name,
        rater_kind=rater.kind,
        replicate=assignment.replicate,
        query=item.query.key,
        system=item.report.system if item.report else None,
        setting=item.report.setting if item.report else None,
        assisted_by=assignment.assisted_by or None,
    )


def campaign_strata(campaign: Campaign) -> Strata:
    """Return the strata of a campaign's items that have more than one value."""
    source = Grounding.objects.filter(query=OuterRef("query"), passage=OuterRef("passage"))
    rows = list(
        Item.objects.filter(campaign=campaign)
        .order_by("position")
        .annotate(
            length=Coalesce(Length("report__text"), Length("passage__text")),
            grounding=Subquery(source.values("source")[:1]),
        )
        .values_list("key", "query__meta", "report__meta", "grounding", "length")
    )
    found = {name: dict(_of_meta(rows, name)) for name in OF_META}
    found["length"] = length_strata({key: length for key, *_, length in rows if length is not None})
    found[STRATUM] = splits_of_items(campaign)
    return dividing_strata(found)


def offered_options(campaign: Campaign) -> AvailableValues:
    """Return the values that the options of a campaign's report may take, from a cache.

    The strata's values are cached until the campaign's items change.
    """
    items = Item.objects.filter(campaign=campaign).aggregate(number=Count("pk"), newest=Max("pk"))
    parts = (campaign.pk, campaign.created_at, items["number"], items["newest"], VERSION)
    key = f"strata-{'-'.join(str(part) for part in parts)}".replace(" ", "_")
    cache = caches["reports"]
    values: dict[str, list[str]] | None = cache.get(key)
    if values is None:
        strata = campaign_strata(campaign)
        values = {name: sorted(set(of.values())) for name, of in strata.items()}
        cache.set(key, values)
    return available_options(
        campaign, {name: dict(zip(of, of, strict=True)) for name, of in values.items()}
    )


def splits_of_items(campaign: Campaign) -> dict[str, str]:
    """Return the split of each item's query, by the item's key."""
    roles = dict(QuerySampling.objects.filter(campaign=campaign).values_list("query", "role"))
    items = Item.objects.filter(campaign=campaign).values_list("key", "query")
    return {key: roles.get(query, EVALUATION) for key, query in items}


def available_options(campaign: Campaign, strata: Strata) -> AvailableValues:
    """Return the values that the options of a campaign's report may take."""
    asked = schema(campaign)
    cuts = {
        cut for v in asked.variables if v.level != "nominal" for cut in scale_of(v).values()[1:]
    }
    raters = Rater.objects.filter(assignments__item__campaign=campaign).exclude(kind="trial")
    items = Item.objects.filter(campaign=campaign).order_by()
    own = {
        name: sorted(set(items.values_list(f"report__{name}", flat=True).distinct()) - {None})
        for name in OWN_STRATA
    }
    return AvailableValues(
        list(dict.fromkeys(v.name for v in asked.variables)),
        dict(raters.order_by("kind", "name").values_list("name", "kind").distinct()),
        {name: values for name, values in own.items() if values}
        | {name: in_order(sorted(set(of.values()))) for name, of in strata.items()},
        sorted(float(cut) for cut in cuts),
    )


def _of_meta(rows: Iterable[tuple[Any, ...]], name: str) -> Iterable[tuple[str, str]]:
    for key, query, report, grounding, _ in rows:
        value = text_of(query, name) or text_of(report, name)
        if name == "source":
            value = grounding or value
        if value:
            yield key, value
