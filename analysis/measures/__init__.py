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
        cov.MEASURE,
        alpha_ndcg.MEASURE,
        *density.MEASURES,
        reports.MEASURE,
        *retrieval.MEASURES,
        recall.MEASURE,
        precision.MEASURE,
        f_score.MEASURE,
        from_context.MEASURE,
        *failures.MEASURES,
        *retention.MEASURES,
        eligibility.MEASURE,
        *factuality.MEASURES,
        *deflection.MEASURES,
        *attribution.MEASURES,
        *texts.MEASURES,
        unanswerable.MEASURE,
        *grades.MEASURES,
        win_rate.MEASURE,
    )
}
"""Every measure by its name, in the order in which reports show them."""


def of_family(family: str) -> list[Measure]:
    """The measures that are computed from the same input."""
    return [measure for measure in MEASURES.values() if measure.family == family]
