"""Which campaigns a paper's tables take. Those over the same units are read as one source.

People may be asked in one campaign and judges in another: over the same data set, the same items
and the same texts, their labels are joined unit by unit. A campaign and those that continue it are
one source, too: a unit's labels are those of the newest campaign that has it. Two campaigns with
different labels from people, or from the same judge, on the same units could both serve. Then
neither is taken, and the tables name both.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from analysis.campaigns.frames import JoinedCampaign, UnitKey
from annotation.models import Campaign, Item, Label, Rater, Unit
from annotation.people.membership import exclusion_reasons
from annotation.registry import get_protocol
from datasets.lineage import lineages_of
from tandem.files.rows import Query

Votes = Mapping[tuple[UnitKey, str], Mapping[str, str]]
"""Values by unit and variable, and by rater."""
Queries = Callable[[Campaign], Sequence[Query]]
Texts = Mapping[tuple[str, str], str]
"""The texts of a query and of its parts, by kind and id."""
PARTS = ("questions", "passages", "reports", "key_points")


class AmbiguousError(ValueError):
    """Several campaigns could serve. The message names them and says what to do."""

    def __init__(self, campaigns: Sequence[Campaign], why: str) -> None:
        names = [each.name for each in campaigns]
        listed = f"{', '.join(names[:-1])} and {names[-1]}"
        super().__init__(
            f"campaigns {listed} {why}, so either could serve: leave one out, as by the option "
            f"without={names[-1]}"
        )


@dataclass(frozen=True)
class Source:
    """Campaigns over the same units. `lead` is the one over the widest batch, with the most items.

    `parts` are all of them, if there are several. `clash` says why they cannot be joined.
    """

    lead: Campaign
    parts: tuple[JoinedCampaign, ...] = ()
    clash: AmbiguousError | None = None


class Sources:
    """The sources among campaigns. `roots` are their data sets, by primary key."""

    def __init__(
        self, campaigns: Sequence[Campaign], roots: Mapping[int, str], queries: Queries
    ) -> None:
        self.campaigns, self.roots, self.queries = campaigns, roots, queries
        self._items: dict[int, dict[str, str]] = {}

    @cached_property
    def found(self) -> list[Source]:
        """The sources, in the order of their first campaign."""
        return [self._source(group) for group in self._groups()]

    def _groups(self) -> list[list[Campaign]]:
        groups: list[list[Campaign]] = []
        for campaign in self.campaigns:
            near = [g for g in groups if any(self._belong(campaign, other) for other in g)]
            groups = [g for g in groups if g not in near]
            groups.append([*(each for group in near for each in group), campaign])
        place = {campaign.pk: n for n, campaign in enumerate(self.campaigns)}
        ordered = [sorted(group, key=lambda each: place[each.pk]) for group in groups]
        return sorted(ordered, key=lambda group: place[group[0].pk])

    def _belong(self, one: Campaign, other: Campaign) -> bool:
        """Whether two campaigns ask about the same units."""
        if _form(one) != _form(other):
            return False
        if one.continues_id == other.pk or other.continues_id == one.pk:
            return True
        if self.roots[one.pk] != self.roots[other.pk]:
            return False
        return one.batch_id == other.batch_id or self._share_texts(one, other)

    def _share_texts(self, one: Campaign, other: Campaign) -> bool:
        """Whether two batches of a data set have an item of both campaigns with the same texts."""
        mine, theirs = self._items_of(one), self._items_of(other)
        shared = {query for key, query in mine.items() if theirs.get(key) == query}
        texts = {q.id: _texts_of(q) for q in self.queries(other) if q.id in shared}
        return any(
            _agree(_texts_of(query), texts[query.id])
            for query in self.queries(one)
            if query.id in texts
        )

    def _items_of(self, campaign: Campaign) -> dict[str, str]:
        """Return the keys of a campaign's items, with those of their queries."""
        if campaign.pk not in self._items:
            rows = Item.objects.filter(campaign=campaign).values_list("key", "query__key")
            self._items[campaign.pk] = dict(rows)
        return self._items[campaign.pk]

    def _source(self, group: list[Campaign]) -> Source:
        if len(group) == 1:
            return Source(group[0])
        parts = tuple(JoinedCampaign(each, _replaced(each, group)) for each in group)
        return Source(max(group, key=self._width), parts, _find_clash(parts))

    def _width(self, campaign: Campaign) -> tuple[int, int, bool, int]:
        depth = len(lineages_of(campaign.batch))
        return depth, len(self._items_of(campaign)), campaign.asks_people, campaign.pk


def _form(campaign: Campaign) -> tuple[object, ...]:
    """Return what else two campaigns must have in common to ask about the same units.

    Items of a single passage do not depend on which passages are shown, but answers do. Rounds of
    written answers are about different texts.
    """
    protocol, options = get_protocol(campaign), campaign.options
    shows = campaign.protocol != "rubric-passage" and options.get("passages", "all")
    first = bool(protocol.written) and options.get("prerequisite")
    return campaign.protocol, protocol.reading, shows, first


def _texts_of(query: Query) -> Texts:
    found = {("query", query.id): query.text}
    for kind in PARTS:
        found |= {(kind, part.id): part.text for part in getattr(query, kind)}
    return found


def _agree(one: Texts, other: Texts) -> bool:
    """Whether what both have is the same to the letter."""
    return all(other.get(key, text) == text for key, text in one.items())


def _replaced(campaign: Campaign, group: Sequence[Campaign]) -> frozenset[UnitKey]:
    """Return the units whose labels are those of a campaign that continues this one."""
    newer = [each for each in group if campaign in _continued(each)]
    rows = Unit.objects.filter(item__campaign__in=newer)
    return frozenset(rows.values_list("item__key", "kind", "key"))


def _continued(campaign: Campaign) -> Iterator[Campaign]:
    while campaign.continues is not None:
        yield (campaign := campaign.continues)


def _find_clash(parts: Sequence[JoinedCampaign]) -> AmbiguousError | None:
    """Return why campaigns could serve in each other's place; None if they complement each other.

    Equal labels do no harm: they are carried over, or were imported twice.
    """
    votes = [(part.campaign, _votes(part)) for part in parts]
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


def _votes(part: JoinedCampaign) -> tuple[Votes, Votes]:
    """Return the labels of people, and those of judges."""
    rows = Label.objects.filter(
        response__current=True,
        response__assignment__item__campaign=part.campaign,
        response__assignment__item__use=Item.Use.STUDY,
        response__assignment__replicate=0,
        response__assignment__assisted_by="",
        response__assignment__rater__kind__in=(Rater.Kind.HUMAN, Rater.Kind.JUDGE),
    ).exclude(response__assignment__rater__name__in=list(exclusion_reasons(part.campaign.name)))
    rater = "response__assignment__rater"
    columns = ("unit__item__key", "unit__kind", "unit__key", "variable", "value")
    found: tuple[dict[tuple[UnitKey, str], dict[str, str]], ...]
    found = defaultdict(dict), defaultdict(dict)
    for item, kind, key, variable, value, name, of in rows.values_list(
        *columns, f"{rater}__name", f"{rater}__kind"
    ).iterator(chunk_size=5000):
        unit = item, kind, key
        if unit not in part.replaced:
            found[of == Rater.Kind.JUDGE][unit, variable][name] = value
    return found[0], found[1]
