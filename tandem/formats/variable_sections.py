"""The report's blocks on one variable: people, and slices."""

from __future__ import annotations

from collections.abc import Iterable

from ..document import (
    UNITS,
    UNITS_HEAD,
    Block,
    Cell,
    CountedText,
    Number,
    RaterName,
    Table,
    UnitCount,
    count,
    count_units,
    with_counts,
)
from ..figures.slices import divisions, is_in_pairs, numbers_of
from ..sections.coefficient import MEAN_OF_PAIRS, coefficient_of, people_of
from ..sections.words import codes_of
from ..statistics.coefficients import AMONG, OF_TWO
from ..statistics.correlation import CORRELATIONS
from ..statistics.estimate import Coefficient
from ..types import JSON
from ..unit_counts import pairs_of_labels, shared_units, units_of_slice
from .missing_tables import missing_blocks
from .people_sections import (
    MOST_ROWS,
    background_blocks,
    counted_rows,
    distribution_tables,
    numbers,
)
from .sections import soft_blocks

NO_LABELS = Number(None, reason="no labels here")
OF_OTHERS = f"mean over pairs, weighted by shared {UNITS}"
FEWEST_COMPARED = 3
"""With only two people, neither can be compared with the others."""
MOST = 12
"""The maximum number of categories in a table that fits a page."""


def describe_variable(variable: JSON) -> str:
    escapes = [f"escape {code}: {count}" for code, count in variable["escapes"].items()]
    categories = f"categories {', '.join(variable['categories'])}"
    return "; ".join([variable["measurement"], categories, *escapes])


def people_blocks(report: JSON, name: str) -> list[Block]:
    """Return the agreement of people on a variable, each person with the others, and pairs."""
    variable = report["variables"][name]
    block, ordered = variable["agreement"], variable["measurement"] != "nominal"
    coefficients = tuple(
        (of.name, Number.from_estimate(block[key]), _of_several(block[key]["n"], block["units"]))
        for key, of in AMONG.items()
        if of.name and key in block
    )
    shown, headline, path = people_of(variable)
    if MEAN_OF_PAIRS in path:
        of = _of_several(headline["n"], block["units"])
        mean = f"{shown.name}, mean of pairs", Number.from_estimate(headline), of
        coefficients = (mean, *coefficients)
    tables = [Table("Coefficients", ("Coefficient", "Value", UNITS_HEAD), coefficients)]
    tables += _with_others(block, coefficient_of(variable))
    raters, units = count(block["raters"], "rater"), count_units(block["units"])
    about = f"{raters}, {units} with two or more labels; {describe_variable(variable)}"
    several = UnitCount.of(block["units"], show="several")
    return [
        Block("Agreement", tuple(tables), CountedText.of(about, (units, several))),
        *missing_blocks(variable),
        *_pairs(block, ordered),
        *([_answered(report, variable)] if "distribution" in variable else []),
        *background_blocks(variable),
        *soft_blocks(variable),
    ]


def _of_several(units: int, of: int) -> int:
    """Return the count of units that several people labelled, linked if a list has them all."""
    return UnitCount.of(units, show="several") if units == of else units


def with_others(pairs: Iterable[JSON], key: str) -> list[tuple[str, float, int]]:
    """Return each person's coefficient with the others and its number of units, lowest first.

    It is the mean over pairs, weighted by the units that two share.
    """
    sums: dict[str, tuple[float, int]] = {}
    for pair in pairs:
        kappa = pair[key]["value"]
        for who in (pair["a"], pair["b"]) if kappa is not None else ():
            total, units = sums.get(who, (0.0, 0))
            sums[who] = total + kappa * pair["units"], units + pair["units"]
    found = [(who, total / units, units) for who, (total, units) in sums.items() if units]
    return sorted(found, key=lambda each: (each[1], each[0]))


def _with_others(block: JSON, shown: Coefficient) -> list[Table]:
    found = with_others(block.get("pairs", ()), shown.key)
    if len(found) < FEWEST_COMPARED:
        return []
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (RaterName(who, "human"), Number(kappa, method=OF_OTHERS), pairs_of_labels(labels, who))
        for who, kappa, labels in found[:MOST_ROWS]
    )
    caption = "Each person with all others, lowest agreement first"
    return [Table(caption, ("Person", f"{shown.name}, mean", "Pairs of labels"), rows)]


def _pairs(block: JSON, ordered: bool) -> list[Block]:
    """Return the block on pairs of people: one by one, or as a distribution for a crowd."""
    tables = []
    if "pairs_distribution" in block:
        tables += distribution_tables(block["pairs_distribution"])
    listed = block.get("pairs", [])
    names = {
        key: of.head or of.name
        for key, of in {**OF_TWO, "spearman": CORRELATIONS["spearman"]}.items()
        if (ordered or of.needs != "order") and all(key in pair for pair in listed)
    }
    pairs: tuple[tuple[Cell, ...], ...] = tuple(
        (f"{p['a']} – {p['b']}", shared_units(p["units"], p["a"], p["b"]), *numbers(p, names))
        for p in listed
    )
    if pairs:
        tables.append(Table("Pairs of people", ("Pair", UNITS_HEAD, *names.values()), pairs))
    return [Block("Pairs of people", tuple(tables))] if tables else []


def _answered(report: JSON, variable: JSON) -> Block:
    """Return each rater's shares of answers. With unequal shares, no coefficient can reach 1."""
    block, codes = variable["distribution"], codes_of(variable)
    kinds = {rater["name"]: rater["kind"] for rater in report["raters"]}
    words = list(dict.fromkeys(word for counts in block["counts"].values() for word in counts))
    counts = {
        rater: {
            word: UnitCount.of(number, show="all", one=rater, label=codes.get(word, word))
            for word, number in of.items()
        }
        for rater, of in block["counts"].items()
    }
    rows = tuple(counted_rows(counts, kinds, words))
    units = count_units(block["unanimous"])
    agree = UnitCount.of(block["unanimous"], show="agree")
    about = CountedText.of(f"all people agree on {units}", (units, agree))
    tables = (Table("Labels by category", ("Rater", *words), rows),) if len(words) <= MOST else ()
    return Block("What was answered", tables, about)


def slice_blocks(variable: JSON, name: str) -> list[Block]:
    """Return agreement within the parts of each stratum of a variable."""
    blocks = [_stratum(names, groups, variable) for names, groups in divisions(variable["strata"])]
    return [with_counts(each, lambda count: count.within(variable=name)) for each in blocks]


def _stratum(name: str, groups: JSON, variable: JSON) -> Block:
    judges = list(dict.fromkeys(j for g in groups.values() for j in g["judges"]))
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            group,
            units_of_slice(block["agreement"]["units"], name, group),
            people,
            *(of_judges.get(judge, NO_LABELS) for judge in judges),
        )
        for group, block in groups.items()
        for people, of_judges in [numbers_of(block, variable)]
    )
    header = (name.capitalize(), UNITS_HEAD, "People with each other")
    whom = "each person" if is_in_pairs(variable) else "people together"
    caption = f"{coefficient_of(variable).name}{f'; judges with {whom}' if judges else ''}"
    against = tuple(RaterName(judge, "judge") for judge in judges)
    numbers = [cell for row in rows for cell in row if isinstance(cell, Number)]
    few = any(number.value is not None and number.ends is None for number in numbers)
    about = "no interval for numbers that rest on fewer than 10 queries" if few else ""
    return Block(f"By {name}", (Table(caption, (*header, *against), rows),), about)
