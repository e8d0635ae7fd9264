"""Section: what is missing, for whom and why, beside estimates that leave it out."""

from __future__ import annotations

from collections import Counter

import numpy as np

from ..document import DASH, Block, Cell, RaterName, Table
from ..labels.frame import VariableFrame
from ..labels.resampling import Scores, systems_of
from ..statistics import Bools, Floats, Ints
from ..types import JSON
from .base import JUDGE, OF_JUDGES, PEOPLE, SYSTEMS, SectionPart, blocks_of_judges
from .crowd import is_crowd


def missing_labels(frame: VariableFrame) -> list[JSON]:
    """Count by rater, and by rater and system if there are several, what was not labelled.

    `units` are those of the variable. On each, a rater gave a label or an escape, or a label is
    missing for a reason, or there is none of these: the unit was not asked, or is not yet answered.
    The raters of a crowd are counted together, under an empty name.
    """
    people, judges = frame.columns("human"), frame.columns("judge")
    groups = [people] if is_crowd(frame) else [[column] for column in people]
    system = np.array([each or "" for each in frame.units.system], dtype=object)
    names = sorted(set(system.tolist()))
    parts = [(None, np.ones(len(system), bool))]
    if len(names) > 1:
        parts += [(name, np.asarray(system == name)) for name in names]
    counted = _Asides(frame)
    return [
        _row(frame, columns, name, within, counted)
        for columns in [*groups, *([column] for column in judges)]
        for name, within in parts
    ]


class _Asides:
    """The units of escapes and missing labels by rater, in one pass over all of them."""

    def __init__(self, frame: VariableFrame) -> None:
        self.by_rater: dict[str, list[tuple[int, bool, str]]] = {}
        for aside in frame.asides:
            found = self.by_rater.setdefault(aside.rater, [])
            found.append((aside.unit, aside.is_missing, aside.what))

    def within(self, rater: str, units: Bools) -> tuple[int, Counter[str]]:
        """Count a rater's escapes and, by reason, missing labels on some units (U,)."""
        own = [each for each in self.by_rater.get(rater, ()) if units[each[0]]]
        reasons = Counter(what for _, is_missing, what in own if is_missing)
        return len(own) - reasons.total(), reasons


def _row(
    frame: VariableFrame,
    columns: list[int],
    system: str | None,
    within: Bools,
    asides: _Asides,
) -> JSON:
    labels = int((frame.codes[within][:, columns] >= 0).sum())
    escapes, reasons = 0, Counter[str]()
    for column in columns:
        more, why = asides.within(frame.raters[column].name, within)
        escapes, reasons = escapes + more, reasons + why
    units = int(within.sum()) * len(columns)
    single = len(columns) == 1
    return {
        "name": frame.raters[columns[0]].name if single else "",
        "kind": frame.raters[columns[0]].kind,
        "system": system,
        "units": units,
        "labels": labels,
        "escapes": escapes,
        "missing": dict(reasons.most_common()),
        "unanswered": units - labels - escapes - reasons.total(),
    }


def missing_scores(of: Scores) -> list[JSON]:
    """Count by system the items, those without a score by any person, and by each judge."""
    columns = {of.labels.raters[n].name: of.values[:, n] for n in of.labels.columns("judge")}
    return [
        {
            "system": system,
            "items": len(items),
            "people": _without(of.people, items),
            "judges": {name: _without(values, items) for name, values in columns.items()},
        }
        for system, items in systems_of(of.frame).items()
    ]


def _without(values: Floats, items: Ints) -> int:
    return int((~np.isfinite(values[items])).sum())


MISSING = "What is missing"


AT_RANDOM = (
    "Figures leave out what is missing. They are right for all {} only if it is missing at random: "
    "if whether it is missing does not depend on what it would have been."
)


def missing_blocks(variable: JSON, judge: str | None = None) -> list[Block]:
    """Return who did not label what of a variable and why; with `judge`, that judge beside people.

    There is none in snapshots of older reports, and if every rater labelled every unit.
    """
    rows = [
        row
        for row in variable.get("missing_labels", ())
        if judge is None or row["kind"] == "human" or row["name"] == judge
    ]
    if not any(row["labels"] < row["units"] for row in rows):
        return []
    several = any(row["system"] is not None for row in rows)
    header: tuple[str | RaterName, ...] = (
        "Rater",
        *(("System",) if several else ()),
        "In all",
        "Labels",
        "Escapes",
        "Missing",
        "Why",
        "Not asked or not yet answered",
    )
    cells: tuple[tuple[Cell, ...], ...] = tuple(
        (
            RaterName(row["name"] or "all people", row["kind"]),
            *((("all" if row["system"] is None else row["system"] or DASH),) if several else ()),
            row["units"],
            row["labels"],
            row["escapes"],
            sum(row["missing"].values()),
            ", ".join(f"{why} {n}" for why, n in row["missing"].items()) or DASH,
            row["unanswered"],
        )
        for row in rows
    )
    table = Table("What is missing, for whom and why", header, cells)
    return [Block(MISSING, (table,), AT_RANDOM.format("labels"))]


def missing_scores_blocks(score: JSON) -> list[Block]:
    """Return how many items of each system have no score; none if all have one."""
    rows = score.get("missing_scores", ())
    if not any(row["people"] or any(row["judges"].values()) for row in rows):
        return []
    judges = list(rows[0]["judges"])
    header: tuple[str | RaterName, ...] = (
        "System",
        "Items",
        "Without people's score",
        *(RaterName(judge, "judge") for judge in judges),
    )
    cells: tuple[tuple[Cell, ...], ...] = tuple(
        (
            row["system"] or DASH,
            row["items"],
            row["people"],
            *(row["judges"][judge] for judge in judges),
        )
        for row in rows
    )
    table = Table("Items without a score, by system", header, cells)
    return [Block(MISSING, (table,), AT_RANDOM.format("items"))]


def missing_methods(report: JSON) -> list[str]:
    missing = sum(sum(block["missing"].values()) for block in blocks_of_judges(report))
    return [
        f"Missing labels of judges ({missing}) are left out of agreement, are counted by reason, "
        "and are losses in the alternative annotator test."
    ]


PEOPLES = SectionPart(PEOPLE, blocks=lambda shown: missing_blocks(shown.variable))
JUDGES = SectionPart(JUDGE, blocks=lambda shown: missing_blocks(shown.variable, shown.judge))
SCORES = SectionPart(
    SYSTEMS,
    of_score=lambda of, options, block: {"missing_scores": missing_scores(of)},
    blocks=lambda shown: missing_scores_blocks(shown.score),
)
METHODS = SectionPart(head=OF_JUDGES, methods=missing_methods)
