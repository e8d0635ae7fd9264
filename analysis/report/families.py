"""Section: how each judge treats answers of its own model family."""

from __future__ import annotations

import numpy as np

from ..data.frame import Families
from ..data.reference import numbered
from ..data.resampling import Sample, mean_of
from ..statistics import Floats, family_differences, undefined
from ..statistics.families import LESS, PREFERENCE
from ..types import JSON

ANSWERS = ("yes", "no")
NO_FAMILY = "the judge names no family"
NO_ORDER = "the categories have no order and are not yes and no"


def own_family(sample: Sample, column: int, families: Families) -> JSON:
    """Return the key `own_family` of a judge, or nothing if no answer has a family.

    `own` and `others` are the judge's numbers less people's mean, and `preference` is own less
    others. A number is a yes as 1, a rating, or a rank.
    """
    if not families.answers:
        return {}
    name = sample.frame.raters[column].name
    family = families.judges.get(name)
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
    told = {"own": found.own, "others": found.others, "preference": found.preference}
    return {"own_family": {"family": family, **{n: each.as_json() for n, each in told.items()}}}


def _values(sample: Sample) -> Floats | None:
    """Return each rater's labels as numbers, (U, R); None if categories are no numbers."""
    scale, codes = sample.frame.scale, sample.frame.codes
    if sample.is_ordered:
        return numbered(scale, codes)
    own = [c for c in scale.categories if c not in scale.foreign]
    if sorted(own) != sorted(ANSWERS):
        return None
    is_yes = np.array([category == "yes" for category in scale.categories])
    return np.where(codes >= 0, is_yes[codes], np.nan).astype(float)
