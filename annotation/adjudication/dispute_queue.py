"""An adjudicator's queue: the units in dispute in order, in parts, and page by page.

Finding the disputes of a large campaign takes seconds. So each process caches them as columns, and
updates only the items that have new answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any, Literal, overload

import numpy as np
from cachetools import LRUCache
from django.core.cache import caches
from django.db.models import Count, QuerySet, Sum
from django.utils.translation import gettext_noop
from numpy.typing import NDArray

from annotation.adjudication.disputes import (
    Disagreement,
    Dispute,
    adjudicated_labels,
    decided_units,
    disagreements,
    own_units,
    sent_units,
)
from annotation.answers.submission import answers_of
from annotation.counters import numbers
from annotation.exposure.ledger import saw_answers
from annotation.models import Campaign, Exclusion, Item, Label, Response, Unit, User
from annotation.presentation import preload, words_of_unit
from annotation.trust import roles

Among = Literal["all", "sent", "people", "judges"]
State = Literal["open", "decided"]
DISPUTES_AMONG: dict[Among, str] = {
    "all": gettext_noop("All disputes"),
    "sent": gettext_noop("Sent by a researcher"),
    "people": gettext_noop("People disagree"),
    "judges": gettext_noop("A judge disagrees with most people"),
}
STATES: dict[State, str] = {
    "open": gettext_noop("To decide"),
    "decided": gettext_noop("Decided"),
}
MOST_ITEMS = 500
"""With more items that got answers, all disputes are found again."""
FORM = 3
"""The version of the stored tables' form. A new number invalidates stored tables."""
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
_CACHE: LRUCache[int, _Table] = LRUCache(8)
_LOCK = Lock()


@dataclass(frozen=True)
class QueuePart:
    """A part of the queue: open or decided disputes, perhaps of one kind, variable or item."""

    of: Among = "all"
    variable: str = ""
    state: State = "open"
    item: int | None = None


@dataclass(frozen=True)
class _Table:
    """The disagreements of a campaign: `columns` (5, D), and the `kinds` that the last one indexes.

    `state` has the answers that they follow from, and `others` whatever else they depend on.
    """

    columns: Ints
    kinds: tuple[Disagreement, ...]
    state: dict[str, Any]
    others: list[Any]

    @classmethod
    def of(cls, labels: QuerySet[Label], state: dict[str, Any], others: list[Any]) -> _Table:
        index: dict[Disagreement, int] = {}
        found = [
            (item, item_position, unit, position, index.setdefault(each, len(index)))
            for (item_position, item, position, unit), each in disagreements(labels)
        ]
        return cls(np.array(found, np.int64).reshape(-1, 5).T, tuple(index), state, others)

    @property
    def items(self) -> Ints:
        return self.columns[0]

    @property
    def item_positions(self) -> Ints:
        return self.columns[1]

    @property
    def units(self) -> Ints:
        return self.columns[2]

    @property
    def positions(self) -> Ints:
        return self.columns[3]

    @property
    def kind(self) -> Ints:
        return self.columns[4]

    def with_items(self, campaign: Campaign, items: Ints, state: dict[str, Any]) -> _Table:
        """Return the table with the disagreements of some items as they are now."""
        labels = adjudicated_labels(campaign).filter(unit__item__in=items.tolist())
        new = _Table.of(labels, state, self.others)
        kinds = tuple(dict.fromkeys((*self.kinds, *new.kinds)))
        place = {each: n for n, each in enumerate(kinds)}
        again = new.columns.copy()
        again[4] = np.array([place[each] for each in new.kinds], np.int64)[new.kind]
        kept = self.columns[:, ~np.isin(self.items, items)]
        return _Table(np.concatenate([kept, again], axis=1), kinds, state, self.others)

    def where(self, rows: Bools) -> _Table:
        return replace(self, columns=self.columns[:, rows])

    def kinds_that(self, are: list[bool]) -> Bools:
        """Return the rows whose kind has a true entry in `are`, which has one entry per kind."""
        return np.asarray(np.array(are, bool)[self.kind], bool)


class Queue(Sequence[Dispute]):
    """Disputes in the queue's order; those of a page are created when they are asked for.

    Items are sorted by their first-ranked dispute, and the disputes within an item by rank. Units
    that a researcher sent come before all others.
    """

    def __init__(self, table: _Table, sent: set[int]) -> None:
        self._table = table
        ranks = [each.rank for each in table.kinds]
        number = {rank: n for n, rank in enumerate(sorted(set(ranks)))}
        of_kind = np.array([number[rank] for rank in ranks], np.int64)
        later = ~np.isin(table.units, np.fromiter(sent, np.int64, len(sent)))
        rank = of_kind[table.kind] + later * len(number)
        # The first row of each unit has the lowest rank, and then the first of each item.
        rows = np.lexsort((rank, table.units))
        first = rows[np.flatnonzero(np.diff(table.units[rows], prepend=-1))]
        items, place = np.unique(table.items[first], return_inverse=True)
        best = np.full(len(items), rank.max(initial=0), np.int64)
        np.minimum.at(best, place, rank[first])
        order = np.lexsort(
            (table.positions[first], rank[first], place, table.item_positions[first], best[place])
        )
        self._rows = first[order]
        self.items = len(items)

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, at: int) -> Dispute: ...
    @overload
    def __getitem__(self, at: slice) -> list[Dispute]: ...
    def __getitem__(self, at: int | slice) -> Dispute | list[Dispute]:
        if isinstance(at, slice):
            return [self._dispute(row) for row in self._rows[at]]
        return self._dispute(self._rows[at])

    @property
    def units(self) -> list[int]:
        """The primary keys of the units in order."""
        return [int(unit) for unit in self._table.units[self._rows]]

    def _dispute(self, row: int) -> Dispute:
        of = self._table
        kinds = of.kind[of.units == of.units[row]]
        return Dispute(
            int(of.items[row]),
            int(of.item_positions[row]),
            int(of.units[row]),
            int(of.positions[row]),
            tuple(sorted((of.kinds[n] for n in kinds), key=lambda each: each.variable)),
        )


def queue(campaign: Campaign, user: User, part: QueuePart = QueuePart()) -> Queue:
    """Return a part of an adjudicator's queue in order, without units that they labelled."""
    found = _find(campaign, part, user)
    saw_answers("disputes", campaign, units=found.units)
    return found


def queued_units(campaign: Campaign, user: User, part: QueuePart = QueuePart()) -> list[int]:
    """Return the primary keys of the units in a part of the queue, which reveal no answer."""
    return _find(campaign, part, user).units


def queue_sizes(campaign: Campaign, part: QueuePart = QueuePart()) -> dict[State, int]:
    """Return the numbers of open and of decided units in dispute."""
    return {state: len(_find(campaign, replace(part, state=state))) for state in STATES}


def own_sizes(user: User, campaign: Campaign, disputed: frozenset[int]) -> dict[State, int]:
    """Return the sizes of an adjudicator's own queue, for the units in dispute."""
    mine = disputed.difference(own_units(user, campaign))
    done = len(mine & decided_units(campaign))
    return {"open": len(mine) - done, "decided": done}


def next_dispute(campaign: Campaign, user: User, unit: Unit, part: QueuePart) -> int | None:
    """Return the primary key of the unit to decide after `unit`, or None.

    Other disputes on the same item come first, since the adjudicator has just read its texts.
    """
    for scope in (replace(part, item=unit.item_id), part):
        others = (each for each in queued_units(campaign, user, scope) if each != unit.pk)
        if (following := next(others, None)) is not None:
            return following
    return None


def with_texts(campaign: Campaign, found: Sequence[Dispute]) -> Iterator[tuple[Dispute, str, str]]:
    """Yield each dispute with the texts of its query and its unit, in a few database queries."""
    rows = Item.objects.filter(pk__in={each.item for each in found}).select_related("query")
    items = {item.pk: item for item in rows}
    for item in items.values():
        item.campaign = campaign
    preload(campaign, items.values())
    units = Unit.objects.filter(pk__in=[each.unit for each in found]).order_by()
    names = dict(units.values_list("pk", "name"))
    for each in found:
        item = items[each.item]
        yield each, item.query.text, words_of_unit(item, names[each.unit])


def _find(campaign: Campaign, part: QueuePart, user: User | None = None) -> Queue:
    table, sent = _table_of(campaign), sent_units(campaign)
    asked = [
        (each.among_people or part.of != "people")
        and (each.judges or part.of != "judges")
        and part.variable in ("", each.variable)
        for each in table.kinds
    ]
    rows = table.kinds_that(asked)
    if part.item is not None:
        rows &= table.items == part.item
    if part.of == "sent":
        rows &= _among(table.units, sent)
    if user is not None:
        rows &= ~_among(table.units, own_units(user, campaign))
    decided = _among(table.units, decided_units(campaign))
    return Queue(table.where(rows & (decided == (part.state == "decided"))), sent)


def _among(units: Ints, keys: Any) -> Bools:
    return np.isin(units, np.fromiter(keys, np.int64))


def _table_of(campaign: Campaign) -> _Table:
    """Return the disagreements of a campaign; only those of changed items are computed again."""
    state, others = answers_of(campaign.name), _others(campaign)
    with _LOCK:
        kept = _CACHE.get(campaign.pk)
    kept = kept or caches["reports"].get(_name(campaign))
    if kept is None or kept.others != others or kept.state != state:
        items = _changed_items(campaign, kept) if kept and kept.others == others else None
        if kept is not None and items is not None:
            kept = kept.with_items(campaign, items, state)
        else:
            kept = _Table.of(adjudicated_labels(campaign), state, others)
            caches["reports"].set(_name(campaign), kept)
    with _LOCK:
        _CACHE[campaign.pk] = kept
    return kept


def _name(campaign: Campaign) -> str:
    return f"disagreements-{FORM}-{campaign.pk}"


def _others(campaign: Campaign) -> list[Any]:
    """Return what disputes depend on apart from answers: exclusions, gold items and plans."""
    raters = Exclusion.objects.filter(campaign=campaign, undone_at=None).values_list("rater")
    uses = {what: n for what, n in numbers(campaign).items() if what.startswith("items/")}
    return [campaign.created_at, sorted(raters), sorted(uses.items()), roles.state_of(campaign)]


def _changed_items(campaign: Campaign, kept: _Table) -> Ints | None:
    """Return the items that got answers since, None if answers changed in any other way.

    New answers replace earlier ones to the same slots. If nothing else happened, the answers up to
    the newest one of that time are the same as then, apart from those that were replaced.
    """
    last = kept.state["newest"] or 0
    answers = Response.objects.filter(assignment__item__campaign=campaign)
    given = answers.filter(pk__gt=last)
    items = set(given.values_list("assignment__item", flat=True)[: 50 * MOST_ITEMS])
    if not 0 < len(items) <= MOST_ITEMS:
        return None
    slots = given.values("assignment")
    old = answers.filter(current=True, pk__lte=last).aggregate(n=Count("pk"), sum=Sum("pk"))
    gone = _latest_of_each(answers.filter(assignment__in=slots, pk__lte=last))
    same = (old["n"] + len(gone), (old["sum"] or 0) + sum(gone))
    if same != (kept.state["number"], kept.state["sum"] or 0):
        return None
    return np.fromiter(items, np.int64, len(items))


def _latest_of_each(responses: QuerySet[Response]) -> list[int]:
    """Return the newest of the responses to each slot."""
    rows = responses.order_by("revision").values_list("assignment", "pk")
    return list(dict(rows).values())
