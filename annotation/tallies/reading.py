"""What pages ask of the tallies: as columns of campaigns, and by rater."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import (
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
)
from django.db.models.functions import Coalesce

from annotation.models import Campaign, Tally

ALL_ANSWERS = "answers/"


def tallied(*what: str, raters: Q | None = None) -> Coalesce:
    """A number of each campaign of a queryset: all that is under these words."""
    rows = _of_outer(what, raters).values("campaign").annotate(sum=Sum("number")).values("sum")
    return Coalesce(Subquery(rows, output_field=IntegerField()), 0)


def raters_with(*what: str, raters: Q) -> Subquery:
    """How many raters of each campaign of a queryset have anything under these words."""
    rows = _of_outer(what, raters).values("rater").annotate(sum=Sum("number")).filter(sum__gt=0)
    return _Rows(rows.values("rater"), output_field=IntegerField())


def numbers(campaign: Campaign) -> dict[str, int]:
    """What a campaign has that is no rater's, by word; nothing of which there is none."""
    rows = Tally.objects.filter(campaign=campaign, rater=None)
    sums = rows.values_list("what").annotate(sum=Sum("number")).filter(sum__gt=0)
    return dict(sums.order_by("what"))


def answers_by_rater(campaign: Campaign) -> Mapping[int, dict[str, int]]:
    """By rater, the assignments under each word; nobody without any."""
    rows = Tally.objects.filter(campaign=campaign, what__startswith=ALL_ANSWERS)
    sums = rows.values_list("rater", "what").annotate(sum=Sum("number")).filter(sum__gt=0)
    found: dict[int, dict[str, int]] = {}
    for rater, what, number in sums.order_by("rater", "what"):
        found.setdefault(rater, {})[what] = number
    return found


def raters_in(*campaigns: int) -> QuerySet[Tally, int]:
    """The raters with an assignment in any of the campaigns, by primary key, for a query."""
    rows = Tally.objects.filter(campaign__in=campaigns, what__startswith=ALL_ANSWERS)
    sums = rows.order_by().values("rater").annotate(sum=Sum("number"))
    return sums.filter(sum__gt=0).values_list("rater", flat=True)


class _Rows(Subquery):
    template = "(SELECT COUNT(*) FROM (%(subquery)s) counted)"


def _of_outer(what: tuple[str, ...], raters: Q | None) -> QuerySet[Tally, Any]:
    rows = Tally.objects.filter(campaign=OuterRef("pk"), what__in=what)
    return (rows.filter(raters) if raters else rows).order_by()
