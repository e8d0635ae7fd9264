"""What a run may spend, in tokens and in money: reserved before a call, settled after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from judging.backends.base import Request
from judging.costs.prices import Rates, tokens_in

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
