"""What a rater is shown of an item: made from the stored material each time, never copied."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from annotation.design import Design, stored_design
from annotation.models import Assignment, Campaign, Item, Label
from annotation.protocols import PROTOCOLS
from annotation.protocols.base import ItemSpec, Text, UnitSpec, kinds_of, name_units
from annotation.protocols.schema import Schema, schema_of
from datasets import rows
from datasets.material import as_row
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
    return schema_of(PROTOCOLS[campaign.protocol], chosen.variables, chosen.categories)


def items_of(
    campaign: Campaign, query: rows.Query, relevant: Collection[str] | None = None
) -> Iterable[ItemSpec]:
    """The items that a protocol makes of a query, with every unit that may be asked."""
    asked = schema(campaign)
    if relevant is not None:
        left = set(relevant)
        query = replace(query, passages=tuple(p for p in query.passages if p.id in left))
    if "sentence" in kinds_of(asked.variables):
        query = replace(query, reports=tuple(map(_with_sentences, query.reports)))
    return asked.protocol.make_items(query, asked.variables)


def present(item: Item) -> ItemSpec:
    """An item as it is shown: its texts, and all its units in their stored order."""
    campaign = item.campaign
    query = as_row(item.query, PROTOCOLS[campaign.protocol].needs)
    for spec in items_of(campaign, query, item.shown_passages):
        if spec.key == item.key:
            return spec
    raise ForgottenItemError(f"item {item.key!r} of campaign {campaign.name!r}")


def asked_units(assignment: Assignment, spec: ItemSpec) -> dict[str, UnitSpec]:
    """The units that an assignment asks, by name, in the order in which they are shown."""
    named = name_units(spec.units)
    return {name: named[name] for name in assignment.asked}


def ordered_texts(assignment: Assignment, spec: ItemSpec) -> list[Text]:
    """An item's texts in the order in which this rater sees them."""
    places = {field: n for n, field in enumerate(assignment.shown)}
    return sorted(spec.texts, key=lambda text: places.get(text.field, 0))


def shown_texts(spec: ItemSpec) -> Mapping[str, str]:
    """The texts that spans may refer to, by field."""
    return {text.field: text.text for text in spec.texts}


def relevant_passages(campaign: Campaign, query: rows.Query) -> Collection[str] | None:
    """The ids of the passages that the campaign's option `passages` leaves; None for all."""
    option, _, other = design(campaign).passages.partition(":")
    if option == "all":
        return None
    if not other:
        return {p.id for p in query.passages if p.relevant}
    return _called_relevant(Campaign.objects.get(name=other), query)


def _called_relevant(campaign: Campaign, query: rows.Query) -> set[str]:
    votes: dict[str, int] = {}
    labels = Label.objects.filter(
        response__current=True,
        response__assignment__item__campaign=campaign,
        response__assignment__item__query__key=query.id,
        response__assignment__rater__kind="human",
        variable="relevant",
    )
    for key, value in labels.values_list("unit__key", "value"):
        votes[key] = votes.get(key, 0) + (1 if value == "yes" else -1)
    return {p.id for p in query.passages if votes.get(f"{query.id}/{p.id}", 0) > 0}


def _with_sentences(report: rows.Report) -> rows.Report:
    if report.sentences is not None:
        return report
    return replace(
        report, sentences=tuple(report.text[start:end] for start, end in sentences(report.text))
    )
