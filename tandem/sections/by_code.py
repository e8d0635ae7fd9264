"""Section: each code of a variable that takes several, as a yes or no of its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..document import UNITS_HEAD, Block, Cell, Number, RaterName, Table
from ..labels.facts import FloorCodes, Scale
from ..labels.frame import VariableFrame
from ..labels.reference import reference
from ..labels.resampling import MAX_CATEGORIES, Sample
from ..statistics import (
    ALPHA,
    EQUAL,
    KAPPA,
    SHARE,
    Estimate,
    agreement_estimates,
    alignment_estimates,
    mean_by_cluster,
    pair_estimates,
)
from ..types import JSON
from .agreement import pair_means
from .base import JUDGE, PEOPLE, Labels, SectionPart, Shown, as_json
from .crowd import is_crowd

NO, YES = 0, 1
PREVALENCE = "share of labels with the code"
MEASURES = {"precision": "Precision", "recall": "Recall", "f1": "F1"}


def by_code(people: Sample, both: Sample) -> JSON:
    """Return the keys `codes` and `by_code` of a variable of sets, nothing on other scales.

    Each code has its prevalence by rater, the agreement of people on it, and of each judge with the
    majority of people. Judges are compared on the units of `both`. With too many codes there is
    none.
    """
    if not people.is_of_sets:
        return {}
    codes = people.frame.scale.single
    few = codes if len(codes) <= MAX_CATEGORIES else ()
    found = {
        code: _of_code(sample_of_code(people, n), sample_of_code(both, n))
        for n, code in enumerate(few)
    }
    return {"codes": list(codes), "by_code": found}


def sample_of_code(sample: Sample, place: int) -> Sample:
    """Return the sample in which a label is whether its set has the code at this place."""
    return replace(sample, frame=frame_of_code(sample.frame, place))


def frame_of_code(frame: VariableFrame, place: int) -> VariableFrame:
    """Return the frame in which a label is whether its set has the code at this place."""
    has = np.append(frame.scale.members()[:, place], -1).astype(np.int64)
    scale = Scale(("no", "yes"), "nominal", frame.scale.escapes, declared=True)
    return replace(
        frame,
        scale=scale,
        codes=has[frame.codes],
        floor=FloorCodes(),
        probabilities={},
        readings={},
        grades={},
    )


def _of_code(people: Sample, both: Sample) -> JSON:
    frame = people.frame
    return {
        "prevalence": as_json(_prevalence(people)),
        "agreement": as_json(_agreement(people)),
        "judges": {both.frame.raters[n].name: _judge(both, n) for n in frame.columns("judge")},
    }


def _prevalence(sample: Sample) -> dict[str, Estimate]:
    """Return the share of labels with the code by rater, in a crowd of all people together."""
    frame = sample.frame
    has = np.where(frame.codes >= 0, frame.codes, np.nan).astype(float)
    people, judges = frame.columns("human"), frame.columns("judge")
    listed = judges if is_crowd(frame) else [*people, *judges]
    given = {frame.raters[n].name: (has[:, n], sample.clusters) for n in listed}
    if is_crowd(frame):
        clusters = np.repeat(sample.clusters, len(people))
        given = {"": (has[:, people].ravel(), clusters), **given}
    return {
        name: mean_by_cluster(values, clusters, PREVALENCE, SHARE)
        for name, (values, clusters) in given.items()
    }


def _agreement(sample: Sample) -> dict[str, Estimate]:
    codes = sample.frame.codes_of("human")
    names = (EQUAL.key, ALPHA.key)
    made = agreement_estimates(
        codes, sample.clusters, 2, names=names, **sample.resampling_arguments
    )
    return {**made, KAPPA.key: pair_means(sample, codes)[KAPPA.key]}


def _judge(sample: Sample, column: int) -> JSON:
    """Compare a judge with the majority of people, who have one code or not."""
    people, judge = reference(sample.frame).codes, sample.frame.codes[:, column]
    arguments = sample.resampling_arguments
    made = alignment_estimates(people, judge, sample.clusters, 2, **arguments)
    pair = pair_estimates(people, judge, sample.clusters, 2, names=(KAPPA.key,), **arguments)
    both = np.stack([people, judge], axis=1)
    alpha = agreement_estimates(both, sample.clusters, 2, names=(ALPHA.key,), **arguments)
    table = made.confusion.astype(int)
    return {
        "units": int(table.sum()),
        "people": int(table[YES].sum()),
        "judge": int(table[:, YES].sum()),
        "missed": int(table[YES, NO]),
        "added": int(table[NO, YES]),
        **as_json({name: made.classes[name][YES] for name in MEASURES} | pair | alpha),
    }


def word_of_code(variable: JSON, code: str) -> str:
    """Return the word of one code of a variable of sets."""
    words: dict[str, str] = variable.get("code_words", {})
    return words.get(code, code)


def _people_block(shown: Shown) -> list[Block]:
    if not (found := shown.variable.get("by_code")):
        return []
    kinds = {rater["name"]: rater["kind"] for rater in shown.report["raters"]}
    raters = list(next(iter(found.values()))["prevalence"])
    people = [name for name in raters if kinds.get(name, "human") == "human"]
    header: tuple[str | RaterName, ...] = (
        "Code",
        *(RaterName(name or "all people", kinds.get(name, "human")) for name in raters),
    )
    shares: tuple[tuple[Cell, ...], ...] = tuple(
        (
            word_of_code(shown.variable, code),
            *(Number.from_estimate(of["prevalence"][name]) for name in raters),
        )
        for code, of in found.items()
    )
    tables = [Table("Share of labels with each code", header, shares)]
    if people:
        names = {
            ALPHA.key: ALPHA.name,
            KAPPA.key: f"{KAPPA.name}, mean of pairs",
            EQUAL.key: EQUAL.head,
        }
        rows: tuple[tuple[Cell, ...], ...] = tuple(
            (
                word_of_code(shown.variable, code),
                *(Number.from_estimate(of["agreement"][key]) for key in names),
            )
            for code, of in found.items()
        )
        tables.append(Table("Agreement of people on each code", ("Code", *names.values()), rows))
    return [Block("Code by code", tuple(tables))]


def _judge_tables(shown: Shown) -> list[Table]:
    """Return a judge's measures of each code, against the majority of people."""
    found = {
        code: of["judges"][shown.judge]
        for code, of in shown.variable.get("by_code", {}).items()
        if shown.judge in of["judges"]
    }
    if not found:
        return []
    names = {KAPPA.key: KAPPA.name, ALPHA.key: ALPHA.name, **MEASURES}
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            word_of_code(shown.variable, code),
            *(Number.from_estimate(of[key]) for key in names),
            of["people"],
            of["missed"],
            of["added"],
            of["units"],
        )
        for code, of in found.items()
    )
    header = ("Code", *names.values(), "People", "Missed", "Added", UNITS_HEAD)
    return [Table("Each code, against the majority of people", header, rows)]


def _compute(of: Labels) -> JSON:
    return by_code(of.sample, of.both)


PART = SectionPart(PEOPLE, "by_code", _compute, blocks=_people_block)
JUDGES = SectionPart(JUDGE, title="What it gets wrong", tables=_judge_tables)
