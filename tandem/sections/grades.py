"""Section: a judge's own grades, such as 4 of 5, and the codes to which its file maps them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from ..document import UNITS_HEAD, Cell, Number, Table, UnitCount
from ..labels.facts import number_of
from ..labels.reference import mean_rating, reference
from ..labels.resampling import Sample
from ..statistics import CORRELATIONS, SHARE, Floats, Ints, correlation_estimates, mean_by_cluster
from ..types import JSON
from .base import ANY, JUDGE, SectionPart, Shown, estimate_rows
from .calibration import ANSWERS
from .cuts import curves_of, curves_table

MANY = 40
"""With more distinct grades than this, a table is unreadable."""


def grades(sample: Sample, column: int, with_curves: bool) -> JSON:
    """Return the key `graded` of a judge, or nothing if its labels have no grades.

    `grades` counts labels by grade and code, with people's mean rating or share of yes on these
    units. If all grades are numbers, `correlation` compares them with people's ratings or yes, and
    `curves` has every cut of the grades.
    """
    given = sample.frame.grades.get(column)
    codes = sample.frame.codes[:, column]
    if given is None or sample.is_continuous or not ((given != "") & (codes >= 0)).any():
        return {}
    given = np.where(codes >= 0, given, "")
    people, of = _people(sample)
    found: JSON = {"labels": int((given != "").sum()), "people": of}
    found["grades"] = list(_by_grade(sample, given, codes, people))
    numbers = _numbers(given)
    if numbers is None:
        return {"graded": found}
    if of:
        detail = f", grades with people's {of}"
        made = correlation_estimates(
            numbers, people, sample.clusters, detail=detail, **sample.resampling_arguments
        )
        found["correlation"] = {name: each.as_json() for name, each in made.items()}
    together = reference(sample.frame).codes
    found["curves"] = curves_of(sample, numbers, together) if with_curves else []
    return {"graded": found}


def _people(sample: Sample) -> tuple[Floats, str]:
    """Return people's labels of each unit as a number (U,), NaN without one, and its name."""
    scale, codes = sample.frame.scale, sample.frame.codes_of("human")
    if sample.is_ordered:
        return mean_rating(sample.frame), "mean rating"
    if {c for c in scale.categories if c not in scale.foreign} != ANSWERS:
        return np.full(len(codes), np.nan), ""
    said = codes >= 0
    yes = (codes == scale.categories.index("yes")).sum(axis=1)
    count = said.sum(axis=1)
    share = np.divide(yes, count, out=np.full(len(codes), np.nan), where=count > 0)
    return share, "share of yes"


def _numbers(given: Any) -> Floats | None:
    """Return grades as numbers (U,), NaN without one, or None if any is not a number."""
    found = np.full(len(given), np.nan)
    for n, grade in enumerate(given):
        if grade:
            number = number_of(grade)
            if number is None:
                return None
            found[n] = number
    return found


def _by_grade(sample: Sample, given: Any, codes: Ints, people: Floats) -> Iterator[JSON]:
    """Yield a row for each grade, in numerical order, or otherwise by the mapped codes."""
    places: dict[tuple[str, int], list[int]] = {}
    for n, grade in enumerate(given):
        if grade:
            places.setdefault((grade, int(codes[n])), []).append(n)
    if len(places) > MANY:
        return
    numeric = _numbers(given) is not None

    def order(place: tuple[str, int]) -> tuple[float, int, str]:
        grade, code = place
        return (number_of(grade) or 0.0) if numeric else 0.0, code, grade

    for grade, code in sorted(places, key=order):
        units = places[grade, code]
        row: JSON = {
            "grade": grade,
            "label": sample.frame.scale.categories[code],
            "labels": len(units),
        }
        if np.isfinite(people).any():
            there = np.full(len(people), np.nan)
            there[units] = people[units]
            bounds = sample.bounds if sample.is_ordered else SHARE
            how = "mean of people at this grade"
            row["people"] = mean_by_cluster(there, sample.clusters, how, bounds).as_json()
        yield row


AREAS = {"roc_auc": "ROC AUC", "average_precision": "Average precision"}


def graded_tables(shown: Shown) -> Iterator[Table]:
    """Yield the grades with people's labels at each, their correlation, and their curves."""
    if not (found := shown.block.get("graded")):
        return
    if found["grades"]:
        yield _grades_table(found, shown)
    if "correlation" in found:
        labels = {key: of.head or of.name for key, of in CORRELATIONS.items()}
        of_any = partial(UnitCount.of, show="labelled", one=shown.judge, grade=ANY)
        rows = estimate_rows(found["correlation"], labels, of_any)
        caption = f"Its grades and people's {found['people']}"
        yield Table(caption, ("Correlation", "Value", UNITS_HEAD), rows)
    if found.get("curves"):
        caption = f"Its grades over all cuts, against the {shown.block['reference']}"
        yield curves_table(caption, found["curves"], AREAS, shown)


def _grades_table(found: JSON, shown: Shown) -> Table:
    has_people = any("people" in row for row in found["grades"])
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            row["grade"],
            row["label"],
            UnitCount.of(
                row["labels"],
                show="all",
                one=shown.judge,
                label=shown.codes.get(row["label"], row["label"]),
                grade=row["grade"],
            ),
            *((Number.from_estimate(row["people"]),) if has_people else ()),
        )
        for row in found["grades"]
    )
    header = ("Grade", "Label", "Labels", *((f"People's {found['people']}",) if has_people else ()))
    return Table("Its own grades, before they became labels", header, rows)


PART = SectionPart(JUDGE, title="Its grades", tables=graded_tables)
