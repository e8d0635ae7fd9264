"""The lists of a page: the order of their rows, and their pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Page, Paginator

PARAMETER = "sort"


@dataclass(frozen=True)
class Column:
    """A column of a table. A click on its head sorts, `highest_first` or lowest first.

    `rater` is the kind of the rater whose column it is, if it is one's.
    """

    name: str
    title: str
    is_number: bool = False
    highest_first: bool = False
    can_sort: bool = True
    rater: str = ""


@dataclass(frozen=True)
class Order:
    """The column by whose values rows are sorted; none if `by` is empty."""

    by: str = ""
    is_descending: bool = False

    def __str__(self) -> str:
        """Return the order as an address has it."""
        return f"{'-' if self.is_descending else ''}{self.by}"


@dataclass(frozen=True)
class Head:
    """A column's head: the query of the address that sorts by it, and its order now.

    The order is a value of `aria-sort`, or empty.
    """

    column: Column
    query: str
    order: str


def order_of(columns: Iterable[Column], asked: str, default: Order | None = None) -> Order:
    """Return the order that an address asks for, if it names a column; otherwise the default."""
    name = asked.removeprefix("-")
    names = {column.name for column in columns if column.can_sort}
    return Order(name, asked != name) if name in names else default or Order()


def heads_of(
    columns: Iterable[Column],
    now: Order,
    kept: Mapping[str, str] | None = None,
    parameter: str = PARAMETER,
) -> Sequence[Head]:
    """Return the heads of a table, whose addresses keep the page's filters that are not empty.

    A second click turns the order round.
    """
    filters = {name: text for name, text in (kept or {}).items() if text}
    return [_head(column, now, filters, parameter) for column in columns]


def _head(column: Column, now: Order, filters: Mapping[str, str], parameter: str) -> Head:
    if not column.can_sort:
        return Head(column, "", "")
    is_now = column.name == now.by
    falls = not now.is_descending if is_now else column.highest_first
    query = urlencode({parameter: str(Order(column.name, falls)), **filters})
    order = ("descending" if now.is_descending else "ascending") if is_now else ""
    return Head(column, query, order)


def pages_of(
    lists: Mapping[str, Any], asked: Mapping[str, str], of_a_page: int
) -> dict[str, Page[Any]]:
    """Return one page of each list; a list's name in the address is the number of its page."""
    return {
        name: Paginator(rows, of_a_page).get_page(asked.get(name)) for name, rows in lists.items()
    }


def other_pages(names: Mapping[str, Any], asked: Mapping[str, str]) -> dict[str, str]:
    """Return, for each list, the pages of the other lists, which its links keep in the address."""
    return {
        name: urlencode({key: value for key, value in asked.items() if key != name})
        for name in names
    }
