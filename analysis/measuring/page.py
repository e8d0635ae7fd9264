"""The parts of the page of measures: boards that can be ordered, filters, slices."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from django.http import QueryDict

from analysis.formats.document import Document, Table, count
from analysis.measuring.boards import board_table, cuts_of, shown_boards, tested, title_of
from analysis.measuring.choosing import SEVERAL
from analysis.measuring.printing import document
from analysis.measuring.shown import Offered, Shown

JSON = dict[str, Any]
ELSEWHERE = ("Leaderboards", "Options")
TITLES = {
    "measure": "Measures",
    "evaluator": "Evaluators",
    "system": "Systems",
    "cut": "Cuts of rankings",
}


@dataclass(frozen=True)
class Head:
    """A column's name, the address that orders by it, and how it is ordered now for `aria-sort`."""

    name: str
    address: str
    order: str


@dataclass(frozen=True)
class BoardView:
    """A leaderboard on the page; `kind` is the sign of its evaluator."""

    title: str
    kind: str
    test: str
    tables: list[tuple[Table, list[Head]]]


@dataclass(frozen=True)
class Filter:
    """Boxes of one choice: name, title, and of each box its value and whether it is ticked."""

    name: str
    title: str
    boxes: list[tuple[str, bool]]


def board_views(report: JSON, shown: Shown, query: QueryDict) -> list[BoardView]:
    """The boards that are shown: those of single people only where they are chosen."""
    boards = report["leaderboard"]["boards"] if shown.evaluators else shown_boards(report)
    made = []
    for board in boards:
        tables = [board_table(report, board, cut) for cut in cuts_of(report, board)]
        headed = [(table, _heads(table, shown, query)) for table in tables]
        title, kind = title_of(board)
        made.append(BoardView(title, kind, tested(board), headed))
    return [each for each in made if each.tables]


def _heads(table: Table, shown: Shown, query: QueryDict) -> list[Head]:
    return [_head(str(name), shown.order, query) for name in table.header[1:]]


def _head(name: str, order: str, query: QueryDict) -> Head:
    """The highest first; once more and it is the lowest."""
    turned = f"-{name}" if order == name else name
    now = {name: "descending", f"-{name}": "ascending"}.get(order, "")
    return Head(name, _address(query, order=turned), now)


def _address(query: QueryDict, **changed: str) -> str:
    made = query.copy()
    for name, value in changed.items():
        made[name] = value
    return f"?{made.urlencode()}"


def filters(offered: Offered, shown: Shown, query: QueryDict) -> JSON:
    """What may be shown alone, and what of the address stays as it is meanwhile."""
    made = []
    for name, to in SEVERAL.items():
        there, chosen = getattr(offered, to), getattr(shown, to)
        if len(there) > 1:
            boxes = [(value, value in chosen) for value in there]
            made.append(Filter(name, TITLES[name], boxes))
    kept = [
        (name, value)
        for name, values in query.lists()
        if name not in (*SEVERAL, "order")
        for value in values
        if value
    ]
    orders = [("", "as in the batch")]
    orders += [(f"{sign}{name}", f"{name}, the {word} first") for name in offered.measures
               for sign, word in (("", "highest"), ("-", "lowest"))]  # fmt: skip
    return {"choices": made, "kept": kept, "orders": orders, "order": shown.order,
            "any": any(vars(shown).values())}  # fmt: skip


def rest_of(report: JSON) -> Document:
    """The document without what the page shows by itself."""
    whole = document(report)
    kept = tuple(each for each in whole.sections if each.title not in ELSEWHERE)
    return replace(whole, sections=kept)


def sliced_by(report: JSON, campaigns: Iterable[str]) -> list[str]:
    """By campaign whose labels divide the queries, what they say and of how many."""
    return [_sliced_by(report, name) for name in campaigns]


def _sliced_by(report: JSON, campaign: str) -> str:
    strata = [each for each in report["strata"].values() if each["campaign"] == campaign]
    if not strata:
        return f"Nothing is settled in {campaign} yet, so that no slice is made of it."
    told = [
        f"{each['variable'].replace('_', ' ')} of {count(each['queries'], 'query', 'queries')}"
        for each in strata
    ]
    return f"By the labels of {campaign}: {', '.join(told)}."
