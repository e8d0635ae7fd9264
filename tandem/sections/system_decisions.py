"""Section: between neighbours in the order of systems, what people's labels decide.

Labels of a report have no committed draw, so what it computes is exploratory: nothing of it is
called decided. What a committed plan showed at its last look takes the place of this.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import exp, inf

import numpy as np

from ..document import DASH, Cell, Number, Table, count, rounded
from ..labels.people_sample import PeopleSample
from ..labels.resampling import Scores
from ..trust.compared import Draw, QueryScores, UnboundedScoreError, neighbours, strength
from ..types import JSON
from .base import SYSTEMS, SectionPart, Shown, order_of_systems
from .citations import CITED

LARGEST = 1e6
"""Evidence beyond is not printed."""


def decisions(table: Scores, sampled: PeopleSample | None, seed: int, systems: list[str]) -> JSON:
    """Return what is known of neighbours among the systems, best first, by people's scores.

    `sampled` are the queries sampled for people, None if all are asked about. Without a sample,
    labels count only if people scored all queries. The `reason` says why there is nothing.
    """
    try:
        scores = QueryScores.of("", table).of_systems(systems)
    except UnboundedScoreError as error:
        return {"reason": str(error)}
    return neighbours(scores, draw_of(scores, sampled, seed), seed=seed)


def draw_of(scores: QueryScores, sampled: PeopleSample | None, seed: int) -> Draw:
    """Return the labelled queries in a random order, and how they came to be labelled."""
    labelled = set(scores.labelled())
    several = np.flatnonzero(scores.asked.sum(axis=1) > 1).tolist()
    order = scores.in_hashed_order(several, str(seed))
    if sampled is None:
        rows = [row for row in order if row in labelled]
        return Draw("all" if len(rows) == len(several) else "unknown", rows)
    drawn = [n for n in order if scores.queries[n] in sampled.drawn]
    # What is finished first is no random sample, so the order ends before what is not finished.
    ends = (n for n, row in enumerate(drawn) if scores.queries[row] in sampled.unfinished)
    return Draw("even", drawn[: next(ends, len(drawn))])


def with_committed(score: JSON, looks: Iterable[JSON]) -> JSON:
    """Return the decisions of a score with what committed plans showed at their last looks.

    `looks` are on this score, the newest first. A plan's pair takes the place of the exploratory
    one; those of systems that are no neighbours come last.
    """
    found: JSON = score.get("decisions", {})
    order = {system: n for n, system in enumerate(order_of_systems(score))}
    committed: dict[frozenset[str], JSON] = {}
    for look in looks:
        for pair in look["pairs"]:
            a, b = sorted((pair["a"], pair["b"]), key=lambda each: order.get(each, len(order)))
            committed.setdefault(frozenset((a, b)), _as_neighbours(pair, a, b, look))
    if not committed:
        return found
    own = [
        committed.pop(frozenset((pair["a"], pair["b"])), pair) for pair in found.get("pairs", [])
    ]
    return {**found, "pairs": [*own, *committed.values()]}


def _as_neighbours(pair: JSON, a: str, b: str, look: JSON) -> JSON:
    """Return a committed pair as a report has it: `a` first, with the evidence for `a` alone."""
    mean, side = pair["mean_difference"], "a" if pair["a"] == a else "b"
    kept = {
        name: value for name, value in pair.items() if name not in ("prediction_powered", "judges")
    }
    return {
        **kept,
        "a": a,
        "b": b,
        "mean_difference": mean if side == "a" or mean is None else -mean,
        "evidence": max(pair["evidence"][side], default=0.0, key=strength),
        "state": "stale" if look["stale"] else pair["state"],
        "plan": look["plan"],
        "looked_at": look["looked_at"],
    }


def standing_words(pair: JSON) -> str:
    """Say what is known of a pair: decided, or how many more queries it will likely take."""
    exploratory = pair["exploratory"]
    before = "exploratory: " if exploratory else ""
    if pair["state"] == "stale":
        return "stale: what the plan was committed to has changed"
    if pair["state"] == "no evidence":
        return str(pair["more"]["reason"])
    if better := pair["better"]:
        after = count(pair["after"], "query", "queries")
        if exploratory:
            return f"{before}evidence for {better or DASH} after {after}"
        return f"decided: {better or DASH} is better, after {after}"
    return f"{before}{more_words(pair['more'])}"


def more_words(more: JSON) -> str:
    """Say how many more queries a decision will likely take."""
    if more["value"] is None:
        return f"not yet; {more['reason']}"
    low, high = more["low"], more["high"]
    ends = f"at least {low:,}" if high is None else f"{low:,} to {high:,}"
    return f"not yet; likely {count(more['value'], 'more query', 'more queries')} ({ends})"


def evidence_text(log_evidence: float | None) -> str:
    """Return evidence as a number, from its logarithm; None if arithmetic proves it."""
    value = inf if log_evidence is None or log_evidence > 700 else exp(log_evidence)
    return f"{float(f'{value:.3g}'):,.10g}" if value < LARGEST else f"over {LARGEST:,.0f}"


def decision_tables(shown: Shown) -> list[Table]:
    """Return what is known of neighbours; none in snapshots of older reports."""
    found = shown.score.get("decisions", {})
    pairs = found.get("pairs", [])
    if not pairs:
        return []
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            f"{pair['a'] or DASH} – {pair['b'] or DASH}",
            pair["labelled"],
            *(
                (evidence_text(pair["evidence"]), evidence_text(pair["needed"]))
                if "evidence" in pair
                else (Number(None, reason=pair["more"]["reason"]),) * 2
            ),
            standing_words(pair),
        )
        for pair in pairs
    )
    header = ("Neighbours, the better first", "Queries", "Evidence", "Needed", "Is it decided?")
    return [Table("Neighbours in the order of systems, by people", header, rows)]


def _about(shown: Shown) -> str:
    found = shown.score["decisions"]
    parts = []
    if any(not pair["exploratory"] for pair in found["pairs"]):
        parts.append("By committed plans, at their last look, where it does not say exploratory.")
    if any(pair["exploratory"] for pair in found["pairs"]):
        pairs = count(found["compared"], "pair", "pairs")
        parts.append(
            "Exploratory, because no draw was committed before the labels. The labelled queries: "
            f"{found['how_drawn']}. All {pairs} of systems share δ = {found['delta']:g}."
        )
    return " ".join(parts)


def describe_comparison(found: JSON) -> str:
    """Say what is decided of systems, and what stands beside it without deciding."""
    return "\n".join(_comparison_lines(found))


def _comparison_lines(found: JSON) -> Iterator[str]:
    labelled = count(found["labelled"], "query", "queries")
    yield f"{found['score']} ({found['meaning']}): {labelled} labelled."
    yield f"The labelled queries: {found['how_drawn']}."
    if found.get("stale"):
        yield f"Stale: {'; '.join(found['stale'])}. Nothing is decided any more."
        return
    for pair in found["pairs"]:
        yield f"{pair['a']} and {pair['b']}: {standing_words(pair)}."
        yield from _beside(pair)
    if found.get("waiting"):
        yield f"{count(found['waiting'], 'drawn query waits', 'drawn queries wait')} for answers."


def _beside(pair: JSON) -> Iterator[str]:
    less = f"{pair['b']} less {pair['a']}"
    if "evidence" in pair:
        strongest = (
            f"{pair[side]} {evidence_text(max(series, key=strength, default=0.0))}"
            for side, series in pair["evidence"].items()
        )
        needed = evidence_text(pair["needed"])
        yield f"  Evidence that each is better: {', '.join(strongest)}; {needed} is needed."
    if pair["mean_difference"] is not None:
        yield f"  {less} by people: {rounded(pair['mean_difference'])}."
    for judge, of in pair["prediction_powered"].items():
        yield f"  {less} by people and {judge} together, which decides nothing: {_figure(of)}."
    for judge, of in pair["judges"].items():
        yield f"  {less} by {judge} alone, which never decides: {_figure(of['difference'])}."


def _figure(estimate: JSON) -> str:
    number = Number.from_estimate(estimate)
    return f"{number}" if number.value is not None else f"not known ({number.reason})"


def decision_methods(report: JSON) -> list[str]:
    found = [block.get("decisions", {}) for block in report["scores"].values()]
    if not any("evidence" in pair for each in found for pair in each.get("pairs", [])):
        return []
    return [
        "Whether one of two systems is better by people's scores is tested by betting on the "
        "differences of queries drawn without replacement, in both directions at half the level "
        f"{CITED['waudby2020']} {CITED['waudby2024']}, and adjusted over all pairs "
        f"{CITED['holm1979']}; the result holds however often somebody looks. Without a draw that "
        "was committed before the labels it is exploratory. The number of further queries is "
        "simulated by resampling the differences."
    ]


PART = SectionPart(
    SYSTEMS,
    title="Which system is better",
    tables=decision_tables,
    about=_about,
    methods=decision_methods,
)
