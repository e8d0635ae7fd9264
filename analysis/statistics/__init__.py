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
from analysis.statistics.alignment import (
    accuracy,
    balanced_accuracy,
    f1,
    macro,
    majority,
    mean_absolute_error,
    precision,
    recall,
    specificity,
)
from analysis.statistics.alpha_of_two import alpha_of_two
from analysis.statistics.alternative import alt_test, epsilon_curve
from analysis.statistics.alternative_floor import largest_epsilon_failed, verdict_beside
from analysis.statistics.alternative_power import accuracy_of, alt_test_power
from analysis.statistics.alternative_results import AltTest, AnnotatorTest, Reading
from analysis.statistics.alternative_sensitivity import (
    alt_test_sensitivity,
    effective_items,
)
from analysis.statistics.arrays import Bools, Floats, Ints, Level, Value
from analysis.statistics.bootstrap import (
    MINIMUM_CLUSTERS,
    Resamples,
    cluster_weights,
    design_effect,
    estimate,
    estimate_from,
    mean_by_cluster,
    mean_of_clusters,
    percentile_interval,
)
from analysis.statistics.calibration import Bin, Calibration, calibration
from analysis.statistics.ceiling import ceiling_estimates
from analysis.statistics.coefficients import (
    Alignment,
    agreement_estimates,
    alignment_estimates,
    pair_estimates,
    table_estimates,
)
from analysis.statistics.components import Components, variance_components
from analysis.statistics.correlations import correlation_estimates
from analysis.statistics.counts import confusion, counts_of, reason_undefined
from analysis.statistics.crowd_ceiling import crowd_ceiling_estimates
from analysis.statistics.curves import ThresholdSweep, average_precision, roc_auc, threshold_sweep
from analysis.statistics.decision import Decision, decisions
from analysis.statistics.estimate import (
    COEFFICIENT,
    COEFFICIENT_DIFFERENCE,
    SHARE,
    SHARE_DIFFERENCE,
    Estimate,
    undefined,
)
from analysis.statistics.gap import gap_estimates, judge_difference
from analysis.statistics.intervals import (
    Bootstrap,
    Draws,
    Interval,
    bca_interval,
    expanded_level,
    resamples_of,
)
from analysis.statistics.paired import PairedTest, paired_t, sign_flip, wilcoxon_signed_rank
from analysis.statistics.pairwise import (
    PairCounts,
    WithOthers,
    each_with_others,
    far_off,
    pair_counts,
    percent_with_others,
    with_one,
)
from analysis.statistics.planning import Plan, more_queries, more_raters
from analysis.statistics.prediction_powered import (
    PEOPLE_ALONE,
    effective_labels,
    fixed_collection_mean,
    people_only_mean,
    prediction_powered_mean,
)
from analysis.statistics.prediction_powered_ratio import (
    effective_labels_of_ratio,
    fixed_collection_ratio,
    prediction_powered_ratio,
)
from analysis.statistics.prediction_powered_unequal import prediction_powered_mean_unequal
from analysis.statistics.proportion import clopper_pearson_interval, proportion, wilson_interval
from analysis.statistics.rank import kendall, pearson, spearman
from analysis.statistics.registry import STATISTICS, Statistic
from analysis.statistics.rouge import Rouge, rouge_agreement, rouge_l
from analysis.statistics.soft_labels import SoftLabels, dawid_skene
from analysis.statistics.span_tokens import token_alpha
from analysis.statistics.spans import (
    Span,
    character_f1,
    exact_f1,
    iou_f1,
    overlap_f1,
    span_agreement,
    token_codes,
)
from analysis.statistics.systems import Comparison, compare_systems, holm, system_rank_correlation
from analysis.statistics.tally import Tally, kinds_of
from analysis.statistics.unitising import unitising_alpha

__all__ = [
    "COEFFICIENT",
    "COEFFICIENT_DIFFERENCE",
    "MINIMUM_CLUSTERS",
    "PEOPLE_ALONE",
    "SHARE",
    "SHARE_DIFFERENCE",
    "STATISTICS",
    "Alignment",
    "AltTest",
    "AnnotatorTest",
    "Bin",
    "Bools",
    "Bootstrap",
    "Calibration",
    "Comparison",
    "Components",
    "Decision",
    "Draws",
    "Estimate",
    "Floats",
    "Interval",
    "Ints",
    "Level",
    "PairCounts",
    "PairedTest",
    "Plan",
    "Reading",
    "Resamples",
    "Rouge",
    "SoftLabels",
    "Span",
    "Statistic",
    "Tally",
    "ThresholdSweep",
    "Value",
    "WithOthers",
    "accuracy",
    "accuracy_of",
    "agreement_estimates",
    "alignment_estimates",
    "alpha_of_two",
    "alt_test",
    "alt_test_power",
    "alt_test_sensitivity",
    "average_precision",
    "balanced_accuracy",
    "bca_interval",
    "calibration",
    "ceiling_estimates",
    "character_f1",
    "clopper_pearson_interval",
    "cluster_weights",
    "cohen_kappa",
    "compare_systems",
    "confusion",
    "correlation_estimates",
    "counts_of",
    "crowd_ceiling_estimates",
    "dawid_skene",
    "decisions",
    "design_effect",
    "each_with_others",
    "effective_items",
    "effective_labels",
    "effective_labels_of_ratio",
    "epsilon_curve",
    "estimate",
    "estimate_from",
    "exact_f1",
    "expanded_level",
    "f1",
    "far_off",
    "fixed_collection_mean",
    "fixed_collection_ratio",
    "fleiss_kappa",
    "fleiss_kappa_pooled",
    "gap_estimates",
    "gwet_ac",
    "holm",
    "iou_f1",
    "judge_difference",
    "kendall",
    "kinds_of",
    "krippendorff_alpha",
    "largest_epsilon_failed",
    "macro",
    "majority",
    "mean_absolute_error",
    "mean_by_cluster",
    "mean_of_clusters",
    "more_queries",
    "more_raters",
    "overlap_f1",
    "pair_counts",
    "pair_estimates",
    "paired_t",
    "pearson",
    "people_only_mean",
    "percent_agreement",
    "percent_agreement_pooled",
    "percent_with_others",
    "percentile_interval",
    "precision",
    "prediction_powered_mean",
    "prediction_powered_mean_unequal",
    "prediction_powered_ratio",
    "proportion",
    "randolph_kappa",
    "reason_undefined",
    "recall",
    "resamples_of",
    "roc_auc",
    "rouge_agreement",
    "rouge_l",
    "sign_flip",
    "span_agreement",
    "spearman",
    "specificity",
    "system_rank_correlation",
    "table_estimates",
    "threshold_sweep",
    "token_alpha",
    "token_codes",
    "undefined",
    "unit_agreement",
    "unitising_alpha",
    "variance_components",
    "verdict_beside",
    "wilcoxon_signed_rank",
    "wilson_interval",
    "with_one",
]
