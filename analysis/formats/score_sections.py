"""The report's blocks on one score: systems, rankings, estimates."""

from __future__ import annotations

from ..document import DASH, Block, Cell, Number, RaterName, Table
from ..report.verdict import reverse_difference
from ..types import JSON
from .people_sections import (
    components_tables,
    ranking_table,
)

MEAN = "mean"


def score_blocks(report: JSON, name: str) -> list[Block]:
    """Return the blocks on one score, the systems' means first."""
    block = report["scores"][name]
    kinds = {rater["name"]: rater["kind"] for rater in report["raters"]}
    order = _order(block)
    systems = {system: block["systems"][system] for system in order}
    found = [Block("Systems", (_systems(systems, block.get("majority", {}), kinds),))]
    ranked = []
    if "pairs_distribution" in block:
        ranked.append(ranking_table(block["pairs_distribution"]))
    if block.get("pairs") or block["correlation"]:
        ranked.append(_rankings(block))
    others = {
        "Pairs of systems": _comparisons(block.get("comparisons", []), order),
        "Rankings": ranked,
        "People and judges together": _estimates(block["estimate"]),
        "Sources of noise": components_tables(block),
    }
    return found + [Block(title, tuple(tables)) for title, tables in others.items() if tables]


def _order(block: JSON) -> list[str]:
    """Return the systems by people's mean, highest first, and those without a mean last."""

    def value(system: str) -> float | None:
        found = block["systems"][system].get(MEAN) or block.get("majority", {}).get(system)
        return found["value"] if found else None

    values = {system: value(system) for system in block["systems"]}
    return sorted(values, key=lambda each: (values[each] is None, -(values[each] or 0)))


def _rater_name(rater: str, kinds: dict[str, str]) -> RaterName:
    return RaterName("mean of people") if rater == MEAN else RaterName(rater, kinds.get(rater, ""))


def _systems(systems: JSON, people: JSON, kinds: dict[str, str]) -> Table:
    """Return means by system, people together and their mean first; snapshots may lack both."""
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
    return Table("Do raters rank the reports alike?", header, tuple(rows))


def _ranking(label: str | RaterName, of: JSON) -> tuple[Cell, ...]:
    return (label, Number.from_estimate(of["spearman"]), Number.from_estimate(of["kendall"]))


def _comparisons(pairs: list[JSON], order: list[str]) -> list[Table]:
    """Return the comparison of systems on the same queries; none with a single system."""
    rank = {system: n for n, system in enumerate(order)}
    last = len(order)
    seen = [
        _reversed_pair(each) if rank.get(each["a"], last) > rank.get(each["b"], last) else each
        for each in pairs
    ]
    seen.sort(key=lambda each: (rank.get(each["a"], last), rank.get(each["b"], last)))
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            f"{pair['a'] or DASH} – {pair['b'] or DASH}",
            Number.from_estimate(pair["difference"]),
            f"{pair['higher']} : {pair['lower']} of {pair['queries']}",
            *(_p_value(pair[test]) for test in ("paired_t", "wilcoxon")),
        )
        for pair in seen
    )
    header = ("Systems", "Difference", "Higher : lower", "p, t test", "p, Wilcoxon")
    caption = "Pairs of systems on the same queries, by the mean of people; p after Holm"
    return [Table(caption, header, rows)] if rows else []


def _reversed_pair(pair: JSON) -> JSON:
    return {
        **pair,
        "a": pair["b"],
        "b": pair["a"],
        "difference": reverse_difference(pair["difference"]),
        "higher": pair["lower"],
        "lower": pair["higher"],
    }


def _p_value(test: JSON) -> Number:
    return Number.p(test["adjusted_p_value"], test.get("reason", ""))


def _estimates(systems: JSON) -> list[Table]:
    """Return one table per judge, with its name in the caption even if there is only one."""
    by_judge: dict[str, list[tuple[Cell, ...]]] = {}
    for system, block in systems.items():
        for judge, of in block.get("judges", {block.get("judge_name", "judge"): block}).items():
            by_judge.setdefault(judge, []).append(_estimate(system or DASH, of))
    header = (
        "System", "People", "Judge, uncorrected", "Prediction-powered", "These queries alone",
        "Effective labels",
    )  # fmt: skip
    return [
        Table(f"People, and {judge} beside them", header, tuple(rows))
        for judge, rows in by_judge.items()
    ]


def _estimate(system: str, of: JSON) -> tuple[Cell, ...]:
    powered = of["prediction_powered"]
    worth = Number(of["effective_labels"], reason=powered.get("reason", ""), digits=0)
    return (
        system,
        Number.from_estimate(of["humans"]),
        Number.from_estimate(of["judge"]),
        _from_both(powered),
        # Reports frozen by earlier versions have no such estimate.
        _from_both(of["fixed_collection"]) if "fixed_collection" in of else DASH,
        worth,
    )


def _from_both(estimate: JSON) -> Number:
    """Return an estimate from people and judge, or its bounds until people have finished."""
    if estimate.get("bounds") is None:
        return Number.from_estimate(estimate)
    low, high = estimate["bounds"]
    reason = f"{estimate['reason']}; between {low:.3f} and {high:.3f}, whatever they will say"
    return Number.from_estimate({**estimate, "reason": reason})
