"""What people answered about the queries that a plan has drawn, and which verdicts are wrong."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import numpy as np
from django.db.models import Exists, F, OuterRef, QuerySet
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
from annotation.trust.roles import ADJUDICATED
from tandem.statistics import Bools, Ints
from tandem.trust.truth import NO_VOTE, true_codes, wrong_verdicts

OWN_PAGES = ("page", "api")
"""How an answer arrives that somebody gave here."""


@dataclass(frozen=True)
class Answered:
    """The drawn queries in their order, by number; those with all answers, and those overdue.

    A query is late if it has not all its answers within the days that the plan gives it. What
    arrives later does not count, so that a state does not depend on when somebody looked.
    """

    drawn: tuple[int, ...]
    complete: frozenset[int]
    overdue: frozenset[int]

    @property
    def late(self) -> frozenset[int]:
        return self.overdue - self.complete

    def without(self, queries: Collection[int]) -> Answered:
        """Return the same with these queries not complete."""
        return replace(self, complete=self.complete - set(queries))


@dataclass(frozen=True)
class Checked:
    """The `wrong` cells of queries, by number; `undecided` ones wait for an adjudicator."""

    wrong: Mapping[int, Bools]
    undecided: frozenset[int]


ALWAYS = datetime.min.replace(tzinfo=UTC)
"""When cells are settled on which people do not differ."""


@dataclass(frozen=True)
class CheckedPlaces:
    """The `wrong` cells at some places, (n,), and since when no adjudicator has to decide them.

    `settled_at` is None where people differ and nobody has decided in time.
    """

    wrong: Bools
    settled_at: Sequence[datetime | None]


def answers_of(plan: TrustPlan) -> QuerySet[Response]:
    """Return the answers that count: each person's first, given here after the draw and in time.

    Answers that were imported, carried over, assisted, or given after a look at others' do not
    count.
    """
    drawn = TrustDraw.objects.filter(plan=plan, query=OuterRef("assignment__item__query"))
    firsts = Response.objects.filter(
        Exists(drawn.filter(drawn_at__lte=OuterRef("created_at")).order_by()),
        revision=1,
        door__in=OWN_PAGES,
        carried=None,
        assignment__item__campaign=plan.campaign_id,
        assignment__item__use=Item.Use.STUDY,
        assignment__rater__kind=Rater.Kind.HUMAN,
        assignment__status=Assignment.Status.DONE,
        assignment__assisted_by="",
    )
    excluded = exclusion_reasons(plan.campaign.name)
    found = firsts.exclude(exposed=True).exclude(assignment__rater__name__in=excluded)
    late = _too_late(plan, found)
    return found.exclude(pk__in=late) if late else found


def _too_late(plan: TrustPlan, found: QuerySet[Response]) -> list[int]:
    """Return the answers, by primary key, that came after the days of every draw of their query.

    SQLite adds days by a function of Python's for each row, so it is not asked.
    """
    limit, ends = timedelta(days=plan.document["late_days"]), defaultdict[int, list[datetime]](list)
    for query, at in plan.draws.order_by("drawn_at").values_list("query", "drawn_at"):
        ends[query].append(at + limit)
    rows = found.order_by().values_list("pk", "assignment__item__query", "created_at")
    return [pk for pk, query, at in rows if not _has_time(ends[query], at, limit)]


def _has_time(ends: Sequence[datetime], at: datetime, limit: timedelta) -> bool:
    """Whether a moment is within the days of a draw, given by their ends in order."""
    return any(end - limit <= at <= end for end in ends)


def _in_time(plan: TrustPlan, query: str, at: str) -> Exists:
    """The condition that a query was drawn before a moment, and not longer ago than it may wait."""
    limit = timedelta(days=plan.document["late_days"])
    draws = TrustDraw.objects.filter(plan=plan, query=OuterRef(query), drawn_at__lte=OuterRef(at))
    return Exists(draws.filter(drawn_at__gte=OuterRef(at) - limit).order_by())


def answered(plan: TrustPlan, pks: Sequence[int], now: datetime | None = None) -> Answered:
    """Return which of the drawn queries have all their answers, and which are late.

    `pks` are the primary keys of the plan's queries, in its order.
    """
    number = {pk: n for n, pk in enumerate(pks)}
    rows = TrustDraw.objects.filter(plan=plan).order_by("place").values_list("query", "drawn_at")
    draws = [(number[query], at) for query, at in rows if query in number]
    given = Counter(answers_of(plan).order_by().values_list("assignment__item", flat=True))
    drawn = TrustDraw.objects.filter(plan=plan).order_by().values("query")
    items = plan.campaign.items.filter(use=Item.Use.STUDY, query__in=drawn).order_by()
    lacking = {
        number[query]
        for item, query in items.values_list("pk", "query")
        if query in number and given[item] < plan.document["people"]
    }
    since = (now or timezone.now()) - timedelta(days=plan.document["late_days"])
    return Answered(
        tuple(query for query, _ in draws),
        frozenset(query for query, _ in draws if query not in lacking),
        frozenset(query for query, at in draws if at < since),
    )


def check_cells(plan: TrustPlan, cells: Cells, queries: Collection[int]) -> Checked:
    """Compare the judge's verdicts on the cells of these queries, by number, with the truth.

    The cells of a query are those of `cells`, in their order.
    """
    places = np.flatnonzero(np.isin(cells.query, list(queries)))
    checked = check_places(plan, cells, places)
    waits = np.array([at is None for at in checked.settled_at], bool)
    by_query = {query: checked.wrong[cells.query[places] == query] for query in queries}
    return Checked(by_query, frozenset(cells.query[places[waits]].tolist()))


def check_places(plan: TrustPlan, cells: Cells, places: Ints) -> CheckedPlaces:
    """Compare the judge's verdicts on the cells at these places, (n,), with the truth."""
    row = {int(cells.unit[place]): n for n, place in enumerate(places)}
    code = {name: n for n, name in enumerate(cells.codes)}
    votes = _votes(plan, row, code)
    decided: Ints | None = None
    settled_at: list[datetime | None] = [ALWAYS] * len(places)
    if plan.document["truth"] == ADJUDICATED:
        decided, when = _decisions(plan, row, code)
        differ = votes.max(axis=1) > np.where(votes < 0, len(code), votes).min(axis=1)
        settled_at = [when.get(n) if differs else ALWAYS for n, differs in enumerate(differ)]
    truth = true_codes(votes, plan.document["people"], decided)
    return CheckedPlaces(wrong_verdicts(cells.verdict[places], truth, cells.categories), settled_at)


def _votes(plan: TrustPlan, row: Mapping[int, int], code: Mapping[str, int]) -> Ints:
    """Return the codes of the first people on each cell, (N, people), -1 where there is none."""
    people = plan.document["people"]
    found = np.full((len(row), people), NO_VOTE, dtype=np.int64)
    given = np.zeros(len(row), dtype=np.int64)
    labels = Label.objects.filter(response__in=answers_of(plan), variable=plan.variable)
    in_order = labels.order_by("response__created_at", "response")
    for unit, value in in_order.values_list("unit", "value"):
        if unit in row and value in code and given[row[unit]] < people:
            found[row[unit], given[row[unit]]] = code[value]
            given[row[unit]] += 1
    return found


def _decisions(
    plan: TrustPlan, row: Mapping[int, int], code: Mapping[str, int]
) -> tuple[Ints, dict[int, datetime]]:
    """Return the codes of adjudicators' decisions on cells, -1 where there is none in time.

    The moments of the decisions are by row.
    """
    found, when = np.full(len(row), NO_VOTE, dtype=np.int64), {}
    labels = Label.objects.filter(
        _in_time(plan, "unit__item__query", "response__created_at"),
        response__decision__isnull=False,
        response__revision=1,
        unit=F("response__decision__unit"),
        unit__item__campaign=plan.campaign_id,
        variable=plan.variable,
    )
    for unit, value, at in labels.values_list("unit", "value", "response__created_at"):
        if unit in row and value in code:
            found[row[unit]], when[row[unit]] = code[value], at
    return found, when
