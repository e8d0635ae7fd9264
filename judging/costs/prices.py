"""What a model costs: rates by the day from which they hold, and the cost of one call.

`rates_of` asks the database once; `Rates.cost` is arithmetic alone, for the place where every
call is counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

from judging.models import Price

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
