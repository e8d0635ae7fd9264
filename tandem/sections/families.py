"""Section: how each judge treats answers of its own model family."""

from __future__ import annotations

import numpy as np

from ..document import UNITS_HEAD, Number, Table, UnitCount
from ..labels.frame import Families
from ..labels.reference import category_numbers
from ..labels.resampling import Sample, mean_of
from ..statistics import Floats, difference_by_cluster, family_differences, undefined
from ..statistics.alignment import LESS, NO_OWN, PREFERENCE
from ..types import JSON
from .base import ANY, JUDGE, SectionPart, Shown
from .judges import FURTHER_COEFFICIENTS

ANSWERS = ("yes", "no")
NO_FAMILY = "the judge names no family"
NO_ORDER = "the categories have no order and are not yes and no"
OF_PAIRS = "a pair holds an answer of its own family and another; see the preference"
WON = {"first": 1.0, "second": 0.0}
TIE = 0.5
PAIRS = "share of wins of the own family's answer, judge's less people's, ties one half"


def own_family(sample: Sample, column: int, families: Families) -> JSON:
    """Return the key `own_family` of a judge, or nothing if no answer has a family.

    `own` and `others` are the means of the judge's numbers minus people's, and `preference` is own
    minus others. A label's number is 1 for yes and 0 for no, the rating, or the rank. Of pairs,
    only those with exactly one answer from the judge's family count, and `preference` is the
    judge's share of wins for that answer minus people's.
    """
    if not families.answers:
        return {}
    name = sample.frame.raters[column].name
    family = families.judges.get(name)
    if family is not None and any(kind == "pair" for _, kind, _ in sample.frame.units.names):
        return {"own_family": {"family": family, **_of_pairs(sample, column, families, family)}}
    values = _values(sample)
    if family is None or values is None:
        why = NO_FAMILY if family is None else NO_ORDER
        nothing = undefined(why, 0, f"mean of {LESS}").as_json()
        none = {"own": nothing, "others": nothing}
        none["preference"] = undefined(why, 0, PREFERENCE).as_json()
        return {"own_family": {"family": family, **none}}
    whose = np.array([families.of(*name) for name in sample.frame.units.names])
    found = family_differences(
        values[:, column],
        mean_of(values[:, sample.frame.columns("human")]),
        whose == family,
        (whose != family) & (whose != ""),
        sample.clusters,
        **sample.resampling_arguments,
    )
    estimates = {"own": found.own, "others": found.others, "preference": found.preference}
    return {
        "own_family": {"family": family, **{n: each.as_json() for n, each in estimates.items()}}
    }


def _of_pairs(sample: Sample, column: int, families: Families, family: str) -> JSON:
    """Return how much more often than people the judge prefers its own family's answers."""
    whose = [families.of_pair(unit) for _, _, unit in sample.frame.units.names]
    first = np.array([a == family and b not in ("", family) for a, b in whose])
    second = np.array([b == family and a not in ("", family) for a, b in whose])
    codes, categories = sample.frame.codes, sample.frame.scale.categories
    wins = np.array([WON.get(category, TIE) for category in categories])
    firsts = np.where(codes >= 0, wins[codes], np.nan)
    # (U, R): the own answer's win, in either position.
    own = np.where(second[:, np.newaxis], 1 - firsts, firsts)
    less = own[:, column] - mean_of(own[:, sample.frame.columns("human")])
    kept = (first | second) & np.isfinite(less)
    found = (
        difference_by_cluster(less[kept], sample.clusters[kept], PAIRS)
        if kept.any()
        else undefined(NO_OWN, 0, PAIRS)
    )
    neither = undefined(OF_PAIRS, found.n, f"mean of {LESS}").as_json()
    return {"own": neither, "others": neither, "preference": found.as_json()}


def _values(sample: Sample) -> Floats | None:
    """Return each rater's labels as numbers, (U, R); None if categories are not numbers."""
    scale, codes = sample.frame.scale, sample.frame.codes
    if sample.is_ordered:
        return category_numbers(scale, codes)
    own = [c for c in scale.categories if c not in scale.foreign]
    if sorted(own) != sorted(ANSWERS):
        return None
    is_yes = np.array([category == "yes" for category in scale.categories])
    return np.where(codes >= 0, is_yes[codes], np.nan).astype(float)


def own_family_tables(shown: Shown) -> list[Table]:
    """Return the table of the judge's own model family, if answers have families."""
    if not (found := shown.block.get("own_family")):
        return []
    named = f"Own family, {found['family']}" if found["family"] else "Own family"
    labels = {"own": named, "others": "Other families", "preference": "Own less others"}
    rows = tuple(
        (label, Number.from_estimate(found[key]), _of_family(found, key, shown.judge))
        for key, label in labels.items()
        if key in found
    )
    header = ("Answers of", "Judge less people", UNITS_HEAD)
    return [Table("How it treats its own family", header, rows)]


def _of_family(own_family: JSON, key: str, judge: str) -> int:
    """Return the count of units about answers from the judge's family or from others."""
    units, family = own_family[key]["n"], own_family["family"]
    if not family:
        return int(units)
    of_pairs = own_family["others"]["value"] is None and own_family["own"]["value"] is None
    of = {"own": family, "others": f"!{family}", "preference": family if of_pairs else ANY}
    return UnitCount.of(units, show="labelled", one=judge, family=of[key])


PART = SectionPart(
    JUDGE,
    of_judge=lambda of, n: own_family(of.both, n, of.frame.families),
    title=FURTHER_COEFFICIENTS,
    tables=own_family_tables,
)
