"""The headline numbers of a labels file, as `verify` computes them from the labels alone.

They are each rater's number of labels by category, agreement among people, each judge's agreement
with the majority, and each system's score by each rater.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tandem.files.rows import InputError, Place
from tandem.labels.file.frames import file_frame
from tandem.labels.frame import Frame, VariableFrame
from tandem.labels.reference import reference
from tandem.labels.resampling import Scores, systems_of
from tandem.labels.selection import UnknownOptionError
from tandem.protocols.base import Declaration
from tandem.sections.systems import scores_of_items
from tandem.statistics import (
    ALPHA,
    AMONG,
    EQUAL,
    FLEISS,
    KAPPA,
    Coefficient,
    Level,
    Scale,
    confusion,
    counts_of,
    mean_by_cluster,
)
from tandem.types import JSON

DIGITS = 9
"""The number of decimals to which two computations have to agree."""
WITH_JUDGE = EQUAL, KAPPA
Numbers = dict[str, Any]


def released_frame(path: Path, report: JSON, protocol: Declaration | None = None) -> Frame:
    """Return the frame of a labels file. Raises InputError.

    The report determines levels of measurement and excluded raters. The `protocol` is given if it
    is a team's.
    """
    try:
        frame, _ = file_frame([path], _levels(report), protocol=protocol)
    except UnknownOptionError as error:
        raise InputError(Place(str(path)), str(error), "restore the file") from error
    out = {rater["name"]: rater["excluded"] for rater in report["raters"]}
    return replace(frame, variables={n: _excluding(of, out) for n, of in frame.variables.items()})


def compute_headline(frame: Frame, report: JSON) -> dict[str, Numbers]:
    """Return the numbers of each variable, computed from labels."""
    found = {
        name: dict(_computed(of, bool(report["roles"]))) for name, of in frame.variables.items()
    }
    return found | {name: dict(_scored(of)) for name, of in scores_of_items(frame).items()}


def headline_from_report(report: JSON) -> dict[str, Numbers]:
    """Return the headline numbers of a report."""
    found = {
        name: dict(_reported(of, bool(report["roles"]))) for name, of in report["variables"].items()
    }
    return found | {
        name: {
            _score(system, rater): _value(estimate)
            for system, of in score["systems"].items()
            for rater, estimate in of.items()
        }
        for name, score in report["scores"].items()
    }


def _among(level: Level) -> tuple[Coefficient, ...]:
    return (AMONG["percent"], FLEISS, *(() if level == "interval" else (ALPHA,)))


def _levels(report: JSON) -> dict[str, Level]:
    return {
        name: of["measurement"]
        for name, of in report["variables"].items()
        if any(of["distribution"]["counts"].values())
    }


def _excluding(of: VariableFrame, out: dict[str, str | None]) -> VariableFrame:
    raters = tuple(replace(each, excluded=out.get(each.name)) for each in of.raters)
    return replace(of, raters=raters)


def _computed(of: VariableFrame, has_roles: bool) -> Iterator[tuple[str, Any]]:
    for column in (*of.columns("human"), *of.columns("judge")):
        for category, number in _categories(of, column):
            yield _count(of.raters[column].name, category), number
    k, level = len(of.scale.categories), of.scale.level
    if not k:
        return
    counts, scale = (
        counts_of(of.codes_of("human"), k),
        Scale(k, level, of.scale.compared_values() if level == "set" else None),
    )
    for each in _among(level):
        yield each.key, _number(each.compute(counts, None, scale))
    # Judges are compared on evaluation queries only, which labels do not identify.
    for column in () if has_roles or level == "interval" else of.columns("judge"):
        table = confusion(reference(of).codes, of.codes[:, column], k)
        for each in WITH_JUDGE:
            yield f"{of.raters[column].name}: {each.key}", _number(each.compute(table, scale))


def _scored(table: Scores) -> Iterator[tuple[str, float | None]]:
    for system, items in systems_of(table.frame).items():
        for rater, values in table.columns().items():
            mean = mean_by_cluster(values[items], table.queries[items], "", table.bounds)
            yield _score(system, rater), _number(mean.value)


def _score(system: str, rater: str) -> str:
    return f"{system or 'no system'} by {rater}"


def _categories(of: VariableFrame, column: int) -> Iterator[tuple[str, int]]:
    codes = of.codes[:, column]
    numbers = np.bincount(codes[codes >= 0], minlength=len(of.scale.categories))
    yield from zip(of.scale.categories, map(int, numbers), strict=True)


def _reported(of: JSON, has_roles: bool) -> Iterator[tuple[str, Any]]:
    for rater, counts in of["distribution"]["counts"].items():
        for category, number in counts.items():
            yield _count(rater, category), number
    level = of["measurement"]
    for each in _among(level):
        yield each.key, _value(of["agreement"].get(each.key))
    for judge, block in of["judges"].items() if level != "interval" and not has_roles else ():
        for each in WITH_JUDGE:
            yield f"{judge}: {each.key}", _value(block["agreement"].get(each.key))


def _count(rater: str, category: str) -> str:
    return f"{category!r} by {rater}"


def _value(estimate: JSON | None) -> float | None:
    return None if estimate is None else _number(estimate["value"])


def _number(value: Any) -> float | None:
    number = np.nan if value is None else float(value)
    return round(number, DIGITS) + 0.0 if np.isfinite(number) else None


def differences(frame: Frame, report: JSON) -> Iterator[str]:
    """Yield a description of each number in the report that does not follow from the labels."""
    now, before = compute_headline(frame, report), headline_from_report(report)
    for variable in dict.fromkeys((*before, *now)):
        found, stated = now.get(variable, {}), before.get(variable, {})
        # For a crowd, a report has only the mean, and a single category gives no score.
        is_score = variable in report["scores"]
        for name in (
            (n for n in stated if n in found) if is_score else dict.fromkeys((*stated, *found))
        ):
            one, other = stated.get(name) or 0, found.get(name) or 0
            if not np.isclose(one, other, rtol=0, atol=10.0**-DIGITS * 2):
                yield f"{variable}, {name}: {one:g} in the report, {other:g} by the labels"
