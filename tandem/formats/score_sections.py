"""The report's blocks on one score: systems, their order by judges and people, estimates."""

from __future__ import annotations

from collections.abc import Sequence

from ..document import DASH, Block, Cell, Number, RaterName, Table
from ..sections.score_sentences import reverse_difference
from ..types import JSON
from .citations import CITED
from .missing_tables import missing_scores_blocks
from .people_sections import components_tables, first_rows, ranking_table

MEAN = "mean"
POOLED = "Raters in pairs: scores over all answers, query difficulty included"
WITHIN = "Of the pairs of systems ordered within a query, the share ordered alike, ties one half"
FINDINGS = {
    "both_alike": "Both, the same way",
    "both_opposite": "Both, opposite ways",
    "people_only": "People only",
    "judge_only": "Judge only",
    "neither": "Neither",
    "untested": "Not tested",
}
OMITTED_FIRST = ("neither", "untested", "both_alike", "people_only", "judge_only", "both_opposite")
"""Findings on pairs of systems, in the order in which a table with too many pairs omits them."""


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
        "Order of systems": _order_tables(block.get("order", {}), order),
        "Correlation over all answers": ranked,
        "People and judges together": _estimates(block["estimate"]),
        "Sources of noise": components_tables(block),
    }
    found += missing_scores_blocks(block)
    return found + [Block(title, tuple(tables)) for title, tables in others.items() if tables]


def _order_tables(found: JSON, order: list[str]) -> list[Table]:
    """Return whether judges order systems as people do; none in snapshots of older reports."""
    if not found:
        return []
    judges, people = found["judges"], found["humans"]
    tables = []
    if judges:
        tables = [_with_people(judges), _of_means(judges), _findings(judges)]
    tables += [_people(people)] if people["within_queries"]["value"] is not None else []
    return tables + [_pairs(name, of["pairs"], order) for name, of in judges.items() if of["pairs"]]


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
    return Table(POOLED, header, tuple(rows))


def _ranking(label: str | RaterName, of: JSON) -> tuple[Cell, ...]:
    return (label, Number.from_estimate(of["spearman"]), Number.from_estimate(of["kendall"]))


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


def _of_means(judges: JSON) -> Table:
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
        (RaterName(name, "judge"), *(of["findings"][each] for each in FINDINGS))
        for name, of in judges.items()
    )
    header = ("Judge", *FINDINGS.values())
    return Table("Pairs of systems that differ significantly, p after Holm", header, rows)


def _pairs(judge: str, pairs: list[JSON], order: list[str]) -> Table:
    """Return pairs of systems under people, a judge and both; of many, those with a difference."""
    turned = _best_first(pairs, order, ("humans", "judge", "prediction_powered"))
    rows: list[tuple[Cell, ...]] = [
        (
            f"{pair['a'] or DASH} – {pair['b'] or DASH}",
            FINDINGS[pair["finding"]],
            *(
                cell
                for who in ("humans", "judge", "prediction_powered")
                for cell in (Number.from_estimate(pair[who]["difference"]), _p_value(pair[who]))
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


def _comparisons(pairs: list[JSON], order: list[str]) -> list[Table]:
    """Return the comparison of systems on the same queries; none with a single system."""
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            f"{pair['a'] or DASH} – {pair['b'] or DASH}",
            Number.from_estimate(pair["difference"]),
            f"{pair['higher']} : {pair['lower']} of {pair['queries']}",
            *(_p_value(pair[test]) for test in ("paired_t", "wilcoxon")),
        )
        for pair in _best_first(pairs, order)
    )
    header = ("Systems", "Difference", "Higher : lower", "p, t test", "p, Wilcoxon")
    caption = "Pairs of systems on the same queries, by the mean of people; p after Holm"
    return [Table(caption, header, rows)] if rows else []


def _best_first(pairs: list[JSON], order: list[str], within: Sequence[str] = ()) -> list[JSON]:
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
        Number.from_estimate(powered),
        # Reports frozen by earlier versions have no such estimate.
        Number.from_estimate(of["fixed_collection"]) if "fixed_collection" in of else DASH,
        worth,
    )


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
