"""Section: how similarly the judges err on the units that people and every judge labelled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..labels.reference import reference
from ..labels.resampling import TOO_MANY, Sample
from ..statistics import error_correlations
from ..types import JSON


def errors_alike(sample: Sample, judges: Sequence[str]) -> JSON:
    """Correlate the errors of these judges, given people's joint label.

    `units` is the number of units, and `matrix` is in the order of `judges`. Continuous variables
    have no errors: there is only a `reason`.
    """
    if sample.is_continuous:
        return {"judges": list(judges), "reason": TOO_MANY}
    column = {rater.name: n for n, rater in enumerate(sample.frame.raters)}
    codes = sample.frame.codes[:, [column[name] for name in judges]]
    people = reference(sample.frame).codes.astype(np.int64)
    found = error_correlations(codes, people, sample.clusters, **sample.resampling_arguments)
    return {
        "judges": list(judges),
        "units": found.units,
        "rates": [each.as_json() for each in found.rates],
        "matrix": [[each.as_json() for each in row] for row in found.matrix],
        "mean_correlation": found.mean.as_json(),
        "effective_judges": found.effective.as_json(),
    }
