"""Prices of models by date, a run's budget in tokens and money, and what runs have cost.

A budget is reserved before a call and settled after it. `rates_of` asks the database once;
`Rates.cost` is arithmetic alone, because it runs for every call. The cost is unknown if the price
of the model is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

from django.db.models import OuterRef, Q, QuerySet, Subquery

from judging.backends.base import Request
from judging.models import JudgeCall, JudgeRun, Price

MILLION = Decimal(1_000_000)
PLACES = Decimal("0.000001")
MOST_TOKENS = 2**31 - 1


@dataclass(frozen=True)
class Rates:
    """US dollars for a million tokens: of prompts, of their cached part, and of completions."""

    prompt: Decimal
    cached: Decimal
    completion: Decimal

    def cost(self, usage: Mapping[str, Any]) -> Decimal | None:
        """US dollars to six places; None where the usage does not tell both counts."""
        counts = tokens_in(usage)
        return None if counts is None else self.of(*counts)

    def of(self, prompt: int, cached: int, completion: int) -> Decimal:
        """The cost of so many tokens; the cached ones are a part of the prompt's."""
        part = (prompt - cached) * self.prompt + cached * self.cached
        total = (part + completion * self.completion) / MILLION
        return total.quantize(PLACES, ROUND_HALF_EVEN)


FREE = Rates(Decimal(0), Decimal(0), Decimal(0))


def tokens_in(usage: Mapping[str, Any]) -> tuple[int, int, int] | None:
    """Prompt, cached and completion tokens of a server's usage; None where a count is missing."""
    prompt = _count(usage.get("prompt_tokens"))
    completion = _count(usage.get("completion_tokens"))
    if prompt is None or completion is None:
        return None
    details = usage.get("prompt_tokens_details")
    told = details.get("cached_tokens") if isinstance(details, Mapping) else 0
    return prompt, min(_count(told) or 0, prompt), completion


def money(amount: Decimal) -> str:
    """US dollars in words, a cent at least."""
    return f"{max(amount, Decimal('0.01')):,.2f} US dollars"


def rates_of(model: str, on: date) -> Rates | None:
    """The newest rates of a model that hold on a day; None where there are none."""
    price = Price.objects.filter(model=model, since__lte=on).order_by("-since").first()
    return Rates(price.prompt, price.cached, price.completion) if price else None


def cost_of(usage: Mapping[str, Any], model: str, on: date) -> Decimal | None:
    """What one call cost; None where the usage or the price is unknown, which is not 0."""
    rates = rates_of(model, on)
    return rates.cost(usage) if rates else None


class Book:
    """The rates of one model, looked up once a day: for a run, which may pass midnight."""

    def __init__(self, model: str) -> None:
        self.model = model
        self._on: date | None = None
        self._rates: Rates | None = None

    def on(self, day: date) -> Rates | None:
        if day != self._on:
            self._on, self._rates = day, rates_of(self.model, day)
        return self._rates


def _count(value: Any) -> int | None:
    good = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS
    return value if good else None


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


CHARACTERS_PER_TOKEN = 4
UNKNOWN_COMPLETION = 256
FORGETTING = 0.05


@dataclass(frozen=True)
class Estimate:
    """What a call is thought to spend: tokens of its prompt and of its completion, US dollars."""

    prompt: int
    completion: int
    cost: Decimal = Decimal(0)

    @property
    def tokens(self) -> int:
        return self.prompt + self.completion


NOTHING = Estimate(0, 0)


class Budget:
    """The bounds of a run with what is spent so far; `rates` says what tokens cost today.

    A bound may be passed by what the calls under way took beyond their estimates, and no more.
    """

    def __init__(
        self,
        most_tokens: int | None = None,
        most_cost: Decimal | None = None,
        spent_tokens: int = 0,
        spent_cost: Decimal = Decimal(0),
        rates: Callable[[], Rates | None] = lambda: None,
        max_tokens: int | None = None,
    ) -> None:
        self.most_tokens, self.most_cost = most_tokens, most_cost
        self.tokens, self.cost = spent_tokens, spent_cost
        self.rates, self.max_tokens = rates, max_tokens
        self._reserved_tokens, self._reserved_cost = 0, Decimal(0)
        self._completion: float | None = None
        self._short_of = ""

    @property
    def bounds_nothing(self) -> bool:
        return self.most_tokens is None and self.most_cost is None

    def problem(self) -> str:
        """Why the bounds cannot be kept at all; empty where they can."""
        if self.most_cost is not None and self.rates() is None:
            return (
                "the run is limited in US dollars, and no price of its model is known; "
                "enter one with create_price"
            )
        return ""

    def reserve(self, request: Request) -> Estimate | None:
        """Sets aside what a call may spend; None where the bounds leave no room for it now."""
        if self.bounds_nothing:
            return NOTHING
        estimate = self._estimate(request)
        if not self._fits(estimate):
            return None
        self._reserved_tokens += estimate.tokens
        self._reserved_cost += estimate.cost
        return estimate

    def settle(self, estimate: Estimate, usage: Mapping[str, Any] | None) -> Decimal | None:
        """What a call has cost, where that is known. `usage` is None where none was answered.

        An answer that does not tell its tokens counts as its estimate.
        """
        self._reserved_tokens -= estimate.tokens
        self._reserved_cost -= estimate.cost
        if usage is None:
            return None
        counts, rates = tokens_in(usage), self.rates()
        cost = rates.of(*counts) if rates and counts else None
        self.tokens += counts[0] + counts[2] if counts else estimate.tokens
        self.cost += estimate.cost if cost is None else cost
        if counts:
            self._learn(counts[2])
        return cost

    def spent(self) -> str:
        """The bound that stands in the way, in words, once nothing is under way any more."""
        if self._short_of == "tokens":
            return f"the budget of {self.most_tokens:,} tokens is spent: {self.tokens:,} so far"
        return f"the budget of {self.most_cost:f} USD is spent: {self.cost:f} so far"

    def _fits(self, estimate: Estimate) -> bool:
        tokens = self.tokens + self._reserved_tokens + estimate.tokens
        cost = self.cost + self._reserved_cost + estimate.cost
        if self.most_tokens is not None and tokens > self.most_tokens:
            self._short_of = "tokens"
            return False
        self._short_of = "money"
        return self.most_cost is None or cost <= self.most_cost

    def _estimate(self, request: Request) -> Estimate:
        characters = sum(len(message.content) for message in request.messages)
        prompt = -(-characters // CHARACTERS_PER_TOKEN)
        learned = self._completion
        completion = self.max_tokens or (UNKNOWN_COMPLETION if learned is None else int(learned))
        rates = self.rates()
        return Estimate(
            prompt, completion, rates.of(prompt, 0, completion) if rates else Decimal(0)
        )

    def _learn(self, completion: int) -> None:
        before = self._completion
        share = FORGETTING if before is not None else 1.0
        self._completion = (before or 0.0) + share * (completion - (before or 0.0))
