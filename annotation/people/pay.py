"""Pay and time: what a campaign pays, and how long each person worked for it.

Time is the active time that the pages measure for an answer. An answer without a time counts as an
item, and is left out of every figure of time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from statistics import median
from typing import Any, NamedTuple

from django.db.models import Count, F, Q, QuerySet, Sum, Window
from django.db.models.functions import RowNumber

from annotation.models import Assignment, Campaign, Rater

PER = ("item", "hour", "person")
FORM = "write it like 0.35 EUR per item, 14 EUR per hour or 20 EUR per person"
COLUMNS = (
    "rater",
    "items",
    "timed",
    "median_seconds",
    "total_seconds",
    "pay",
    "currency",
    "pay_per_hour",
)
_RATE = re.compile(r"\s*([0-9]{1,6}(?:[.,][0-9]{1,4})?)\s+([A-Za-z]{3})\s+per\s+([a-z]+)\s*")
CENT = Decimal("0.01")


class PayError(ValueError):
    """A rate that cannot be read. The message says what to write."""


@dataclass(frozen=True)
class Rate:
    """What a campaign pays: an amount per item, per hour or per person."""

    amount: Decimal
    currency: str
    per: str

    def __str__(self) -> str:
        return f"{self.amount.normalize():f} {self.currency} per {self.per}"

    def of(self, items: int, seconds: float) -> Decimal:
        """Return the pay for items that took this many seconds in total."""
        if self.per == "item":
            return self.amount * items
        if self.per == "hour":
            return self.amount * Decimal(seconds) / 3600
        return self.amount


def read_rate(text: str) -> Rate | None:
    """Read a rate such as `0.35 EUR per item`; None for an empty text. Raises PayError."""
    if not text.strip():
        return None
    found = _RATE.fullmatch(text)
    if found is None or found[3] not in PER:
        raise PayError(f"pay {text!r} is not an amount with a currency and what it is for; {FORM}")
    try:
        amount = Decimal(found[1].replace(",", "."))
    except InvalidOperation as error:
        raise PayError(f"pay {text!r} has no amount; {FORM}") from error
    return Rate(amount, found[2].upper(), found[3])


@dataclass(frozen=True)
class Work:
    """A person's work in a campaign, or that of all people together.

    `timed` is the number of items with a time, and `median` and `total` are the seconds of these.
    `pay` and `hourly`, the pay for an hour of active time, are None if the campaign names no rate;
    `hourly` also if there is no time, or a fixed pay covers items without one.
    """

    rater: int
    name: str
    items: int
    timed: int
    median: float | None
    total: float
    pay: Decimal | None = None
    hourly: Decimal | None = None


@dataclass(frozen=True)
class PayTable:
    """The work and pay of a campaign's people, by pseudonym and in total."""

    rate: Rate | None
    people: tuple[Work, ...]
    everybody: Work


class _Sums(NamedTuple):
    rater: int
    name: str
    items: int
    timed: int
    total: float | None


def pay_table(campaign: Campaign) -> PayTable:
    """Return the table of a campaign, in two queries.

    It counts items that people submitted in this campaign, and no answers that were carried over or
    revoked.
    """
    done = _done_assignments(campaign)
    sums = done.order_by("rater__name").values_list("rater", "rater__name")
    rows = sums.annotate(items=Count("pk"), timed=Count("seconds"), total=Sum("seconds"))
    timed = done.filter(seconds__isnull=False)
    medians = median_times(timed)
    rate = read_rate(campaign.pay)
    people = tuple(_work(_Sums(*row), medians, rate) for row in rows)
    return PayTable(rate, people, _everybody(people, timed))


def _done_assignments(campaign: Campaign) -> QuerySet[Assignment]:
    rows = Assignment.objects.filter(item__campaign=campaign, status=Assignment.Status.DONE)
    rows = rows.filter(rater__kind=Rater.Kind.HUMAN, replicate=0)
    if campaign.continues_id is not None:
        carried = Q(responses__current=True, responses__carried__isnull=False)
        rows = rows.exclude(carried)
    return rows.order_by()


def _work(of: _Sums, medians: dict[int, tuple[int, float]], rate: Rate | None) -> Work:
    total = of.total or 0.0
    middle = medians[of.rater][1] if of.rater in medians else None
    if rate is None:
        return Work(of.rater, of.name, of.items, of.timed, middle, total)
    pay = rate.of(of.items, total)
    # With pay per item, hourly pay is the pay for the timed items, divided by their time.
    paid = rate.of(of.timed, total) if rate.per == "item" else pay
    complete = of.timed == of.items or rate.per != "person"
    hourly = paid / (Decimal(total) / 3600) if total and complete else None
    return Work(of.rater, of.name, of.items, of.timed, middle, total, _cents(pay), _cents(hourly))


def _cents(amount: Decimal | None) -> Decimal | None:
    return None if amount is None else amount.quantize(CENT)


def _everybody(people: tuple[Work, ...], timed: QuerySet[Assignment]) -> Work:
    items, number = sum(p.items for p in people), sum(p.timed for p in people)
    total = sum(p.total for p in people)
    pays = [p.pay for p in people if p.pay is not None]
    pay = sum(pays, Decimal(0)) if pays else None
    # The totals of pay and time cover the same items only for people with a known hourly pay.
    known = [p for p in people if p.hourly is not None]
    hours = Decimal(sum(p.total for p in known)) / 3600
    earned = sum((p.hourly * Decimal(p.total) / 3600 for p in known if p.hourly), Decimal(0))
    hourly = earned / hours if hours else None
    return Work(0, "", items, number, _median_of_all(timed), total, pay, _cents(hourly))


def _median_of_all(timed: QuerySet[Assignment]) -> float | None:
    number = timed.count()
    if not number:
        return None
    ordered = timed.order_by("seconds", "pk").values_list("seconds", flat=True)
    middle = ordered[(number - 1) // 2 : number // 2 + 1]
    return median(seconds or 0.0 for seconds in middle)


def median_times(timed: QuerySet[Assignment]) -> dict[int, tuple[int, float]]:
    """Return each rater's number of times and their median, reading only the middle values."""
    ranked = timed.order_by().annotate(
        place=Window(RowNumber(), partition_by=F("rater"), order_by=("seconds", "pk")),
        number=Window(Count("pk"), partition_by=F("rater")),
    )
    # The middle of n sorted values is at the places with n <= 2 * place <= n + 2.
    middle = ranked.annotate(twice=F("place") * 2).filter(
        twice__gte=F("number"), twice__lte=F("number") + 2
    )
    found: dict[int, tuple[int, list[float]]] = {}
    for rater, number, place, seconds in middle.values_list("rater", "number", "place", "seconds"):
        if number % 2 == 0 or 2 * place == number + 1:
            found.setdefault(rater, (number, []))[1].append(seconds or 0.0)
    return {rater: (number, median(times[:2])) for rater, (number, times) in found.items()}


def pay_lines(campaign: Campaign) -> Iterator[dict[str, Any]]:
    """Yield one line for each person, as the export writes it."""
    table = pay_table(campaign)
    yield from (work_line(each, table.rate) for each in table.people)


def work_line(work: Work, rate: Rate | None) -> dict[str, Any]:
    """Return a person's work as plain values: times in seconds, pay in the rate's currency."""
    return {
        "rater": work.name,
        "items": work.items,
        "timed": work.timed,
        "median_seconds": None if work.median is None else round(work.median, 1),
        "total_seconds": round(work.total, 1),
        "pay": None if work.pay is None else float(work.pay),
        "currency": rate.currency if rate else None,
        "pay_per_hour": None if work.hourly is None else float(work.hourly),
    }
