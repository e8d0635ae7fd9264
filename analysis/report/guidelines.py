"""Section: agreement of people before and after each change of the guideline."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from ..data.frame import Guideline
from ..data.guidelines import codes_under
from ..data.resampling import Sample
from ..statistics import (
    Estimate,
    Ints,
    agreement_change,
    agreement_estimates,
    undefined,
)
from ..types import JSON
from .agreement import own_codes

FEWEST = 30
"""With fewer units that two people labelled under a version, no figure of it is shown.

So few units support no statement, and their figures would tell single answers.
"""
NAMES = ("percent", "fleiss_kappa", "krippendorff_alpha")
METHOD = "among labels that people gave under one version of the guideline"


def guidelines(
    sample: Sample, versions: Sequence[Guideline], noun: Sequence[str] = ("unit", "units")
) -> JSON:
    """Return people's agreement under each version of the guideline, and from one to the next.

    A pair of labels counts if both were given under the version. Versions under which nobody
    labelled this variable are left out. `noun` is what the units are called, one and several.
    """
    codes = {n: codes_under(sample.frame, n) for n in range(len(versions))}
    used = [n for n, of in codes.items() if (of >= 0).any()]
    labels = {n: int((codes[n] >= 0).sum()) for n in used}
    every = int((sample.frame.codes_of("human") >= 0).sum())
    return {
        "least_units": FEWEST,
        "unknown": every - sum(labels.values()),
        "versions": [
            {
                "version": versions[n].version,
                "digest": versions[n].digest,
                "labels": labels[n],
                "people": int((codes[n] >= 0).any(axis=0).sum()),
                "units": _paired(codes[n]),
                **_as_json(_under(sample, codes[n], noun)),
            }
            for n in used
        ],
        "changes": [
            {
                "before": versions[one].version,
                "after": versions[other].version,
                **_as_json(_change(sample, codes[one], codes[other], noun)),
            }
            for one, other in pairwise(used)
        ],
    }


def _as_json(found: dict[str, Estimate]) -> JSON:
    return {name: of.as_json() for name, of in found.items()}


def _paired(codes: Ints) -> int:
    return int(((codes >= 0).sum(axis=1) >= 2).sum())


def _under(sample: Sample, codes: Ints, noun: Sequence[str]) -> dict[str, Estimate]:
    if why := _too_few([codes], noun):
        return {name: undefined(why, _paired(codes), METHOD) for name in NAMES}
    own, k, level, values = own_codes(sample, codes)
    return agreement_estimates(
        own, sample.clusters, k, level, values, names=NAMES, **sample.resampling_arguments
    )


def _change(sample: Sample, before: Ints, after: Ints, noun: Sequence[str]) -> dict[str, Estimate]:
    if why := _too_few([before, after], noun):
        return {name: undefined(why, 0, METHOD) for name in NAMES}
    both, k, level, values = own_codes(sample, np.concatenate([before, after], axis=1))
    people = before.shape[1]
    return agreement_change(
        both[:, :people],
        both[:, people:],
        sample.clusters,
        k,
        level,
        values,
        names=NAMES,
        **sample.resampling_arguments,
    )


def _too_few(sides: Iterable[Ints], noun: Sequence[str]) -> str:
    """Explain that a version has too few units that two people labelled; empty if it has not."""
    units = min(map(_paired, sides))
    if units >= FEWEST:
        return ""
    amount = "no" if units == 0 else f"only {units}"
    has = f"{noun[0]} has" if units == 1 else f"{noun[1]} have"
    return f"{amount} {has} labels from two people under one version, at least {FEWEST} are needed"
