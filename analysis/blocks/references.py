"""A judge held against the References: what adjudicators decided, beside people's majority."""

from __future__ import annotations

import numpy as np

from analysis.blocks.judges import ERROR, agreement_with, alignment_with
from analysis.blocks.pairs import numbers
from analysis.blocks.resampling import JSON, Sample
from analysis.frames import VariableFrame
from analysis.statistics import Bools, Ints, majority

ERROR_WITH = ERROR.replace("mean human rating", "adjudicated rating")


def adjudicated(sample: Sample, column: int) -> JSON:
    """The key `adjudicated` of a judge.

    `references` are the units that were decided, which are mostly the hard ones: of a judge's whole
    work they say too little. `settled` has people's majority where nothing was decided.
    """
    decided, _ = references_of(sample.frame)
    both, _ = settled(sample.frame)
    return {
        "references": _against(sample, column, decided),
        "settled": _against(sample, column, both),
    }


def settled(frame: VariableFrame) -> tuple[Ints, Bools]:
    """The Reference's category where something was decided, else people's most frequent one.

    Both (U,), with whether it was decided; -1 where neither says anything.
    """
    decided, is_decided = references_of(frame)
    most, _ = majority(frame.of("human"))
    return np.where(is_decided, decided, most).astype(np.int64), is_decided


def references_of(frame: VariableFrame) -> tuple[Ints, Bools]:
    """The Reference's category of each unit, and whether something was decided on it, both (U,).

    The category is -1 where nothing was decided, where it was an escape, or where several
    references tie; then people's majority says nothing either.
    """
    labels = frame.of("reference")
    decided, _ = majority(labels)
    is_decided = np.asarray((labels >= 0).any(axis=1), dtype=np.bool_)
    names = {frame.raters[n].name for n in frame.columns("reference")}
    escaped = [a.unit for a in frame.asides if a.rater in names and not a.is_missing]
    is_decided[escaped] = True
    return decided, is_decided


def _against(sample: Sample, column: int, reference: Ints) -> JSON:
    codes = sample.frame.codes[:, column]
    gaps = numbers(sample, codes) - numbers(sample, reference)
    agreement = agreement_with(sample, reference, codes)
    return {
        "units": int(((reference >= 0) & (codes >= 0)).sum()),
        "agreement": agreement,
        **alignment_with(sample, reference, codes, gaps, ERROR_WITH),
    }
