"""Slices as tables: each measure within each part of a stratum, by people and by judges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from analysis.formats.document import DASH, Block, Cell, Number, Section, Table, Who
from analysis.measuring.parts import TOGETHER

JSON = dict[str, Any]
ABOUT = "Cuts of rankings and single people stand in JSON and CSV."


def slice_views(report: JSON) -> list[tuple[str, list[Table]]]:
    """The slices of each measure, a table for each stratum; those of cuts are in the files."""
    kinds = {rater["name"]: rater["kind"] for rater in report["raters"]}
    made = [
        (name, list(_slices(of["slices"], kinds, report["strata"])))
        for name, of in report["measures"].items()
        if not of["cut"]
    ]
    return [(name, tables) for name, tables in made if tables]


def slice_sections(report: JSON) -> list[Section]:
    """The same as a section of a document, a block for each measure."""
    blocks = tuple(Block(name, tuple(tables)) for name, tables in slice_views(report))
    return [Section("Slices", blocks, ABOUT)] if blocks else []


def _slices(slices: JSON, kinds: JSON, strata: JSON) -> Iterator[Table]:
    for stratum, groups in slices.items():
        said = [each for systems in groups.values() for each in systems.values()]
        names = [each for each in TOGETHER if any(of.get(each) for of in said)]
        judges = list(dict.fromkeys(n for of in said for n in of["raters"] if kinds[n] == "judge"))
        rows = tuple(
            (f"{group} · {system or DASH}", *_cells(of, [*names, *judges]))
            for group, systems in groups.items()
            for system, of in systems.items()
        )
        if rows and names + judges:
            heads: tuple[str | Who, ...] = ("Slice and system", *(TOGETHER[name] for name in names))
            heads += tuple(Who(name, "judge") for name in judges)
            yield Table(f"By {_words(stratum, strata)}", heads, rows)


def _words(stratum: str, strata: JSON) -> str:
    if of := strata.get(stratum):
        return f"{of['variable'].replace('_', ' ')}, as labelled in {of['campaign']}"
    return stratum.replace("_", " ")


def _cells(of: JSON, names: list[str]) -> list[Cell]:
    found = [of.get(name) if name in TOGETHER else of["raters"].get(name) for name in names]
    return [Number(None) if each is None else Number.of(each) for each in found]
