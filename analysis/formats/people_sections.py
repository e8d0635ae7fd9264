"""Sections on many people, on the floor, and on the sources of noise in a score."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..document import Cell, Number, Table, Who
from ..types import JSON

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


MOST_ROWS = 30
"""With more people than this, tables of them show a few."""
_QUANTILES = {
    "min": "Least",
    "q05": "5 %",
    "q25": "25 %",
    "median": "Median",
    "q75": "75 %",
    "q95": "95 %",
    "max": "Most",
}
_OF = {"cohen_kappa": "Cohen's kappa", "percent": "Percent"}


def distribution_tables(found: JSON) -> list[Table]:
    """The agreement of people with each other."""
    fewest, rows = found["fewest_units"], []
    for label, of in (("of a person with the others", found["with_others"]), ("of a pair", found)):
        rows += [_quantiles(f"{name} {label}", of[key]) for key, name in _OF.items()]
    caption = f"Distribution over people, and over pairs, who share {fewest} units"
    tables = [Table(caption, ("Agreement", "Number", *_QUANTILES.values()), tuple(rows))]
    outside: tuple[tuple[Cell, ...], ...] = tuple(
        (
            Who(each["name"], "human"),
            each["units"],
            Number(each["cohen_kappa"]),
            Number(each["others"]),
            Number(each["percent"]),
        )
        for each in found["stand_out"]
    )
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


GAP = (
    "Gap to people, in pairs: the majority above is less noisy than a person, and is not compared "
    "with pairs"
)


def gap_tables(block: JSON) -> list[Table]:
    """The tables of a judge's gap and floor; none in a report frozen before there were these."""
    if "gap" not in block:
        return []
    floor, header = (
        block["floor"],
        ("Judge with each person, less people with each other", "Value", "Units"),
    )
    gap = (
        _row("Cohen's kappa", block["gap"]["cohen_kappa"]),
        _row("Percent", block["gap"]["percent"]),
    )
    tables = [Table(GAP, header, gap)]
    if not _is_there(floor):
        return tables
    rows = (
        _row("With the majority", floor["agreement"]["cohen_kappa"]),
        _row("Gap: with each person, less people with each other", floor["gap"]),
        _row("Judge with each person, less word overlap with each", floor["judge_minus_floor"]),
    )
    caption = f"Word overlap, the floor; the alternative annotator test: {_passes(floor)}"
    return [*tables, Table(caption, ("Cohen's kappa", "Value", "Units"), rows)]


def no_floor(block: JSON) -> list[str]:
    """Why a judge stands beside no floor; nothing where it does, or in an old frozen report."""
    floor = block.get("floor")
    return [] if floor is None or _is_there(floor) else [f"no floor: {floor['reason']}"]


def _is_there(floor: JSON) -> bool:
    estimates = (floor["gap"], floor["judge_minus_floor"], *floor["agreement"].values())
    return any(each["value"] is not None for each in estimates)


def _passes(floor: JSON) -> str:
    if floor["passes"] is None:
        return str(floor["reason"])
    return "passes" if floor["passes"] else "fails"


def floor_methods(blocks: list[JSON]) -> list[str]:
    """How the gap of judges was made, and the floor, for the methods text."""
    said = []
    if any(of["value"] is not None for block in blocks for of in block.get("gap", {}).values()):
        said.append(
            "The gap of a judge is its mean kappa with each person less the mean kappa of people "
            "with each other, and the same of the share of equal labels: on the same units, each "
            "pair weighing the units that it shares, both means resampled together. Kappa with the "
            "majority is not compared with pairs, since a majority is less noisy than a person."
        )
    floors = [block["floor"] for block in blocks if "floor" in block]
    if any(floor["gap"]["value"] is not None for floor in floors):
        said.append(
            "The floor is a lexical rule that compares words alone, run on the same items; each "
            "judge stands beside it by the difference of their mean kappas with the same people."
        )
    if any(floor["passes"] is not None for floor in floors):
        said.append(
            "Where the floor itself passes the alternative annotator test at the chosen epsilon, "
            "no judge is said to pass."
        )
    return said


def _row(label: str, estimate: JSON) -> tuple[Cell, ...]:
    return label, Number.of(estimate), estimate["n"]
