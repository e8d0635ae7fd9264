"""Store the calls that answer no assignment: those that probe a server, and tries.

They cost money as others do, so they count in a run's calls, tokens and cost, and thereby in its
budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import F

from annotation.models import Campaign
from datasets.db.locks import brief_transaction
from judging.answers.calls import storable, storable_text
from judging.backends.base import Answer, UnassignedReply
from judging.costs import TokenCounts, count_tokens, find_rates, price_book_of
from judging.judge_backends import build_backend
from judging.models import Judge, JudgeRun, UnassignedCall

Purpose = UnassignedCall.Purpose


def record_probes(run: JudgeRun, replies: Sequence[UnassignedReply]) -> None:
    """Store the calls that probed a run's server, and add them to its counts."""
    if not replies:
        return
    book, judge = price_book_of(run), run.judge
    rows = []
    for each in replies:
        rates = book.on(each.sent_at.date())
        usage = _usage(each)
        cost = rates.cost(usage) if rates and usage else None
        rows.append(_row(Purpose.PROBE, judge, each, cost, run=run, campaign=run.campaign))
    tokens = sum((count_tokens(row.usage) for row in rows), TokenCounts())
    added: dict[str, Any] = {"calls": len(rows), **asdict(tokens)}
    added["cost"] = sum((row.cost for row in rows if row.cost is not None), Decimal(0))
    with brief_transaction():
        UnassignedCall.objects.bulk_create(rows)
        JudgeRun.objects.filter(pk=run.pk).update(
            **{name: F(name) + more for name, more in added.items()}
        )


def record_alone(
    purpose: str,
    judge: Judge,
    replies: Sequence[UnassignedReply],
    campaign: Campaign | None = None,
) -> None:
    """Store calls outside of any run, such as a try. The judge may not be stored."""
    rows = []
    for each in replies:
        endpoint = build_backend(judge).endpoint
        rates = find_rates(judge.model, each.sent_at.date(), endpoint, judge.team_id)
        usage = _usage(each)
        cost = rates.cost(usage) if rates and usage else None
        rows.append(_row(purpose, judge, each, cost, campaign=campaign))
    with transaction.atomic():
        UnassignedCall.objects.bulk_create(rows)


def _row(
    purpose: str,
    judge: Judge,
    each: UnassignedReply,
    cost: Decimal | None,
    run: JudgeRun | None = None,
    campaign: Campaign | None = None,
) -> UnassignedCall:
    answer = _answer(each)
    state = "answered" if isinstance(each.reply, Answer) else each.reply.state
    detail = "" if isinstance(each.reply, Answer) else each.reply.message
    return UnassignedCall(
        purpose=purpose,
        run=run,
        campaign=campaign,
        judge=judge if judge.pk else None,
        model=judge.model,
        model_returned=storable_text(answer.model)[:200] if answer else "",
        state=state,
        detail=storable_text(detail)[:300],
        http_status=each.reply.status,
        usage=_usage(each),
        cost=cost,
        sent_at=each.sent_at,
        seconds=each.seconds,
    )


def _answer(each: UnassignedReply) -> Answer | None:
    """Return the answer of a reply, which a final error has as well."""
    reply = each.reply
    found: Answer | None = reply if isinstance(reply, Answer) else getattr(reply, "answer", None)
    return found


def _usage(each: UnassignedReply) -> dict[str, Any]:
    answer = _answer(each)
    return storable(dict(answer.usage)) if answer else {}
