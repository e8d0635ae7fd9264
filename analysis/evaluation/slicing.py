"""Slices: measures within parts of the queries, by people's labels in another campaign."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from analysis.campaigns.frames import campaign_frame
from analysis.evaluation.inputs import JOINT_EVALUATORS, Rows
from annotation.models import Campaign
from annotation.presentation import schema
from tandem.document import DASH, Block, Cell, Number, RaterName, Section, Table
from tandem.labels.evaluators import kinds_by_name
from tandem.labels.frame import Frame, VariableFrame
from tandem.labels.selection import ReportOptions
from tandem.protocols.schema import Schema
from tandem.scores.base import QUALITY, grounding_quality
from tandem.sections.adjudicated import settled_codes
from tandem.sections.words import worded_slices
from tandem.statistics import Bools
from tandem.types import JSON

#: By variable, the settled code of each query, and the queries whose code is the reference's.
SettledCodes = Mapping[str, tuple[dict[str, str], set[str]]]
ABOUT = "Cuts of rankings and single people are in JSON and CSV."


@dataclass(frozen=True)
class Stratum:
    """A division of queries: the value of each by its id, and the values in their order.

    `decided` counts the labels that are the reference's. `words` are the values as annotators read
    them.
    """

    variable: str
    campaign: str
    values: Mapping[str, str]
    order: tuple[str, ...]
    decided: int
    words: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the stratum, distinct from the batch's own strata."""
        return f"{self.variable}@{self.campaign}"

    def among(self, rows: Rows) -> dict[str, Bools]:
        """Return the rows in each slice, (N,); rows of queries without a settled label are in none.

        A single slice of all rows is left out.
        """
        said = np.array([self.values.get(each, "") for each in rows.ids], str)[rows.numbers]
        made: dict[str, Bools] = {value: said == value for value in self.order}
        found = {value: where for value, where in made.items() if where.any()}
        return {} if any(where.all() for where in found.values()) else found

    def as_json(self) -> JSON:
        """Return the source of the slices, and the number of queries with a value."""
        return {
            "campaign": self.campaign,
            "variable": self.variable,
            "queries": len(self.values),
            "decided": self.decided,
            **({"words": dict(self.words)} if self.words else {}),
        }


def labelled_strata(
    campaign: Campaign, of: Campaign, report_options: ReportOptions
) -> list[Stratum]:
    """Return the strata that a campaign's labels define for another campaign's queries.

    Adjudicated units have the reference's label. Other units have people's most frequent label;
    ties and escapes are left out. Raises ValueError for a campaign of another protocol or batch.
    """
    if campaign.protocol not in SLICING:
        known = " or ".join(SLICING)
        raise ValueError(f"{campaign.name!r} is a campaign of {campaign.protocol}; name {known}")
    check_same_batch(campaign, of)
    frame = campaign_frame(campaign, report_options)
    return [each for each in SLICING[campaign.protocol](campaign, frame) if each.values]


def check_same_batch(campaign: Campaign, of: Campaign) -> None:
    """Raise ValueError if two campaigns are over different batches."""
    if campaign.batch_id != of.batch_id:
        batches = f"{campaign.batch.name!r}, {of.name!r} over {of.batch.name!r}"
        raise ValueError(f"{campaign.name!r} is over the batch {batches}; name one over the same")


def _typed(campaign: Campaign, frame: Frame) -> Iterator[Stratum]:
    """Yield the types of the questions that pass the settled gate variables."""
    asked = schema(campaign)
    said = {name: _of_queries(variable) for name, variable in frame.variables.items()}
    for name, (codes, decided) in said.items():
        kept = {query: code for query, code in codes.items() if _holds(asked, name, query, said)}
        order = frame.variables[name].scale.categories
        words = asked.words().get(name, {})
        yield Stratum(name, campaign.name, kept, order, len(decided & kept.keys()), words)


def _of_queries(variable: VariableFrame) -> tuple[dict[str, str], set[str]]:
    """Return the settled code of each query, and the queries whose code is the reference's."""
    codes, is_decided = settled_codes(variable)
    names = [item for item, _, _ in variable.units.names]
    known = np.flatnonzero(codes >= 0).tolist()
    found = {names[n]: variable.scale.categories[codes[n]] for n in known}
    return found, {names[n] for n in known if is_decided[n]}


def _holds(asked: Schema, name: str, query: str, said: SettledCodes) -> bool:
    """Return whether a variable is asked about a query, given the settled codes of the others."""
    variable = asked.variable(name)
    conditions = variable.asked_if if variable else {}
    return asked.holds(conditions, {n: said[n][0].get(query) for n in conditions if n in said})


def _grounded(campaign: Campaign, frame: Frame) -> Iterator[Stratum]:
    """Yield the quality of the grounding: the share of relevant passages among the settled ones."""
    variable = frame.variables.get("relevant")
    if variable is None:
        return
    codes, is_decided = settled_codes(variable)
    marks: dict[str, list[bool]] = {}
    for (query, _, _), code in zip(variable.units.names, codes.tolist(), strict=True):
        if code >= 0:
            marks.setdefault(query, []).append(variable.scale.categories[code] == "yes")
    shares = np.array([sum(of) / len(of) for of in marks.values()], float)
    bins = zip(marks, grounding_quality(shares), strict=True)
    values = {query: name for query, name in bins if name}
    decided = int((is_decided & (codes >= 0)).sum())
    yield Stratum("grounding", campaign.name, values, QUALITY, decided)


SLICING: dict[str, Callable[[Campaign, Frame], Iterator[Stratum]]] = {
    "question-typing": _typed,
    "grounding-relevance": _grounded,
}
"""By protocol, the function that divides queries by its labels."""


def slice_views(report: JSON) -> list[tuple[str, list[Table]]]:
    """Return the slices of each measure, a table for each stratum; cuts are only in the files."""
    kinds, strata = kinds_by_name(report), report["strata"]
    made = [
        (name, list(_slices(worded_slices(of["slices"], strata), kinds, strata)))
        for name, of in report["measures"].items()
        if not of["cut"]
    ]
    return [(name, tables) for name, tables in made if tables]


def slice_sections(report: JSON) -> list[Section]:
    """Return the slices as a section of a document, a block for each measure."""
    blocks = tuple(Block(name, tuple(tables)) for name, tables in slice_views(report))
    return [Section("Slices", blocks, ABOUT)] if blocks else []


def _slices(slices: JSON, kinds: JSON, strata: JSON) -> Iterator[Table]:
    for stratum, groups in slices.items():
        said = [each for systems in groups.values() for each in systems.values()]
        names = [each for each in JOINT_EVALUATORS if any(of.get(each) for of in said)]
        judges = list(dict.fromkeys(n for of in said for n in of["raters"] if kinds[n] == "judge"))
        rows = tuple(
            (f"{group} · {system or DASH}", *_cells(of, [*names, *judges]))
            for group, systems in groups.items()
            for system, of in systems.items()
        )
        if rows and names + judges:
            heads: tuple[str | RaterName, ...] = (
                "Slice and system",
                *(JOINT_EVALUATORS[name] for name in names),
            )
            heads += tuple(RaterName(name, "judge") for name in judges)
            yield Table(f"By {_describe_stratum(stratum, strata)}", heads, rows)


def _describe_stratum(stratum: str, strata: JSON) -> str:
    if of := strata.get(stratum):
        return f"{of['variable'].replace('_', ' ')}, as labelled in {of['campaign']}"
    return stratum.replace("_", " ")


def _cells(of: JSON, names: list[str]) -> list[Cell]:
    found = [of.get(name) if name in JOINT_EVALUATORS else of["raters"].get(name) for name in names]
    return [Number(None) if each is None else Number.from_estimate(each) for each in found]
