"""Section for more than 30 people: distributions of agreement, and outliers, instead of pairs."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from ..document import UNITS, UNITS_HEAD, Cell, Number, RaterName, Table, of_several
from ..labels.frame import VariableFrame
from ..labels.resampling import TOO_MANY, Sample
from ..statistics import (
    EQUAL,
    KAPPA,
    Floats,
    Ints,
    WithOthers,
    cohen_kappa,
    confirm_far_off,
    each_with_others,
    far_off,
    pair_counts,
    percent_with_others,
    tabulate_against,
)
from ..statistics.pairwise import CROWD
from ..types import JSON
from .base import JUDGE, SectionPart, Shown

FEWEST = 30
"""Pairs and people with fewer shared units are left out of distributions."""
FAR_OFF = 0.2
FEW = f"shares {FEWEST} units"
NO_PAIR, NO_PERSON = f"no pair of people {FEW}", f"nobody {FEW} with others"
FEW_ITEMS = f"no pair of people shares {FEWEST} items"
NO_JUDGED = f"nobody {FEW} with the judge"
QUANTILES = {
    "min": 0.0,
    "q05": 0.05,
    "q25": 0.25,
    "median": 0.5,
    "q75": 0.75,
    "q95": 0.95,
    "max": 1.0,
}
NOTHING: Floats = np.zeros(0)
BINS = tuple(n / 10 for n in range(-10, 11))
"""The edges of the histogram of kappa."""


def is_crowd(frame: VariableFrame) -> bool:
    """Return whether the frame has too many people to list their pairs one by one."""
    return len(frame.columns("human")) > CROWD


def pairs_distribution(sample: Sample) -> JSON:
    """Return the key `pairs_distribution` of people's agreement with each other."""
    codes = sample.frame.codes_of("human")
    found = pair_counts(codes, sample.k, with_uses=not sample.is_continuous)
    large = found.least(FEWEST)
    return {
        "pairs": len(found.units),
        "fewest_units": FEWEST,
        "units": quantiles_of(found.units.astype(float), "no two people share a unit"),
        EQUAL.key: quantiles_of(large.percent, NO_PAIR),
        KAPPA.key: (
            quantiles_of(NOTHING, TOO_MANY)
            if sample.is_continuous
            else quantiles_of(large.kappa, NO_PAIR)
        ),
        **(_of_values(codes) if sample.is_continuous else _of_categories(sample, codes)),
    }


def _of_categories(sample: Sample, codes: Ints) -> JSON:
    crowd = each_with_others(codes, sample.clusters, sample.k)

    def among(out: Collection[int]) -> Collection[int]:
        others = each_with_others(codes, sample.clusters, sample.k, out)
        found: list[int] = far_off(others, FAR_OFF, FEWEST).tolist()
        return found

    stand_out = confirm_far_off(far_off(crowd, FAR_OFF, FEWEST).tolist(), among)
    seen = np.flatnonzero(crowd.units >= FEWEST)
    with_others = {
        "people": len(seen),
        EQUAL.key: quantiles_of(crowd.percent[seen], NO_PERSON),
        KAPPA.key: quantiles_of(crowd.kappa[seen], NO_PERSON),
        "histogram": _histogram(crowd.kappa[seen]),
    }
    return {"with_others": with_others, "stand_out": _low_agreement(sample, crowd, stand_out)}


def _of_values(codes: Ints) -> JSON:
    """Return the distributions for a variable with too many values for kappas."""
    units, percent = percent_with_others(codes)
    with_others = {
        "people": int((units >= FEWEST).sum()),
        EQUAL.key: quantiles_of(percent[units >= FEWEST], NO_PERSON),
        KAPPA.key: quantiles_of(NOTHING, TOO_MANY),
        "histogram": [],
    }
    return {"with_others": with_others, "stand_out": []}


def large_pairs(sample: Sample) -> list[tuple[int, int]]:
    """Return the columns of all pairs of people who share at least 30 units."""
    people = sample.frame.columns("human")
    found = pair_counts(sample.frame.codes_of("human"), sample.k, with_uses=False).least(FEWEST)
    return [(people[a], people[b]) for a, b in zip(found.one, found.other, strict=True)]


def judge_distribution(sample: Sample, judge: Ints) -> JSON:
    """Return the key `pairs_distribution` of a judge: its agreement with each person."""
    codes = sample.frame.codes_of("human")
    both = (codes >= 0) & (judge >= 0)[:, None]
    units = both.sum(axis=0)
    equal = (both & (codes == judge[:, None])).sum(axis=0)
    seen = units >= FEWEST
    kappa = quantiles_of(NOTHING, TOO_MANY)
    if not sample.is_continuous:
        tables = tabulate_against(codes[:, seen], judge, sample.k)
        kappa = quantiles_of(np.asarray(cohen_kappa(tables)), NO_JUDGED)
    return {
        "people": int(seen.sum()),
        "fewest_units": FEWEST,
        EQUAL.key: quantiles_of(equal[seen] / units[seen], NO_JUDGED),
        KAPPA.key: kappa,
    }


def quantiles_of(values: Floats, reason: str) -> JSON:
    """Return quantiles and number of the defined values, or the reason why there are none."""
    known = values[np.isfinite(values)]
    if not len(known):
        why = reason if not len(values) else "all labels are the same category"
        return {"n": 0, **dict.fromkeys(QUANTILES), "mean": None, "reason": why}
    ends = np.quantile(known, list(QUANTILES.values())).tolist()
    return {"n": len(known), **dict(zip(QUANTILES, ends, strict=True)), "mean": float(known.mean())}


def _histogram(values: Floats) -> list[JSON]:
    known = values[np.isfinite(values)]
    counts, _ = np.histogram(known, BINS)
    used = np.flatnonzero(counts)
    if not len(used):
        return []
    first, last = used[0], used[-1] + 1
    return [
        {"from": BINS[n], "to": BINS[n + 1], "people": int(counts[n])} for n in range(first, last)
    ]


def _low_agreement(sample: Sample, crowd: WithOthers, found: Collection[int]) -> list[JSON]:
    """Return the people whose agreement is low, the lowest first."""
    people: Sequence[int] = sample.frame.columns("human")
    rows = [
        {
            "name": sample.frame.raters[people[n]].name,
            "units": int(crowd.units[n]),
            EQUAL.key: float(crowd.percent[n]),
            KAPPA.key: float(crowd.kappa[n]) if np.isfinite(crowd.kappa[n]) else None,
            "others": float(crowd.others[n]),
        }
        for n in found
    ]
    return sorted(rows, key=lambda row: (row[EQUAL.key], row["name"]))


HEADS = {
    "min": "Least",
    "q05": "5 %",
    "q25": "25 %",
    "median": "Median",
    "q75": "75 %",
    "q95": "95 %",
    "max": "Most",
}


_OF = {KAPPA.key: KAPPA.name, EQUAL.key: EQUAL.head}


def distribution_tables(found: JSON) -> list[Table]:
    """Return the agreement of people with each other."""
    fewest, rows = found["fewest_units"], []
    for label, of in (("of a person with the others", found["with_others"]), ("of a pair", found)):
        rows += [_row(f"{name} {label}", of[key]) for key, name in _OF.items()]
    caption = f"Distribution over people, and over pairs, who share {fewest} {UNITS}"
    tables = [Table(caption, ("Agreement", "Number", *HEADS.values()), tuple(rows))]
    outside: tuple[tuple[Cell, ...], ...] = tuple(
        (
            RaterName(each["name"], "human"),
            of_several(each["units"], each["name"]),
            Number(each[KAPPA.key]),
            Number(each["others"]),
            Number(each[EQUAL.key]),
        )
        for each in found["stand_out"]
    )
    if outside:
        header = ("Person", UNITS_HEAD, "Kappa with the others", "The others' kappa", "Percent")
        tables.append(Table("People who agree far less than the others do", header, outside))
    return tables


def judge_with_people_tables(shown: Shown) -> list[Table]:
    """Return the agreement of a judge with each person."""
    if not (found := shown.block.get("pairs_distribution")):
        return []
    rows = tuple(_row(name, found[key]) for key, name in _OF.items())
    caption = f"Distribution over people who share {found['fewest_units']} {UNITS} with the judge"
    return [Table(caption, ("Agreement", "People", *HEADS.values()), rows)]


def ranking_table(found: JSON) -> Table:
    """Return the agreement of a crowd's people on the ranking of reports."""
    row = _row("Spearman of a pair", found["spearman"])
    caption = (
        "People in pairs: scores over all answers, query difficulty included; pairs who share "
        f"{found['fewest_items']} items"
    )
    return Table(caption, ("Agreement", "Pairs", *HEADS.values()), (row,))


def _row(name: str, of: JSON) -> tuple[Cell, ...]:
    reason = of.get("reason", "")
    return (name, of["n"], *(Number(of[key], reason=reason) for key in HEADS))


PART = SectionPart(JUDGE, title="Against people", tables=judge_with_people_tables)
