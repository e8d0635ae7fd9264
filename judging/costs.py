"""Prices of models by date, a run's budget in tokens and money, and the costs of runs.

A price that somebody stored takes precedence over a provider's list price. A budget is reserved
before a call and settled after it. `find_rates` queries the database once. `Rates.cost` is pure
arithmetic, because it runs for every call. The cost is unknown if the model's price is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

from django.db.models import OuterRef, Q, QuerySet, Subquery

from judging.backends.base import Request
from judging.list_prices import listed_price
from judging.models import JudgeCall, JudgeRun, Price
from tandem.verbs import verb_of

CHARACTERS_PER_TOKEN = 4
DEFAULT_COMPLETION = 256
LEARNING_RATE = 0.05
MILLION = Decimal(1_000_000)
PRECISION = Decimal("0.000001")
MAX_TOKENS = 2**31 - 1


@dataclass(frozen=True)
class Rates:
    """US dollars per million tokens: of prompts, of their cached part, and of completions."""

    prompt: Decimal
    cached: Decimal
    completion: Decimal

    def cost(self, usage: Mapping[str, Any]) -> Decimal | None:
        """Return US dollars to six places. None if the usage lacks a count."""
        counts = tokens_in(usage)
        return None if counts is None else self.cost_of_tokens(*counts)

    def cost_of_tokens(self, prompt: int, cached: int, completion: int) -> Decimal:
        """Return the cost of token counts. Cached tokens are a part of the prompt's tokens."""
        part = (prompt - cached) * self.prompt + cached * self.cached
        total = (part + completion * self.completion) / MILLION
        return total.quantize(PRECISION, ROUND_HALF_EVEN)


FREE = Rates(Decimal(0), Decimal(0), Decimal(0))


def tokens_in(usage: Mapping[str, Any]) -> tuple[int, int, int] | None:
    """Read prompt, cached and completion tokens from a usage. None if a count is missing.

    Thinking tokens are billed like the answer and are a part of the completion.
    """
    prompt = _count(usage.get("prompt_tokens"))
    completion = _count(usage.get("completion_tokens"))
    if prompt is None or completion is None:
        return None
    return (
        prompt,
        min(reported_cached_tokens(usage), prompt),
        completion + _thinking_outside_completion(usage),
    )


@dataclass(frozen=True)
class TokenCounts:
    """The tokens of a call, or of several. Each is 0 where the server did not say.

    `cached_tokens` are a part of the prompt's, `thinking_tokens` of the completion's.
    """

    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    thinking_tokens: int = 0

    def __add__(self, other: TokenCounts) -> TokenCounts:
        return TokenCounts(
            self.prompt_tokens + other.prompt_tokens,
            self.cached_tokens + other.cached_tokens,
            self.completion_tokens + other.completion_tokens,
            self.thinking_tokens + other.thinking_tokens,
        )


def count_tokens(usage: Mapping[str, Any]) -> TokenCounts:
    """Read all counts from a usage, as far as it has them."""
    prompt = _count(usage.get("prompt_tokens")) or 0
    completion = (_count(usage.get("completion_tokens")) or 0) + _thinking_outside_completion(usage)
    return TokenCounts(
        prompt,
        min(reported_cached_tokens(usage), prompt),
        completion,
        min(_thinking_tokens(usage), completion),
    )


def reported_cached_tokens(usage: Mapping[str, Any]) -> int:
    """Return a server's own count of cached tokens, which may exceed those of the prompt."""
    return _detail(usage, "prompt_tokens_details", "cached_tokens")


def _thinking_tokens(usage: Mapping[str, Any]) -> int:
    return _detail(usage, "completion_tokens_details", "reasoning_tokens")


def _thinking_outside_completion(usage: Mapping[str, Any]) -> int:
    """Return the thinking tokens that are not counted in the completion, judging by the total.

    OpenAI's servers and most others count them within the completion.
    """
    thinking, total = _thinking_tokens(usage), _count(usage.get("total_tokens"))
    prompt, completion = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    if prompt is None or completion is None:
        return 0
    return thinking if total == prompt + completion + thinking else 0


def _detail(usage: Mapping[str, Any], details: str, name: str) -> int:
    counts = usage.get(details)
    return (_count(counts.get(name)) or 0) if isinstance(counts, Mapping) else 0


def longest_completion(params: Mapping[str, Any]) -> int | None:
    """Return how many tokens a judge's completion may have. None if its server decides."""
    return params.get("max_tokens", params.get("max_completion_tokens"))


def format_money(amount: Decimal) -> str:
    """Format an amount in US dollars, at least one cent."""
    return f"{max(amount, Decimal('0.01')):,.2f} US dollars"


def find_rates(model: str, on: date, endpoint: str = "", team: int | None = None) -> Rates | None:
    """Return the newest rates that a team pays for a model on a day. None if there are none.

    Without a team, the rates of any team count. Without a stored price, it is the provider's list
    price if the endpoint is the provider's own.
    """
    prices = Price.objects.filter(model=model, since__lte=on)
    prices = prices if team is None else prices.filter(team=team)
    price = prices.order_by("-since").first()
    found = price or listed_price(model, endpoint, on)
    return Rates(found.prompt, found.cached, found.completion) if found else None


def cost_of_call(
    usage: Mapping[str, Any], model: str, on: date, endpoint: str = "", team: int | None = None
) -> Decimal | None:
    """Return the cost of one call. None (not 0) if the usage or the price is unknown."""
    rates = find_rates(model, on, endpoint, team)
    return rates.cost(usage) if rates else None


class PriceBook:
    """A team's rates for a model at an endpoint. Looked up daily, since a run may pass midnight."""

    def __init__(self, model: str, endpoint: str = "", team: int | None = None) -> None:
        self.model, self.endpoint, self.team = model, endpoint, team
        self._on: date | None = None
        self._rates: Rates | None = None

    def on(self, day: date) -> Rates | None:
        if day != self._on:
            self._on, self._rates = day, find_rates(self.model, day, self.endpoint, self.team)
        return self._rates


def price_book_of(run: JudgeRun) -> PriceBook:
    return PriceBook(run.judge.model, run.lane.endpoint if run.lane else "", run.judge.team_id)


def _count(value: Any) -> int | None:
    good = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_TOKENS
    return value if good else None


def last_cost(calls: Q) -> Subquery:
    """Return a subquery for the cost of the newest paid call, null if that is unknown."""
    return Subquery(_paid_calls(calls).values("cost")[:1])


def with_last_cost(runs: QuerySet[JudgeRun]) -> QuerySet[JudgeRun]:
    return runs.annotate(last_cost=last_cost(Q(run=OuterRef("pk"))))


def known_cost(
    total: Decimal, calls: int, lane: int | None, last: Decimal | None
) -> Decimal | None:
    """Return the known cost in US dollars. None if no answered call has a price.

    `last` is the cost of the newest paid call. Runs without a lane cost nothing.
    """
    return total if total or not calls or lane is None else last


def cost_of_run(run: JudgeRun) -> Decimal | None:
    """Return the known cost of a run, without a query if it was loaded `with_last_cost`."""
    loaded = vars(run)
    last = loaded["last_cost"] if "last_cost" in loaded else _last_cost(run)
    return known_cost(run.cost, run.calls, run.lane_id, last)


def cost_of_stored_call(call: JudgeCall) -> Decimal | None:
    """Return the known cost of a call of a run, by the rules of `cost_of_run`.

    A call without a server costs nothing, and neither does a reused answer.
    """
    if call.run.lane_id is None or call.reused_from_id is not None:
        return Decimal(0)
    return call.cost


def _last_cost(run: JudgeRun) -> Decimal | None:
    return _paid_calls(Q(run=run)).values_list("cost", flat=True).first()


def format_dollars(amount: Decimal | None) -> str:
    """Format US dollars with two decimals from one dollar, and with four below."""
    if amount is None:
        return "unknown"
    if 0 < amount < Decimal("0.0001"):
        return "under $0.0001"
    return f"${amount:,.2f}" if amount >= 1 else f"${amount:.4f}" if amount else "$0"


def _paid_calls(of: Q) -> QuerySet[JudgeCall]:
    answered = JudgeCall.objects.filter(of, completion__isnull=False, reused_from=None)
    return answered.order_by("-pk")


@dataclass(frozen=True)
class Estimate:
    """The expected usage of a call: tokens of prompt and completion, and US dollars."""

    prompt: int
    completion: int
    cost: Decimal = Decimal(0)

    @property
    def tokens(self) -> int:
        return self.prompt + self.completion


NOTHING = Estimate(0, 0)


class Budget:
    """The limits of a run and its spending so far. `rates` returns today's rates.

    Calls in flight may exceed a limit only by what they use beyond their estimates.
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
        self._wanted = NOTHING

    @property
    def bounds_nothing(self) -> bool:
        return self.most_tokens is None and self.most_cost is None

    def problem(self) -> str:
        """Return why the limits cannot be enforced, empty if they can."""
        if self.most_cost is not None and self.rates() is None:
            return (
                "the run is limited in US dollars, but its model has no price; enter one with "
                f"{verb_of('create_price')}"
            )
        return ""

    def reserve(self, request: Request) -> Estimate | None:
        """Reserve the expected usage of a call.

        Return None if the limits leave no room for it now.
        """
        if self.bounds_nothing:
            return NOTHING
        estimate = self._estimate(request)
        if not self._fits(estimate):
            return None
        self._reserved_tokens += estimate.tokens
        self._reserved_cost += estimate.cost
        return estimate

    def settle(self, estimate: Estimate, usage: Mapping[str, Any] | None) -> Decimal | None:
        """Replace a reservation by the actual use, and return the cost if it is known.

        `usage` is None if the call had no answer. An answer without token counts counts as its
        estimate.
        """
        self._reserved_tokens -= estimate.tokens
        self._reserved_cost -= estimate.cost
        if usage is None:
            return None
        counts, rates = tokens_in(usage), self.rates()
        cost = rates.cost_of_tokens(*counts) if rates and counts else None
        self.tokens += counts[0] + counts[2] if counts else estimate.tokens
        self.cost += estimate.cost if cost is None else cost
        if counts:
            self._learn(counts[2])
        return cost

    def catch_up(self, tokens: int, cost: Decimal) -> None:
        """Note what all workers on the run have spent, as far as it is stored."""
        self.tokens, self.cost = max(self.tokens, tokens), max(self.cost, cost)

    def describe_limit(self) -> str:
        """Describe the limit that was reached: it is spent, or too small for the next request.

        The rest of a budget is rarely enough for another request, so one that is spent for the
        most part counts as spent.
        """
        if self._short_of == "tokens":
            budget = f"the budget of {self.most_tokens:,} tokens"
            if 2 * self.tokens >= (self.most_tokens or 0):
                return f"{budget} is spent: {self.tokens:,} so far"
            left = f"{(self.most_tokens or 0) - self.tokens:,}"
            return (
                f"{budget} leaves {left}, and the next request may need {self._wanted.tokens:,} "
                f"with its answer: {self.tokens:,} so far"
            )
        budget = f"the budget of {self.most_cost:f} USD"
        if 2 * self.cost >= (self.most_cost or 0):
            return f"{budget} is spent: {self.cost:f} so far"
        return (
            f"{budget} leaves {(self.most_cost or 0) - self.cost:f}, and the next request may cost "
            f"{self._wanted.cost:f} with its answer: {self.cost:f} so far"
        )

    def _fits(self, estimate: Estimate) -> bool:
        tokens = self.tokens + self._reserved_tokens + estimate.tokens
        cost = self.cost + self._reserved_cost + estimate.cost
        self._wanted = estimate
        if self.most_tokens is not None and tokens > self.most_tokens:
            self._short_of = "tokens"
            return False
        self._short_of = "money"
        return self.most_cost is None or cost <= self.most_cost

    def _estimate(self, request: Request) -> Estimate:
        prompt = -(-request.length // CHARACTERS_PER_TOKEN)
        learned = self._completion
        completion = self.max_tokens or (DEFAULT_COMPLETION if learned is None else int(learned))
        rates = self.rates()
        return Estimate(
            prompt, completion, rates.cost_of_tokens(prompt, 0, completion) if rates else Decimal(0)
        )

    def _learn(self, completion: int) -> None:
        before = self._completion
        share = LEARNING_RATE if before is not None else 1.0
        self._completion = (before or 0.0) + share * (completion - (before or 0.0))
