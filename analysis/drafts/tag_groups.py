"""Tags of disagreements, gathered by question, query, slice and section of the guideline."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from analysis.campaigns.frames import campaign_strata
from analysis.models import UnitTag
from annotation.exposure.ledger import saw_answers
from annotation.models import Campaign, Item, Unit
from annotation.presentation import preload, words_of_unit
from tandem.labels.selection import OWN_STRATA

LOOK = "draft"
MOST = 500
"""The maximum number of tagged units on a page; the newest are shown."""
NO_SECTION = "no section"
_HEADING = re.compile(r"^#{1,4}\s+(.+?)\s*#*\s*$", re.MULTILINE)


@dataclass(frozen=True)
class TaggedUnit:
    """A tagged unit with its words, and the values of its slices."""

    tag: UnitTag
    words: str
    query: str
    slices: Mapping[str, str]


@dataclass
class Group:
    """The tagged units with a common value, such as a question, and their tags."""

    name: str
    units: list[TaggedUnit] = field(default_factory=list)

    @property
    def counts(self) -> list[tuple[str, int]]:
        """The tags in words with their numbers, the most frequent first."""
        found = Counter(str(each.tag.get_tag_display()) for each in self.units)
        return found.most_common()


@dataclass(frozen=True)
class TaggedUnits:
    """The tagged units of a campaign (`total` in all), and their groupings by name."""

    units: Sequence[TaggedUnit]
    total: int
    groups: Mapping[str, Sequence[Group]]


def sections_of(guideline: str) -> list[str]:
    """Return the headings of a guideline in Markdown, each once."""
    return list(dict.fromkeys(each[:200] for each in _HEADING.findall(guideline)))


def group_tags(campaign: Campaign, tag: str = "") -> TaggedUnits:
    """Group the tagged units of a campaign, with one tag or any, newest first."""
    rows = UnitTag.objects.filter(unit__item__campaign=campaign)
    rows = rows.filter(tag=tag) if tag else rows
    related = ("unit__item__query", "unit__item__report", "by")
    newest = list(rows.select_related(*related).order_by("-changed_at", "-pk")[:MOST])
    saw_answers(LOOK, campaign, units=[each.unit_id for each in newest])
    units = list(_tagged_units(campaign, newest))
    ways: dict[str, Iterable[tuple[str, TaggedUnit]]] = {
        "Section of the guideline": ((each.tag.section or NO_SECTION, each) for each in units),
        "Question": ((each.words, each) for each in units),
        "Query": ((each.query, each) for each in units),
        "Variable": ((each.tag.variable, each) for each in units),
    }
    for name in dict.fromkeys(name for each in units for name in each.slices):
        ways[name.capitalize()] = [(each.slices.get(name, "–"), each) for each in units]
    groups = {name: _by_size(pairs) for name, pairs in ways.items()}
    shown = {name: found for name, found in groups.items() if len(found) > 1 or name in TOLD}
    return TaggedUnits(units, rows.count(), shown)


TOLD = ("Section of the guideline", "Question")
"""Ways of grouping that are shown even if all units have the same value."""


def _tagged_units(campaign: Campaign, tags: Sequence[UnitTag]) -> Iterator[TaggedUnit]:
    items: dict[int, Item] = {}
    for tag in tags:
        tag.unit.item = items.setdefault(tag.unit.item_id, tag.unit.item)
        tag.unit.item.campaign = campaign
    preload(campaign, items.values())
    strata = campaign_strata(campaign) if tags else {}
    for tag in tags:
        yield _tagged_unit(tag, tag.unit, strata)


def _tagged_unit(tag: UnitTag, unit: Unit, strata: Mapping[str, Mapping[str, str]]) -> TaggedUnit:
    item, report = unit.item, unit.item.report
    own = {name: getattr(report, name) for name in OWN_STRATA} if report else {}
    slices = {**own, **{name: of.get(item.key) for name, of in strata.items()}}
    words = words_of_unit(item, unit.name)
    return TaggedUnit(tag, words, item.query.text, {k: v for k, v in slices.items() if v})


def _by_size(pairs: Iterable[tuple[str, TaggedUnit]]) -> list[Group]:
    """Return the groups, the largest first."""
    found: dict[str, Group] = {}
    for name, each in pairs:
        found.setdefault(name, Group(name)).units.append(each)
    return sorted(found.values(), key=lambda group: (-len(group.units), group.name))
