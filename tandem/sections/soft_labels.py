"""Section: soft labels, by people's estimated errors (Dawid and Skene)."""

from __future__ import annotations

import numpy as np

from ..document import (
    UNITS_HEAD,
    Block,
    Cell,
    CountedText,
    Number,
    RaterName,
    Table,
    UnitCount,
    count,
    count_units,
)
from ..labels.resampling import TOO_MANY, Sample
from ..statistics import (
    EQUAL,
    KAPPA,
    SHARE,
    Ints,
    SoftLabels,
    dawid_skene,
    majority,
    mean_by_cluster,
    pair_estimates,
    undefined,
)
from ..types import JSON
from .base import PEOPLE, SectionPart, first_rows
from .citations import CITED

FEWEST = 3


TOO_FEW = f"fewer than {FEWEST} people labelled, so their errors cannot be estimated"


OF_SETS = "errors are estimated on categories, and labels are sets of codes"


NOT_SETTLED = "people's error rates and the labels did not settle within {:,} steps"


FIXED = "soft labels taken as given"


EXPECTED = f"mean probability of the judge's label, {FIXED}"


def soft_labels(sample: Sample) -> JSON:
    """Return the key `soft_labels`: differences from the majority, errors, and each judge."""
    frame = sample.frame
    codes, own = frame.codes_of("human"), frame.scale.own()
    people = int((codes >= 0).any(axis=0).sum())
    reason = TOO_FEW if people < FEWEST else TOO_MANY if sample.is_continuous else None
    reason = OF_SETS if sample.is_of_sets else reason
    if reason or own.sum() < 2:
        return {"units": 0, "reason": reason or "there is only one category"}
    soft = dawid_skene(codes, sample.k)
    if not soft.converged:
        settled = {"iterations": soft.iterations, "converged": False}
        return {"units": 0, **settled, "reason": NOT_SETTLED.format(soft.iterations)}
    reference, ties = majority(codes)
    labels = np.where((codes >= 0).sum(axis=1) > 0, soft.labels, -1)
    held = (reference >= 0) & (labels >= 0)
    return {
        "units": int((labels >= 0).sum()),
        "differ": int((reference != labels)[held].sum()),
        "ties": int(ties.sum()),
        "iterations": soft.iterations,
        "converged": soft.converged,
        "raters": _raters(sample, soft),
        "judges": {
            frame.raters[n].name: _judge(sample, soft, labels, frame.codes[:, n])
            for n in frame.columns("judge")
        },
    }


def _raters(sample: Sample, soft: SoftLabels) -> JSON:
    """Return each rater's error rate, over categories with their estimated frequencies."""
    frame = sample.frame
    right = np.diagonal(soft.raters, axis1=1, axis2=2)
    return {
        frame.raters[column].name: {
            "labels": int((frame.codes[:, column] >= 0).sum()),
            "error_rate": float(np.clip(1 - right[n] @ soft.prevalence, 0, 1)),
        }
        for n, column in enumerate(frame.columns("human"))
        if (frame.codes[:, column] >= 0).any()
    }


def _judge(sample: Sample, soft: SoftLabels, labels: Ints, codes: Ints) -> JSON:
    both = (labels >= 0) & (codes >= 0)
    units = np.arange(len(codes))
    chance = np.where(both, soft.shares[units, np.maximum(codes, 0)], np.nan)
    expected = (
        mean_by_cluster(chance, sample.clusters, EXPECTED, SHARE)
        if both.any()
        else undefined("the judge has no label on such a unit", 0, EXPECTED)
    )
    pair = pair_estimates(labels, codes, sample.clusters, sample.k, **sample.resampling_arguments)
    return {
        EQUAL.key: pair[EQUAL.key].as_json(),
        KAPPA.key: pair[KAPPA.key].as_json(),
        "expected_accuracy": expected.as_json(),
    }


SOFT_LABELS = "Soft labels (Dawid–Skene)"


def soft_blocks(variable: JSON) -> list[Block]:
    """Return the block on soft labels, if there are any."""
    found = variable.get("soft_labels")
    if not found or ("reason" in found and "converged" not in found):
        return []
    if "reason" in found:
        return [Block(SOFT_LABELS, (), f"There are none: {found['reason']}.")]
    rows: list[tuple[Cell, ...]] = [
        (RaterName(name, "human"), _labelled_by(name, of["labels"]), Number(of["error_rate"]))
        for name, of in found["raters"].items()
    ]
    order = [of["error_rate"] for of in found["raters"].values()]
    caption = "Estimated error rate of each person"
    caption, shown = first_rows(caption, rows, order, "who err most")
    tables = [Table(caption, ("Person", "Labels", "Errors"), shown)]
    if found["judges"]:
        tables.append(_soft_label_judges(found["judges"]))
    return [Block(SOFT_LABELS, tuple(tables), _describe_soft_labels(found))]


def _labelled_by(person: str, units: int) -> UnitCount:
    return UnitCount.of(units, show="all", one=person)


def _describe_soft_labels(found: JSON) -> CountedText:
    units, ties = count_units(found["units"]), count(found["ties"], "tie")
    facts = [f"{units}; the likeliest label differs from the majority on {found['differ']}"]
    if found["ties"]:
        facts[0] += f", and {ties} of people got one, too"
    if not found["converged"]:
        facts.append(f"not converged after {found['iterations']} steps")
    counted = [(units, UnitCount.of(found["units"], show="labelled"))]
    if found["ties"]:
        counted.append((ties, UnitCount.of(found["ties"], show="ties")))
    return CountedText.of("; ".join(facts), *counted)


def _soft_label_judges(judges: JSON) -> Table:
    rows = tuple(
        (
            RaterName(name, "judge"),
            UnitCount.of(of[EQUAL.key]["n"], show="labelled", one=name),
            Number.from_estimate(of[KAPPA.key]),
            Number.from_estimate(of[EQUAL.key]),
            Number.from_estimate(of["expected_accuracy"]),
        )
        for name, of in judges.items()
    )
    header = ("Judge", UNITS_HEAD, "Cohen's kappa", "Percent", "Expected accuracy")
    return Table("Judges compared with the soft labels", header, rows)


def soft_methods(report: JSON) -> list[str]:
    if not any(v.get("soft_labels", {}).get("raters") for v in report["variables"].values()):
        return []
    return [
        "Beside the majority, soft labels and each person's errors were estimated "
        f"{CITED['dawid1979']} assuming independent errors; intervals of judges compared with "
        "them treat them as fixed."
    ]


PART = SectionPart(
    PEOPLE,
    compute=lambda of: {"soft_labels": soft_labels(of.sample)},
    blocks=lambda shown: soft_blocks(shown.variable),
)
METHODS = SectionPart(methods=soft_methods)
