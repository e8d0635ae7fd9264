"""A judge held against the References: what adjudicators decided, beside people together."""

from __future__ import annotations

import numpy as np

from analysis.blocks.judges import ERROR, agreement_with, alignment_with
from analysis.blocks.pairs import numbers
from analysis.blocks.resampling import JSON, Sample
from analysis.frames import VariableFrame
from analysis.people import Reference, reference
from analysis.statistics import Bools, Ints

ERROR_WITH = ERROR.replace("mean human rating", "adjudicated rating")


def adjudicated(sample: Sample, column: int) -> JSON:
    """The key `adjudicated` of a judge.

    `references` are the units that were decided, which are mostly the hard ones: of a judge's whole
    work they say too little. `settled` has people's majority where nothing was decided.
    """
    return {
        "references": _against(sample, column, reference(sample.frame, "reference")),
        "settled": _against(sample, column, _settled(sample.frame)),
    }


def settled(frame: VariableFrame) -> tuple[Ints, Bools]:
    """The Reference's category where something was decided, else that of people together.

    Both (U,), with whether it was decided; -1 where neither says anything.
    """
    return _settled(frame).codes, references_of(frame)[1]


def _settled(frame: VariableFrame) -> Reference:
    is_decided = references_of(frame)[1]
    decided, people = reference(frame, "reference"), reference(frame)
    return Reference(
        people.rule,
        np.where(is_decided, decided.codes, people.codes).astype(np.int64),
        np.where(is_decided, decided.values, people.values),
        np.where(is_decided, decided.ties, people.ties),
    )


def references_of(frame: VariableFrame) -> tuple[Ints, Bools]:
    """The Reference's category of each unit, and whether something was decided on it, both (U,).

    The category is -1 where nothing was decided, where it was an escape, or where several
    references tie; then people together say nothing either.
    """
    is_decided = np.asarray((frame.of("reference") >= 0).any(axis=1), dtype=np.bool_)
    names = {frame.raters[n].name for n in frame.columns("reference")}
    escaped = [a.unit for a in frame.asides if a.rater in names and not a.is_missing]
    is_decided[escaped] = True
    return reference(frame, "reference").codes, is_decided


def _against(sample: Sample, column: int, said: Reference) -> JSON:
    codes = sample.frame.codes[:, column]
    gaps = numbers(sample, codes) - said.values
    return {
        "units": int(((said.codes >= 0) & (codes >= 0)).sum()),
        "agreement": agreement_with(sample, said, codes),
        **alignment_with(sample, said.codes, codes, gaps, ERROR_WITH),
    }
