"""Coverage: the share of its sub-questions that a report answers (CRUX, Ju and others 2025)."""

from __future__ import annotations

import numpy as np

from analysis.frames import VariableFrame
from analysis.statistics import Floats


def coverage(labels: VariableFrame, items: int) -> Floats:
    """Cov = yes / (yes + no) of each item by each rater, (I, R).

    The denominator is the questions that the rater labelled yes or no: neither null questions nor
    escapes nor missing judgements count. NaN where a rater labelled none.
    """
    yes = labels.scale.categories.index("yes")
    answered = np.zeros((items, labels.codes.shape[1]))
    covered = np.zeros_like(answered)
    np.add.at(answered, labels.units.item, labels.codes >= 0)
    np.add.at(covered, labels.units.item, labels.codes == yes)
    return np.divide(covered, answered, out=np.full_like(covered, np.nan), where=answered > 0)
