"""Decide whether an answer comes after a look at others' answers, and find these answers.

A look is a row of the ledger with a scope, not a list of labels. This module finds what it showed:
answers by other raters, in its scope, up to the newest response at its time. Most people have never
looked at anything, which a single indexed query shows.

Units of other items, in the same campaign or another, are the same if the campaign has the same
protocol and shows the same texts: that of the query, of the item's report, passage or key point,
and of the unit. Ids do not count, since two systems may give one answer, and other batches may have
other ids.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Q, QuerySet

from annotation.exposure.ledger import UNSTORED, describe
from annotation.models import Assignment, Campaign, Exposure, Item, Label, Look, Response
from annotation.prerequisites.base import prerequisite_of
from annotation.prerequisites.grounded_answer import first_answer
from annotation.prerequisites.label_validation import validated_judge
from annotation.presentation import present, stored_units
from datasets.db.prepared import Parameter, Prepared
from tandem.protocols.base import ItemSpec, UnitSpec, name_units


class Evidence(NamedTuple):
    """A look, and the names of the answered units to which it showed others' answers.

    `look` is None if a file states the mark.
    """

    look: int | None
    kind: str
    at: datetime
    units: tuple[str, ...]


@dataclass(frozen=True)
class _Look:
    pk: int
    campaign: int
    kind: str
    scope: Mapping[str, Sequence[int]] | None
    rater: int | None
    upto: int
    at: datetime

    def covers(self, place: _Place) -> bool:
        if place.campaign != self.campaign:
            return False
        scope = self.scope or {}
        items, units = scope.get("items"), scope.get("units")
        return (items is None or place.item in items) and (units is None or place.unit in units)

    def shows(self, answer: _Answer) -> bool:
        return answer.response <= self.upto and self.rater in (None, answer.rater)


class _Place(NamedTuple):
    """A unit by primary keys, in the answer's campaign or another, and its name in the answer.

    If the answered item itself shows another rater's answer to this unit, `presents` is that rater.
    """

    campaign: int
    item: int
    unit: int
    name: str
    presents: int | None = None


class _Answer(NamedTuple):
    """A label by another rater."""

    unit: int
    response: int
    rater: int


def evidence_against(
    assignment: Assignment,
    names: Collection[str],
    before: datetime | None = None,
    presented: int | None = None,
) -> list[Evidence]:
    """Return the looks of an assignment's person that showed others' answers to its units.

    `names` are those of the answered units. If the newest of several looks of a kind at a campaign
    shows everything that the others show, only that one is returned. Looks since `before` are left
    out. `presented` is the rater whose first answer an item of a second round shows, by default the
    current one.
    """
    looks = [_Look(*row) for row in _exposing.rows(rater=assignment.rater_id)]
    looks = [look for look in looks if before is None or look.at < before]
    if not looks:
        return []
    places = list(_places(assignment, names, {look.campaign for look in looks}, presented))
    answers = _answers_of_others(assignment, places, max(look.upto for look in looks))
    found = (_of_look(look, places, answers) for look in looks)
    return list(_newest_of_each(each for each in found if each))


def _of_look(
    look: _Look, places: Sequence[_Place], answers: Mapping[int, Sequence[_Answer]]
) -> tuple[_Look, tuple[str, ...]] | None:
    shown = {
        place.name
        for place in places
        if look.covers(place) and (look.kind in UNSTORED or _shows_another(look, place, answers))
    }
    return (look, tuple(sorted(shown))) if shown else None


def _shows_another(look: _Look, place: _Place, answers: Mapping[int, Sequence[_Answer]]) -> bool:
    """Whether a look showed an answer to a unit that the answered item does not show itself."""
    there = answers.get(place.unit, ())
    return any(look.shows(each) and each.rater != place.presents for each in there)


def _newest_of_each(found: Iterable[tuple[_Look, tuple[str, ...]]]) -> Iterator[Evidence]:
    """Leave out looks that show no unit beyond those of a newer look of their kind."""
    shown: dict[tuple[int, str], set[str]] = defaultdict(set)
    for look, units in sorted(found, key=lambda each: -each[0].pk):
        so_far = shown[look.campaign, look.kind]
        if not so_far.issuperset(units):
            so_far |= set(units)
            yield Evidence(look.pk, look.kind, look.at, units)


def _exposing_query() -> Any:
    rows = Look.objects.filter(user__rater=Parameter("rater"), exposing=True).order_by("pk")
    return rows.values_list("pk", "campaign_id", "kind", "scope", "rater_id", "upto", "at")


_exposing = Prepared(_exposing_query)


def _answers_of_others(
    assignment: Assignment, places: Sequence[_Place], upto: int
) -> Mapping[int, list[_Answer]]:
    """Return others' labels of units by unit, in any revision. What the item shows is left out."""
    labels = Label.objects.filter(unit__in={place.unit for place in places}, response__lte=upto)
    labels = labels.exclude(response__assignment__rater=assignment.rater_id)
    if assignment.assisted_by:
        judge = validated_judge(assignment.item.campaign)
        labels = labels.exclude(response__assignment__rater__name=judge)
    found: dict[int, list[_Answer]] = defaultdict(list)
    columns = ("unit", "response", "response__assignment__rater")
    for row in labels.order_by().values_list(*columns).distinct():
        found[row[0]].append(_Answer(*row))
    return found


def _places(
    assignment: Assignment,
    names: Collection[str],
    looked_at: Collection[int],
    presented: int | None = None,
) -> Iterator[_Place]:
    """Yield the answered units, and the same units of other items that were looked at."""
    item = assignment.item
    units = stored_units(item)
    for name in names:
        yield _Place(item.campaign_id, item.pk, units[name], name)
    same = list(_same_items(item, _comparable(item.campaign, looked_at)))
    if not same:
        return
    mine = _contents(item, present(item))
    first = prerequisite_of(item.campaign)
    for other_item in same:
        presents = None
        if other_item.campaign.name == first:
            presents = presented or _presented(assignment)
        theirs = _contents(other_item, present(other_item))
        keys = stored_units(other_item)
        for name in names:
            for other, content in theirs.items():
                if content == mine[name] and other in keys:
                    yield _Place(other_item.campaign_id, other_item.pk, keys[other], name, presents)


def _presented(assignment: Assignment) -> int | None:
    """Return the rater whose first answer the item of a second round shows to this person."""
    first = first_answer(assignment.item, assignment.rater)
    if first is None:
        return None
    return Response.objects.values_list("assignment__rater", flat=True).get(pk=first.response)


def _comparable(campaign: Campaign, looked_at: Collection[int]) -> list[Campaign]:
    """Return the campaigns that were looked at and have the same task, perhaps including this."""
    return list(Campaign.objects.filter(campaign.of_same_protocol, pk__in=looked_at))


def _same_items(item: Item, campaigns: Sequence[Campaign]) -> Iterator[Item]:
    """Yield the other items of campaigns that are about parts with the same texts."""
    if campaigns:
        rows = Item.objects.filter(_same_texts(item), campaign__in=campaigns)
        yield from rows.exclude(pk=item.pk).select_related(*_SHOWN)


_SHOWN = ("campaign__batch", "query", "report", "passage", "key_point")
_PARTS = ("query", "report", "passage", "key_point")
_Texts = tuple[str | None, ...]


def _texts(item: Item) -> _Texts:
    """Return the texts of the query and of the parts that an item is about."""
    return tuple(part.text if (part := getattr(item, name)) else None for name in _PARTS)


def _same_texts(item: Item) -> Q:
    same = Q()
    for name, text in zip(_PARTS, _texts(item), strict=True):
        same &= Q(**({f"{name}__isnull": True} if text is None else {f"{name}__text": text}))
    return same


def _contents(item: Item, spec: ItemSpec) -> dict[str, tuple[object, ...]]:
    """Return the content of each unit by its name, which is equal for the same unit elsewhere."""
    texts = {text.field: text.text for text in spec.texts}
    return {name: _content(unit, texts) for name, unit in name_units(spec.units).items()}


def _content(unit: UnitSpec, texts: Mapping[str, str]) -> tuple[object, ...]:
    """Return a unit's kind, its own words, and those of the item's texts that it is about."""
    if unit.kind == "pair":
        return unit.kind, *sorted(texts.values())
    whole, part = unit.key, unit.key.rpartition("#")[0]
    own = (
        text
        for field, text in texts.items()
        if field in unit.of
        or (_id(field) and f"/{whole}".endswith(f"/{_id(field)}"))
        or (_id(field) and f"/{part}".endswith(f"/{_id(field)}"))
    )
    return unit.kind, unit.text, *own


def _id(field: str) -> str:
    """Return the id in a field such as `passage:ID`, empty where an item shows one text only."""
    return field.partition(":")[2]


def exposed_labels(labels: QuerySet[Label]) -> frozenset[int]:
    """Return the primary keys of those labels whose units were exposed."""
    marked = labels.filter(response__exposed=True).order_by()
    rows = list(marked.values_list("pk", "response", "unit__name"))
    units = exposed_units({response for _, response, _ in rows})
    return frozenset(pk for pk, response, name in rows if name in units[response])


def exposed_units(responses: set[int]) -> Mapping[int, set[str]]:
    """Return the names of the exposed units of responses."""
    found: dict[int, set[str]] = defaultdict(set)
    for chunk in _chunks(sorted(responses)):
        rows = Exposure.objects.filter(response__in=chunk).order_by()
        for response, units in rows.values_list("response", "units"):
            found[response].update(units)
    return found


def _chunks(keys: Sequence[int], size: int = 5000) -> Iterator[Sequence[int]]:
    return (keys[start : start + size] for start in range(0, len(keys), size))


def has_exposed(campaign: Campaign) -> bool:
    """Whether any answer in a campaign is exposed."""
    return Exposure.objects.filter(response__assignment__item__campaign=campaign).exists()


@dataclass(frozen=True)
class PersonExposure:
    """A person's current answers to a campaign's study items that are `exposed`.

    `kinds` are the kinds of looks before them, in words, with the number of answers after each.
    `answers` counts all answers, and `unknown` those that were imported or given before there was a
    ledger; both are counted only for a single person.
    """

    name: str
    exposed: int
    kinds: Mapping[str, int]
    answers: int = 0
    unknown: int = 0

    @property
    def in_words(self) -> str:
        """The kinds of looks in words, most frequent first."""
        return ", ".join(f"{kind} ({number})" for kind, number in self.kinds.items())


def exposed_people(campaign: Campaign) -> list[PersonExposure]:
    """Return the exposed answers of each person who has any in a campaign."""
    return [PersonExposure(name, *of) for name, of in sorted(_exposed(campaign, Q()).items())]


def person_exposure(campaign: Campaign, rater: int) -> PersonExposure:
    """Return one person's exposed answers in a campaign; `rater` is a primary key."""
    mine = Response.objects.filter(
        current=True,
        assignment__item__campaign=campaign,
        assignment__item__use=Item.Use.STUDY,
        assignment__rater=rater,
    )
    unknown = mine.filter(exposed=None).count()
    found = _exposed(campaign, Q(response__assignment__rater=rater))
    exposed, kinds = next(iter(found.values()), (0, {}))
    return PersonExposure("", exposed, kinds, mine.count(), unknown)


def _exposed(campaign: Campaign, of: Q) -> dict[str, tuple[int, Mapping[str, int]]]:
    """Return the number of exposed answers and the kinds of looks, by the name of the person."""
    looks = Exposure.objects.filter(
        of,
        response__current=True,
        response__assignment__item__campaign=campaign,
        response__assignment__item__use=Item.Use.STUDY,
    )
    columns = ("response__assignment__rater__name", "response", "kind")
    answers: dict[str, set[int]] = defaultdict(set)
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    for name, response, kind in looks.order_by().values_list(*columns).distinct():
        answers[name].add(response)
        kinds[name][describe(kind)] += 1
    return {name: (len(of), dict(kinds[name].most_common())) for name, of in answers.items()}
