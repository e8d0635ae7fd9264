"""The queries of a campaign: where people agree least, and where a judge is least like them.

It counts the units of the list of disagreements, so that each number leads to the units behind it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np
from django.http import HttpRequest, HttpResponse
from django.utils.http import urlencode

from analysis.disagreements.choose import Choice, choose_units
from analysis.disagreements.votes import VoteTable
from analysis.disagreements.votes_job import VOTES, question, votes_in
from analysis.results.address import EVERY, SORT, VARIABLE
from annotation.access import get_account, open_campaigns
from annotation.exposure.ledger import FEWEST_UNITS, saw_figures
from annotation.models import Campaign
from annotation.presentation import schema
from datasets.models import Query
from datasets.sorting import Column, Order, heads_of, order_of
from datasets.work import pages as jobs
from tandem.statistics import Ints

PEOPLE, ORDER, UNITS, JUDGE = "people", "order", "units", "judge:"
QUERIES = "queries"
"""The name of the section, and of the part of the page that htmx replaces."""
MOST = 30
LOOK = "report"


@dataclass(frozen=True)
class Alike:
    """On how many of some units labels are the same, and on how many they differ."""

    units: int
    differ: int

    @property
    def same(self) -> int:
        return self.units - self.differ

    @property
    def share(self) -> float | None:
        return self.same / self.units if self.units else None

    @property
    def percent(self) -> int | None:
        return None if self.share is None else round(100 * self.share)


@dataclass(frozen=True)
class QueryRow:
    """A query: whether people agree with each other, and each judge with most people."""

    query: Query
    people: Alike
    judges: Mapping[str, Alike]

    @property
    def all(self) -> list[Alike]:
        return [self.people, *self.judges.values()]

    @property
    def fewest(self) -> int:
        """The smallest number of units behind a figure."""
        return min(each.units for each in self.all if each.units)


def by_query_context(request: HttpRequest, campaign: Campaign) -> dict[str, Any] | HttpResponse:
    """Return the context of the table, or the response to htmx while there is nothing new."""
    names = list(dict.fromkeys(each.name for each in schema(campaign).variables))
    asked = request.GET.get(VARIABLE, "")
    variable = asked if asked in names else names[0]
    shown = jobs.result_or_progress(
        request,
        VOTES,
        question(campaign, variable, {}),
        request.path,
        request.path,
        f"#{QUERIES}",
        votes_in,
    )
    if isinstance(shown, HttpResponse):
        return shown
    context: dict[str, Any] = {
        "shown": shown, "campaign": campaign, "variable": variable, "variables": names,
    }  # fmt: skip
    if shown.value is None:
        return context
    table: VoteTable = shown.value
    rows = rows_of(campaign, table)
    _note_look(campaign, rows)
    columns = _columns(table.judges)
    order = order_of(columns, request.GET.get(SORT, ""), _first_order(table, rows))
    rows = sorted_rows(rows, order)
    every = bool(request.GET.get(EVERY)) or len(rows) <= MOST
    kept = {VARIABLE: variable, EVERY: "1" if every and len(rows) > MOST else ""}
    return {
        **context,
        "rows": rows if every else rows[:MOST],
        "number": len(rows),
        "rest": "" if every else urlencode({SORT: str(order), VARIABLE: variable, EVERY: "1"}),
        "judges": table.judges,
        "heads": heads_of(columns, order, kept, SORT),
        "is_marked": any(row.fewest < FEWEST_UNITS for row in rows)
        and open_campaigns(get_account(request)).filter(pk=campaign.pk).exists(),
    }


def rows_of(campaign: Campaign, table: VoteTable) -> list[QueryRow]:
    """Return the queries that several people or a judge and people labelled, in their order."""
    queries, of = np.unique(table.queries, return_inverse=True)

    def counted(choice: Choice) -> Ints:
        return np.bincount(of[choose_units(table, choice)], minlength=len(queries))

    people = counted(Choice("several", sort="order")), counted(Choice("people", sort="order"))
    judges = {
        judge: (
            counted(Choice("decided", judge, sort="order", by=(judge, ""))),
            counted(Choice("judge", judge, sort="order")),
        )
        for judge in table.judges
    }
    texts = Query.objects.filter(batch=campaign.batch_id).order_by("position")
    known = {pk: n for n, pk in enumerate(queries.tolist())}
    found = []
    for query in texts.only("pk", "key", "text"):
        if (n := known.get(query.pk)) is None:
            continue
        by_judge = {judge: _alike(counts, n) for judge, counts in judges.items()}
        row = QueryRow(query, _alike(people, n), by_judge)
        if any(each.units for each in row.all):
            found.append(row)
    return found


def _alike(counts: tuple[Ints, Ints], n: int) -> Alike:
    return Alike(int(counts[0][n]), int(counts[1][n]))


def _columns(judges: Sequence[str]) -> list[Column]:
    return [
        Column(ORDER, "Query"),
        Column(UNITS, "Shared", is_number=True),
        Column(PEOPLE, "People agree", is_number=True),
        *(Column(f"{JUDGE}{each}", each, is_number=True, rater="judge") for each in judges),
    ]


def _first_order(table: VoteTable, rows: Sequence[QueryRow]) -> Order:
    """Return the order by the first column that says anything."""
    if any(row.people.units for row in rows) or not table.judges:
        return Order(PEOPLE)
    return Order(f"{JUDGE}{table.judges[0]}")


def sorted_rows(rows: Sequence[QueryRow], order: Order) -> list[QueryRow]:
    """Sort rows. Queries without a value come last."""
    name, down = order.by, order.is_descending
    if name == ORDER:
        return list(reversed(rows)) if down else list(rows)
    if name == UNITS:
        return sorted(rows, key=attrgetter("people.units"), reverse=down)
    sign = -1 if down else 1

    def key(row: QueryRow) -> tuple[bool, float, int]:
        alike = row.people if name == PEOPLE else row.judges[name.removeprefix(JUDGE)]
        return alike.share is None, sign * (alike.share or 0.0), -sign * alike.differ

    return sorted(rows, key=key)


def _note_look(campaign: Campaign, rows: Sequence[QueryRow]) -> None:
    """Record which items have figures over few units."""
    small = [row.query.pk for row in rows if row.fewest < FEWEST_UNITS]
    items = campaign.items.filter(query__in=small).values_list("pk", flat=True)
    units = sum(max(each.units for each in row.all) for row in rows)
    saw_figures(LOOK, campaign, units, items=list(items) if small else ())
