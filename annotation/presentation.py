"""The presentation of an item to a rater, without anything that names a system.

A presentation is computed from the stored material and never copied into a table. The id of a
report often contains the name of a system. If a unit is a report, a part of a report or a pair, all
units of the item therefore get aliases in the recorded order, such as `u0`. Other units keep their
names. The codes `first` and `second` of a pair follow the batch when stored, and the order of the
texts on the page.

A campaign may show the written answers of an earlier one: a second round shows each answer to
another person, and a validation asks about its sentences. Responses never change, so what such a
campaign shows never changes either.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from threading import Lock
from typing import Any, TypeVar

from cachetools import LRUCache
from django.db.models import Count, Exists, F, Max, Min, OuterRef, Q, QuerySet
from django.utils.translation import get_language, gettext, gettext_noop

from annotation.campaigns.design import Audience, Design, stored_design
from annotation.campaigns.relevance import Uses, keep_passages, without_uses
from annotation.models import Assignment, Campaign, Item, Label, Rater, Response, Unit
from annotation.protocols import PROTOCOLS
from annotation.protocols.base import Protocol
from annotation.protocols.guidelines import trim_guideline
from annotation.protocols.items import SENTENCES, judge_once
from annotation.protocols.schema import CampaignSchema, schema_of
from annotation.registry import get_protocol, task_of
from datasets.db.prepared import InList, Parameter, Prepared
from datasets.material import as_row, as_rows
from datasets.text import sentences_of
from tandem.files import rows
from tandem.protocols.base import (
    ForgottenUnitError,
    ItemSpec,
    Text,
    UnitSpec,
    kinds_of,
    name_units,
)
from tandem.protocols.schema import Schema

Value = TypeVar("Value")

PREFIX = "answer-"
JUDGES = (Rater.Kind.JUDGE.value, Rater.Kind.TRIAL.value)


@dataclass(frozen=True)
class FirstAnswer:
    """A written answer of an earlier campaign. `selected` are names of units there."""

    response: int
    text: str
    citations: tuple[str, ...]
    selected: frozenset[str]


def usable_answers(campaign: str) -> QuerySet[Response]:
    """Return the current written answers of people in a campaign, in the order of assignment."""
    rule = PROTOCOLS["grounded-answer"].written
    found = Response.objects.filter(
        current=True,
        assignment__item__campaign__name=campaign,
        assignment__rater__kind="human",
        assignment__replicate=0,
        assignment__scope="",
    )
    for variable, codes in (rule.asked_if if rule else {}).items():
        other = Label.objects.filter(response=OuterRef("pk"), variable=variable)
        found = found.filter(~Exists(other.exclude(value__in=codes)))
    # An imported answer may lack the label that it does not deflect.
    answering = Label.objects.filter(response=OuterRef("pk"), variable="deflected", value="no")
    if _asks(campaign, "deflected"):
        found = found.filter(Exists(answering))
    return found.order_by("assignment_id")


def with_a_gap(answers: QuerySet[Response]) -> QuerySet[Response]:
    """Select the answers with at least two selected sentences and a gap between them.

    This is the gate of CLAPnq's second round (Rosenthal and others 2025).
    """
    chosen = Label.objects.filter(response=OuterRef("pk"), variable="selected", value="yes")
    spread = (
        chosen.order_by()
        .values("response")
        .annotate(n=Count("pk"), low=Min("unit__position"), high=Max("unit__position"))
    )
    return answers.filter(Exists(spread.filter(high__gte=F("low") + F("n"))))


def with_value(asked: Schema, name: str, value: str) -> Q:
    """Select labels of a variable, any if the name is empty, that have a value or name a code.

    A code in a set has its quotation marks there, so no other code contains it.
    """
    found = Q(value=value)
    variables = [each for each in asked.variables if name in ("", each.name) and each.several]
    for each in variables:
        if value in each.codes:
            quoted = json.dumps(value, ensure_ascii=False)
            found |= Q(variable=each.name, value__contains=quoted)
    return found


def read_first_answer(response: Response) -> FirstAnswer | None:
    """Return the written answer in a response, or None if it has no words."""
    units: Mapping[str, Mapping[str, Any]] = response.payload["units"]
    written = next((a["written"] for a in units.values() if a.get("written")), None)
    if not written or not written["text"].strip():
        return None
    selected = frozenset(name for name, a in units.items() if a.get("selected") == "yes")
    return FirstAnswer(response.pk, written["text"], tuple(written["citations"]), selected)


def validates_answers(campaign: Campaign, asked: CampaignSchema) -> bool:
    """Whether a campaign asks about sentences of an earlier campaign's answers, not of reports."""
    named = campaign.protocol == "grounded-answer" and campaign.options.get("prerequisite")
    return bool(named) and "sentence" in kinds_of(asked.variables)


def answers_as_reports(campaign: Campaign, query: str) -> tuple[rows.Report, ...]:
    """Return the answers to a query that a campaign validates, as of the campaign's creation."""
    stored = Unit.objects.filter(item__campaign=campaign, item__query__key=query, kind="sentence")
    keys = {key.rpartition("#")[0] for key in stored.values_list("key", flat=True)}
    if keys:
        uids = {key.removeprefix(PREFIX) for key in keys}
        found = Response.objects.filter(pk__in=uids).order_by("assignment_id")
    else:
        first = str(campaign.options["prerequisite"])
        found = usable_answers(first).filter(assignment__item__query__key=query)
    return tuple(_reports(found))


def _reports(answers: QuerySet[Response]) -> Iterator[rows.Report]:
    """Yield each text once, even if several people wrote it."""
    seen: set[str] = set()
    for response in answers:
        answer = read_first_answer(response)
        if answer and answer.text not in seen:
            seen.add(answer.text)
            yield rows.Report(
                f"{PREFIX}{response.pk}", answer.text, citations=answer.citations or None
            )


def _asks(campaign: str, variable: str) -> bool:
    options = Campaign.objects.filter(name=campaign).values_list("options", flat=True).first()
    chosen = (options or {}).get("variables")
    return not chosen or variable in chosen


def answers_by_others(answers: QuerySet[Response], rater: int) -> QuerySet[Response]:
    return answers.filter(~Q(assignment__rater=rater))


class ForgottenItemError(LookupError):
    """The batch no longer yields a stored item or unit, since texts or the protocol changed."""


FORGOTTEN = (ForgottenItemError, ForgottenUnitError)
CHANGED = gettext_noop(
    "The texts of this item were changed after its campaign was created, so it cannot be shown."
)
"""What a list shows in place of a unit's words. An admin finds the item with `tandem check`."""


def words_of_unit(item: Item, name: str) -> str:
    """Return a unit's text for a list, or a note that the item's texts were changed."""
    try:
        return name_units(present(item).units)[name].text
    except FORGOTTEN:
        return gettext(CHANGED)


def design(campaign: Campaign) -> Design:
    return stored_design(
        campaign.options,
        raters_per_item=campaign.raters_per_item,
        overlap=campaign.overlap,
        human_share=campaign.human_share,
    )


def schema(campaign: Campaign, audience: Audience = "everyone") -> CampaignSchema:
    """Return the response schema of a campaign: what people, judges or both are asked."""
    chosen = design(campaign)
    asked = campaign.protocol, campaign.protocol_version, chosen.points or ""
    stored = campaign.protocol_file_id
    sides: tuple[Audience, ...] = (audience,)
    if audience == "everyone":
        sides = ("people", "judges")
    names = tuple(dict.fromkeys(map(chosen.variables_for, sides)))
    own = campaign.guideline, campaign.trims_guideline
    return _schema(*asked, stored, names, chosen.categories, *own)


def page_schema(campaign: Campaign) -> CampaignSchema:
    """Return what people are asked, with the texts of a protocol's file in their language."""
    return schema(campaign, "people").worded_in(get_language() or "en")


def page_task(campaign: Campaign) -> Protocol:
    """Return the protocol with the texts of its file in the reader's language."""
    return get_protocol(campaign).worded_in(get_language() or "en")


def schema_for(campaign: Campaign, kind: str) -> CampaignSchema:
    """Return what raters of a kind are asked: the Reference answers people's questions."""
    return schema(campaign, "judges" if kind in JUDGES else "people")


def has_audiences(campaign: Campaign) -> bool:
    """Whether people and judges are asked different variables."""
    return bool(campaign.options.get("judge_variables"))


def units_of_audience(
    campaign: Campaign, item: Item, audience: Audience, names: list[str]
) -> list[str]:
    """Return the units, of those named, with a question for this audience, in their order."""
    if not has_audiences(campaign):
        return names
    kinds = kinds_of(schema(campaign, audience).variables)
    units = name_units(present(item).units)
    return [name for name in names if units[name].kind in kinds]


def whole_guideline(campaign: Campaign) -> str:
    """Return the guideline including the parts about variables that the campaign does not ask."""
    own = campaign.guideline
    return own or get_protocol(campaign).guideline


def guideline_in(campaign: Campaign, language: str) -> tuple[str, str]:
    """Return the guideline that people read in a language: as it is shown, and the whole of it."""
    asked, whole = schema(campaign, "people"), whole_guideline(campaign)
    task = get_protocol(campaign)
    text = whole if campaign.guideline else task.guideline_in(language)
    if text == whole:
        return asked.protocol.guideline, whole
    if asked.protocol.guideline.strip() == whole.strip():
        return text, text
    return trim_guideline(task, {variable.name for variable in asked.variables}, text), text


@lru_cache(maxsize=64)
def _schema(
    protocol: str,
    version: str,
    points: str,
    stored: uuid.UUID | None,
    variables: tuple[tuple[str, ...], ...],
    categories: tuple[str, ...],
    guideline: str,
    trims: bool,
) -> CampaignSchema:
    task = task_of(protocol, version, points, stored)
    if guideline:
        task = replace(task, own_guideline=guideline)
    asked = _joined([schema_of(task, names, categories) for names in variables])
    if guideline or not trims:
        return asked
    text = trim_guideline(task, {variable.name for variable in asked.variables})
    if text == task.guideline:
        return asked
    return replace(asked, protocol=replace(task, own_guideline=text))


def has_units_for_people(campaign: Campaign, spec: ItemSpec) -> bool:
    """Whether people have a question about an item's units."""
    if not has_audiences(campaign):
        return True
    return bool(
        kinds_of(schema(campaign, "people").variables)
        & {u.kind for u in spec.units if not u.same_as}
    )


def _joined(schemas: Sequence[CampaignSchema]) -> CampaignSchema:
    """Return one schema with the variables of all, in the protocol's order."""
    first, *others = schemas
    if not others:
        return first
    found = {(v.name, v.kind): v for each in schemas for v in each.variables}
    order = [(v.name, v.kind) for v in first.protocol.variables]
    return replace(first, variables=tuple(found[key] for key in order if key in found))


def items_of(
    campaign: Campaign,
    query: rows.Query,
    passages: Collection[str] | None = None,
    uses: Uses | None = None,
) -> Iterable[ItemSpec]:
    """Return a protocol's items for a query, with every unit that may be asked.

    `passages` are the ones that the campaign's option keeps (None: all), with their `uses`. Units
    that the option `same` does not ask are marked.
    """
    asked = schema(campaign)
    query = without_uses(query) if passages is None else keep_passages(query, passages, uses)
    if validates_answers(campaign, asked):
        query = replace(query, reports=answers_as_reports(campaign, query.id))
    if kinds_of(asked.variables) & set(SENTENCES):
        reports = [replace(each, sentences=sentences_of(each)) for each in query.reports]
        query = replace(query, reports=tuple(reports))
    made = asked.protocol.make_items(query, asked.variables)
    return judge_once(query, made) if campaign.options.get("same") else made


def present(item: Item) -> ItemSpec:
    """Return an item as it is shown: its texts, and all its units in their stored order.

    Recent items stay in memory. They cannot become stale, since the rows of a batch and of a
    campaign's items are written once. Rows that replace them after a deletion, or in another
    database, have another creation time, which is part of the key.
    """
    return _recall(_specs, item) or _remember(_specs, item, _find_spec(item))


def stored_units(item: Item) -> Mapping[str, int]:
    """Return the primary keys of an item's units by name, in their stored order."""
    if found := _recall(_unit_keys, item):
        return found
    return _remember(_unit_keys, item, dict(map(tuple, _unit_rows.rows(item=item.pk))))


def preload(campaign: Campaign, items: Iterable[Item]) -> None:
    """Load what `present` and `stored_units` return for several items, in a few queries.

    `present` raises for an item whose texts were changed, so that others can still be shown.
    """
    new = [item for item in items if not (_recall(_specs, item) and _recall(_unit_keys, item))]
    if not new:
        return
    queries = as_rows((item.query for item in new), get_protocol(campaign).needs)
    units: dict[int, dict[str, int]] = {item.pk: {} for item in new}
    for item_id, name, unit in _units_of_several.rows(items=list(units)):
        units[item_id][name] = unit
    for item in new:
        with suppress(ForgottenItemError):
            _remember(_specs, item, _spec_in(queries[item.query_id], item))
        _remember(_unit_keys, item, units[item.pk])


def _find_spec(item: Item) -> ItemSpec:
    return _spec_in(as_row(item.query, get_protocol(item.campaign).needs), item)


def _spec_in(query: rows.Query, item: Item) -> ItemSpec:
    campaign = item.campaign
    for spec in items_of(campaign, query, item.shown_passages, item.passage_uses):
        if spec.key == item.key:
            return replace(spec, earlier=query.history) if query.history else spec
    raise ForgottenItemError(f"item {item.key!r} of campaign {campaign.name!r}")


def _unit_query() -> QuerySet[Unit, tuple[str, int]]:
    return (
        Unit.objects.filter(item=Parameter("item")).order_by("position").values_list("name", "pk")
    )


def _units_of_several_query() -> QuerySet[Unit, tuple[int, str, int]]:
    units = Unit.objects.filter(InList("item", "items")).order_by("item", "position")
    return units.values_list("item", "name", "pk")


_unit_rows, _units_of_several = Prepared(_unit_query), Prepared(_units_of_several_query)

MAX_ITEMS = 256
MAX_CHARACTERS = 4_000_000
MAX_UNIT_LISTS = 1024
MAX_NAME_CHARACTERS = 1_000_000


def _size(spec: ItemSpec) -> int:
    """Count an item's characters; at least as many as let `MAX_ITEMS` items fill the cache."""
    texts = sum(len(text.text) + sum(map(len, text.suggested)) for text in spec.texts)
    units = sum(len(unit.text) for unit in spec.units)
    turns = sum(len(turn.text) for turn in spec.earlier)
    return max(texts + units + turns, MAX_CHARACTERS // MAX_ITEMS)


def _size_of_names(units: Mapping[str, int]) -> int:
    return max(sum(map(len, units)), MAX_NAME_CHARACTERS // MAX_UNIT_LISTS)


_specs: LRUCache[object, ItemSpec] = LRUCache(MAX_CHARACTERS, _size)
_unit_keys: LRUCache[object, Mapping[str, int]] = LRUCache(MAX_NAME_CHARACTERS, _size_of_names)
_lock = Lock()


def _recall(cache: LRUCache[object, Value], item: Item) -> Value | None:
    with _lock:
        return cache.get(_identity(item))


def _remember(cache: LRUCache[object, Value], item: Item, value: Value) -> Value:
    # A value larger than the whole cache raises ValueError. It is used, but not remembered.
    with _lock, suppress(ValueError):
        cache[_identity(item)] = value
    return value


def _identity(item: Item) -> object:
    campaign = item.campaign
    return campaign.pk, campaign.created_at, item.pk, item.query_id, item.key


def asked_units(assignment: Assignment, spec: ItemSpec) -> dict[str, UnitSpec]:
    """Return the units that an assignment asks about, by name, in the order of the page."""
    named = name_units(spec.units)
    try:
        return {name: named[name] for name in assignment.asked}
    except ForgottenUnitError as error:
        where = f"item {spec.key!r} of campaign {assignment.item.campaign.name!r}"
        raise ForgottenItemError(f"unit {error.args[0]!r} of {where}") from error


def ordered_texts(assignment: Assignment, spec: ItemSpec) -> list[Text]:
    """Return an item's texts in this rater's order. Texts that are not in the order come first."""
    places = {field: n for n, field in enumerate(assignment.shown)}
    return sorted(spec.texts, key=lambda text: places.get(text.field, -1))


def texts_by_field(spec: ItemSpec) -> Mapping[str, str]:
    """Return the texts that spans may refer to, by field."""
    return {text.field: text.text for text in spec.texts}
