"""The papers' measures: pure functions of labels and texts, declared one by one.

`base` defines measures and estimates. Each family of measures has a module: `coverage` (CRUX),
`grounding` (GaRAGe), `key_points` (Long2RAG), `answers` (CLAPnq) and `retrieval` (measures of
rankings, as defined by trec_eval). CRUX's measures are computed from the ratings of passages in the
`contexts` of systems, and `ir_measures` checks α-nDCG. `agreement` compares evaluators by the order
in which they rank systems. `options` declares what papers leave open, and what each chooses.
`MEASURES` lists all measures.
"""

from . import answers, coverage, grounding, key_points, retrieval
from .base import Measure

MEASURES: dict[str, Measure] = {
    measure.name: measure
    for measure in (
        coverage.COV,
        coverage.ALPHA_NDCG,
        *coverage.DENSITIES,
        coverage.REPORT_COVERAGE,
        coverage.REPORT_DENSITY,
        *retrieval.MEASURES,
        key_points.RECALL,
        key_points.PRECISION,
        key_points.F_SCORE,
        key_points.POINTS_FROM_CONTEXT,
        *key_points.FAILURES,
        *key_points.RETENTION,
        grounding.ELIGIBILITY,
        *grounding.FACTUALITY,
        *grounding.DEFLECTION,
        *grounding.ATTRIBUTION,
        *answers.TEXT_MEASURES,
        answers.UNANSWERABLE,
        *answers.GRADE_MEASURES,
        answers.WIN_RATE,
    )
}
"""Every measure by name, in the order of reports."""


def of_family(family: str) -> list[Measure]:
    """Return the measures of a family, which share their input."""
    return [measure for measure in MEASURES.values() if measure.family == family]
