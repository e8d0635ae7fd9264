"""Import many first answers at once: answers to assignments without an answer.

A file of a million labels consists almost entirely of these. All other answers (to an answered
assignment, revised in the same file, or with missing labels only) are imported one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from django.db import IntegrityError, transaction

from annotation.answers.submission import PreparedAnswer, StoredRevision, SubmitError, submit_many
from annotation.answers.types import Circumstances
from annotation.models import Assignment, Campaign, Item, Rater
from datasets.db.prepared import PreparedInsert
from tandem.labels.file.grouping import Group
from tandem.protocols.base import ItemSpec

Place = tuple[int, str, int, str]
"""Item, rater, replicate and scope of an assignment."""
CHUNK = 100
"""The number of rows per statement, since a database limits the values in one."""
_assign = PreparedInsert(Assignment)
Offer = tuple[PreparedAnswer, Circumstances]


@dataclass(frozen=True)
class First:
    """An answer to be written: its group, its item, and the checked answer."""

    group: Group
    item: Item
    spec: ItemSpec
    offer: Offer


@dataclass
class FirstImports:
    """The answers to be written, and the existing assignments.

    `written` is called with each written answer, and `one_by_one` with each answer whose assignment
    was created by another process meanwhile.
    """

    campaign: Campaign
    written: Callable[[First], None]
    one_by_one: Callable[[First], None]
    occupied: set[Place] = field(default_factory=set)
    waiting: list[First] = field(default_factory=list)

    def look_up(self, items: Iterable[Item]) -> None:
        """Write the waiting answers, then look up the assignments of some items."""
        self.flush()
        stored = Assignment.objects.filter(item__in=[item.pk for item in items])
        self.occupied = set(stored.values_list("item", "rater__name", "replicate", "scope"))

    def is_first(self, group: Group, item: Item) -> bool:
        """Whether a group is the first answer to its assignment, which is then reserved for it."""
        place = item.pk, group.rater, group.replicate, group.scope
        first = place not in self.occupied and bool(group.values)
        self.occupied.add(place)
        return first

    def add(self, first: First) -> None:
        self.waiting.append(first)

    def flush(self) -> None:
        """Write the waiting answers."""
        waiting, self.waiting = self.waiting, []
        if not waiting:
            return
        assignments = [first.offer[0].assignment for first in waiting]
        try:
            with transaction.atomic():
                for start in range(0, len(assignments), CHUNK):
                    _assign.run(*assignments[start : start + CHUNK])
        except IntegrityError:
            for first in waiting:
                self.one_by_one(first)
            return
        outcomes = submit_many([first.offer for first in waiting])
        for first, outcome in zip(waiting, outcomes, strict=True):
            self._check(outcome)
            self.written(first)

    def _check(self, outcome: StoredRevision | SubmitError) -> None:
        if not isinstance(outcome, StoredRevision):
            raise outcome


def new_assignment(group: Group, item: Item, rater: Rater, asked: Iterable[str]) -> Assignment:
    """Return the assignment of a first answer, without storing it."""
    named = {row.name for row in group.rows} | group.written.keys()
    return Assignment(
        item=item,
        rater=rater,
        replicate=group.replicate,
        scope=group.scope,
        asked=[name for name in asked if name in named],
        assisted_by=group.assisted_by or "",
    )
