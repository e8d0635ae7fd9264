"""Agreement, alignment and estimation: pure functions of arrays, without Django.

Throughout: U units, R raters, K categories, B resamples, codes -1 = no label, NaN = undefined.
`STATISTICS` says what each public statistic is and where it comes from.
"""

from analysis.statistics.agreement import (
    cohen_kappa,
    fleiss_kappa,
    fleiss_kappa_pooled,
    gwet_ac,
    krippendorff_alpha,
    percent_agreement,
    percent_agreement_pooled,
    randolph_kappa,
    unit_agreement,
)
from analysis.statistics.alignment import accuracy, f1, majority, precision, recall
from analysis.statistics.alternative import alt_test, epsilon_curve
from analysis.statistics.alternative_results import AltTest, AnnotatorTest, Reading
from analysis.statistics.arrays import Bools, Floats, Ints, Level, Value
from analysis.statistics.bootstrap import (
    MINIMUM_CLUSTERS,
    Resamples,
    cluster_weights,
    estimate,
    estimate_from,
    mean_by_cluster,
    percentile_interval,
)
from analysis.statistics.counts import confusion, counts_of, reason_undefined
from analysis.statistics.estimate import Estimate, undefined
from analysis.statistics.paired import PairedTest, paired_t, wilcoxon_signed_rank
from analysis.statistics.prediction_powered import (
    effective_labels,
    fixed_collection_mean,
    people_only_mean,
    prediction_powered_mean,
)
from analysis.statistics.proportion import proportion, wilson_interval
from analysis.statistics.rank import correlation, kendall, pearson, spearman
from analysis.statistics.registry import STATISTICS, Statistic
from analysis.statistics.rouge import Rouge, rouge_l

__all__ = [
    "MINIMUM_CLUSTERS",
    "STATISTICS",
    "AltTest",
    "AnnotatorTest",
    "Bools",
    "Estimate",
    "Floats",
    "Ints",
    "Level",
    "PairedTest",
    "Reading",
    "Resamples",
    "Rouge",
    "Statistic",
    "Value",
    "accuracy",
    "alt_test",
    "cluster_weights",
    "cohen_kappa",
    "confusion",
    "correlation",
    "counts_of",
    "effective_labels",
    "epsilon_curve",
    "estimate",
    "estimate_from",
    "f1",
    "fixed_collection_mean",
    "fleiss_kappa",
    "fleiss_kappa_pooled",
    "gwet_ac",
    "kendall",
    "krippendorff_alpha",
    "majority",
    "mean_by_cluster",
    "paired_t",
    "pearson",
    "people_only_mean",
    "percent_agreement",
    "percent_agreement_pooled",
    "percentile_interval",
    "precision",
    "prediction_powered_mean",
    "proportion",
    "randolph_kappa",
    "reason_undefined",
    "recall",
    "rouge_l",
    "spearman",
    "undefined",
    "unit_agreement",
    "wilcoxon_signed_rank",
    "wilson_interval",
]
