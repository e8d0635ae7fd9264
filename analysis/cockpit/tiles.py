"""The tiles of a campaign's first page: what each shows, or what is missing.

Figures over fewer than `FEWEST_UNITS` units are not shown here. They say little, and reading them
would count as having seen others' answers; opening the first page must have no such consequence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.attention import Facts
from annotation.exposure.ledger import FEWEST_UNITS, saw_figures
from annotation.presentation import schema
from annotation.progress.answer_totals import AnswerTotals
from tandem.types import JSON

MOST_JUDGES, MOST_SYSTEMS = 3, 6


@dataclass(frozen=True)
class Labels:
    """The existing answers of people; `complete` says whether each item has all of its answers.

    `given` counts every answer of people, `imported` those from files, which take no slot.
    """

    places: AnswerTotals
    given: int
    imported: int
    per_item: int

    @property
    def percent(self) -> int:
        return 100 * self.places.answered // self.places.asked if self.places.asked else 0

    @property
    def is_complete(self) -> bool:
        return self.places.asked > 0 and not self.places.open


@dataclass(frozen=True)
class Tiles:
    """What the tiles show. A part that is None or empty has a reason in `missing` under its name.

    `people` and `judges` are of the first `variable`, and `others` counts the rest. `score` has the
    systems. `hidden` means that no figures are shown because the reader has an open item.
    """

    labels: Labels
    people: JSON | None
    judges: Sequence[JSON]
    more_judges: int
    score: JSON | None
    variable: str
    others: int
    missing: Mapping[str, str]
    hidden: bool
    is_new: bool


def tiles_of(facts: Facts, blind: bool, is_computing: bool = False) -> Tiles:
    """Return the tiles of a campaign, and record in the ledger which figures they show.

    `is_computing` says that a report is being computed; tiles without figures then say so.
    """
    campaign: Any = facts.campaign
    places, report = facts.places, None if blind else facts.report
    labels = Labels(places, campaign.people_done, campaign.imported, campaign.raters_per_item)
    variables = (report or {}).get("variables", ())
    first = variables[0] if variables else {}
    people = first if first.get("units", 0) >= FEWEST_UNITS else None
    judged = [each for each in first.get("judges", ()) if each["units"] >= FEWEST_UNITS]
    score = _score((report or {}).get("scores", ()), first)
    shown = [people["units"]] if people else []
    shown += [each["units"] for each in judged]
    if shown:
        saw_figures("overview", facts.campaign, min(shown))
    return Tiles(
        labels,
        people,
        judged[:MOST_JUDGES],
        max(0, len(judged) - MOST_JUDGES),
        score,
        first.get("name", ""),
        max(0, len(variables) - 1),
        _missing(facts, first, report, is_computing),
        blind,
        not campaign.people_done and not campaign.judges and not campaign.imported,
    )


def _score(scores: Sequence[JSON], variable: JSON) -> JSON | None:
    """Return the means of the first score that has enough units for each system."""
    for score in scores:
        items = sum(each["items"] for each in score["systems"])
        per_item = variable.get("units", 0) / items if items else 0
        if all(each["items"] * per_item >= FEWEST_UNITS for each in score["systems"]):
            return {**score, "systems": score["systems"][:MOST_SYSTEMS],
                    "more": max(0, len(score["systems"]) - MOST_SYSTEMS)}  # fmt: skip
    return None


def _missing(
    facts: Facts, variable: JSON, report: JSON | None, is_computing: bool
) -> dict[str, str]:
    waits = "Being computed …" if is_computing else "Not computed yet."
    if report is not None:
        waits = ""
    return {"people": _no_people(facts.campaign, variable, waits),
            "judge": _no_judge(facts, variable, waits)}  # fmt: skip


def _no_people(campaign: Any, variable: JSON, waits: str) -> str:
    if not campaign.people_done:
        return "Nobody has answered yet."
    if campaign.people < 2:
        return "One person has answered. Agreement needs two on the same items."
    if waits:
        return waits
    units = variable.get("units", 0)
    one, several = schema(campaign).noun
    if not units:
        return f"No {one} has labels from two people yet."
    noun = f"shared {one if units == 1 else several}"
    return f"{units} {noun} so far. From {FEWEST_UNITS} on, the figure is here."


def _no_judge(facts: Facts, variable: JSON, waits: str) -> str:
    campaign: Any = facts.campaign
    if not campaign.judges:
        return _no_answer(facts)
    if not campaign.people_done:
        return "A judge has answered. Its agreement with people shows once people have answered."
    if waits:
        return waits
    several = schema(campaign).noun[1]
    return f"Fewer than {FEWEST_UNITS} {several} have labels from both people and a judge."


def _no_answer(facts: Facts) -> str:
    """Explain why no judge has an answer: none has run, or the runs gave no usable answer."""
    if missing := sum(facts.failed.values()):
        what = "its answer is" if missing == 1 else f"all {missing:,} answers are"
        return f"A judge has run, but {what} missing."
    if facts.runs:
        return "A judge’s run was started. It has given no answer yet."
    return "No judge has run."
