"""Section: whether people and judges order systems alike, within queries and overall."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from operator import add
from typing import Literal, get_args

import numpy as np

from ..document import DASH, Cell, Number, RaterName, Table
from ..labels.people_sample import PeopleSample, describe_unfinished
from ..labels.resampling import ResamplingArguments, Scores
from ..scores.agreement import FEWEST_OF_EVALUATORS, Labelled, powered_pairs
from ..statistics import (
    SHARE_DIFFERENCE,
    Bools,
    Estimate,
    Floats,
    OrderedPairs,
    PairedTest,
    adjust_tests,
    order_agreement,
    order_chance,
    order_gap,
    ordered_pairs,
    paired_t,
    sign_flip,
    system_rank_correlation,
    undefined,
)
from ..statistics.paired import DECIMALS, OF_ROWS, RankCorrelation
from ..statistics.system_order import GAP_METHOD, METHOD
from ..types import JSON
from .base import SYSTEMS, SectionPart, first_rows
from .citations import CITED
from .crowd import is_crowd
from .estimates import NOT_SAMPLED

LEVEL = 0.05
ONE_PERSON = "no query has two systems that two people scored"
FEW_SYSTEMS = "fewer than six systems; the pairs of systems say more"
LEFT_OUT = f"{METHOD}, each person left out of the reference in turn"
Finding = Literal["both_alike", "both_opposite", "people_only", "judge_only", "neither", "untested"]
FINDINGS: tuple[Finding, ...] = get_args(Finding)
"""Whether people and judge each find a pair's difference significant after Holm, and its sign."""


def p_values(test: PairedTest, adjusted: float | None) -> JSON:
    """Return the p-value of a test, before and after Holm, or the reason for its absence."""
    found: JSON = {"p_value": test.p_value, "adjusted_p_value": adjusted}
    return {**found, "reason": test.reason} if test.p_value is None else found


def system_order(
    table: Scores, both: Scores, how: ResamplingArguments, sample: PeopleSample | None
) -> JSON:
    """Return whether people order systems alike, and whether each judge orders them as people do.

    People's scores in `table` are compared with each other. Judges are compared with people in
    `both`, which has only the items on which they may be compared. `sample`: see `estimates`.
    """
    systems, people = both.by_query(both.people)
    scores = {
        both.labels.raters[n].name: both.by_query(both.values[:, n])[1]
        for n in both.labels.columns("judge")
    }
    within = {name: ordered_pairs(people, judge)[0] for name, judge in scores.items()}
    others = _with_others(both, scores)
    chances = adjust_tests([order_chance(pairs) for pairs in within.values()])
    gaps = adjust_tests([_gap(others.get(name)) for name in scores])
    return {
        "humans": _humans(table),
        "judges": {
            name: {
                "within_queries": order_agreement(within[name]).as_json(),
                "counts": _counts(within[name]),
                "with_others": _left_out(others.get(name, ())[:1]).as_json(),
                "people_with_others": _left_out(others.get(name, ())[1:]).as_json(),
                "gap": gap.difference.within(*SHARE_DIFFERENCE).as_json(),
                "chance_test": p_values(*chance),
                "gap_test": p_values(gap, adjusted),
                **_of_means(people, scores[name], how),
                **_of_pairs(systems, people, scores[name], both, sample),
            }
            for name, chance, (gap, adjusted) in zip(scores, chances, gaps, strict=True)
        },
    }


def _humans(table: Scores) -> JSON:
    """Return how alike people order systems within queries, each held against the others' mean."""
    alone: dict[str, JSON] = {}
    together: tuple[OrderedPairs, ...] = ()
    for name, own, others in _each_left_out(table):
        pairs = ordered_pairs(others, own)
        together = tuple(map(add, together, pairs)) if together else pairs
        if not is_crowd(table.labels):
            alone[name] = order_agreement(*pairs).as_json()
    return {"within_queries": _left_out(together).as_json(), "raters": alone}


def _with_others(
    table: Scores, judges: Mapping[str, Floats]
) -> dict[str, tuple[OrderedPairs, ...]]:
    """Return each judge's pairs and people's own, where each person in turn is held against others.

    The reference is the mean of all people but the one, for the judge as for that person.
    """
    found: dict[str, tuple[OrderedPairs, ...]] = {}
    for _, own, others in _each_left_out(table):
        for name, judge in judges.items():
            pairs = ordered_pairs(others, judge, own)
            found[name] = tuple(map(add, found[name], pairs)) if name in found else pairs
    return found


def _each_left_out(table: Scores) -> Iterator[tuple[str, Floats, Floats]]:
    """Yield each person's scores by query and system, (Q, S), and the mean of all others'."""
    columns = table.labels.columns("human")
    values = table.values[:, columns]
    known = np.isfinite(values)
    sums, sizes = np.where(known, values, 0.0).sum(axis=1), known.sum(axis=1)
    for column, own, there in zip(columns, values.T, known.T, strict=True):
        rest = sums - np.where(there, own, 0.0)
        fewer = sizes - there
        others = np.divide(rest, fewer, out=np.full(len(rest), np.nan), where=fewer > 0)
        yield table.labels.raters[column].name, table.by_query(own)[1], table.by_query(others)[1]


def _left_out(pairs: Sequence[OrderedPairs]) -> Estimate:
    """Return the share ordered alike, with each person left out of the reference in turn."""
    if not pairs or not pairs[0].scored.any():
        return undefined(ONE_PERSON, 0, LEFT_OUT)
    made = order_agreement(pairs[0])
    return replace(made, method=made.method.replace(METHOD, LEFT_OUT))


def _gap(pairs: tuple[OrderedPairs, ...] | None) -> PairedTest:
    if pairs is None or not pairs[0].scored.any():
        return PairedTest(undefined(ONE_PERSON, 0, GAP_METHOD), None, GAP_METHOD, ONE_PERSON)
    return order_gap(*pairs)


def _counts(of: OrderedPairs) -> JSON:
    counts = {
        "ordered": of.ordered,
        "scored": of.scored,
        "alike": of.alike,
        "opposite": of.opposite,
        "tied": of.tied,
        "queries": of.scored > 0,
    }
    return {name: int(number.sum()) for name, number in counts.items()}


def _of_means(people: Floats, judge: Floats, how: ResamplingArguments) -> JSON:
    """Return the correlations of the systems' means, on the cells with both scores."""
    common = _common(people, judge)
    made: JSON = {}
    names: tuple[RankCorrelation, ...] = ("kendall", "tau_ap")
    for name in names:
        if people.shape[1] < FEWEST_OF_EVALUATORS:
            method = f"{OF_ROWS[name][1]} of the means of {people.shape[1]} systems"
            made[name] = undefined(FEW_SYSTEMS, people.shape[1], method).as_json()
        else:
            made[name] = system_rank_correlation(*common, name, **how).as_json()
    return made


def _common(people: Floats, judge: Floats) -> tuple[Floats, Floats]:
    """Return two tables (Q, S) with only the scores where both have one."""
    both = np.isfinite(people) & np.isfinite(judge)
    return np.where(both, people, np.nan), np.where(both, judge, np.nan)


def _of_pairs(
    systems: Sequence[str],
    people: Floats,
    judge: Floats,
    table: Scores,
    sample: PeopleSample | None,
) -> JSON:
    """Test every pair of systems under people, the judge, and both, and compare the findings.

    People and judge are tested on the same queries. Each adjusts its tests over all pairs (Holm).
    """
    own, other = (_tested_pairs(scores, table.span) for scores in _common(people, judge))
    powered = powered_pairs(_labelled(people, judge, table, sample), systems)
    corrected = [_as_json(each.test, each.adjusted_p_value, table.span) for each in powered]
    tested = zip(own, other, corrected, strict=True)
    pairs = [
        {
            "a": a,
            "b": b,
            "queries": by_people["difference"]["n"],
            "finding": _finding(by_people, by_judge),
            "humans": by_people,
            "judge": by_judge,
            "prediction_powered": both,
        }
        for (a, b), (by_people, by_judge, both) in zip(
            combinations(systems, 2), tested, strict=True
        )
    ]
    found = Counter(pair["finding"] for pair in pairs)
    return {"findings": {name: found[name] for name in FINDINGS}, "pairs": pairs}


def _tested_pairs(scores: Floats, span: float) -> list[JSON]:
    """Test every pair of systems by paired t, and by signs where all queries differ alike."""
    queries = np.arange(len(scores))
    pairs = combinations(scores.T, 2)
    tests = adjust_tests([_by_signs(paired_t(a, b, queries), a - b) for a, b in pairs])
    return [_as_json(*each, span) for each in tests]


def _by_signs(test: PairedTest, differences: Floats) -> PairedTest:
    """Replace a t test that is undefined since all differences are equal, unless they are 0."""
    kept = np.round(differences[np.isfinite(differences)], DECIMALS)
    if len(kept) < 2 or np.ptp(kept) > 0 or not kept[0]:
        return test
    return replace(sign_flip(kept), difference=test.difference)


def _as_json(test: PairedTest, adjusted: float | None, span: float) -> JSON:
    """Return the JSON of a test of a difference, which is at most `span` either way."""
    difference = test.difference.within(-span, span)
    return {"difference": difference.as_json(), **p_values(test, adjusted)}


def _labelled(
    people: Floats, judge: Floats, table: Scores, sample: PeopleSample | None
) -> Labelled:
    """Return the scores (Q, S) with the queries sampled for people; see `estimates`."""
    asked: Bools = np.asarray(np.isfinite(people).any(axis=1))
    reason: str | None = NOT_SAMPLED
    if sample is not None:
        items = zip(table.queries.tolist(), table.frame.items, strict=True)
        names = {query: item.query for query, item in items}
        drawn = [query for query, name in names.items() if name in sample.drawn]
        unfinished = [query for query in drawn if names[query] in sample.unfinished]
        asked = np.isin(np.arange(len(people)), drawn)
        reason = describe_unfinished(unfinished, drawn) if unfinished else None
    alone = not (np.isfinite(judge).any(axis=1) & ~asked).any()
    return Labelled(people, judge, asked, np.ones(len(people)), None if alone else reason)


def _finding(people: JSON, judge: JSON) -> Finding:
    own, other = _sign(people), _sign(judge)
    if own is None or other is None:
        return "untested"
    if own and other:
        return "both_alike" if own == other else "both_opposite"
    return "people_only" if own else "judge_only" if other else "neither"


def _sign(of: JSON) -> int | None:
    """Return the sign of a significant difference, 0 for another, None without a test."""
    p, difference = of["adjusted_p_value"], of["difference"]["value"]
    if p is None or difference is None:
        # Without any difference there is no p-value either, and nothing to find.
        return 0 if difference is not None and round(difference, DECIMALS) == 0 else None
    return int(np.sign(difference)) if p < LEVEL else 0


def reverse_difference(difference: JSON) -> JSON:
    """Return a difference with the sign reversed."""
    value, low, high = (difference[name] for name in ("value", "low", "high"))
    ends = {"low": None, "high": None} if low is None else {"low": -high, "high": -low}
    return {**difference, "value": None if value is None else -value, **ends}


WITHIN = "Of the pairs of systems ordered within a query, the share ordered alike, ties one half"


FINDING_WORDS = {
    "both_alike": "Both, the same way",
    "both_opposite": "Both, opposite ways",
    "people_only": "People only",
    "judge_only": "Judge only",
    "neither": "Neither",
    "untested": "Not tested",
}


OMITTED_FIRST = ("neither", "untested", "both_alike", "people_only", "judge_only", "both_opposite")
"""Findings on pairs of systems, in the order in which a table with too many pairs omits them."""


def order_tables(found: JSON, order: list[str]) -> list[Table]:
    """Return whether judges order systems as people do; none in snapshots of older reports."""
    if not found:
        return []
    judges, people = found["judges"], found["humans"]
    tables = []
    if judges:
        tables = [_with_people(judges), _means_table(judges), _findings(judges)]
    tables += [_people(people)] if people["within_queries"]["value"] is not None else []
    return tables + [
        _pairs_table(name, of["pairs"], order) for name, of in judges.items() if of["pairs"]
    ]


def _with_people(judges: JSON) -> Table:
    """Return each judge's share of pairs ordered as people do, and its gap to people's own."""
    header = (
        "Judge", "With the mean of people", "Pairs", "Opposite", "Tied",
        "With all people but one", "The person left out", "Gap",
    )  # fmt: skip
    rows = tuple(
        (
            RaterName(name, "judge"),
            Number.from_estimate(of["within_queries"]),
            *(of["counts"][number] for number in ("scored", "opposite", "tied")),
            *(
                Number.from_estimate(of[key])
                for key in ("with_others", "people_with_others", "gap")
            ),
        )
        for name, of in judges.items()
    )
    return Table(WITHIN, header, rows)


def _people(found: JSON) -> Table:
    """Return the share of pairs that people order alike, each with the mean of the others."""
    rows: list[tuple[Cell, ...]] = [
        (RaterName(name, "human"), Number.from_estimate(of), of["n"])
        for name, of in found["raters"].items()
    ]
    whole = found["within_queries"]
    rows.append(("each person in turn", Number.from_estimate(whole), whole["n"]))
    header = ("Person", "With the mean of the others", "Pairs")
    return Table("Do people order systems alike within queries?", header, tuple(rows), apart=1)


def _means_table(judges: JSON) -> Table:
    """Return how alike people and each judge order the systems' means."""
    rows = tuple(
        (
            RaterName(name, "judge"),
            of["kendall"]["n"],
            *(Number.from_estimate(of[key]) for key in ("kendall", "tau_ap")),
        )
        for name, of in judges.items()
    )
    header = ("Judge", "Systems", "Kendall's tau-b", "tau_AP, people's order as the reference")
    return Table("Order of the systems' means by people and by the judge", header, rows)


def _findings(judges: JSON) -> Table:
    """Return on how many pairs of systems people and each judge find a difference."""
    rows = tuple(
        (RaterName(name, "judge"), *(of["findings"][each] for each in FINDING_WORDS))
        for name, of in judges.items()
    )
    header = ("Judge", *FINDING_WORDS.values())
    return Table("Pairs of systems that differ significantly, p after Holm", header, rows)


def _pairs_table(judge: str, pairs: list[JSON], order: list[str]) -> Table:
    """Return pairs of systems under people, a judge and both; of many, those with a difference."""
    turned = best_first(pairs, order, ("humans", "judge", "prediction_powered"))
    rows: list[tuple[Cell, ...]] = [
        (
            f"{pair['a'] or DASH} – {pair['b'] or DASH}",
            FINDING_WORDS[pair["finding"]],
            *(
                cell
                for who in ("humans", "judge", "prediction_powered")
                for cell in (Number.from_estimate(pair[who]["difference"]), p_value_of(pair[who]))
            ),
        )
        for pair in turned
    ]
    ranks = [float(OMITTED_FIRST.index(pair["finding"])) for pair in turned]
    caption = f"Pairs of systems under people, {judge} and both; p after Holm"
    caption, shown = first_rows(caption, rows, ranks, "on which people and judge differ most")
    header = (
        "Systems", "Difference found by", "People", "p", "Judge", "p", "Prediction-powered", "p",
    )  # fmt: skip
    return Table(caption, header, shown)


def best_first(pairs: list[JSON], order: list[str], within: Sequence[str] = ()) -> list[JSON]:
    """Return pairs with their better system as `a`, in the order of the systems.

    `within` are the keys of the objects that have a pair's differences.
    """
    rank = {system: n for n, system in enumerate(order)}
    last = len(order)
    seen = [
        _reversed_pair(each, within)
        if rank.get(each["a"], last) > rank.get(each["b"], last)
        else each
        for each in pairs
    ]
    seen.sort(key=lambda each: (rank.get(each["a"], last), rank.get(each["b"], last)))
    return seen


def _reversed_pair(pair: JSON, within: Sequence[str]) -> JSON:
    turned: JSON = {**pair, "a": pair["b"], "b": pair["a"]}
    for name in within:
        turned[name] = {**pair[name], "difference": reverse_difference(pair[name]["difference"])}
    if not within:
        turned |= {"higher": pair["lower"], "lower": pair["higher"]}
        turned["difference"] = reverse_difference(pair["difference"])
    return turned


def p_value_of(test: JSON) -> Number:
    return Number.p(test["adjusted_p_value"], test.get("reason", ""))


def order_methods(order: JSON) -> list[str]:
    """Describe how judges' orders of systems were compared with people's, for the methods text."""
    judges = order.get("judges", {}).values()
    if all(of["within_queries"]["value"] is None for of in judges):
        return []
    parts = [
        "Judges' orders of systems were compared with people's within queries, where difficulty "
        "cancels: of the pairs of systems that the mean of people's scores orders in a query, the "
        "share that the judge orders alike, its ties counted as one half, averaged over queries. "
        "Where several people scored a pair, each was left out of the reference in turn, and the "
        "judge and that person were compared with the others."
    ]
    if len(judges) > 1:
        tested = "Tests of the shares against one half and of the gaps to people were adjusted"
        parts.append(f"{tested} over the judges {CITED['holm1979']}.")
    if any(of["pairs"] for of in judges):
        parts.append(
            "Pairs of systems were tested on the queries that people and judge both scored, by t "
            "on the differences of queries, adjusted over all pairs for people and for the judge "
            f"{CITED['holm1979']}."
        )
    if any(of["kendall"]["value"] is not None for of in judges):
        parts.append(
            "The order of the systems' means was compared by Kendall's tau-b "
            f"{CITED['kendall1945']} and by tau_AP {CITED['yilmaz2008']} with people's order as "
            "the reference; for systems that a judge ties it is the mean over their orders "
            f"{CITED['urbano2017']}, and pairs that people tie do not count."
        )
    return parts


PART = SectionPart(
    SYSTEMS,
    title="Order of systems",
    tables=lambda shown: order_tables(shown.score.get("order", {}), shown.systems),
)
