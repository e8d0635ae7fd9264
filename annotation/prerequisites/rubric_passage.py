"""Rating passages after report coverage: which sub-questions are asked about a passage.

With `shared`, questions are sampled once for all raters, as soon as all raters are done with the
query in the prerequisite: some from the questions that most people (or a judge) found answered, and
some from the others. The sample is stored with the item. With `own`, questions are sampled for each
rater from the rater's own answers, and the sample is stored with the assignment. With `all`, every
question is asked, once all raters are done. Judges are asked the stored sample under `shared`, the
questions asked of any person under `own`, and every question under `all`.

A question counts as `yes` for a rater who found an answer in some text, and as `no` for a rater who
found it in none. The majority of raters decides for all of them, and a tie decides nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import zip_longest

from django.db import transaction
from django.db.models import Q

from annotation.campaigns.sampling import rank, shuffled
from annotation.models import Assignment, Campaign, Item, Label, Rater, UnitSampling
from annotation.prerequisites.base import (
    PrerequisiteRule,
    has_answered,
    judge_is_done,
    people_are_done,
    prerequisite_of,
)
from annotation.presentation import design, present
from audit.recording import record
from tandem.messages import Message
from tandem.protocols.base import name_units

Labels = Iterable[tuple[int, str, str]]
"""Rater, question and label, once for each text."""


def votes_by_rater(labels: Labels) -> dict[int, dict[str, str]]:
    """Return yes or no for each rater and question. Questions with neither are left out."""
    values_of: dict[int, dict[str, set[str]]] = {}
    for rater, question, value in labels:
        values_of.setdefault(rater, {}).setdefault(question, set()).add(value)
    return {
        rater: {question: found for question, values in own.items() if (found := _vote(values))}
        for rater, own in values_of.items()
    }


def _vote(values: Collection[str]) -> str:
    return next((code for code in ("yes", "no") if code in values), "")


def majority(labels: Labels) -> dict[str, str]:
    """Return the majority's yes or no for each question. Ties are left out."""
    votes: dict[str, int] = {}
    for own in votes_by_rater(labels).values():
        for question, code in own.items():
            votes[question] = votes.get(question, 0) + (1 if code == "yes" else -1)
    return {question: "yes" if sum > 0 else "no" for question, sum in votes.items() if sum}


def alternating(
    names: Sequence[str], strata: Mapping[str, str], count: int, seed: int, purpose: str
) -> list[str]:
    """Sample `count` of the names, alternating between yes and no, and keep their order.

    Each stratum is in the seeded order of `sampling.shuffled`. The first byte of the rank of an
    empty key decides which stratum comes first (even: yes). When one stratum is used up, the other
    one continues, and the names in neither stratum come last.
    """
    order = shuffled(names, seed, purpose)
    yes, no = ([n for n in order if strata.get(n) == code] for code in ("yes", "no"))
    pairs = zip_longest(no, yes) if rank(seed, purpose, "")[0] % 2 else zip_longest(yes, no)
    by_turns = [name for pair in pairs for name in pair if name is not None]
    rest = [name for name in order if strata.get(name) not in ("yes", "no")]
    drawn = set((by_turns + rest)[:count])
    return [name for name in names if name in drawn]


def chances(names: Sequence[str], strata: Mapping[str, str], count: int) -> dict[str, float]:
    """Return the chance with which `alternating` samples each name, over all seeds.

    All names of a stratum have the same chance, and either stratum comes first with chance 1/2.
    """
    sizes = Counter(strata.get(name, "") for name in names)
    sizes[""] = len(names) - sizes["yes"] - sizes["no"]
    yes_first, no_first = _stratum_sizes(sizes["yes"], sizes["no"], count)
    drawn = {
        "yes": (yes_first + min(count, sizes["yes"] + sizes["no"]) - no_first) / 2,
        "no": (no_first + min(count, sizes["yes"] + sizes["no"]) - yes_first) / 2,
        "": max(0, min(count - sizes["yes"] - sizes["no"], sizes[""])),
    }
    of = {name: code if (code := strata.get(name)) in ("yes", "no") else "" for name in names}
    return {name: drawn[code] / sizes[code] for name, code in of.items()}


def _stratum_sizes(yes: int, no: int, count: int) -> tuple[int, int]:
    """Return how many names are sampled from yes and from no, if that stratum comes first."""
    return _size_if_first(yes, no, count), _size_if_first(no, yes, count)


def _size_if_first(first: int, second: int, count: int) -> int:
    """Return how many names come from the stratum that goes first: every second one, and those that
    the other stratum cannot fill."""
    by_turns = min(first, (count + 1) // 2)
    return min(first, max(by_turns, count - second))


def ready(campaign: Campaign, rater: Rater) -> Q:
    if design(campaign).sampling == "own":
        return has_answered(prerequisite_of(campaign), rater)
    return _sampled_or_done(campaign)


def ready_for_judges(campaign: Campaign) -> Q:
    return Q() if design(campaign).sampling in ("own", "all") else _sampled_or_done(campaign)


def _sampled_or_done(campaign: Campaign) -> Q:
    first, strata = prerequisite_of(campaign), design(campaign).strata
    done = people_are_done(first)
    if strata:
        done &= judge_is_done(first, strata)
    return Q(drawn__isnull=False) | done


def units_for(item: Item, rater: Rater, names: list[str]) -> list[str]:
    sampling = design(item.campaign).sampling
    if sampling == "all":
        return names
    if sampling == "own":
        return _sample(item, votes_by_rater(_labels(item, rater=rater)).get(rater.pk, {}), names)
    return _shared_sample(item, names)


def units_for_judges(item: Item, names: list[str]) -> list[str]:
    sampling = design(item.campaign).sampling
    if sampling == "all":
        return names
    if sampling != "own":
        return _shared_sample(item, names)
    people = Assignment.objects.filter(item=item, rater__kind="human")
    asked = {name for given in people.values_list("asked", flat=True) for name in given}
    return [name for name in names if name in asked]


def _shared_sample(item: Item, names: list[str]) -> list[str]:
    """Return the shared sample of an item. The first call creates it."""
    if item.drawn is None:
        strata = design(item.campaign).strata
        raters = {"rater__name": strata} if strata else {"rater__kind": Rater.Kind.HUMAN}
        in_order, answers = _unit_names(item), majority(_labels(item, **raters))
        sample = _sample(item, answers, in_order)
        # Another process may have sampled meanwhile, from labels revised since. The first sample
        # counts.
        with transaction.atomic():
            mine = Item.objects.filter(pk=item.pk, drawn__isnull=True).update(drawn=sample)
            if mine:
                item.drawn = sample
                _store_sample(item, answers, in_order, sample)
                record("item.sampled", item.campaign_id, item, units=len(sample))
        if not mine:
            item.refresh_from_db(fields=["drawn"])
    kept = set(item.drawn or ())
    return [name for name in names if name in kept]


def _store_sample(item: Item, answers: dict[str, str], names: list[str], sample: list[str]) -> None:
    """Write the sample to the units' own rows, with strata and probabilities."""
    keys = {name: unit.key for name, unit in name_units(present(item).units).items()}
    strata = {name: answers[keys[name]] for name in names if keys[name] in answers}
    chance = chances(names, strata, design(item.campaign).per_passage)
    by_key = {keys[name]: name for name in names}
    rows = list(UnitSampling.objects.filter(item=item))
    for row in rows:
        name = by_key[row.key]
        row.stratum, row.probability = strata.get(name, ""), chance[name]
        row.drawn = name in sample
    UnitSampling.objects.bulk_update(rows, ["stratum", "probability", "drawn"])


def _unit_names(item: Item) -> list[str]:
    return list(item.units.order_by("position").values_list("name", flat=True))


def _sample(item: Item, by_question: dict[str, str], names: list[str]) -> list[str]:
    """Sample units so that raters with the same answers are asked the same units."""
    chosen = design(item.campaign)
    keys = {name: unit.key for name, unit in name_units(present(item).units).items()}
    strata = {name: by_question[keys[name]] for name in names if keys[name] in by_question}
    return alternating(names, strata, chosen.per_passage, chosen.seed, f"units of {item.key}")


def _labels(item: Item, **raters: object) -> list[tuple[int, str, str]]:
    """Return the labels for the questions of an item's query in the prerequisite."""
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


def samples_units(campaign: Campaign) -> bool:
    return design(campaign).sampling != "all"


def describe_wait(campaign: Campaign) -> Message:
    first, chosen = prerequisite_of(campaign), design(campaign)
    if chosen.sampling == "own":
        return Message(
            "your own answers in “%(first)s”: submit all items of a request that you can get there",
            first=first,
        )
    if chosen.strata:
        return Message(
            "everyone to be done with the same request in “%(first)s”, and judge %(judge)s too",
            first=first,
            judge=chosen.strata,
        )
    return Message("everyone to be done with the same request in “%(first)s”", first=first)


RULES = PrerequisiteRule(
    after=("report-coverage",),
    ready=ready,
    asks=units_for,
    judges=ready_for_judges,
    asks_judges=units_for_judges,
    describe=describe_wait,
    samples=samples_units,
)
