"""Slices by what people said of the same queries in another campaign."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.blocks.references import settled
from analysis.choices import Choices
from analysis.frames import Frame, VariableFrame
from analysis.measures.slices import QUALITY, grounding_quality
from analysis.measuring.parts import Rows
from analysis.sources import campaign_frame
from analysis.statistics import Bools
from annotation.models import Campaign
from annotation.presentation import schema
from annotation.protocols.schema import Schema

JSON = dict[str, Any]
#: By variable the settled code of each query, and the queries of which it is the Reference's.
Said = Mapping[str, tuple[dict[str, str], set[str]]]


@dataclass(frozen=True)
class Stratum:
    """What divides queries: the value of each by its id, and the values in their order.

    `decided` is how many of the labels behind it are the Reference's.
    """

    variable: str
    campaign: str
    values: Mapping[str, str]
    order: tuple[str, ...]
    decided: int

    @property
    def name(self) -> str:
        """The name beside those of the batch's own strata."""
        return f"{self.variable}@{self.campaign}"

    def among(self, rows: Rows) -> dict[str, Bools]:
        """Which rows stand in each slice, (N,): those on whose query nothing is settled, in none.

        A single slice of all rows says nothing, and is left out.
        """
        said = np.array([self.values.get(each, "") for each in rows.ids], str)[rows.numbers]
        made: dict[str, Bools] = {value: said == value for value in self.order}
        found = {value: where for value, where in made.items() if where.any()}
        return {} if any(where.all() for where in found.values()) else found

    def as_json(self) -> JSON:
        """Where it comes from, and how many queries have a value."""
        return {
            "campaign": self.campaign,
            "variable": self.variable,
            "queries": len(self.values),
            "decided": self.decided,
        }


def labelled_strata(campaign: Campaign, of: Campaign, choices: Choices) -> list[Stratum]:
    """The strata that a campaign's labels give to another one's queries.

    What was adjudicated is the Reference's label, the rest people's most frequent one; ties and
    escapes are none. Raises ValueError for a campaign of another protocol or batch.
    """
    if campaign.protocol not in SLICING:
        known = " or ".join(SLICING)
        raise ValueError(f"{campaign.name!r} is a campaign of {campaign.protocol}; name {known}")
    check_same_batch(campaign, of)
    frame = campaign_frame(campaign, choices)
    return [each for each in SLICING[campaign.protocol](campaign, frame) if each.values]


def check_same_batch(campaign: Campaign, of: Campaign) -> None:
    """Raises ValueError where two campaigns are over different batches."""
    if campaign.batch_id != of.batch_id:
        batches = f"{campaign.batch.name!r}, {of.name!r} over {of.batch.name!r}"
        raise ValueError(f"{campaign.name!r} is over the batch {batches}; name one over the same")


def _typed(campaign: Campaign, frame: Frame) -> Iterator[Stratum]:
    """The types of questions, of those that the settled gates let through."""
    asked = schema(campaign)
    said = {name: _of_queries(variable) for name, variable in frame.variables.items()}
    for name, (codes, decided) in said.items():
        kept = {query: code for query, code in codes.items() if _holds(asked, name, query, said)}
        order = frame.variables[name].scale.categories
        yield Stratum(name, campaign.name, kept, order, len(decided & kept.keys()))


def _of_queries(variable: VariableFrame) -> tuple[dict[str, str], set[str]]:
    """The settled code of each query, and the queries of which it is the Reference's."""
    codes, is_decided = settled(variable)
    names = [item for item, _, _ in variable.units.names]
    known = np.flatnonzero(codes >= 0).tolist()
    found = {names[n]: variable.scale.categories[codes[n]] for n in known}
    return found, {names[n] for n in known if is_decided[n]}


def _holds(asked: Schema, name: str, query: str, said: Said) -> bool:
    """Whether a variable is asked of a query, given what is settled of the others."""
    variable = asked.variable(name)
    conditions = variable.asked_if if variable else {}
    return asked.holds(conditions, {n: said[n][0].get(query) for n in conditions if n in said})


def _grounded(campaign: Campaign, frame: Frame) -> Iterator[Stratum]:
    """The quality of the grounding: the share of relevant passages among the settled ones."""
    variable = frame.variables.get("relevant")
    if variable is None:
        return
    codes, is_decided = settled(variable)
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
"""How the labels of a protocol divide queries."""
