"""What the batch's material says of a campaign's items: the strata beside system and setting."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db.models import OuterRef, Subquery
from django.db.models.functions import Coalesce, Length

from analysis.choices import OWN_STRATA, Offered, Strata
from analysis.metas import OF_META, in_order, length_strata, telling, text_of
from analysis.roles import STRATUM, roles_of_items
from analysis.sources import scale_of
from annotation.models import Campaign, Item, Rater
from annotation.presentation import schema
from datasets.models import Grounding


def campaign_strata(campaign: Campaign) -> Strata:
    """The strata of a campaign's items; one of a single value says nothing and is left out."""
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
    found[STRATUM] = roles_of_items(campaign)
    return telling(found)


def campaign_offers(campaign: Campaign, strata: Strata) -> Offered:
    """What a campaign's report lets choose, whether it has labels yet or not."""
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
    return Offered(
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
