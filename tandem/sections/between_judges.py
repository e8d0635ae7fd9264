"""Section: judges compared with each other, without people's labels.

Judges who agree with each other may still disagree with people, since they may make the same errors
(`errors` shows this once people have labelled). The units to label first are those on which the
judges differ most. These units are hard, so agreement on them says nothing about the other units.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from ..document import DASH, UNIT_HEAD, UNITS, UNITS_HEAD, Block, Cell, Number, RaterName, Table
from ..labels.frame import VariableFrame
from ..labels.reference import reference
from ..labels.resampling import TOO_MANY, Sample
from ..statistics import Coefficient, Floats, Ints, error_correlations
from ..types import JSON
from .agreement import pair, pair_names
from .base import JUDGES, SectionPart, coefficient_of

MOST_UNITS = 50
MOST_OF_A_QUERY = 0.1
"""The largest share of the units to label first from one query, if other queries have any."""


def between_judges(sample: Sample) -> JSON:
    """Return the key `between_judges` of a variable, or nothing with fewer than two judges."""
    frame = sample.frame
    columns = [n for n in frame.columns("judge") if (frame.codes[:, n] >= 0).any()]
    if len(columns) < 2:
        return {}
    names = [frame.raters[n].name for n in columns]
    labelled = bool((frame.codes_of("human") >= 0).any())
    return {
        "between_judges": {
            "judges": names,
            "pairs": [_pair(sample, *two) for two in combinations(columns, 2)],
            "differ": count_differing(frame.codes[:, columns]),
            "errors": errors_alike(sample, names) if labelled else None,
            "label_first": label_first(frame, columns),
        }
    }


def count_differing(codes: Ints) -> int:
    """Count the units (U, R) with two different labels, -1 = missing."""
    lowest = np.where(codes >= 0, codes, codes.max(initial=0)).min(axis=1)
    return int((codes.max(axis=1) > lowest).sum())


def _pair(sample: Sample, one: int, other: int) -> JSON:
    codes, raters = sample.frame.codes, sample.frame.raters
    a, b = codes[:, one], codes[:, other]
    made = {
        name: estimate.as_json()
        for name, estimate in pair(sample, a, b, pair_names(sample)).items()
    }
    units = int(((a >= 0) & (b >= 0)).sum())
    return {"a": raters[one].name, "b": raters[other].name, "units": units, **made}


def label_first(frame: VariableFrame, columns: list[int]) -> list[JSON]:
    """Return the units without a person's label that people should label first, with the reason.

    The order is by the entropy of the judges' labels, then by the uncertainty of their scores, then
    by a hash of the unit. At most 50 units are returned. At most a tenth of them are from one
    query, unless other queries have too few.
    """
    codes = frame.codes[:, columns]
    open_units = np.flatnonzero(
        (frame.codes_of("human") < 0).all(axis=1) & ((codes >= 0).sum(axis=1) >= 2)
    )
    spread = entropies(codes[open_units], len(frame.scale.categories))
    doubt = _doubts(frame, columns)[open_units]
    chance = np.array([zlib.crc32("\0".join(frame.units.names[n]).encode()) for n in open_units])
    ranked = open_units[np.lexsort((chance, -doubt, -spread))] if len(open_units) else open_units
    measures = {
        int(n): (float(h), float(d)) for n, h, d in zip(open_units, spread, doubt, strict=True)
    }
    chosen = _over_queries([int(n) for n in ranked], frame.units.query)
    return [_unit(frame, columns, n, *measures[n]) for n in chosen]


def entropies(codes: Ints, k: int) -> Floats:
    """Return the entropy of each unit's labels (U, R), -1 = missing, from 0 to 1.

    The entropy is -sum_c p_c log p_c / log min(k, n), where p_c is the share of category c among
    the unit's n labels.
    """
    counts = np.stack([(codes == category).sum(axis=1) for category in range(k)], axis=1)
    n = counts.sum(axis=1)
    shares = counts / np.maximum(n, 1)[:, None]
    terms = np.where(shares > 0, shares * np.log(np.where(shares > 0, shares, 1.0)), 0.0)
    most = np.log(np.maximum(np.minimum(n, k), 2))
    found: Floats = -terms.sum(axis=1) / most + 0.0
    return found


def _doubts(frame: VariableFrame, columns: list[int]) -> Floats:
    """Return the judges' mean uncertainty, from 0 to 1; 0 without probabilities."""
    doubts = np.zeros(len(frame.codes))
    scores = frame.scores[:, columns]
    known = np.isfinite(scores) & (scores >= 0) & (scores <= 1)
    if set(frame.scale.categories) <= {"yes", "no"} and known.any():
        unsure = np.where(known, 1 - 2 * np.abs(np.where(known, scores, 0.5) - 0.5), 0.0)
        doubts = unsure.sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    return doubts


def _over_queries(ranked: list[int], query: Ints) -> list[int]:
    """Take units in order, at most a given number from each query, then fill up with the others."""
    most = max(1, round(MOST_UNITS * MOST_OF_A_QUERY))
    taken: list[int] = []
    used = Counter[int]()
    for unit in ranked:
        if used[int(query[unit])] < most and len(taken) < MOST_UNITS:
            used[int(query[unit])] += 1
            taken.append(unit)
    left = [unit for unit in ranked if unit not in set(taken)]
    chosen = set(taken + left[: MOST_UNITS - len(taken)])
    return [unit for unit in ranked if unit in chosen]


def _unit(frame: VariableFrame, columns: list[int], n: int, entropy: float, doubt: float) -> JSON:
    item, kind, unit = frame.units.names[n]
    codes = {frame.raters[c].name: int(frame.codes[n, c]) for c in columns}
    labels = {name: frame.scale.categories[code] for name, code in codes.items() if code >= 0}
    counts = Counter(labels.values()).most_common()
    why = ", ".join(f"{number} of {len(labels)} say {label}" for label, number in counts)
    if len(counts) == 1:
        sure = f", with a probability of {1 - doubt / 2:.2f} on average" if doubt else ""
        why = f"all say {counts[0][0]}{sure}"
    found = {"item": item, "kind": kind, "unit": unit, "labels": labels, "why": why}
    return {**found, "entropy": entropy}


ABOUT = "Agreement of judges beyond chance says nothing about people: they may share their errors."


ABOUT_ERRORS = (
    "The correlation of two judges' errors, given people's label. A jury of judges that err on the "
    f"same {UNITS} outvotes few errors."
)


ABOUT_FIRST = (
    f"The {UNITS} on which the judges differ most, at most a tenth of them from one query. They "
    "are the hard ones, so take a random sample as well to estimate agreement."
)


SHOWN = 50


def between_judges_blocks(variable: JSON) -> list[Block]:
    """Return the block of a variable with several judges; none in snapshots of older reports."""
    found = variable.get("between_judges")
    if not found:
        return []
    blocks = [Block("Judges among themselves", (_matrix(found, coefficient_of(variable)),), ABOUT)]
    if found["errors"] and "matrix" in found["errors"]:
        blocks.append(Block("How similarly they err", _errors(found["errors"]), ABOUT_ERRORS))
    if found["label_first"]:
        table = _label_first(found["label_first"])
        blocks.append(Block("What people should label first", (table,), ABOUT_FIRST))
    return blocks


def _matrix(found: JSON, shown: Coefficient) -> Table:
    names = found["judges"]
    kappas = {
        (pair[one], pair[other]): Number.from_estimate(pair[shown.key])
        for pair in found["pairs"]
        for one, other in (("a", "b"), ("b", "a"))
    }
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (RaterName(a, "judge"), *(kappas.get((a, b), DASH) for b in names)) for a in names
    )
    header: tuple[str | RaterName, ...] = ("Judge", *(RaterName(name, "judge") for name in names))
    return Table(f"{shown.words()} of every pair of judges", header, rows)


def _errors(errors: JSON) -> tuple[Table, ...]:
    names = errors["judges"]
    header: tuple[str | RaterName, ...] = ("Judge", *(RaterName(name, "judge") for name in names))
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            RaterName(name, "judge"),
            *(DASH if n == k else Number.from_estimate(cell) for k, cell in enumerate(row)),
        )
        for n, (name, row) in enumerate(zip(names, errors["matrix"], strict=True))
    )
    whole: tuple[tuple[Cell, ...], ...] = (
        ("Mean correlation of errors", Number.from_estimate(errors["mean_correlation"])),
        ("Effective number of judges", Number.from_estimate(errors["effective_judges"])),
    )
    return (
        Table("Correlation of errors of every pair of judges", header, rows),
        Table("Together", ("Of", "Value"), whole),
    )


def _label_first(units: list[JSON]) -> Table:
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (each["unit"], each["item"], each["why"]) for each in units[:SHOWN]
    )
    more = f", the first {SHOWN} of {len(units)}" if len(units) > SHOWN else ""
    return Table(
        f"{UNITS_HEAD} that people should label first{more}", (UNIT_HEAD, "Item", "Why"), rows
    )


def errors_alike(sample: Sample, judges: Sequence[str]) -> JSON:
    """Correlate the errors of these judges, given people's joint label.

    `units` is the number of units, and `matrix` is in the order of `judges`. Continuous variables
    have no errors: there is only a `reason`.
    """
    if sample.is_continuous:
        return {"judges": list(judges), "reason": TOO_MANY}
    column = {rater.name: n for n, rater in enumerate(sample.frame.raters)}
    codes = sample.frame.codes[:, [column[name] for name in judges]]
    people = reference(sample.frame).codes.astype(np.int64)
    found = error_correlations(codes, people, sample.clusters, **sample.resampling_arguments)
    return {
        "judges": list(judges),
        "units": found.units,
        "rates": [each.as_json() for each in found.rates],
        "matrix": [[each.as_json() for each in row] for row in found.matrix],
        "mean_correlation": found.mean.as_json(),
        "effective_judges": found.effective.as_json(),
    }


PART = SectionPart(
    JUDGES,
    "between_judges",
    lambda of: between_judges(of.both),
    blocks=lambda shown: between_judges_blocks(shown.variable),
)
