"""Section: agreement of people, and of judges with people, before and after guideline changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..document import PLAIN
from ..labels.frame import Guideline
from ..labels.guidelines import judge_codes_under, people_codes_under
from ..labels.reference import reference_of
from ..labels.resampling import Sample
from ..statistics import (
    Estimate,
    Floats,
    Ints,
    Level,
    agreement_change,
    agreement_estimates,
    undefined,
)
from ..statistics.coefficients import ALPHA, EQUAL, FLEISS
from ..types import JSON
from .agreement import own_codes

FEWEST = 30
"""With fewer units that two people labelled under a version, no figure of it is shown.

So few units support no conclusion, and their figures would reveal single answers.
"""


def _on_scale(sample: Sample, codes: Ints) -> tuple[Ints, int, Level, Floats | None]:
    """Return codes unchanged, with the number of codes, the level and the values of the scale."""
    scale = sample.frame.scale
    return codes, sample.k, scale.level, scale.values() if scale.categories else None


@dataclass(frozen=True)
class _Raters:
    """The raters to compare, the coefficients, and the codes."""

    whose: str
    method: str
    names: tuple[str, ...]
    coded: Callable[[Sample, Ints], tuple[Ints, int, Level, Floats | None]]


PEOPLE = _Raters(
    "labels from two people",
    "among labels that people gave under one version of the guideline",
    (EQUAL.key, FLEISS.key, ALPHA.key),
    own_codes,
)
WITH_JUDGE = _Raters(
    "labels from people and from the judge",
    "of a judge with people, among labels given under one version of the guideline",
    (EQUAL.key, ALPHA.key),
    _on_scale,
)


def guidelines(
    sample: Sample,
    versions: Sequence[Guideline],
    noun: Sequence[str] = PLAIN,
    compared: Sample | None = None,
) -> JSON:
    """Return people's agreement under each version of the guideline, and its changes.

    A pair of labels counts if both were given under the version. Versions under which nobody
    labelled this variable are left out. `noun` is the units' noun, singular and plural. Judges are
    compared with people on the part `compared`; None for the whole sample.
    """
    codes = {n: people_codes_under(sample.frame, n) for n in range(len(versions))}
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
                **_as_json(_under(sample, codes[n], noun, PEOPLE)),
            }
            for n in used
        ],
        "changes": [
            {
                "before": versions[one].version,
                "after": versions[other].version,
                **_as_json(_change(sample, codes[one], codes[other], noun, PEOPLE)),
            }
            for one, other in pairwise(used)
        ],
        "judges": _judges(sample if compared is None else compared, versions, used, noun),
    }


def _judges(
    sample: Sample, versions: Sequence[Guideline], used: Sequence[int], noun: Sequence[str]
) -> JSON:
    """Return each judge's agreement with people under the versions that both followed."""
    frame = sample.frame
    people = {n: reference_of(people_codes_under(frame, n), frame.scale).codes for n in used}
    found: JSON = {}
    for column in frame.columns("judge"):
        said = {n: judge_codes_under(frame, column, n) for n in used}
        under = [n for n in used if (said[n] >= 0).any()]
        sides = {n: np.stack([people[n], said[n]], axis=1) for n in under}
        found[frame.raters[column].name] = {
            "versions": [
                {
                    "version": versions[n].version,
                    "labels": int((said[n] >= 0).sum()),
                    "units": _paired(sides[n]),
                    **_as_json(_under(sample, sides[n], noun, WITH_JUDGE)),
                }
                for n in under
            ],
            "changes": [
                {
                    "before": versions[one].version,
                    "after": versions[other].version,
                    **_as_json(_change(sample, sides[one], sides[other], noun, WITH_JUDGE)),
                }
                for one, other in pairwise(under)
            ],
        }
    return found


def _as_json(found: dict[str, Estimate]) -> JSON:
    return {name: of.as_json() for name, of in found.items()}


def _paired(codes: Ints) -> int:
    return int(((codes >= 0).sum(axis=1) >= 2).sum())


def _under(
    sample: Sample, codes: Ints, noun: Sequence[str], raters: _Raters
) -> dict[str, Estimate]:
    if why := _too_few([codes], noun, raters.whose):
        return {name: undefined(why, _paired(codes), raters.method) for name in raters.names}
    coded, k, level, values = raters.coded(sample, codes)
    return agreement_estimates(
        coded, sample.clusters, k, level, values, names=raters.names, **sample.resampling_arguments
    )


def _change(
    sample: Sample, before: Ints, after: Ints, noun: Sequence[str], raters: _Raters
) -> dict[str, Estimate]:
    if why := _too_few([before, after], noun, raters.whose):
        return {name: undefined(why, 0, raters.method) for name in raters.names}
    both, k, level, values = raters.coded(sample, np.concatenate([before, after], axis=1))
    first = before.shape[1]
    return agreement_change(
        both[:, :first],
        both[:, first:],
        sample.clusters,
        k,
        level,
        values,
        names=raters.names,
        **sample.resampling_arguments,
    )


def _too_few(sides: Iterable[Ints], noun: Sequence[str], whose: str) -> str:
    """Explain that a version has too few units that both labelled; empty if it has enough."""
    units = min(map(_paired, sides))
    if units >= FEWEST:
        return ""
    amount = "no" if units == 0 else f"only {units}"
    has = f"{noun[0]} has" if units == 1 else f"{noun[1]} have"
    return f"{amount} {has} {whose} under one version, at least {FEWEST} are needed"
