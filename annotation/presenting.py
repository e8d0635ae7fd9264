"""What a rater is shown of an item: made from the stored material, never copied into a table."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache

from django.db.models import QuerySet

from annotation.declared import DECLARED, declared
from annotation.design import Design, stored_design
from annotation.first_answers import answers_as_reports, validates_answers
from annotation.keeping import Kept
from annotation.models import Assignment, Campaign, Item, Unit
from annotation.protocols.base import ItemSpec, Text, UnitSpec, kinds_of, name_units
from annotation.protocols.schema import Schema, schema_of
from annotation.relevance import Uses, left_by, without_uses
from datasets import rows
from datasets.db.prepared import Among, Given, Prepared
from datasets.material import as_row, as_rows
from datasets.text import sentences


class ForgottenItemError(LookupError):
    """A stored item that its material no longer makes: the batch or the protocol was changed."""


def design(campaign: Campaign) -> Design:
    return stored_design(
        campaign.options,
        raters_per_item=campaign.raters_per_item,
        overlap=campaign.overlap,
        human_share=campaign.human_share,
    )


def schema(campaign: Campaign) -> Schema:
    """The response schema of a campaign."""
    chosen = design(campaign)
    asked = campaign.protocol, campaign.protocol_version, chosen.points or ""
    return _schema(*asked, chosen.variables, chosen.categories, campaign.guideline)


@lru_cache(maxsize=64)
def _schema(
    protocol: str,
    version: str,
    points: str,
    variables: tuple[str, ...],
    categories: tuple[str, ...],
    guideline: str,
) -> Schema:
    task = DECLARED[protocol].as_of(version).read_as(points)
    if guideline:
        task = replace(task, own_guideline=guideline)
    return schema_of(task, variables, categories)


def items_of(
    campaign: Campaign,
    query: rows.Query,
    passages: Collection[str] | None = None,
    uses: Uses | None = None,
) -> Iterable[ItemSpec]:
    """The items that a protocol makes of a query, with every unit that may be asked.

    `passages` are those that the campaign's option left (None: all), with their `uses`.
    """
    asked = schema(campaign)
    query = without_uses(query) if passages is None else left_by(query, passages, uses)
    if validates_answers(campaign, asked):
        query = replace(query, reports=answers_as_reports(campaign, query.id))
    if "sentence" in kinds_of(asked.variables):
        query = replace(query, reports=tuple(map(_with_sentences, query.reports)))
    return asked.protocol.make_items(query, asked.variables)


def present(item: Item) -> ItemSpec:
    """An item as it is shown: its texts, and all its units in their stored order.

    The newest ones are kept in memory, which is safe: a batch's rows are written once, when it is
    loaded, and a campaign with its items once, when it is made (`datasets.loading` and
    `annotation.campaigns` alone write them). Whatever stands in their place after a deletion, or
    in another database, bears another time of making in its key.
    """
    made = _identity(item)
    return _shown.get(made) or _shown.keep(made, _present(item))


def bring(campaign: Campaign, items: Iterable[Item]) -> None:
    """Looks up at once what `present` and `stored_units` keep of several items of a campaign."""
    new = [item for item in items if not (_shown.get(key := _identity(item)) and _units.get(key))]
    if not new:
        return
    queries = as_rows((item.query for item in new), declared(campaign).needs)
    units: dict[int, dict[str, int]] = {item.pk: {} for item in new}
    for item_id, name, unit in _units_of_several.rows(items=list(units)):
        units[item_id][name] = unit
    for item in new:
        _shown.keep(_identity(item), _made_of(item, queries[item.query_id]))
        _units.keep(_identity(item), units[item.pk])


def _present(item: Item) -> ItemSpec:
    return _made_of(item, as_row(item.query, declared(item.campaign).needs))


def _made_of(item: Item, query: rows.Query) -> ItemSpec:
    campaign = item.campaign
    for spec in items_of(campaign, query, item.shown_passages, item.passage_uses):
        if spec.key == item.key:
            return spec
    raise ForgottenItemError(f"item {item.key!r} of campaign {campaign.name!r}")


def stored_units(item: Item) -> Mapping[str, int]:
    """The primary keys of an item's units by their names, in their stored order; kept like it."""
    made = _identity(item)
    if found := _units.get(made):
        return found
    return _units.keep(made, dict(map(tuple, _unit_rows.rows(item=item.pk))))


def _identity(item: Item) -> object:
    campaign = item.campaign
    return campaign.pk, campaign.created_at, item.pk, item.query_id, item.key


def _characters(spec: ItemSpec) -> int:
    texts = sum(len(text.text) + sum(map(len, text.suggested)) for text in spec.texts)
    return texts + sum(len(unit.text) for unit in spec.units)


def _unit_query() -> QuerySet[Unit, tuple[str, int]]:
    return Unit.objects.filter(item=Given("item")).order_by("position").values_list("name", "pk")


def _units_of_several_query() -> QuerySet[Unit, tuple[int, str, int]]:
    units = Unit.objects.filter(Among("item", "items")).order_by("item", "position")
    return units.values_list("item", "name", "pk")


_unit_rows, _units_of_several = Prepared(_unit_query), Prepared(_units_of_several_query)
_shown = Kept[ItemSpec](256, 4_000_000, _characters)
_units = Kept[Mapping[str, int]](1024, 1_000_000, lambda units: sum(map(len, units)))


def asked_units(assignment: Assignment, spec: ItemSpec) -> dict[str, UnitSpec]:
    """The units that an assignment asks, by name, in the order in which they are shown."""
    named = name_units(spec.units)
    return {name: named[name] for name in assignment.asked}


def ordered_texts(assignment: Assignment, spec: ItemSpec) -> list[Text]:
    """An item's texts in the order in which this rater sees them, first those that have none."""
    places = {field: n for n, field in enumerate(assignment.shown)}
    return sorted(spec.texts, key=lambda text: places.get(text.field, -1))


def shown_texts(spec: ItemSpec) -> Mapping[str, str]:
    """The texts that spans may refer to, by field."""
    return {text.field: text.text for text in spec.texts}


def _with_sentences(report: rows.Report) -> rows.Report:
    if report.sentences is not None:
        return report
    return replace(
        report, sentences=tuple(report.text[start:end] for start, end in sentences(report.text))
    )
