"""What a campaign asked, as files of a release: its items with their units, and its sample."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby

from analysis.campaigns.people_sample import unfinished_queries
from analysis.evaluation.stored import sampled_queries
from annotation.exports.rows import places_of, present_items, shown_items
from annotation.models import Campaign, Item, Rater, Response, Unit
from tandem.types import JSON


def item_lines(campaign: Campaign) -> Iterator[bytes]:
    """Yield a line for each item: its query, its units in order, and who answered.

    The raters are in the order in which they were asked. Items with another use than study have it.
    A unit has in `also` the equal units that take its labels.
    """
    also = _also(campaign) if campaign.options.get("same") else {}
    raters = _raters(campaign)
    units = Unit.objects.filter(item__campaign=campaign).order_by("item__position", "position")
    rows = units.values_list("item_id", "kind", "key").iterator(chunk_size=5000)
    of_items = {pk: list(of) for pk, of in groupby(rows, lambda row: row[0])}
    items = Item.objects.filter(campaign=campaign).order_by("position")
    for pk, key, query, use in items.values_list("pk", "key", "query__key", "use"):
        line = {
            "item": key,
            "query": query,
            "units": [
                {"kind": kind, "unit": unit, **also.get((pk, kind, unit), {})}
                for _, kind, unit in of_items.get(pk, ())
            ],
            "raters": raters.get(pk, []),
        }
        yield _line(line | ({} if use == Item.Use.STUDY else {"use": use}))


def _also(campaign: Campaign) -> dict[tuple[int, str, str], JSON]:
    """Return the key `also` of units with equal ones, by the item's primary key, kind and key."""
    return {
        (item.pk, unit.kind, unit.key): {"also": places_of(unit)}
        for chunk in shown_items(campaign)
        for item, spec in present_items(campaign, chunk)
        for unit in spec.units
        if unit.also
    }


def _raters(campaign: Campaign) -> dict[int, list[str]]:
    """Return the raters with a current answer by item, in the order of their assignments."""
    current = Response.objects.filter(current=True, assignment__item__campaign=campaign).exclude(
        assignment__rater__kind=Rater.Kind.TRIAL
    )
    found: dict[int, list[str]] = {}
    columns = ("assignment__item_id", "assignment__rater__name")
    for item, rater in current.order_by("assignment_id").values_list(*columns):
        if rater not in (raters := found.setdefault(item, [])):
            raters.append(rater)
    return found


def sampling_lines(campaign: Campaign) -> Iterator[bytes]:
    """Yield a line for each query: whether people are asked about it, its split, and the chances.

    `finished` says whether people gave all answers that the design asks of the query.
    """
    unfinished = unfinished_queries(campaign)
    for row in sampled_queries(campaign):
        yield _line({**row._asdict(), "finished": row.query not in unfinished})


def _line(of: JSON) -> bytes:
    return json.dumps(of, ensure_ascii=False).encode() + b"\n"
