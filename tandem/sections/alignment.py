"""Section: what a judge gets wrong: categories, confusions, and the direction of its errors."""

from __future__ import annotations

import numpy as np

from ..document import Cell, Table, UnitCount, units_of_cell
from ..labels.resampling import TOO_MANY, Sample
from ..statistics import (
    Alignment,
    Estimate,
    Floats,
    Ints,
    alignment_estimates,
    height,
    mean_by_cluster,
    strictness,
    undefined,
)
from ..statistics.coefficients import OVERALL
from ..types import JSON
from .agreement import NO_ORDER
from .base import JUDGE, SectionPart, Shown, as_json, estimate_cells

YES, NO = "yes", "no"


OF_SETS = "sets of codes are compared code by code"
ERROR = "mean absolute error, mean human rating"


def direction(sample: Sample, people: Ints, judge: Ints) -> JSON:
    """Return the key `direction`: in which direction a judge (U,) errs from a reference (U,).

    It is absent if the labels used are neither yes and no nor ordered.
    """
    arguments, clusters = sample.resampling_arguments, sample.clusters
    categories, both = sample.frame.scale.categories, (people >= 0) & (judge >= 0)
    used = {categories[code] for code in np.unique([people[both], judge[both]])}
    if used == {YES, NO}:
        yes, no = categories.index(YES), categories.index(NO)
        found = strictness(people, judge, clusters, yes=yes, no=no, **arguments)
        return {"direction": found.as_json()}
    if not sample.is_ordered:
        return {}
    ranks = [np.where(each >= 0, each, np.nan).astype(float) for each in (people, judge)]
    return {"direction": height(ranks[0], ranks[1], clusters, **arguments).as_json()}


def alignment_with(
    sample: Sample, reference: Ints, codes: Ints, gaps: Floats, error: str = ERROR
) -> JSON:
    """Return measures of each category and overall, and the table that both are computed from.

    `gaps` (U,) are the distances of ratings from the reference's, and `error` names their mean.
    Sets of codes have measures of each code instead (see `by_code`).
    """
    if sample.is_continuous or sample.is_of_sets:
        n = int(((reference >= 0) & (codes >= 0)).sum())
        why = OF_SETS if sample.is_of_sets else TOO_MANY
        nothing = {name: undefined(why, n, method) for name, (_, method) in OVERALL.items()}
        overall = {**nothing, "mean_absolute_error": _error(sample, gaps, error)}
        empty: JSON = {"labels": [], "matrix": []}
        return {"classes": {}, "overall": as_json(overall), "confusion": empty}
    made = alignment_estimates(
        reference, codes, sample.clusters, sample.k, **sample.resampling_arguments
    )
    overall = {**made.overall, "mean_absolute_error": _error(sample, gaps, error)}
    used = np.flatnonzero(made.confusion.sum(axis=0) + made.confusion.sum(axis=1))
    names = [sample.frame.scale.categories[n] for n in used]
    return {
        "classes": {name: _class(made, int(n)) for name, n in zip(names, used, strict=True)},
        "overall": as_json(overall),
        "confusion": {
            "labels": names,
            "matrix": made.confusion[np.ix_(used, used)].astype(int).tolist(),
        },
    }


def _class(made: Alignment, place: int) -> JSON:
    of_class = {name: estimates[place] for name, estimates in made.classes.items()}
    return {**as_json(of_class), "support": int(made.confusion[place].sum())}


def _error(sample: Sample, gaps: Floats, method: str) -> Estimate:
    if not sample.is_ordered:
        return undefined(NO_ORDER, 0, method)
    return mean_by_cluster(np.abs(gaps), sample.clusters, method, (0, sample.span))


_CLASSES = {"precision": "Precision", "recall": "Recall", "f1": "F1", "specificity": "Specificity"}


def error_tables(shown: Shown) -> list[Table]:
    """Return the confusions of a judge, and its measures of each category."""
    if not (classes := shown.block["classes"]):
        return []
    names = {key: _CLASSES[key] for key in _CLASSES if all(key in of for of in classes.values())}
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            name,
            *estimate_cells(of, names),
            UnitCount.of(
                of["support"],
                show="decided",
                one=shown.judge,
                people=shown.codes.get(name, name),
            ),
        )
        for name, of in classes.items()
    )
    categories = Table("Categories", ("Category", *names.values(), "Support"), rows)
    return [_confusion(shown.block["confusion"]), categories]


def _confusion(block: JSON) -> Table:
    codes: list[str] = block.get("codes") or block["labels"]
    rows = tuple(
        (
            word,
            *(units_of_cell(number, people, said) for said, number in zip(codes, row, strict=True)),
        )
        for word, people, row in zip(block["labels"], codes, block["matrix"], strict=True)
    )
    return Table("Confusion, people in rows", ("People / judge", *block["labels"]), rows)


PART = SectionPart(JUDGE, title="What it gets wrong", tables=error_tables)
