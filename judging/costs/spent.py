"""What runs have cost so far, which is unknown where the price of their model is."""

from __future__ import annotations

from decimal import Decimal

from django.db.models import OuterRef, Q, QuerySet, Subquery

from judging.models import JudgeCall, JudgeRun


def last_cost(calls: Q) -> Subquery:
    """The cost of the newest answer among calls of an outer query that was paid for; null where it
    is unknown.
    """
    return Subquery(_paid(calls).values("cost")[:1])


def with_last_cost(runs: QuerySet[JudgeRun]) -> QuerySet[JudgeRun]:
    return runs.annotate(last_cost=last_cost(Q(run=OuterRef("pk"))))


def spent(total: Decimal, calls: int, lane: int | None, last: Decimal | None) -> Decimal | None:
    """US dollars, as far as they are known; None where a server of that lane answered calls, and
    no price of its answers is known: those with the cost `last`.
    """
    return total if total or not calls or lane is None else last


def spent_by(run: JudgeRun) -> Decimal | None:
    """The same of one run, quicker where it came `with_last_cost`."""
    known = vars(run)
    last = known["last_cost"] if "last_cost" in known else _last_of(run)
    return spent(run.cost, run.calls, run.lane_id, last)


def _last_of(run: JudgeRun) -> Decimal | None:
    return _paid(Q(run=run)).values_list("cost", flat=True).first()


def in_dollars(amount: Decimal | None) -> str:
    """With two digits behind the point from a dollar on, with four below."""
    if amount is None:
        return "unknown"
    if 0 < amount < Decimal("0.0001"):
        return "under $0.0001"
    return f"${amount:,.2f}" if amount >= 1 else f"${amount:.4f}" if amount else "$0"


def _paid(of: Q) -> QuerySet[JudgeCall]:
    answered = JudgeCall.objects.filter(of, completion__isnull=False, reused_from=None)
    return answered.order_by("-pk")
