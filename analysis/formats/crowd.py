"""A crowd on a page: how agreement is distributed and who stands out, in place of a row each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.formats.document import Cell, Number, Table, Who

JSON = dict[str, Any]

MOST_ROWS = 30
"""With more people than this, tables of them show a few."""
_QUANTILES = {"min": "Least", "q05": "5 %", "q25": "25 %", "median": "Median", "q75": "75 %",
              "q95": "95 %", "max": "Most"}  # fmt: skip
_OF = {"cohen_kappa": "Cohen's kappa", "percent": "Percent"}


def distribution_tables(found: JSON) -> list[Table]:
    """The agreement of people with each other."""
    fewest, rows = found["fewest_units"], []
    for label, of in (("of a person with the others", found["with_others"]), ("of a pair", found)):
        rows += [_quantiles(f"{name} {label}", of[key]) for key, name in _OF.items()]
    caption = f"Distribution over people, and over pairs, who share {fewest} units"
    tables = [Table(caption, ("Agreement", "Number", *_QUANTILES.values()), tuple(rows))]
    outside: tuple[tuple[Cell, ...], ...] = tuple(
        (Who(each["name"], "human"), each["units"], Number(each["cohen_kappa"]),
         Number(each["others"]), Number(each["percent"]))
        for each in found["stand_out"]
    )  # fmt: skip
    if outside:
        header = ("Person", "Units", "Kappa with the others", "The others' kappa", "Percent")
        tables.append(Table("People who agree far less than the others do", header, outside))
    return tables


def judged_table(found: JSON) -> Table:
    """The agreement of a judge with each person."""
    rows = tuple(_quantiles(name, found[key]) for key, name in _OF.items())
    caption = f"Distribution over people who share {found['fewest_units']} units with the judge"
    return Table(caption, ("Agreement", "People", *_QUANTILES.values()), rows)


def ranking_table(found: JSON) -> Table:
    """How alike the people of a crowd rank the reports."""
    row = _quantiles("Spearman of a pair", found["spearman"])
    caption = f"Do people rank the reports alike? Pairs who share {found['fewest_items']} items"
    return Table(caption, ("Agreement", "Pairs", *_QUANTILES.values()), (row,))


def _quantiles(name: str, of: JSON) -> tuple[Cell, ...]:
    reason = of.get("reason", "")
    return (name, of["n"], *(Number(of[key], reason=reason) for key in _QUANTILES))


def counted_rows(
    counts: Mapping[str, Mapping[str, int]], kinds: Mapping[str, str], codes: Sequence[str]
) -> list[tuple[Cell, ...]]:
    """Labels by category: a row for each rater, or one for all people of a crowd."""
    people = [name for name in counts if kinds.get(name) == "human"]
    rows: list[tuple[Cell, ...]] = []
    if len(people) > MOST_ROWS:
        sums = [sum(counts[name][code] for name in people) for code in codes]
        rows.append((f"All {len(people)} people", *sums))
        counts = {name: of for name, of in counts.items() if name not in people}
    for name, of in counts.items():
        rows.append((Who(name, kinds.get(name, "")), *(of[code] for code in codes)))
    return rows


def first_rows(
    caption: str, rows: Sequence[tuple[Cell, ...]], order: Sequence[float], what: str
) -> tuple[str, tuple[tuple[Cell, ...], ...]]:
    """A table's caption and rows; of very many rows those with the highest `order`."""
    if len(rows) <= MOST_ROWS:
        return caption, tuple(rows)
    ranked = sorted(range(len(rows)), key=lambda n: -order[n])[:MOST_ROWS]
    return f"{caption}: of {len(rows)} the {MOST_ROWS} {what}", tuple(rows[n] for n in ranked)
