"""Leaderboards from the report's measures: systems × measures, one board for each evaluator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analysis.measuring.parts import MEAN_OF_PEOPLE, PEOPLE, TEXTS, TOGETHER
from analysis.measuring.voices import HUMAN, JUDGE

JSON = dict[str, Any]
LEVEL = 0.05
POWERED = "powered"
TESTS = {
    POWERED: "two-sided t test of the prediction-powered mean difference by query",
    MEAN_OF_PEOPLE: "",
    "": "two-sided paired t test of the differences by query, as the intervals are t by query",
}


def leaderboard(measures: JSON, raters: Sequence[JSON]) -> JSON:
    """Every board: under people, each judge, both together, what the batch alone gives, each rater.

    `letters` name the systems. A system is `higher_than` others by a measure where the test of the
    board says so at `level`, Holm-adjusted over all pairs of systems of that measure and evaluator;
    null where it was not tested, as the oracle is not by a measure whose yardstick it is. Test and
    intervals of a board come from one method, t on the values of queries.
    """
    systems = list(dict.fromkeys(s for of in measures.values() for s in of["systems"]))
    letters = {system: _letter(n) for n, system in enumerate(systems)}
    kinds = {rater["name"]: rater["kind"] for rater in raters}
    boards = [_board(by, kind, measures, systems) for by, kind in _evaluators(measures, kinds)]
    return {"level": LEVEL, "letters": letters, "boards": boards}


def _evaluators(measures: JSON, kinds: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Who says something, and what kind that is, in the order in which boards stand."""
    said = [each for of in measures.values() for each in of["systems"].values()]
    named = list(dict.fromkeys(name for each in said for name in each["raters"]))
    of_kind = {kind: [name for name in named if kinds.get(name) == kind] for kind in kinds.values()}
    if any(each[PEOPLE] for each in said):
        yield PEOPLE, PEOPLE
    for judge in of_kind.get(JUDGE, []):
        yield judge, JUDGE
    for judge in dict.fromkeys(name for of in measures.values() for name in of["powered"]):
        yield judge, POWERED
    for together in (TEXTS, MEAN_OF_PEOPLE):
        if any(each.get(together) for each in said):
            yield together, together
    for kind in ("reference", HUMAN):
        for name in of_kind.get(kind, []):
            yield name, kind


def _board(by: str, kind: str, measures: JSON, systems: Sequence[str]) -> JSON:
    rows = {system: dict(_row(by, kind, measures, system)) for system in systems}
    return {
        "by": by,
        "kind": kind,
        "test": TESTS.get(kind, TESTS[""]),
        "systems": {system: row for system, row in rows.items() if row},
    }


def _row(by: str, kind: str, measures: JSON, system: str) -> Iterator[tuple[str, JSON]]:
    for name, of in measures.items():
        if found := _said(of, by, kind, system):
            pairs = _pairs(of, by, kind)
            tested = any(system in (pair["a"], pair["b"]) for pair in pairs)
            higher = _higher(pairs, system) if tested else None
            yield name, {**found, "higher_than": higher}


def _said(of: JSON, by: str, kind: str, system: str) -> JSON | None:
    found: JSON | None
    if kind == POWERED:
        found = of["powered"].get(by, {}).get("systems", {}).get(system)
        return found
    estimates = of["systems"].get(system, {**dict.fromkeys(TOGETHER), "raters": {}})
    found = estimates.get(by) if kind in TOGETHER else estimates["raters"].get(by)
    return found


def _pairs(of: JSON, by: str, kind: str) -> list[JSON]:
    found: list[JSON] = (
        of["powered"].get(by, {}).get("pairs", [])
        if kind == POWERED
        else of["settings"].get(by, [])
    )
    return found


def _higher(pairs: Sequence[JSON], system: str) -> list[str]:
    """The systems over which a system's mean is higher, significantly."""
    found = []
    for pair in pairs:
        p, difference = pair["adjusted_p_value"], pair["difference"]["value"]
        if p is None or p >= LEVEL or not difference:
            continue
        above, below = (pair["a"], pair["b"]) if difference > 0 else (pair["b"], pair["a"])
        if above == system:
            found.append(below)
    return found


def _letter(number: int) -> str:
    letters = ""
    while number >= 0:
        letters = chr(ord("A") + number % 26) + letters
        number = number // 26 - 1
    return letters
