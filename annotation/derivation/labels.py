"""Read labels query by query, each unit with the labels of all its raters, counted.

The database counts equal labels, so that a campaign of a million labels is read in flat memory.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.db.models import Count, Q

from annotation.models import Assignment, Campaign, Exclusion, Item, Label, Rater, Unit
from annotation.prerequisites import units_asked_so_far
from annotation.presentation import design
from annotation.trust.roles import without_certify
from datasets.derivation import UnitDigests
from tandem.grouping import grouped

Votes = dict[str, int]
"""How often each value was given."""
MOST_SPARSE = 2
"""A range is read if it spans fewer than this many times the keys that are requested."""
UNFINISHED = (Assignment.Status.OPEN, Assignment.Status.LEASED)


@dataclass(slots=True)
class LabelledUnit:
    """A unit with its labels by variable: of people, and of the reference.

    If labels of a single rater were asked for, they are `people`. `report` and `passage` are ids of
    what the item is about, and `system` wrote the report. `asked` is the number of people who are
    asked about the unit, and `open` says that an answer is under way.
    """

    item: str
    kind: str
    key: str
    name: str
    report: str | None = None
    system: str | None = None
    passage: str | None = None
    asked: int = 0
    open: bool = False
    people: dict[str, Votes] = field(default_factory=dict)
    reference: dict[str, Votes] = field(default_factory=dict)

    @property
    def identity(self) -> tuple[str, str, str]:
        return self.item, self.kind, self.key

    def merge(self, other: LabelledUnit) -> None:
        """Add the labels that the same unit has in another campaign."""
        self.asked += other.asked
        self.open |= other.open
        for mine, theirs in ((self.people, other.people), (self.reference, other.reference)):
            for variable, votes in theirs.items():
                for value, number in votes.items():
                    add_votes(mine, variable, value, number)

    def digest_content(self) -> list[object]:
        """Return the content of the unit's digest: its keys and labels, but no rater's name."""
        return [*self.identity, self.people, self.reference, self.asked]


def add_votes(labels: dict[str, Votes], variable: str, value: str, number: int) -> None:
    votes = labels.get(variable)
    if votes is None:
        labels[variable] = {value: number}
    else:
        votes[value] = votes.get(value, 0) + number


class _ItemFacts(NamedTuple):
    pk: int
    key: str
    query: int
    quota: int
    report: str | None
    system: str | None
    passage: str | None


_ITEM = ("pk", "key", "query_id", "quota", "report__key", "report__system", "passage__key")


def _unit(item: _ItemFacts, kind: str, key: str, name: str) -> LabelledUnit:
    about = item.report, item.system, item.passage
    return LabelledUnit(item.key, kind, key, name, *about, asked=item.quota)


class LabelReader:
    """Reads the labels of some variables in a campaign, for some queries at a time.

    `rater` restricts them to those of one rater. Otherwise they are the labels of people, without
    excluded raters, and of the Reference. Labels that confirm or correct a judge's count only where
    a unit has no others. Of replicates, only the first counts.
    """

    def __init__(
        self, campaign: Campaign, variables: Collection[str], rater: Rater | None = None
    ) -> None:
        self.campaign, self.variables, self.rater = campaign, tuple(variables), rater
        self._own_samples = design(campaign).sampling == "own"

    def read(self, queries: Collection[int]) -> dict[int, list[LabelledUnit]]:
        """Return the units of queries, given by primary key, in the campaign's order."""
        items = self._items(queries)
        units = self._units(items, queries)
        self._ask(items, units)
        self._add_labels(queries, units)
        return grouped((items[item].query, unit) for item, unit in units.values())

    def _items(self, queries: Collection[int]) -> dict[int, _ItemFacts]:
        rows = Item.objects.filter(
            campaign=self.campaign, query__in=queries, use=Item.Use.STUDY
        ).order_by("position")
        return {row[0]: _ItemFacts._make(row) for row in rows.values_list(*_ITEM)}

    def _units(
        self, items: Mapping[int, _ItemFacts], queries: Collection[int]
    ) -> dict[int, tuple[int, LabelledUnit]]:
        of_items = _range_of("item", items) or {
            "item__campaign": self.campaign,
            "item__query__in": queries,
            "item__use": Item.Use.STUDY,
        }
        rows = Unit.objects.filter(**of_items).order_by("position")
        so_far = units_asked_so_far(self.campaign, items)
        by_item: dict[int, list[tuple[int, tuple[str, str, str]]]] = defaultdict(list)
        for pk, item, *unit in rows.values_list("pk", "item_id", "kind", "key", "name"):
            if item not in items:
                continue
            if so_far is None or unit[2] in so_far[item]:
                by_item[item].append((pk, (unit[0], unit[1], unit[2])))
        return {
            pk: (item, _unit(facts, *unit))
            for item, facts in items.items()
            for pk, unit in by_item[item]
        }

    def _ask(
        self, items: Mapping[int, _ItemFacts], units: Mapping[int, tuple[int, LabelledUnit]]
    ) -> None:
        """Set the number of people asked about a unit, where it differs from the item's."""
        if self.rater is not None:
            waiting = self._asked_names(items, Q(rater=self.rater, status__in=UNFINISHED))
            for item, unit in units.values():
                unit.asked, unit.open = 0, waiting[item][unit.name] > 0
        elif self._own_samples:
            people = Q(rater__kind=Rater.Kind.HUMAN) & ~Q(status=Assignment.Status.CANCELLED)
            asked = self._asked_names(items, people)
            for item, unit in units.values():
                unit.asked = asked[item][unit.name]

    def _asked_names(self, items: Collection[int], which: Q) -> dict[int, Counter[str]]:
        found: dict[int, Counter[str]] = defaultdict(Counter)
        rows = Assignment.objects.filter(which, item__in=items, replicate=0)
        for item, names in rows.values_list("item_id", "asked"):
            found[item].update(names)
        return found

    def _add_labels(
        self, queries: Collection[int], units: Mapping[int, tuple[int, LabelledUnit]]
    ) -> None:
        aided: list[tuple[LabelledUnit, str, str, int]] = []
        for unit, variable, value, kind, assisted, number in self._label_counts(queries, units):
            if unit not in units:
                continue
            labelled = units[unit][1]
            if kind == Rater.Kind.REFERENCE and self.rater is None:
                add_votes(labelled.reference, variable, value, number)
            elif assisted and self.rater is None:
                aided.append((labelled, variable, value, number))
            else:
                add_votes(labelled.people, variable, value, number)
        blind = {id(each[0]) for each in aided if each[0].people}
        for labelled, variable, value, number in aided:
            if id(labelled) not in blind:
                add_votes(labelled.people, variable, value, number)

    def _label_counts(
        self, queries: Collection[int], units: Collection[int]
    ) -> Iterable[Sequence[Any]]:
        """Yield labels with their counts; some may belong to other units."""
        of_units = _range_of("unit", units) or {
            "unit__item__query__in": queries,
            "unit__item__campaign": self.campaign,
        }
        labels = Label.objects.filter(
            **of_units,
            variable__in=self.variables,
            response__current=True,
            response__assignment__replicate=0,
        )
        labels = without_certify(labels, self.campaign)
        if self.rater is not None:
            labels = labels.filter(response__assignment__rater=self.rater)
        else:
            kinds = (Rater.Kind.HUMAN, Rater.Kind.REFERENCE)
            excluded = Exclusion.objects.filter(campaign=self.campaign, undone_at=None)
            labels = labels.filter(response__assignment__rater__kind__in=kinds).exclude(
                response__assignment__rater__in=list(excluded.values_list("rater", flat=True))
            )
        columns = ("unit_id", "variable", "value", "response__assignment__rater__kind")
        rows = labels.order_by().values_list(*columns, "response__assignment__assisted_by")
        return rows.annotate(number=_Number("pk")).iterator(chunk_size=5000)


class _Number(Count):
    """A count that the database gives as a whole number, so that Django need not convert it."""

    convert_value = staticmethod(Count._convert_value_noop)  # type: ignore[attr-defined]


def _range_of(name: str, keys: Collection[int]) -> dict[str, Any]:
    """Return the condition that a foreign key is in the range of these, if it has few others.

    The rows of a campaign were mostly written together, and selecting a range of keys takes a third
    of the time of a join with their queries. It may contain rows of others, which the caller skips.
    """
    low, high = min(keys, default=0), max(keys, default=0)
    is_dense = bool(keys) and high - low < MOST_SPARSE * len(keys)
    return {f"{name}__gte": low, f"{name}__lte": high} if is_dense else {}


class UnitReader:
    """Reads several campaigns of a batch as one, and digests every unit."""

    def __init__(self, readers: Sequence[LabelReader]) -> None:
        self.readers, self.digests = readers, UnitDigests()

    def read(self, queries: Sequence[int]) -> dict[int, list[LabelledUnit]]:
        """Return the units of queries. Equal units of several campaigns are merged."""
        first, *others = (reader.read(queries) for reader in self.readers)
        for other in others:
            for query, units in other.items():
                known = {unit.identity: unit for unit in first.setdefault(query, [])}
                for unit in units:
                    if unit.identity in known:
                        known[unit.identity].merge(unit)
                    else:
                        first[query].append(unit)
        for query in queries:
            for unit in first.get(query, ()):
                self.digests.add(unit.digest_content())
        return first
