"""Passage rating after report coverage: which sub-questions are asked of a passage.

`shared` draws once for all raters, when everybody is done with the query in the prerequisite, from
the questions that most people (or a judge) found answered and from the others; the draw is stored
with the item. `own` draws for each rater from his own answers, when he is through with the query,
and is stored with his assignment. `all` asks everything, once everybody is done.

Judges are asked the stored draw under `shared`, whatever any person was asked under `own`, and
everything under `all`.
"""

from __future__ import annotations

from django.db.models import Q

from annotation.follows.base import Follows, prerequisite_of
from annotation.follows.conditions import has_answered, judge_is_done, people_are_done
from annotation.follows.strata import alternating, chances, majority, opinions
from annotation.models import Assignment, Campaign, Item, Label, Rater, UnitDraw
from annotation.presenting import design, present
from annotation.protocols.base import name_units


def ready(campaign: Campaign, rater: Rater) -> Q:
    if design(campaign).sampling == "own":
        return has_answered(prerequisite_of(campaign), rater)
    return _drawn_or_done(campaign)


def judges(campaign: Campaign) -> Q:
    return Q() if design(campaign).sampling in ("own", "all") else _drawn_or_done(campaign)


def _drawn_or_done(campaign: Campaign) -> Q:
    first, strata = prerequisite_of(campaign), design(campaign).strata
    done = people_are_done(first)
    if strata:
        done &= judge_is_done(first, strata)
    return Q(drawn__isnull=False) | done


def asks(item: Item, rater: Rater, names: list[str]) -> list[str]:
    sampling = design(item.campaign).sampling
    if sampling == "all":
        return names
    if sampling == "own":
        return _draw(item, opinions(_labels(item, rater=rater)).get(rater.pk, {}), names)
    return _stored(item, names)


def asks_judges(item: Item, names: list[str]) -> list[str]:
    sampling = design(item.campaign).sampling
    if sampling == "all":
        return names
    if sampling != "own":
        return _stored(item, names)
    people = Assignment.objects.filter(item=item, rater__kind="human")
    asked = {name for given in people.values_list("asked", flat=True) for name in given}
    return [name for name in names if name in asked]


def _stored(item: Item, names: list[str]) -> list[str]:
    """The shared draw of an item, made by whoever comes first."""
    if item.drawn is None:
        strata = design(item.campaign).strata
        raters = {"rater__name": strata} if strata else {"rater__kind": Rater.Kind.HUMAN}
        in_order, said = _in_order(item), majority(_labels(item, **raters))
        drawn = _draw(item, said, in_order)
        # Another may have drawn in between, from labels that were revised since: the first counts.
        if Item.objects.filter(pk=item.pk, drawn__isnull=True).update(drawn=drawn):
            item.drawn = drawn
            _keep(item, said, in_order, drawn)
        else:
            item.refresh_from_db(fields=["drawn"])
    kept = set(item.drawn or ())
    return [name for name in names if name in kept]


def _keep(item: Item, said: dict[str, str], names: list[str], drawn: list[str]) -> None:
    """Writes the draw to the units' own rows, with what it was made from."""
    keys = {name: unit.key for name, unit in name_units(present(item).units).items()}
    strata = {name: said[keys[name]] for name in names if keys[name] in said}
    chance = chances(names, strata, design(item.campaign).per_passage)
    by_key = {keys[name]: name for name in names}
    rows = [row for row in UnitDraw.objects.filter(item=item) if row.key in by_key]
    for row in rows:
        name = by_key[row.key]
        row.stratum, row.probability = strata.get(name, ""), chance[name]
        row.drawn = name in drawn
    UnitDraw.objects.bulk_update(rows, ["stratum", "probability", "drawn"])


def _in_order(item: Item) -> list[str]:
    return list(item.units.order_by("position").values_list("name", flat=True))


def _draw(item: Item, by_question: dict[str, str], names: list[str]) -> list[str]:
    """Raters who answered alike are asked the same, which gives more units in common."""
    chosen = design(item.campaign)
    keys = {name: unit.key for name, unit in name_units(present(item).units).items()}
    strata = {name: by_question[keys[name]] for name in names if keys[name] in by_question}
    return alternating(names, strata, chosen.per_passage, chosen.seed, f"units of {item.key}")


def _labels(item: Item, **raters: object) -> list[tuple[int, str, str]]:
    """What was said of the questions of an item's query in the prerequisite."""
    whose = {f"response__assignment__{path}": value for path, value in raters.items()}
    found = Label.objects.filter(
        response__current=True,
        response__assignment__item__campaign__name=prerequisite_of(item.campaign),
        response__assignment__item__query=item.query_id,
        response__assignment__replicate=0,
        variable="answerable",
        **whose,
    )
    return list(found.values_list("response__assignment__rater", "unit__key", "value"))


def draws(campaign: Campaign) -> bool:
    return design(campaign).sampling != "all"


def words(campaign: Campaign) -> str:
    first, chosen = prerequisite_of(campaign), design(campaign)
    if chosen.sampling == "own":
        return f"your own answers in “{first}”: submit all that you can get there of a request"
    judge = f", and judge {chosen.strata} too" if chosen.strata else ""
    return f"everybody to be done with the same request in “{first}”{judge}"


FOLLOWS = Follows(
    after=("report-coverage",),
    ready=ready,
    asks=asks,
    judges=judges,
    asks_judges=asks_judges,
    words=words,
    draws=draws,
)
