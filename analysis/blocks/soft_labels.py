"""Soft labels beside the majority: people weighed by how reliable they seem (Dawid and Skene)."""

from __future__ import annotations

import numpy as np

from analysis.blocks.resampling import JSON, TOO_MANY, Sample
from analysis.statistics import (
    SHARE,
    Ints,
    SoftLabels,
    dawid_skene,
    majority,
    mean_by_cluster,
    pair_estimates,
    undefined,
)

FEWEST = 3
TOO_FEW = f"fewer than {FEWEST} people labelled: who errs cannot be told"
FIXED = "soft labels taken as given"
EXPECTED = f"mean probability of the judge's label, {FIXED}"


def soft_labels(sample: Sample) -> JSON:
    """The key `soft_labels`: where they differ from the majority, who errs, and each judge."""
    frame = sample.frame
    codes, own = frame.of("human"), frame.scale.own()
    people = int((codes >= 0).any(axis=0).sum())
    reason = TOO_FEW if people < FEWEST else TOO_MANY if sample.is_continuous else None
    if reason or own.sum() < 2:
        return {"units": 0, "reason": reason or "there is only one category"}
    soft = dawid_skene(codes, sample.k)
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
    """The share of units, over categories as frequent as estimated, that a rater gets wrong."""
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
        mean_by_cluster(chance, sample.clusters, EXPECTED).within(*SHARE)
        if both.any()
        else undefined("the judge has no label on such a unit", 0, EXPECTED)
    )
    pair = pair_estimates(labels, codes, sample.clusters, sample.k, **sample.drawing)
    return {
        "percent": pair["percent"].as_json(),
        "cohen_kappa": pair["cohen_kappa"].as_json(),
        "expected_accuracy": expected.as_json(),
    }
