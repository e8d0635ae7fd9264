"""Evaluation of extraction: which of a rater's own points were extracted as well (Long²RAG).

In `key-point-writing` a rater lists a passage's key points unaided, and then matches the extracted
points to that list. Raters are people and judges, each with a list of their own. Alternatively,
other raters match people's lists: the rule `written-key-points` derives a batch whose key points
are people's, and whose reports are the extracted points. A campaign of `key-point-recall` compares
the two.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.evaluation.inputs import PEOPLE
from analysis.papers.base import Cell, Column, Grid, as_cell, empty, missing, percent
from analysis.papers.material import Material
from analysis.papers.sources import HUMAN, CampaignFacts
from analysis.papers.systems import cell_of, systems_of
from tandem.statistics import Bootstrap, Tally, Value
from tandem.statistics.estimate import ratio, unbatch
from tandem.types import JSON

WRITTEN = "written-key-points"
COLUMNS = (
    percent("Recall"),
    percent("Precision"),
    Column("Points written", digits=0),
    Column("Points extracted", digits=0),
)
REASON = "the study has no campaign of key-point-writing with extracted key points to match"


@dataclass(frozen=True)
class Matching:
    """One rater's list for one passage: sizes of both lists, and how many have a match."""

    query: str
    written: int
    found: int
    extracted: int
    matched: int


def read_matching(query: str, units: Mapping[str, Any], listed: Any) -> Matching | None:
    """Count an answer's points and matches; None if matching was not done for any extracted point.

    A written point is found if an extracted one names it among its `matches`.
    """
    lists = [
        answer for answer in units.values() if listed.name in answer or "holds_points" in answer
    ]
    matches = [answer for answer in units.values() if answer.get(listed.match)]
    if not lists or not matches:
        return None
    written = sum(len(answer.get(listed.name) or ()) for answer in lists)
    named = {number for answer in matches for number in answer.get(listed.matches) or ()}
    yes = sum(answer[listed.match] == listed.match_code for answer in matches)
    return Matching(query, written, len(named), len(matches), yes)


def matchings(material: Material, campaign: CampaignFacts) -> dict[str, list[Matching]]:
    """Return the matchings of a campaign, by rater; those of people are under `people` as well."""
    listed = campaign.task.listed
    found: dict[str, list[Matching]] = defaultdict(list)
    for answer in material.whole_answers(campaign):
        matching = read_matching(answer.query, answer.units, listed)
        if matching is not None:
            found[answer.rater].append(matching)
            if answer.kind == HUMAN:
                found[PEOPLE].append(matching)
    return dict(sorted(found.items(), key=lambda pair: (pair[0] != PEOPLE, pair[0])))


def _matchings(material: Material, campaign: CampaignFacts) -> dict[str, list[Matching]]:
    parts = [matchings(material, each) for each in material.parts(campaign)]
    return {rater: rows for part in reversed(parts) for rater, rows in part.items()}


def extraction(material: Material) -> list[Grid]:
    """Recall of extracted points against written ones, matched by people and by judges."""
    found = [
        Grid(
            f"{campaign.name}: own lists, own matching", COLUMNS, rows, stub="List and matching by"
        )
        for campaign in material.campaigns("key-point-writing")
        if (rows := tuple(_own(material, _matchings(material, campaign))))
    ]
    found += _by_others(material)
    return found or [empty("Extraction", COLUMNS, REASON, "List and matching by")]


def _own(
    material: Material, by_rater: Mapping[str, list[Matching]]
) -> Iterator[tuple[str, tuple[Cell, ...]]]:
    for rater, rows in by_rater.items():
        recall = _share(material, rows, "found", "written", "no point was written")
        precision = _share(material, rows, "matched", "extracted", "no point was extracted")
        counts = (sum(each.written for each in rows), sum(each.extracted for each in rows))
        yield rater, (recall, precision, *counts)


def _share(material: Material, rows: list[Matching], part: str, whole: str, reason: str) -> JSON:
    """Return a share of all points together, with queries resampled."""
    sums = np.array([[getattr(each, part), getattr(each, whole)] for each in rows], float)
    queries = np.unique(np.array([each.query for each in rows]), return_inverse=True)[1]
    if not sums[:, 1].sum():
        return missing(reason)
    options = material.options
    bootstrap = Bootstrap(Tally.of_sums(sums, queries, sums[:, 1]), options.resamples, options.seed)
    return as_cell(
        bootstrap.estimate(_ratio, int(sums[:, 1].sum()), f"points {part} / {whole}", reason)
    )


def _ratio(sums: Any) -> Value:
    return unbatch(ratio(sums[..., 0], sums[..., 1]))


def _by_others(material: Material) -> Iterator[Grid]:
    """Yield the recall of the extraction: its KPR on people's lists, matched by other people."""
    for campaign in material.campaigns("key-point-recall"):
        if not material.is_derived_by(campaign.batch, WRITTEN):
            continue
        report = material.measures(campaign)
        people = material.frame(campaign)
        names = [PEOPLE, *(r.name for r in people.raters if r.labels and r.excluded is None)]
        rows = []
        for by in names:
            cells = [cell_of(report, "KPR", s, by, "") for s in systems_of(report, "KPR")]
            if cells and cells[0]["value"] is not None:
                rows.append((by, (cells[0],)))
        if rows:
            caption = f"{campaign.name}: people's lists, matched by others"
            yield Grid(caption, (percent("Recall"),), tuple(rows), stub="Matching by")
