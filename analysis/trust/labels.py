"""What people answered about the queries that a plan has drawn, and which verdicts are wrong."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
from django.db.models import F, QuerySet
from django.utils import timezone

from analysis.trust.cells import Cells
from annotation.models import (
    Assignment,
    Item,
    Label,
    Rater,
    Response,
    TrustDraw,
    TrustPlan,
)
from annotation.people.membership import exclusion_reasons
from tandem.statistics import Bools, Ints
from tandem.trust.truth import true_codes, wrong_verdicts

OWN_PAGES = ("page", "api")
"""How an answer arrives that somebody gave here."""


@dataclass(frozen=True)
class Answered:
    """The drawn queries in their order, by number, each with whether it is `complete` or `late`."""

    drawn: tuple[int, ...]
    complete: frozenset[int]
    late: frozenset[int]


def answers_of(plan: TrustPlan) -> QuerySet[Response]:
    """Return the answers that count: each person's first, given here after the draw, unaided.

    Answers that were imported, carried over, or given after a look at others' do not count.
    """
    draws = TrustDraw.objects.filter(plan=plan)
    firsts = Response.objects.filter(
        revision=1,
        door__in=OWN_PAGES,
        carried=None,
        assignment__item__campaign=plan.campaign_id,
        assignment__item__use=Item.Use.STUDY,
        assignment__item__query__in=draws.values("query"),
        assignment__rater__kind=Rater.Kind.HUMAN,
        assignment__status=Assignment.Status.DONE,
        assignment__assisted_by="",
        created_at__gt=plan.created_at,
    )
    excluded = exclusion_reasons(plan.campaign.name)
    return firsts.exclude(exposed=True).exclude(assignment__rater__name__in=excluded)


def answered(plan: TrustPlan, pks: Sequence[int], now: datetime | None = None) -> Answered:
    """Return which of the drawn queries have all their answers, and which are late.

    `pks` are the primary keys of the plan's queries, in its order.
    """
    now = now or timezone.now()
    number = {pk: n for n, pk in enumerate(pks)}
    rows = TrustDraw.objects.filter(plan=plan).order_by("place").values_list("query", "drawn_at")
    draws = [(number[query], at) for query, at in rows if query in number]
    wanted: dict[int, int] = defaultdict(int)
    items = plan.campaign.items.filter(use=Item.Use.STUDY, query__in=list(pks)).order_by()
    for query in items.values_list("query", flat=True):
        wanted[number[query]] += plan.document["people"]
    given: dict[int, int] = defaultdict(int)
    for query in answers_of(plan).values_list("assignment__item__query", flat=True).order_by():
        if query in number:
            given[number[query]] += 1
    complete = frozenset(query for query, _ in draws if given[query] >= wanted[query])
    limit = timedelta(days=plan.document["late_days"])
    late = frozenset(query for query, at in draws if now - at > limit and query not in complete)
    return Answered(tuple(query for query, _ in draws), complete, late)


def wrong_cells(plan: TrustPlan, cells: Cells, queries: Collection[int]) -> Mapping[int, Bools]:
    """Return which cells of each of these queries, by number, the judge decides wrongly.

    The cells of a query are those of `cells`, in their order.
    """
    document = plan.document
    asked = np.isin(cells.query, list(queries))
    places = np.flatnonzero(asked)
    row = {int(cells.unit[place]): n for n, place in enumerate(places)}
    code = {name: n for n, name in enumerate(cells.codes)}
    pks = [cells.pks[query] for query in queries]
    labels = Label.objects.filter(response__in=answers_of(plan), variable=document["variable"])
    labels = labels.filter(unit__item__query__in=pks).order_by("response__created_at", "response")
    votes: list[list[int]] = [[] for _ in places]
    for unit, value in labels.values_list("unit", "value"):
        if unit in row and value in code and len(votes[row[unit]]) < document["people"]:
            votes[row[unit]].append(code[value])
    table = np.full((len(places), max(document["people"], 1)), -1, dtype=np.int64)
    for n, own in enumerate(votes):
        table[n, : len(own)] = own
    decided = _decisions(plan, row, code) if document["truth"] == "adjudicated" else None
    truth = true_codes(table, document["people"], decided)
    wrong = wrong_verdicts(cells.verdict[places], truth, cells.categories)
    return {query: wrong[cells.query[places] == query] for query in queries}


def _decisions(plan: TrustPlan, row: Mapping[int, int], code: Mapping[str, int]) -> Ints:
    """Return the codes of adjudicators' decisions on cells, -1 where there is none."""
    found = np.full(len(row), -1, dtype=np.int64)
    labels = Label.objects.filter(
        response__decision__isnull=False,
        response__current=True,
        unit=F("response__decision__unit"),
        unit__item__campaign=plan.campaign_id,
        variable=plan.document["variable"],
    )
    for unit, value in labels.values_list("unit", "value"):
        if unit in row and value in code:
            found[row[unit]] = code[value]
    return found
