"""Find the labels and answers that are exposed, and the looks before them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Q, QuerySet

from annotation.exposure.ledger import describe
from annotation.models import Campaign, Exposure, Item, Label, Response


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
