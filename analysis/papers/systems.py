"""Tables of systems, with a grid for each evaluator, and fixed bins of lengths in tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np

from analysis.evaluation.inputs import PEOPLE, TEXTS, Rows, all_reports
from analysis.papers.base import Cell, Column, Grid, empty, missing
from analysis.papers.material import Material, evaluators
from analysis.papers.sources import CampaignFacts
from tandem.files.rows import Query
from tandem.statistics import Bools, Ints
from tandem.types import JSON

DOCUMENT_EDGES = (8, 16, 25)
"""Thousands of tokens. Figure 6 names 8 to 16 and 16 to 25; the outer two bins are ours."""
ANSWER_EDGES = (1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5)
"""Thousands of tokens, as in Figure 7."""


def bin_names(edges: Sequence[float]) -> tuple[str, ...]:
    """Return the names of the bins between edges in thousands; a bin holds its lower edge."""
    inner = (f"{low:g}K–{high:g}K" for low, high in pairwise(edges))
    return (f"<{edges[0]:g}K", *inner, f"≥{edges[-1]:g}K")


@dataclass(frozen=True)
class TokenBins:
    """A division of a batch's reports, (N,), by the number of tokens of each."""

    name: str
    edges: tuple[float, ...]
    lengths: Ints

    def among(self, rows: Rows) -> dict[str, Bools]:
        """Return the rows in each bin, (N,), bins without rows left out.

        Rows that are not the batch's reports have no length here, and no bin.
        """
        if len(rows.systems) != len(self.lengths):
            return {}
        places = np.searchsorted(np.array(self.edges) * 1000, self.lengths, side="right")
        named = enumerate(bin_names(self.edges))
        return {name: where for n, name in named if (where := places == n).any()}


def length_bins(queries: Sequence[Query], count: Callable[[str], int]) -> tuple[TokenBins, ...]:
    """Return the bins of the passages of each report's query together, and of its own text."""
    reports, rows = all_reports(queries)
    documents = {q.id: sum(count(p.text) for p in q.passages) for q in queries}
    of_queries = np.array([documents[query.id] for query in rows.queries], np.int64)
    of_reports = np.array([count(report.text) for report in reports], np.int64)
    return (
        TokenBins("document_tokens", DOCUMENT_EDGES, of_queries),
        TokenBins("answer_tokens", ANSWER_EDGES, of_reports),
    )


Measured = tuple[Column, str, JSON | None, str]
"""A column, the measure's name, its report of measures, and the reason if there is none."""
Spec = tuple[Column, str, CampaignFacts | None, str]
"""Like `Measured`, with the campaign, before its report is computed."""


Origin = Callable[..., JSON]
"""Adds to a cell which value of a report it is: `with_origin` of one measure."""
ORDERED = (
    ("short", "middle", "long"),
    ("low", "medium", "high"),
    ("static", "slow-changing", "fast-changing"),
    ("head", "torso", "tail"),
    bin_names(DOCUMENT_EDGES),
    bin_names(ANSWER_EDGES),
)
ORDER = {value: n for values in ORDERED for n, value in enumerate(values)}
"""The order of values that have one. Others are sorted by name."""


def estimate_of(report: JSON, name: str, system: str, by: str) -> JSON | None:
    """Return a system's estimate of a measure by an evaluator, or from the texts alone."""
    found = report["measures"].get(name, {}).get("systems", {}).get(system)
    return None if found is None else by_evaluator(found, by)


def by_evaluator(found: JSON, by: str) -> JSON | None:
    own = found.get(by) if by in (PEOPLE, TEXTS) else found["raters"].get(by)
    cell: JSON | None = own or found.get(TEXTS)
    return cell


def systems_of(report: JSON, name: str) -> list[str]:
    return list(report["measures"].get(name, {}).get("systems", {}))


def all_evaluators(material: Material, campaigns: Iterable[CampaignFacts]) -> list[str]:
    return evaluators(map(material.joint_frame, campaigns))


def cell_of(report: JSON | None, name: str, system: str, by: str, reason: str) -> JSON:
    """Return a cell with a system's estimate, or the reason why there is none."""
    if report is None:
        return missing(reason)
    found = estimate_of(report, name, system, by)
    if found is None:
        return missing(f"{by} gave no label for {name} in campaign {report['campaign']}")
    return with_origin(found, system, by, report=report, name=name)


def with_origin(cell: JSON, system: str, by: str, *part: str, report: JSON, name: str) -> JSON:
    """Return a cell that says which value of the campaign's own measures it is, if it is one."""
    if not report.get("alone"):
        return cell
    return {**cell, "from": [report["campaign"], name, system, by, *part]}


def grids_by_evaluator(
    material: Material, specs: Sequence[Spec], caption: str = "", stub: str = "System"
) -> list[Grid]:
    """Return a grid for each evaluator: systems by measures, which may be of several campaigns.

    Measures that need no labels are in every grid. Without any campaign the cells say what is
    missing.
    """
    columns = tuple(column for column, *_ in specs)
    there = [campaign for _, _, campaign, _ in specs if campaign is not None]
    if not there:
        return [empty(caption or "By people", columns, specs[0][3], stub)]
    reports = [
        (column, name, None if of is None else material.measures(of), reason)
        for column, name, of, reason in specs
    ]
    systems = list(
        dict.fromkeys(
            s for _, name, report, _ in reports if report for s in systems_of(report, name)
        )
    )
    return [
        grid
        for by in all_evaluators(material, there) or [TEXTS]
        for grid in _grid(
            reports,
            systems,
            f"{caption}, by {by}" if caption else f"By {by}",
            stub,
            by,
            material.data_set(there[0].batch),
        )
    ]


def _grid(
    reports: Sequence[Measured],
    systems: Sequence[str],
    caption: str,
    stub: str,
    by: str,
    data: str,
) -> Iterator[Grid]:
    columns = tuple(column for column, *_ in reports)
    rows: list[tuple[str, tuple[Cell, ...]]] = []
    for system in systems:
        cells = tuple(cell_of(of, name, system, by, why) for _, name, of, why in reports)
        if any(cell["value"] is not None for cell in cells):
            rows.append((system or "–", cells))
    if rows:
        yield Grid(caption, columns, tuple(rows), stub=stub, by=by, data=data)


def sliced(
    material: Material,
    campaign: CampaignFacts | None,
    measure: str,
    strata: Sequence[str],
    column: Callable[[str], Column],
    reason: str,
) -> list[Grid]:
    """Return a grid for each evaluator and stratum: systems by its values, and overall."""
    named = " or ".join(strata)
    if campaign is None:
        return [empty(f"By {named}", (column("all"),), reason)]
    report = material.measures(campaign)
    of = report["measures"].get(measure)
    if of is None:
        return [
            empty(f"By {named}", (column("all"),), f"campaign {campaign.name} has no {measure}")
        ]
    if not any(name in of["slices"] for name in strata):
        unsplit = f"the queries have no {named} of two or more values"
        return [empty(f"By {named}", (column("all"),), unsplit)]
    origin = partial(with_origin, report=report, name=measure)
    data = material.data_set(campaign.batch)
    grids = slices(of, strata, all_evaluators(material, [campaign]), column, origin)
    return [replace(grid, data=data) for grid in grids]


def slices(
    of: JSON,
    strata: Sequence[str],
    evaluators: Sequence[str],
    column: Callable[[str], Column],
    origin: Origin | None = None,
) -> list[Grid]:
    """Return a measure's grids for each evaluator and each of the strata that it is divided by.

    `origin` adds to a cell which value of a report it is, from its system, evaluator and slice.
    """
    known = [name for name in strata if name in of["slices"]]
    return [_slices(of, stratum, by, column, origin) for by in evaluators for stratum in known]


def _slices(
    of: JSON, stratum: str, by: str, column: Callable[[str], Column], origin: Origin | None
) -> Grid:
    values = sorted(of["slices"][stratum], key=lambda value: (ORDER.get(value, 0), value))
    rows = []
    for system, whole in of["systems"].items():
        cells = [of["slices"][stratum][value].get(system) for value in values]
        made = [cell and by_evaluator(cell, by) for cell in (*cells, whole)]
        if origin is not None:
            parts = (*((stratum, value) for value in values), ())
            made = [
                cell and origin(cell, system, by, *part)
                for cell, part in zip(made, parts, strict=True)
            ]
        none = missing(f"{by} gave no label of this system here")
        rows.append((system or "–", tuple(cell or none for cell in made)))
    columns = tuple(map(column, (*values, "average")))
    return Grid(f"By {stratum.replace('_', ' ')}, by {by}", columns, tuple(rows), by=by)
