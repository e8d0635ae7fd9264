"""Where the noise of a score comes from, and what narrower intervals would take by it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from analysis.formats.document import Cell, Number, Table, Who

JSON = dict[str, Any]
AIMS = {
    "system_mean": "One system's mean",
    "difference": "Difference of two systems",
    "overall_mean": "Mean over systems",
}
FACETS = ("query", "system", "rater")


def components_tables(score: JSON) -> list[Table]:
    """None in a report that was frozen before there were any, nor where nothing can be told."""
    found = score.get("components")
    if not found:
        return []
    voices: list[tuple[str | Who, JSON]] = [
        ("people", found["humans"]),
        *((Who(n, "judge"), of) for n, of in _judges(found)),
    ]
    known = [(who, of) for who, of in voices if of["sources"]]
    return [_sources(known), _decisions(found["humans"])] if known else []


def _judges(found: JSON) -> Iterator[tuple[str, JSON]]:
    for name, of in found["judges"].items():
        yield f"{name} less people", of


def _sources(known: list[tuple[str | Who, JSON]]) -> Table:
    names = list(dict.fromkeys(each["source"] for _, of in known for each in of["sources"]))
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (name, *(_variance(of, name) for _, of in known)) for name in names
    )
    caption = "Variance of a single score by where it comes from"
    return Table(caption, ("Source", *(who for who, _ in known)), rows)


def _variance(of: JSON, name: str) -> Number:
    found = next((each["variance"] for each in of["sources"] if each["source"] == name), None)
    pooled = "part of the residual" if name in of["pooled"] else "not in this design"
    return Number(found, reason="" if found is not None else pooled, digits=4)


def _decisions(people: JSON) -> Table:
    rows = tuple(_decision(each) for each in people["decisions"])
    header = ("Of", "Width now", "Queries", "Systems", "Raters a report")
    return Table(f"What an interval of width {people['width']:g} would take by it", header, rows)


def _decision(of: JSON) -> tuple[Cell, ...]:
    plans = {each["facet"]: each for each in of["plans"]}
    cells = (plans.get(facet) for facet in FACETS)
    return (
        AIMS[of["aim"]],
        Number(of["interval_width"]),
        *(_plan(each) if each else Number(None, reason="it does not hang on it") for each in cells),
    )


def _plan(of: JSON) -> Number:
    return Number(of["needed"], reason=of.get("reason", ""), digits=0)
