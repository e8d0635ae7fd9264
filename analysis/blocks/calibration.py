"""Whether a judge's probabilities of yes mean what they say, against the majority of people."""

from __future__ import annotations

import numpy as np

from analysis.blocks.resampling import JSON, Sample
from analysis.statistics import Bools, Floats, Ints, Value, mean_by_cluster

BINS = 10
ANSWERS = {"yes", "no"}


def calibration(sample: Sample, column: int, reference: Ints) -> JSON:
    """The key `calibration` of a judge, or nothing where it has no probabilities of yes.

    Brier score with a t interval over queries (Brier 1950); expected calibration error, sum over
    bins of n_b/n * |mean p - mean y| (Naeini and others 2015); and the share of yes in each bin.
    """
    scale, p = sample.frame.scale, sample.frame.scores[:, column]
    there = np.isfinite(p) & (reference >= 0)
    own = {c for c in scale.categories if c not in scale.foreign}
    if own != ANSWERS or not there.any() or p[there].min() < 0 or p[there].max() > 1:
        return {}
    yes = (reference == scale.categories.index("yes")).astype(float)
    bins = _members(p, there)
    sums = [np.where(there, of, 0.0)[:, None] * bins for of in (np.ones(len(p)), p, yes)]
    brier = mean_by_cluster((p - yes)[there] ** 2, sample.clusters[there], "Brier score")
    error = sample.estimate(
        lambda w: _error(*(_summed(each, w) for each in sums)),
        there,
        f"expected calibration error, {bins.shape[1]} bins of about equally many units",
    )
    return {
        "calibration": {
            "brier": brier.as_json(),
            "expected_calibration_error": error.as_json(),
            "reliability": [_bin(sample, *(each[:, n] for each in sums)) for n in _range(bins)],
        }
    }


def _range(bins: Floats) -> range:
    return range(bins.shape[1])


def _members(p: Floats, there: Bools) -> Floats:
    """Which bin each unit is in, (U, b) of 0 and 1; equal probabilities stay together."""
    edges = np.quantile(p[there], np.arange(1, BINS) / BINS, method="inverted_cdf")
    place = np.searchsorted(np.unique(edges), np.where(there, p, 0.0), side="left")
    used = np.unique(place[there])
    return ((place[:, None] == used) & there[:, None]).astype(float)


def _summed(each: Floats, weights: Floats | None) -> Floats:
    summed: Floats = each.sum(axis=0) if weights is None else weights @ each
    return summed


def _error(n: Floats, p: Floats, y: Floats) -> Value:
    error: Floats = np.abs(p - y).sum(axis=-1) / n.sum(axis=-1)
    return float(error) if error.ndim == 0 else error


def _bin(sample: Sample, member: Floats, p: Floats, y: Floats) -> JSON:
    def share(weights: Floats | None) -> Value:
        n, of = _summed(member, weights), _summed(y, weights)
        found: Floats = np.divide(of, n, out=np.full(np.shape(n), np.nan), where=n > 0)
        return float(found) if found.ndim == 0 else found

    return {
        "units": int(member.sum()),
        "probability": float(p.sum() / member.sum()),
        "share": sample.estimate(share, member > 0, "share of yes").as_json(),
    }
