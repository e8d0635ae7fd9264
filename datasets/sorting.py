"""The order of a table's rows: the address names a column, with a minus for highest first."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import QueryDict

PARAMETER = "sort"


@dataclass(frozen=True)
class Column:
    """A column of a table. A click on its head sorts, `highest_first` or lowest first."""

    name: str
    title: str
    is_number: bool = False
    highest_first: bool = False
    can_sort: bool = True


@dataclass(frozen=True)
class Order:
    """The column by whose values rows are sorted; none if `by` is empty."""

    by: str = ""
    is_descending: bool = False


@dataclass(frozen=True)
class Head:
    """A column's head: the address that sorts by it, and its order now, for `aria-sort`."""

    title: str
    is_number: bool
    address: str
    order: str


def order_of(columns: Iterable[Column], query: QueryDict) -> Order:
    """Return the order that an address asks for, if it names a column."""
    asked = query.get(PARAMETER, "")
    name = asked.removeprefix("-")
    names = {column.name for column in columns if column.can_sort}
    return Order(name, asked != name) if name in names else Order()


def heads_of(
    columns: Iterable[Column], query: QueryDict, filters: Collection[str] = ()
) -> Sequence[Head]:
    """Return the heads of a table, which keep the page's `filters`.

    A second click turns the order round.
    """
    columns = list(columns)
    now = order_of(columns, query)
    kept = {name: str(query[name]) for name in filters if query.get(name)}
    return [_head(column, now, kept) for column in columns]


def _head(column: Column, now: Order, kept: Mapping[str, str]) -> Head:
    if not column.can_sort:
        return Head(column.title, column.is_number, "", "")
    is_now = column.name == now.by
    falls = not now.is_descending if is_now else column.highest_first
    address = urlencode({**kept, PARAMETER: f"{'-' if falls else ''}{column.name}"})
    order = ("descending" if now.is_descending else "ascending") if is_now else ""
    return Head(column.title, column.is_number, f"?{address}", order)
