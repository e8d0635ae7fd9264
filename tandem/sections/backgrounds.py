"""Section: agreement of people by their answers to background questions."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import partial

import numpy as np

from ..document import UNITS, UNITS_HEAD, Block, Number, Table
from ..labels.backgrounds import FEWEST_PEOPLE, Question, shown_groups
from ..labels.resampling import Sample
from ..statistics import (
    ALPHA,
    EQUAL,
    Bools,
    Bootstrap,
    Estimate,
    Floats,
    Ints,
    Tally,
    Value,
    agreement_estimates,
    undefined,
)
from ..statistics.agreement import counts_of
from ..statistics.estimate import ratio, unbatch
from ..types import JSON
from .base import PEOPLE, Labels, SectionPart

AMONG = "mean share of agreeing pairs"
BETWEEN = "mean share of agreeing pairs of one person here and one elsewhere"
DIFFERENCE = "share of agreeing pairs in the group minus that among the others"
NO_PAIR = "no unit has labels of two such people"
TOO_FEW = f"fewer than {FEWEST_PEOPLE} people answered otherwise"


def backgrounds(sample: Sample, questions: Iterable[Question]) -> JSON:
    """Return agreement in each group of people that is large enough to be shown, by question."""
    frame = sample.frame
    columns = {
        frame.raters[n].name: n for n in frame.columns("human") if (frame.codes[:, n] >= 0).any()
    }
    return {question.name: _question(sample, question, columns) for question in questions}


def _question(sample: Sample, question: Question, columns: dict[str, int]) -> JSON:
    answered = question.people(columns)
    shown = shown_groups(question, columns)
    return {
        "question": question.text,
        "people": len(answered) if _may_be_told(len(answered)) else None,
        "fewest_people": FEWEST_PEOPLE,
        "groups": {
            value: _group(sample, columns, people, answered - people)
            for value, people in shown.items()
        },
    }


def _may_be_told(people: int) -> bool:
    return people == 0 or people >= FEWEST_PEOPLE


def _group(
    sample: Sample, columns: dict[str, int], people: Collection[str], rest: Collection[str]
) -> JSON:
    here, there = (sample.frame.codes[:, [columns[p] for p in who]] for who in (people, rest))
    enough = len(rest) >= FEWEST_PEOPLE
    apart = undefined(TOO_FEW, 0, "").as_json()
    return {
        "people": len(people),
        "units": int(((here >= 0).sum(axis=1) >= 2).sum()),
        **{name: of.as_json() for name, of in _among(sample, here).items()},
        "with_others": _between(sample, here, there).as_json() if enough else apart,
        "difference": _difference(sample, here, there).as_json() if enough else apart,
    }


def _among(sample: Sample, codes: Ints) -> dict[str, Estimate]:
    """Return coefficients of a group, over all categories of the scale."""
    scale = sample.frame.scale
    return agreement_estimates(
        codes,
        sample.clusters,
        sample.k,
        scale.level,
        scale.compared_values(),
        names=(EQUAL.key, ALPHA.key),
        **sample.resampling_arguments,
    )


def _between(sample: Sample, here: Ints, there: Ints) -> Estimate:
    one, other = (counts_of(codes, sample.k).astype(float) for codes in (here, there))
    pairs = one.sum(axis=1) * other.sum(axis=1)
    return _mean_share(sample, [((one * other).sum(axis=1), pairs)], BETWEEN)


def _difference(sample: Sample, here: Ints, there: Ints) -> Estimate:
    both = [_pairs(counts_of(codes, sample.k).astype(float)) for codes in (here, there)]
    return _mean_share(sample, both, DIFFERENCE)


def _pairs(counts: Floats) -> tuple[Floats, Floats]:
    """Return the agreeing pairs of each unit (U,), and all of them."""
    labels = counts.sum(axis=1)
    return (counts * (counts - 1)).sum(axis=1), labels * (labels - 1)


def _mean_share(sample: Sample, parts: list[tuple[Floats, Floats]], method: str) -> Estimate:
    """Return the mean over units of a share of pairs, or the first mean minus the second."""
    sums = []
    for agreeing, pairs in parts:
        there: Bools = pairs > 0
        sums += [ratio(np.where(there, agreeing, 0.0), np.where(there, pairs, 1.0)), there]
    table = np.column_stack(sums).astype(float)
    units = int(np.all(table[:, 1::2] > 0, axis=1).sum())
    if not np.all(table[:, 1::2].sum(axis=0) > 0):
        return undefined(NO_PAIR, 0, method)
    given = sample.resampling_arguments
    tally = Tally.of_sums(table, sample.clusters)
    bootstrap = Bootstrap(tally, given["draws"], given["seed"], given["interval"])
    return bootstrap.estimate(partial(_shares, len(parts)), units, method, NO_PAIR)


def _shares(parts: int, sums: Floats) -> Value:
    shares = [ratio(sums[..., 2 * n], sums[..., 2 * n + 1]) for n in range(parts)]
    return unbatch(shares[0] if parts == 1 else shares[0] - shares[1])


HEADS = {
    EQUAL.key: EQUAL.head,
    ALPHA.key: ALPHA.name,
    "with_others": "Percent with the others",
    "difference": "Percent above the others'",
}


def background_blocks(variable: JSON) -> list[Block]:
    """Return agreement by people's background, if the report's options include it."""
    asked = variable.get("backgrounds")
    if not asked:
        return []
    fewest = max(of["fewest_people"] for of in asked.values())
    tables = tuple(_table(of) for of in asked.values() if of["groups"])
    about = (
        f"Groups of fewer than {fewest} people, or that leave as few others, are not shown. There "
        f"is no list of a group’s {UNITS}: it would tell who is in the group."
    )
    return [Block("By background", tables, about if tables else f"{about} None is larger.")]


def _table(of: JSON) -> Table:
    header = ("Answer", "People", UNITS_HEAD, *HEADS.values())
    rows = tuple(
        (
            value,
            group["people"],
            group["units"],
            *(Number.from_estimate(group[key]) for key in HEADS),
        )
        for value, group in of["groups"].items()
    )
    return Table(of["question"], header, rows)


def _compute(of: Labels) -> JSON:
    asked = of.frame.backgrounds
    return {"backgrounds": backgrounds(of.sample, asked)} if asked else {}


PART = SectionPart(PEOPLE, compute=_compute, blocks=lambda shown: background_blocks(shown.variable))
