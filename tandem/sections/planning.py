"""Section: the number of queries or raters that would narrow the intervals of the headlines.

A unit's labels count as exchangeable. With fewer raters a unit keeps a random part of its labels,
and the widths found for each number of raters predict the effect of more raters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..document import DASH, UNIT, Block, Cell, Number, RaterName, Section, Table, count, rounded
from ..labels.reference import reference, reference_of
from ..labels.resampling import MEAN, Sample, Scores, mean_of, systems_of
from ..statistics import (
    ALPHA,
    KAPPA,
    MINIMUM_CLUSTERS,
    Bools,
    Bootstrap,
    Estimate,
    Floats,
    Ints,
    Plan,
    agreement_estimates,
    cohen_kappa,
    mean_by_cluster,
    more_queries,
    more_raters,
)
from ..statistics.cluster_means import informative_of_each
from ..statistics.coefficients import cells_of, pair_tally
from ..statistics.estimate import pack
from ..types import JSON
from .agreement import own_codes
from .base import SectionPart, slotted
from .crowd import is_crowd

#: The number of random parts of the labels, over which widths are averaged.
DRAWS = 4
#: With more raters per unit, this many represent the smaller numbers.
MOST_RATERS = 5
SAME = "its interval has no width: all resamples agree"

Widths = Mapping[int, float]
WidthOf = Callable[[Bools], Estimate]
"""Maps the labels to keep, (U, R), to the resulting estimate."""


def planning(sample: Sample, compared: JSON, target: float) -> JSON:
    """Plan for the alpha of people and each judge's kappa with them, as in the report."""
    codes = _packed_codes(sample)
    people = (codes >= 0).sum(axis=1)
    alpha = compared["agreement"][ALPHA.key]
    shared = people >= 2
    found = _plans(
        alpha,
        _queries(sample.clusters[shared]),
        target,
        _widths(codes, partial(_alpha, sample, codes), fewest=2),
    )
    judges = {
        sample.frame.raters[n].name: _judge(sample, n, compared["judges"], target)
        for n in sample.frame.columns("judge")
    }
    return {
        "width": target,
        "agreement": {"coefficient": ALPHA.key, **found},
        "judges": judges,
    }


def _packed_codes(sample: Sample) -> Ints:
    """Return people's codes (U, R), packed for a crowd, since raters are exchangeable."""
    codes = sample.frame.codes_of("human")
    if not is_crowd(sample.frame):
        return codes
    packed, _ = pack(np.where(codes >= 0, codes, np.nan))
    return np.where(np.isfinite(packed), packed, -1).astype(np.int64)


def _judge(sample: Sample, column: int, judges: JSON, target: float) -> JSON:
    """Plan for a judge, with odd numbers of raters if people's joint label is the majority.

    Even numbers can tie, and units with ties are left out.
    """
    frame, codes = sample.frame, _packed_codes(sample)
    judge = frame.codes[:, column]
    kappa = judges[frame.raters[column].name]["agreement"][KAPPA.key]
    people = reference(frame)
    both = (people.codes >= 0) & (judge >= 0)
    held = np.where(judge[:, None] >= 0, codes, -1)
    step = 2 if people.rule == "majority" else 1
    widths = _widths(held, partial(_kappa, sample, codes, judge), fewest=1, step=step)
    found = _plans(kappa, _queries(sample.clusters[both]), target, widths)
    return {"coefficient": KAPPA.key, **found}


def systems_planning(of: Scores, systems: JSON, target: float) -> JSON:
    """Plan how many queries each system's mean of people's labels needs.

    The target is a share of the scale, if its ends are known.
    """
    if np.isfinite(of.span):
        target *= of.span
    return {
        "width": target,
        "systems": {
            system: {MEAN: _system(of, items, systems[system][MEAN], target)}
            for system, items in systems_of(of.frame).items()
        },
    }


def _system(of: Scores, items: Ints, shown: JSON, target: float) -> JSON:
    values, queries = of.values[items][:, of.labels.columns("human")], of.queries[items]
    if is_crowd(of.labels):
        values, _ = pack(values)
    there = np.isfinite(values)

    def mean(kept: Bools) -> Estimate:
        kept_means = mean_of(np.where(kept, values, np.nan))
        return mean_by_cluster(kept_means, queries, "planned", of.bounds)

    widths = _widths(np.where(there, 0, -1), mean, fewest=1)
    return _plans(shown, _queries(queries[there.any(axis=1)]), target, widths)


def _plans(shown: JSON, queries: int, target: float, widths: Widths) -> JSON:
    """Return the width of an estimate, and plans for narrowing it or for having an interval."""
    width = None if shown["low"] is None else shown["high"] - shown["low"]
    if not width:
        reason = SAME if width == 0 else _no_width(shown, queries)
        plans = (Plan(None, None, reason),) * 2
    else:
        scale = width / widths[max(widths)] if widths and widths[max(widths)] else 1.0
        scaled = {raters: scale * each for raters, each in widths.items()}
        plans = more_queries(width, queries, target), more_raters(scaled, target)
    plan = {"interval_width": width, "queries": _as_json(plans[0]), "raters": _as_json(plans[1])}
    few = shown["value"] is not None and width is None and queries < MINIMUM_CLUSTERS
    first = {"needed": MINIMUM_CLUSTERS, "more": MINIMUM_CLUSTERS - queries} if few else None
    plan["for_an_interval"] = first
    return plan if width is not None else {**plan, "reason": plans[0].reason}


def _no_width(shown: JSON, queries: int) -> str:
    if shown["value"] is None:
        return f"undefined: {shown['reason']}"
    if queries < MINIMUM_CLUSTERS:
        return f"{queries} queries are too few to plan from, {MINIMUM_CLUSTERS} are needed"
    return "it has no interval to narrow"


def _as_json(plan: Plan) -> JSON:
    numbers: JSON = {"needed": plan.needed, "more": plan.more}
    return numbers if plan.reason is None else {**numbers, "reason": plan.reason}


def _widths(codes: Ints, estimate: WidthOf, fewest: int, step: int = 1) -> Widths:
    """Return the mean width by number of human labels per unit, up to the most frequent number.

    Units with fewer labels keep theirs. Numbers without an interval are left out.
    """
    labels = codes >= 0
    sizes = labels.sum(axis=1)
    usual = int(np.bincount(sizes[sizes >= fewest]).argmax()) if (sizes >= fewest).any() else 0
    numbers = list(range(fewest, usual + 1, step))
    generator = np.random.Generator(np.random.PCG64(0))
    found = {}
    for raters in numbers[:MOST_RATERS] + numbers[MOST_RATERS:][-1:]:
        # There is only one way to draw all labels of a unit.
        draws = 1 if raters == usual else DRAWS
        made = [estimate(_keep_random(labels, raters, generator)) for _ in range(draws)]
        ends = [e.high - e.low for e in made if e.low is not None and e.high is not None]
        if ends:
            found[raters] = float(np.mean(ends))
    return found


def _keep_random(labels: Bools, raters: int, generator: np.random.Generator) -> Bools:
    """Return which labels to keep: at most `raters` of each unit, chosen at random."""
    ranks = np.where(labels, generator.random(labels.shape), 2.0).argsort(axis=1).argsort(axis=1)
    kept: Bools = labels & (ranks < raters)
    return kept


def _alpha(sample: Sample, codes: Ints, kept: Bools) -> Estimate:
    own, k, level, values = own_codes(sample, np.where(kept, codes, -1))
    return agreement_estimates(
        own, sample.clusters, k, level, values, names=(ALPHA.key,), **sample.resampling_arguments
    )[ALPHA.key]


def _kappa(sample: Sample, codes: Ints, judge: Ints, kept: Bools) -> Estimate:
    k = sample.k
    if sample.is_continuous:
        return Estimate(None, None, None, 0, "", "too many values")
    people = reference_of(np.where(kept, codes, -1), sample.frame.scale).codes
    tally = pair_tally(people, judge, sample.clusters, k)

    def of(weights: Floats) -> Floats:
        return np.asarray(cohen_kappa(weights.reshape(*weights.shape[:-1], k, k)))

    informative = informative_of_each(tally, *cells_of(k))
    return Bootstrap(tally, **sample.resampling_arguments, informative=informative).estimate(
        of, 0, ""
    )


def _queries(clusters: Ints) -> int:
    return len(np.unique(clusters))


ABOUT_PLANNING = (
    f"For queries like these. Raters are the people who label each {UNIT}, and the effect of more "
    "of them is a rough guess."
)


PLANNING_HEADER = (
    "Of",
    "Width now",
    "Queries",
    "More queries",
    f"Raters per {UNIT}",
    "More raters",
)


def planning_blocks(variable: JSON) -> list[Block]:
    """Return the block on planning; none in snapshots of older reports."""
    plans = variable.get("planning")
    if not plans:
        return []
    rows = [_planning_row("Krippendorff's alpha of people", plans["agreement"])]
    rows += [
        _planning_row(RaterName(f"Cohen's kappa of {name}", "judge"), of)
        for name, of in plans["judges"].items()
    ]
    return [Block("Planning", (_planning_table(plans["width"], rows),), ABOUT_PLANNING)]


def planning_tables(score: JSON) -> list[Table]:
    """Return the planning table for each system's mean of people; none in older snapshots."""
    plans = score.get("planning")
    if not plans or not plans["systems"]:
        return []
    rows = [
        _planning_row(f"{system or DASH}, mean of people", of["mean"])
        for system, of in plans["systems"].items()
    ]
    return [_planning_table(plans["width"], rows)]


def _planning_table(width: float, rows: Iterable[tuple[Cell, ...]]) -> Table:
    return Table(f"What an interval of width {width:g} needs", PLANNING_HEADER, tuple(rows))


def _planning_row(name: Cell, plan: JSON) -> tuple[Cell, ...]:
    queries, raters = plan["queries"], plan["raters"]
    width = Number(plan["interval_width"], reason=str(queries.get("reason", "")))
    return (name, width, *_numbers(queries), *_numbers(raters))


def _numbers(plan: Mapping[str, Any]) -> tuple[Number, Number]:
    """Return the required number and how many more that is; the first has the reason."""
    needed = Number(plan["needed"], reason=plan.get("reason", ""), digits=0)
    return needed, Number(plan["more"], digits=0)


def planning_sentences(report: JSON) -> Iterator[str]:
    """Describe how many queries the main figures of each variable and each judge's test need."""
    several = len(report["variables"]) > 1
    if report.get("chosen_items") and any(
        of.get("planning") for of in report["variables"].values()
    ):
        yield "The plans are for items that are chosen in the same way, not for a random sample."
    for name, variable in report["variables"].items():
        before, the = (f"{name}: ", "the") if several else ("", "The")
        plans = variable.get("planning")
        if not plans:
            continue
        yield before + _planned(the, "people's alpha", plans["agreement"], plans["width"])
        for judge, of in plans["judges"].items():
            yield before + _planned(the, f"the kappa of {judge}", of, plans["width"])
        for judge, of in variable["judges"].items():
            test = of["alt_test"]
            if test.get("queries_needed") and test.get("verdict") == "undecided":
                needed = count(test["queries_needed"], "query", "queries")
                yield (
                    f"{before}{the} alternative annotator test of {judge} needs at least {needed}; "
                    f"there are {test['queries']}."
                )


def _planned(the: str, what: str, plan: JSON, width: float) -> str:
    queries, now = plan["queries"], plan["interval_width"]
    if now is None or queries["needed"] is None:
        why = queries.get("reason") or plan.get("reason")
        return f"{the} interval of {what} cannot be planned: {slotted(str(why))}."
    if not queries["more"]:
        return f"{the} interval of {what} is narrow enough: {rounded(now, 2)} wide."
    return (
        f"{the} interval of {what} is {rounded(now, 2)} wide. One {width:g} wide needs about "
        f"{count(queries['needed'], 'query', 'queries')} like these: {queries['more']} more."
    )


def planning_methods(report: JSON) -> list[str]:
    plans = [v["planning"] for v in report["variables"].values() if v.get("planning")]
    if not plans:
        return []
    return [
        f"For plans of intervals {plans[0]['width']:g} wide, the width was assumed proportional to "
        f"t/root(n) over n queries, and its square equal to a + b/r with r raters per {UNIT}."
    ]


PLANNING = "planning"


def planning_section(report: JSON) -> list[Section]:
    """Return the section on how many more queries or raters would narrow the intervals."""
    several = len(report["variables"]) + len(report["scores"]) > 1
    found: list[tuple[str, Block]] = [
        (name, block)
        for name, variable in report["variables"].items()
        for block in planning_blocks(variable)
    ]
    for name, score in report["scores"].items():
        if tables := planning_tables(score):
            found.append((name, Block(name, tuple(tables))))
    if not found:
        return []
    blocks = tuple(
        replace(block, title=name if several or n else "", about="")
        for n, (name, block) in enumerate(found)
    )
    return [
        Section(
            "Planning",
            blocks,
            found[0][1].about,
            points=tuple(planning_sentences(report)),
            name=PLANNING,
        )
    ]


PART = SectionPart(
    PLANNING,
    "planning",
    lambda of: {"planning": planning(of.sample, of.block, of.options.width)},
    of_score=lambda of, options, block: {
        "planning": systems_planning(of, block["systems"], options.width)
    },
    section=planning_section,
    methods=planning_methods,
)
