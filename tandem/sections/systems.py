"""Section: scores of systems, compared in pairs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Set
from dataclasses import replace
from itertools import combinations

import numpy as np

from ..document import DASH, Cell, Number, RaterName, Table
from ..labels.frame import Frame, VariableFrame
from ..labels.people_sample import PeopleSample
from ..labels.reference import category_numbers, reference
from ..labels.resampling import MEAN, Scores, bounds_of, resampling_arguments, systems_of
from ..statistics import (
    PEOPLE_ALONE,
    SHARE,
    Floats,
    Ints,
    adjust_tests,
    compare_systems,
    correlation_estimates,
    pair_counts,
    spearman,
    wilcoxon_signed_rank,
)
from ..types import JSON
from .base import OF_SCORES, SYSTEMS, SectionPart, Shown, joined, order_of_systems
from .by_code import frame_of_code
from .citations import CITED, cited_statistics, methods_of
from .crowd import FEW_ITEMS, FEWEST, is_crowd, quantiles_of, ranking_table
from .estimates import estimates, mean_share
from .system_decisions import decisions
from .system_order import best_first as _best_first
from .system_order import order_methods, p_values, system_order
from .system_order import p_value_of as _p_value

Measure = Callable[[VariableFrame, int], Floats]
"""Maps the labels of a variable and the number of items to scores (I, R)."""
MOST_PAIRS = 1000
MOST_CODES = 12
"""The most codes of a variable of sets whose shares are scores of systems."""


def coverage(labels: VariableFrame, items: int) -> Floats:
    """Return Cov = yes / (yes + no) of each item by each rater, (I, R).

    The denominator is the questions that the rater labelled yes or no: null questions, escapes and
    missing judgements do not count. NaN if a rater labelled none.
    """
    # A file with only no has no code for yes.
    code = {category: n for n, category in enumerate(labels.scale.categories)}
    yes = code.get("yes", len(code))
    answered = np.zeros((items, labels.codes.shape[1]))
    covered = np.zeros_like(answered)
    np.add.at(answered, labels.units.item, labels.codes >= 0)
    np.add.at(covered, labels.units.item, labels.codes == yes)
    return np.divide(covered, answered, out=np.full_like(covered, np.nan), where=answered > 0)


def comparisons(table: Scores) -> list[JSON]:
    """Compare systems by paired t on queries and, on the same differences, Wilcoxon's signed ranks.

    Only queries with scores of both systems count. Holm's adjustment of each test covers all pairs
    of systems with a defined test.
    """
    names, scores = table.by_query(table.people)
    compared = compare_systems(scores, names)
    column = {name: scores[:, n] for n, name in enumerate(names)}
    differences = [column[each.a] - column[each.b] for each in compared]
    ranks = adjust_tests([wilcoxon_signed_rank(difference) for difference in differences])
    return [
        {
            "a": each.a,
            "b": each.b,
            "queries": int(np.isfinite(difference).sum()),
            "difference": each.test.difference.within(-table.span, table.span).as_json(),
            "higher": int((np.round(difference, 12) > 0).sum()),
            "lower": int((np.round(difference, 12) < 0).sum()),
            "paired_t": p_values(each.test, each.adjusted_p_value),
            "wilcoxon": p_values(*rank),
        }
        for each, difference, rank in zip(compared, differences, ranks, strict=True)
    ]


ANSWERS = {"yes", "no"}
MEASURES: Mapping[str, tuple[str, Measure]] = {"coverage": ("answerable", coverage)}
"""The scores that a report shows, each with its variable."""


def scores(
    frame: Frame,
    resamples: int | None,
    seed: int,
    sampled: PeopleSample | None,
    comparable: Collection[str] | None = None,
) -> JSON:
    """Return the scores that the frame's variables allow. `sampled`: see `estimates`.

    `comparable` are the items on which judges are compared with people; None for all.
    """
    return {
        name: _block(table, resamples, seed, sampled, comparable)
        for name, table in scores_of_items(frame).items()
    }


def scores_of_items(frame: Frame) -> dict[str, Scores]:
    """Return each score that the frame's variables allow, for every item by every rater."""
    found: dict[str, Scores] = {}
    for name, (variable, measure) in MEASURES.items():
        labels = frame.variables.get(variable)
        if labels is not None and is_of_answers(set(labels.scale.categories)):
            keys = {q: n for n, q in enumerate(sorted({i.query for i in frame.items}))}
            queries = np.array([keys[item.query] for item in frame.items], dtype=np.int64)
            values, agreed = (
                measure(table, len(frame.items)) for table in (labels, _agreed(labels))
            )
            found[name] = Scores(frame, labels, values, queries, agreed[:, 0])
    for name, labels in frame.variables.items():
        found |= _summaries(frame, name, labels)
    return found


def _summaries(frame: Frame, name: str, labels: VariableFrame) -> dict[str, Scores]:
    """Return the scores that summarise a variable without a measure of its own.

    They are the mean on an interval scale, and the share of each of the commonest codes of sets.
    """
    together, bounds = reference(labels), SHARE
    numbers: dict[tuple[str, ...], tuple[Floats, Floats]]
    if labels.scale.level == "interval":
        bounds = bounds_of(labels.scale)
        numbers = {(name,): (category_numbers(labels.scale, labels.codes), together.values)}
    elif labels.scale.level == "set":
        numbers = {(name, code): _has(labels, code) for code in _commonest(labels)}
    else:
        return {}
    queries = {query: n for n, query in enumerate(sorted({i.query for i in frame.items}))}
    of_items = np.array([queries[item.query] for item in frame.items], dtype=np.int64)
    items = labels.units.item, len(frame.items)
    return {
        f"mean {name}" if len(about) == 1 else ": ".join(about): Scores(
            frame,
            labels,
            means_of_items(values, *items),
            of_items,
            means_of_items(joint[:, None], *items)[:, 0],
            bounds,
            about,
        )
        for about, (values, joint) in numbers.items()
    }


def _commonest(labels: VariableFrame) -> list[str]:
    """Return the codes that are most frequent in people's sets, in the order of the scale."""
    members, codes = labels.scale.members(), labels.codes_of("human")
    often = members[codes[codes >= 0]].sum(axis=0)
    kept = sorted(np.argsort(-often, kind="stable")[:MOST_CODES].tolist())
    return [labels.scale.single[n] for n in kept]


def _has(labels: VariableFrame, code: str) -> tuple[Floats, Floats]:
    """Return whether each label has a code, (U, R), and whether most people's do, (U,)."""
    of_code = frame_of_code(labels, labels.scale.single.index(code))
    joint = reference(of_code).codes
    given, most = (np.where(each >= 0, each, np.nan) for each in (of_code.codes, joint))
    return given.astype(float), most.astype(float)


def means_of_items(values: Floats, item: Ints, items: int) -> Floats:
    """Return the mean of each item's units, (I, R), from the values of units (U, R)."""
    there = np.isfinite(values)
    sums, sizes = np.zeros((items, values.shape[1])), np.zeros((items, values.shape[1]))
    np.add.at(sums, item, np.where(there, values, 0.0))
    np.add.at(sizes, item, there)
    return np.divide(sums, sizes, out=np.full_like(sums, np.nan), where=sizes > 0)


def is_of_answers(categories: Set[str]) -> bool:
    """Whether a variable's categories are yes and no; one of them may be unused."""
    return categories >= ANSWERS or (bool(categories) and categories <= ANSWERS)


def _agreed(labels: VariableFrame) -> VariableFrame:
    """Return people's joint labels like those of one rater. Ties are missing."""
    return replace(labels, codes=reference(labels).codes[:, None])


def _block(
    table: Scores,
    resamples: int | None,
    seed: int,
    sampled: PeopleSample | None,
    comparable: Collection[str] | None,
) -> JSON:
    both = table if comparable is None else table.only(comparable)
    how = resampling_arguments(table.queries, resamples, seed)

    def compare(x: Floats, y: Floats) -> JSON:
        made = correlation_estimates(x, y, table.queries, detail=" over items", **how)
        return {name: estimate.as_json() for name, estimate in made.items()}

    made = {
        **(_about(table) if table.about else {}),
        "items": _items(table),
        "systems": _systems(table),
        "majority": _majority(table),
        "comparisons": comparisons(table),
        **_pairs(table, compare),
        "order": system_order(table, both, how, sampled),
        "correlation": _correlations(both, compare),
        "estimate": estimates(both, sampled),
    }
    return made | {"decisions": decisions(table, sampled, seed, order_of_systems(made))}


def _about(table: Scores) -> JSON:
    """Return what a score summarises, and the ends of its scale, null if they are unknown."""
    bounds = list(table.bounds) if np.isfinite(table.bounds).all() else None
    return {"about": list(table.about), "bounds": bounds}


def _items(table: Scores) -> list[JSON]:
    names = [rater.name for rater in table.labels.raters]
    return [
        {
            "item": item.key,
            "query": item.query,
            "system": item.system,
            "values": {
                name: float(value)
                for name, value in zip(names, table.values[n], strict=True)
                if np.isfinite(value)
            },
        }
        for n, item in enumerate(table.frame.items)
        if np.isfinite(table.values[n]).any()
    ]


def _systems(table: Scores) -> JSON:
    """Return means by system.

    A crowd appears only as its mean, since its people score few items.
    """
    columns = table.columns()
    if is_crowd(table.labels):
        people = {table.labels.raters[n].name for n in table.labels.columns("human")}
        columns = {name: values for name, values in columns.items() if name not in people}
    return {
        system: {
            name: _mean(table, values, items, "mean over items") for name, values in columns.items()
        }
        for system, items in systems_of(table.frame).items()
    }


def _majority(table: Scores) -> JSON:
    how = "mean over items of the score by people's majority"
    return {
        system: _mean(table, table.majority, items, how)
        for system, items in systems_of(table.frame).items()
    }


def _mean(table: Scores, values: Floats, items: Ints, method: str) -> JSON:
    return mean_share(table, values, items, method).as_json()


def _pairs(table: Scores, compare: Callable[[Floats, Floats], JSON]) -> JSON:
    raters = table.labels.raters
    if is_crowd(table.labels):
        return {"pairs_distribution": _distribution(table)}
    return {
        "pairs": [
            {
                "a": raters[a].name,
                "b": raters[b].name,
                **compare(table.values[:, a], table.values[:, b]),
            }
            for a, b in combinations(table.labels.columns("human"), 2)
        ]
    }


def _distribution(table: Scores) -> JSON:
    """Return the correlations of pairs of people with enough common items, or a sample of pairs."""
    values = table.values[:, table.labels.columns("human")]
    found = pair_counts(np.where(np.isfinite(values), 0, -1), 1).least(FEWEST)
    chosen = np.arange(len(found.units))
    if len(chosen) > MOST_PAIRS:
        generator = np.random.Generator(np.random.PCG64(0))
        chosen = np.sort(generator.choice(len(chosen), MOST_PAIRS, replace=False))
    made = [_spearman(values[:, found.one[n]], values[:, found.other[n]]) for n in chosen]
    return {
        "pairs": len(found.units),
        "fewest_items": FEWEST,
        "spearman": quantiles_of(np.array(made, dtype=float), FEW_ITEMS),
    }


def _spearman(x: Floats, y: Floats) -> float:
    both = np.isfinite(x) & np.isfinite(y)
    return float(spearman(x[both], y[both]))


def _correlations(table: Scores, compare: Callable[[Floats, Floats], JSON]) -> JSON:
    """Return each judge's correlation with each person, people's mean, and later judges."""
    raters, people = table.labels.raters, table.people
    judges = table.labels.columns("judge")
    alone = [] if is_crowd(table.labels) else table.labels.columns("human")
    return {
        raters[judge].name: {
            **{raters[p].name: compare(table.values[:, judge], table.values[:, p]) for p in alone},
            MEAN: compare(table.values[:, judge], people),
            **{
                raters[other].name: compare(table.values[:, judge], table.values[:, other])
                for other in judges[n + 1 :]
            },
        }
        for n, judge in enumerate(judges)
    }


POOLED = "Raters in pairs: scores over all answers, query difficulty included"


def _rater_name(rater: str, kinds: dict[str, str]) -> RaterName:
    return RaterName("mean of people") if rater == MEAN else RaterName(rater, kinds.get(rater, ""))


def _systems_table(shown: Shown) -> Table:
    """Return means by system, people together and their mean first; snapshots may lack both."""
    # The mean of people's joint labels, which are means themselves, is that of people.
    is_mean = len(shown.score.get("about", ())) == 1
    people = {} if is_mean else shown.score.get("majority", {})
    kinds = {rater["name"]: rater["kind"] for rater in shown.report["raters"]}
    systems = {system: shown.score["systems"][system] for system in shown.systems}
    named = dict.fromkeys(rater for values in systems.values() for rater in values)
    raters = [*(each for each in (MEAN,) if each in named), *(r for r in named if r != MEAN)]
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            system or DASH,
            *((Number.from_estimate(people[system]),) if people else ()),
            *(_cell(values, rater) for rater in raters),
        )
        for system, values in systems.items()
    )
    together = (RaterName("majority of people"),) if people else ()
    header = ("System", *together, *(_rater_name(rater, kinds) for rater in raters))
    return Table("Mean by system, the highest mean of people first", header, rows)


def _cell(values: JSON, rater: str) -> Number:
    return (
        Number.from_estimate(values[rater])
        if rater in values
        else Number(None, reason="no labels here")
    )


def _ranked(shown: Shown) -> Iterator[Table]:
    if "pairs_distribution" in shown.score:
        yield ranking_table(shown.score["pairs_distribution"])
    if shown.score.get("pairs") or shown.score["correlation"]:
        yield _rankings(shown.score)


def _rankings(block: JSON) -> Table:
    rows = [_ranking(f"{p['a']} – {p['b']}", p) for p in block.get("pairs", [])]
    rows += [
        _ranking(
            RaterName(f"{judge} – {'mean of people' if rater == MEAN else rater}", "judge"), of
        )
        for judge, others in block["correlation"].items()
        for rater, of in others.items()
    ]
    header = ("Raters", "Spearman", "Kendall")
    return Table(POOLED, header, tuple(rows))


def _ranking(label: str | RaterName, of: JSON) -> tuple[Cell, ...]:
    return (label, Number.from_estimate(of["spearman"]), Number.from_estimate(of["kendall"]))


def _comparison_tables(shown: Shown) -> list[Table]:
    """Return the comparison of systems on the same queries; none with a single system."""
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            f"{pair['a'] or DASH} – {pair['b'] or DASH}",
            Number.from_estimate(pair["difference"]),
            f"{pair['higher']} : {pair['lower']} of {pair['queries']}",
            *(_p_value(pair[test]) for test in ("paired_t", "wilcoxon")),
        )
        for pair in _best_first(shown.score.get("comparisons", []), shown.systems)
    )
    header = ("Systems", "Difference", "Higher : lower", "p, t test", "p, Wilcoxon")
    caption = "Pairs of systems on the same queries, by the mean of people; p after Holm"
    return [Table(caption, header, rows)] if rows else []


def score_methods(report: JSON) -> list[str]:
    parts: list[str] = []
    for named, block in report["scores"].items():
        statistics = cited_statistics([block.get("pairs", []), block["correlation"]])
        parts.append(
            f"{_named(named, block)} was averaged by system; scores over all answers, "
            f"query difficulty included, were compared by {joined(statistics) or 'nothing'}."
        )
        parts += order_methods(block.get("order", {}))
        if block.get("comparisons"):
            parts.append(
                "Systems were compared in pairs on the queries that both answered, by the mean of "
                "people's scores: t test of the differences of query means and Wilcoxon's "
                f"signed-rank test {CITED['wilcoxon1945']}, two-sided, each adjusted over all "
                f"pairs {CITED['holm1979']}. The interval of a difference has the level of the "
                "adjusted t test."
            )
        if any(each.get("low") is not None for each in _sources_of_noise(block)):
            parts.append(
                "The components of the variance of a score have intervals by the jackknife of "
                f"their logarithms over queries {CITED['arvesen1970']}, which hold for these "
                "systems and raters."
            )
        if any("PPI++" in each for each in methods_of(block["estimate"], defined=True)):
            parts.append(
                "People and judge together give the prediction-powered mean (PPI++) "
                f"{CITED['angelopoulos2023']}, with the query as the unit, about all queries of "
                "this kind, and the mean over exactly these queries by the difference estimator "
                f"{CITED['cochran1977']}."
            )
        powered = [of["prediction_powered"] for of in block["estimate"].values()]
        if any(each.get("reason") == PEOPLE_ALONE for each in powered):
            parts.append(
                f"There is no prediction-powered mean (PPI++) {CITED['angelopoulos2023']} if no "
                "query is judged without people's labels: it would equal people's own mean."
            )
    # The codes of sets have much in common.
    return list(dict.fromkeys(parts))


def _named(score: str, block: JSON) -> str:
    """Name a score at the beginning of a sentence."""
    match block.get("about", []):
        case [variable]:
            return f"The mean of {variable}"
        case [variable, _]:
            return f"The share of each code of {variable}, of at most {MOST_CODES}, the commonest,"
    cited = f" {CITED['ju2025']}" if score == "coverage" else ""
    return f"{score.capitalize()}{cited}"


def _sources_of_noise(score: JSON) -> list[JSON]:
    found = score.get("components")
    blocks = [found["humans"], *found["judges"].values()] if found else []
    return [source for block in blocks for source in block["sources"]]


PART = SectionPart(
    SYSTEMS,
    title="Systems",
    tables=lambda shown: [_systems_table(shown)],
    head=OF_SCORES,
    methods=score_methods,
)
PAIRS = SectionPart(SYSTEMS, title="Pairs of systems", tables=_comparison_tables)
CORRELATIONS = SectionPart(SYSTEMS, title="Correlation over all answers", tables=_ranked)
