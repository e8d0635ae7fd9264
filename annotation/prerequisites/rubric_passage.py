"""Rating passages after report coverage: which sub-questions are asked about a passage.

With `shared`, questions are sampled once for all raters, as soon as everybody is done with the
query in the prerequisite, from the questions that most people (or a judge) found answered and from
the others; the sample is stored with the item. With `own`, they are sampled for each rater from
the rater's own answers, and stored with the assignment. With `all`, every question is asked, once
everybody is done. Judges are asked the stored sample under `shared`, even if a person was asked
another under `own`, and every question under `all`.

A question counts as `yes` for a rater who found an answer in some text, and as `no` for one who
found it in none. A majority of raters decides for all of them, and a tie decides nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import zip_longest

from django.db.models import Q

from annotation.campaigns.sampling import rank, shuffled
from annotation.models import Assignment, Campaign, Item, Label, Rater, UnitDraw
from annotation.prerequisites.base import (
    Follows,
    has_answered,
    judge_is_done,
    people_are_done,
    prerequisite_of,
)
from annotation.presentation import design, present
from annotation.protocols.base import name_units

Labels = Iterable[tuple[int, str, str]]
"""Rater, question and what was said of it, once for each text."""


def opinions(labels: Labels) -> dict[int, dict[str, str]]:
    """By rater, yes or no to each question; no opinion of those that are neither."""
    said: dict[int, dict[str, set[str]]] = {}
    for rater, question, value in labels:
        said.setdefault(rater, {}).setdefault(question, set()).add(value)
    return {
        rater: {question: found for question, values in own.items() if (found := _opinion(values))}
        for rater, own in said.items()
    }


def _opinion(values: Collection[str]) -> str:
    return next((code for code in ("yes", "no") if code in values), "")


def majority(labels: Labels) -> dict[str, str]:
    """Yes or no to each question, as more raters say; no entry where as many say the other."""
    votes: dict[str, int] = {}
    for own in opinions(labels).values():
        for question, code in own.items():
            votes[question] = votes.get(question, 0) + (1 if code == "yes" else -1)
    return {question: "yes" if sum > 0 else "no" for question, sum in votes.items() if sum}


def alternating(
    names: Sequence[str], strata: Mapping[str, str], count: int, seed: int, purpose: str
) -> list[str]:
    """`count` of the names, in their given order: from yes and from no by turns.

    Each stratum is in the seeded order of `assigning.shuffled`; the seed also says which comes
    first, by the parity of the first byte of the rank of nothing (even: yes). Where one is used up
    the other goes on, and then those that are in neither.
    """
    order = shuffled(names, seed, purpose)
    yes, no = ([n for n in order if strata.get(n) == code] for code in ("yes", "no"))
    pairs = zip_longest(no, yes) if rank(seed, purpose, "")[0] % 2 else zip_longest(yes, no)
    by_turns = [name for pair in pairs for name in pair if name is not None]
    rest = [name for name in order if strata.get(name) not in ("yes", "no")]
    drawn = set((by_turns + rest)[:count])
    return [name for name in names if name in drawn]


def chances(names: Sequence[str], strata: Mapping[str, str], count: int) -> dict[str, float]:
    """The chance with which `alternating` draws each of the names, over all seeds.

    Within a stratum all are alike; which one comes first is as likely one as the other.
    """
    sizes = Counter(strata.get(name, "") for name in names)
    sizes[""] = len(names) - sizes["yes"] - sizes["no"]
    yes_first, no_first = _taken(sizes["yes"], sizes["no"], count)
    drawn = {
        "yes": (yes_first + min(count, sizes["yes"] + sizes["no"]) - no_first) / 2,
        "no": (no_first + min(count, sizes["yes"] + sizes["no"]) - yes_first) / 2,
        "": max(0, min(count - sizes["yes"] - sizes["no"], sizes[""])),
    }
    of = {name: code if (code := strata.get(name)) in ("yes", "no") else "" for name in names}
    return {name: drawn[code] / sizes[code] for name, code in of.items()}


def _taken(yes: int, no: int, count: int) -> tuple[int, int]:
    """How many of a stratum are taken where it comes first: of yes, and of no."""
    return _of_first(yes, no, count), _of_first(no, yes, count)


def _of_first(first: int, second: int, count: int) -> int:
    """Every second place from the first on, and those that the other stratum cannot fill."""
    by_turns = min(first, (count + 1) // 2)
    return min(first, max(by_turns, count - second))


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
