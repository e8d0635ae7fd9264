"""The papers' measures, as pure functions of labels and texts. A measure is a module and a line."""

from analysis.measures import retrieval
from analysis.measures.answers import grades, texts, unanswerable, win_rate
from analysis.measures.base import Measure
from analysis.measures.coverage import alpha_ndcg, cov, density, reports
from analysis.measures.grounding import attribution, deflection, eligibility, factuality
from analysis.measures.key_points import (
    f_score,
    failures,
    from_context,
    precision,
    recall,
    retention,
)

MEASURES: dict[str, Measure] = {
    measure.name: measure
    for measure in (
        cov.COV,
        alpha_ndcg.ALPHA_NDCG,
        *density.DENSITIES,
        reports.REPORT_COVERAGE,
        *retrieval.MEASURES,
        recall.RECALL,
        precision.PRECISION,
        f_score.F_SCORE,
        from_context.POINTS_FROM_CONTEXT,
        *failures.FAILURES,
        *retention.RETENTION,
        eligibility.ELIGIBILITY,
        *factuality.FACTUALITY,
        *deflection.DEFLECTION,
        *attribution.ATTRIBUTION,
        *texts.TEXT_MEASURES,
        unanswerable.UNANSWERABLE,
        *grades.GRADE_MEASURES,
        win_rate.WIN_RATE,
    )
}
"""Every measure by its name, in the order in which reports show them."""


def of_family(family: str) -> list[Measure]:
    """The measures that are computed from the same input."""
    return [measure for measure in MEASURES.values() if measure.family == family]
