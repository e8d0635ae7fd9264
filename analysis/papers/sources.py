"""Which campaigns a paper's tables take. Those over the same units are read as one source.

People may be asked in one campaign and judges in another: over the same data set, the same items
and the same texts, their labels are joined unit by unit. A campaign and those that continue it are
one source, too: a unit's labels are those of the newest campaign that has it. Two campaigns with
different labels from people, or from the same judge, on the same units could both serve. Then
neither is taken, and the tables name both.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any, Protocol

from annotation.protocols.base import Protocol as Task
from annotation.registry import task_of
from tandem.files.rows import Query
from tandem.labels.facts import LabelFact
from tandem.labels.joined import UnitKey, not_replaced

Votes = Mapping[tuple[UnitKey, str], Mapping[str, str]]
"""Values by unit and variable, and by rater."""
Texts = Mapping[tuple[str, str], str]
"""The texts of a query and of its parts, by kind and id."""
PARTS = ("questions", "passages", "reports", "key_points")
HUMAN, JUDGE = "human", "judge"


@dataclass(frozen=True)
class BatchFacts:
    """A batch by its name. `origin` is the loaded batch that it comes from by `rules`.

    The rules are those by which it was derived, the newest first.
    """

    name: str
    origin: str
    rules: tuple[str, ...] = ()


@dataclass(frozen=True)
class CampaignFacts:
    """A campaign by its name, with what its tables depend on.

    It `continues` these campaigns, the newest first. `created_at` is a time as text. `own` is the
    protocol if it is a team's.
    """

    name: str
    protocol: str
    protocol_version: str
    batch: BatchFacts
    options: Mapping[str, Any] = field(compare=False)
    continues: tuple[str, ...] = ()
    asks_people: bool = True
    created_at: str = ""
    own: Task | None = field(default=None, compare=False)

    @property
    def task(self) -> Task:
        points = self.options.get("points") or ""
        return self.own or task_of(self.protocol, self.protocol_version, points)


class Reader(Protocol):
    """What the joining of campaigns reads of them."""

    def queries(self, batch: BatchFacts) -> Sequence[Query]: ...

    def items(self, campaign: CampaignFacts) -> Mapping[str, str]:
        """Return the keys of a campaign's items, with those of their queries."""

    def units(self, campaign: CampaignFacts) -> Collection[UnitKey]:
        """Return the units of a campaign."""

    def labels(self, campaign: CampaignFacts) -> Iterable[LabelFact]:
        """Return the current labels of a campaign, and the missing ones."""

    def excluded(self, campaign: CampaignFacts) -> Mapping[str, str]:
        """Return the reasons for exclusion by the raters' names."""


class AmbiguousError(ValueError):
    """Several campaigns could serve. The message names them and says what to do."""

    def __init__(self, campaigns: Sequence[CampaignFacts], why: str) -> None:
        names = [each.name for each in campaigns]
        listed = f"{', '.join(names[:-1])} and {names[-1]}"
        super().__init__(
            f"campaigns {listed} {why}, so either could serve: leave one out, as by the option "
            f"without={names[-1]}"
        )


@dataclass(frozen=True)
class Part:
    """A campaign of a source; the labels of `replaced` units are those of another one."""

    campaign: CampaignFacts
    replaced: frozenset[UnitKey] = frozenset()


@dataclass(frozen=True)
class Source:
    """Campaigns over the same units. `lead` is the one over the widest batch, with the most items.

    `parts` are all of them, if there are several. `clash` says why they cannot be joined.
    """

    lead: CampaignFacts
    parts: tuple[Part, ...] = ()
    clash: AmbiguousError | None = None


class Sources:
    """The sources among campaigns."""

    def __init__(self, campaigns: Sequence[CampaignFacts], reader: Reader) -> None:
        self.campaigns, self.reader = campaigns, reader
        self._items: dict[str, Mapping[str, str]] = {}

    @cached_property
    def found(self) -> list[Source]:
        """The sources, in the order of their first campaign."""
        return [self._source(group) for group in self._groups()]

    def _groups(self) -> list[list[CampaignFacts]]:
        groups: list[list[CampaignFacts]] = []
        for campaign in self.campaigns:
            near = [g for g in groups if any(self._belong(campaign, other) for other in g)]
            groups = [g for g in groups if g not in near]
            groups.append([*(each for group in near for each in group), campaign])
        place = {campaign.name: n for n, campaign in enumerate(self.campaigns)}
        ordered = [sorted(group, key=lambda each: place[each.name]) for group in groups]
        return sorted(ordered, key=lambda group: place[group[0].name])

    def _belong(self, one: CampaignFacts, other: CampaignFacts) -> bool:
        """Whether two campaigns ask about the same units."""
        if _form(one) != _form(other):
            return False
        if other.name in one.continues[:1] or one.name in other.continues[:1]:
            return True
        if one.batch.origin != other.batch.origin:
            return False
        return one.batch.name == other.batch.name or self._share_texts(one, other)

    def _share_texts(self, one: CampaignFacts, other: CampaignFacts) -> bool:
        """Whether two batches of a data set have an item of both campaigns with the same texts."""
        mine, theirs = self._items_of(one), self._items_of(other)
        shared = {query for key, query in mine.items() if theirs.get(key) == query}
        texts = {q.id: _texts_of(q) for q in self.reader.queries(other.batch) if q.id in shared}
        return any(
            _agree(_texts_of(query), texts[query.id])
            for query in self.reader.queries(one.batch)
            if query.id in texts
        )

    def _items_of(self, campaign: CampaignFacts) -> Mapping[str, str]:
        if campaign.name not in self._items:
            self._items[campaign.name] = self.reader.items(campaign)
        return self._items[campaign.name]

    def _source(self, group: list[CampaignFacts]) -> Source:
        if len(group) == 1:
            return Source(group[0])
        parts = tuple(Part(each, self._replaced(each, group)) for each in group)
        return Source(max(group, key=self._width), parts, self._find_clash(parts))

    def _width(self, campaign: CampaignFacts) -> tuple[int, int, bool, str]:
        depth, items = len(campaign.batch.rules), len(self._items_of(campaign))
        return depth, items, campaign.asks_people, campaign.created_at

    def _replaced(
        self, campaign: CampaignFacts, group: Sequence[CampaignFacts]
    ) -> frozenset[UnitKey]:
        """Return the units whose labels are those of a campaign that continues this one."""
        newer = [each for each in group if campaign.name in each.continues]
        return frozenset(unit for each in newer for unit in self.reader.units(each))

    def _find_clash(self, parts: Sequence[Part]) -> AmbiguousError | None:
        """Return why campaigns could serve in each other's place; None if they complement others.

        Equal labels do no harm: they are carried over, or were imported twice.
        """
        votes = [(part.campaign, self._votes(part)) for part in parts]
        for (one, mine), (other, theirs) in combinations(votes, 2):
            people, judges = (
                [(kind[key], theirs[n][key]) for key in kind.keys() & theirs[n].keys()]
                for n, kind in enumerate(mine)
            )
            if any(dict(a) != dict(b) for a, b in people):
                return AmbiguousError((one, other), "have labels from people on the same units")
            rated = {r for a, b in judges for r in a.keys() & b.keys() if a[r] != b[r]}
            if rated:
                why = f"have different labels from judge {min(rated)} on the same units"
                return AmbiguousError((one, other), why)
        return None

    def _votes(self, part: Part) -> tuple[Votes, Votes]:
        """Return the labels of people, and those of judges."""
        out = self.reader.excluded(part.campaign)
        found: tuple[dict[tuple[UnitKey, str], dict[str, str]], ...]
        found = defaultdict(dict), defaultdict(dict)
        for fact in not_replaced(self.reader.labels(part.campaign), part.replaced):
            counts = fact.rater_kind in (HUMAN, JUDGE) and fact.rater not in out
            if counts and fact.value is not None and not (fact.replicate or fact.assisted_by):
                unit = fact.item, fact.kind, fact.unit
                found[fact.rater_kind == JUDGE][unit, fact.variable][fact.rater] = fact.value
        return found[0], found[1]


def _form(campaign: CampaignFacts) -> tuple[object, ...]:
    """Return what else two campaigns must have in common to ask about the same units.

    Items of a single passage do not depend on which passages are shown, but answers do. Rounds of
    written answers are about different texts.
    """
    task, options = campaign.task, campaign.options
    shows = campaign.protocol != "rubric-passage" and (options.get("passages") or "all")
    first = bool(task.written) and (options.get("prerequisite") or "")
    return campaign.protocol, task.reading, shows, first


def _texts_of(query: Query) -> Texts:
    found = {("query", query.id): query.text}
    for kind in PARTS:
        found |= {(kind, part.id): part.text for part in getattr(query, kind)}
    return found


def _agree(one: Texts, other: Texts) -> bool:
    """Whether what both have is the same to the letter."""
    return all(other.get(key, text) == text for key, text in one.items())
