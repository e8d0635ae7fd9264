"""The keys of the measures' report with their meanings by path; a test compares both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from docs._reference.reports import ESTIMATE
from docs._reference.words import code, meaning, table

PART = "measures"
SLICE = "measures.MEASURE.slices.STRATUM.GROUP"
PLACES = {
    "options": "OPTION",
    "strata": "STRATUM",
    "strata.STRATUM.words": "CODE",
    "leaderboard.letters": "SYSTEM",
    "leaderboard.boards[].systems": "SYSTEM",
    "leaderboard.boards[].systems.SYSTEM": "MEASURE",
    "measures": "MEASURE",
    "measures.MEASURE.judgements": "EVALUATOR",
    "measures.MEASURE.judgements.EVALUATOR": "VARIABLE",
    "measures.MEASURE.systems": "SYSTEM",
    "measures.MEASURE.systems.SYSTEM.raters": "RATER",
    "measures.MEASURE.slices": "STRATUM",
    "measures.MEASURE.slices.STRATUM": "GROUP",
    "measures.MEASURE.reports": "RATER",
    "measures.MEASURE.reports.RATER": "REPORT",
    "measures.MEASURE.reasons": "RATER",
    "measures.MEASURE.reasons.RATER": "REPORT",
    "measures.MEASURE.units": "RATER",
    "measures.MEASURE.settings": "RATER",
    "measures.MEASURE.powered": "JUDGE",
    "measures.MEASURE.powered.JUDGE.systems": "SYSTEM",
    "thresholds": "RATER",
    "metrics": "RATER",
    "sampled": "RATER",
    "required": "RATER",
    "required.RATER": "QUERY",
    "reference_contexts": "RATER",
    "reference_contexts.RATER.oracle": "MEASURE",
    "reference_contexts.RATER.required": "MEASURE",
    "key_point_scores.raters": "RATER",
}
"""Objects whose keys are data, with the word that replaces each key."""

KEYS = (
    "campaign", "protocol", "batch", "generated_at", "version", "commit", "seed", "resamples",
    "preset", "options", "options.OPTION.value", "options.OPTION.reason", "passages", "points",
    "strata",
    "strata.STRATUM.campaign", "strata.STRATUM.variable", "strata.STRATUM.queries",
    "strata.STRATUM.decided", "strata.STRATUM.words", "strata.STRATUM.words.CODE",
    "queries", "warnings",
    "evaluation_queries", "raters",
    "raters[].name", "raters[].kind", "raters[].scripted", "raters[].excluded",
    "evaluators", "evaluators[].name", "evaluators[].judges", "evaluators[].declared",
    "evaluators[].kind", "evaluators[].scripted",
    "exposed", "exposed.labels", "exposed.answers", "exposed.unknown", "exposed.included",
    "exposed.people",
    "leaderboard", "leaderboard.level", "leaderboard.letters", "leaderboard.boards",
    "leaderboard.boards[].by", "leaderboard.boards[].kind", "leaderboard.boards[].test",
    "leaderboard.boards[].systems", "leaderboard.boards[].systems.SYSTEM.MEASURE",
    "leaderboard.boards[].systems.SYSTEM.MEASURE.higher_than",
    "leaderboard.boards[].systems.SYSTEM.MEASURE.effective_labels",
    "leaderboard.boards[].systems.SYSTEM.MEASURE.judged",
    "leaderboard.boards[].systems.SYSTEM.MEASURE.bounds",
    "measures", "measures.MEASURE.summary", "measures.MEASURE.citation",
    "measures.MEASURE.options", "measures.MEASURE.cut", "measures.MEASURE.variables",
    "measures.MEASURE.judgements", "measures.MEASURE.judgements.EVALUATOR.VARIABLE",
    "measures.MEASURE.systems",
    "measures.MEASURE.systems.SYSTEM.people", "measures.MEASURE.systems.SYSTEM.mean_of_people",
    "measures.MEASURE.systems.SYSTEM.texts",
    "measures.MEASURE.systems.SYSTEM.raters", "measures.MEASURE.slices",
    "measures.MEASURE.reports", "measures.MEASURE.reports.RATER.REPORT",
    "measures.MEASURE.reasons", "measures.MEASURE.reasons.RATER.REPORT",
    "measures.MEASURE.units", "measures.MEASURE.units.RATER.counted",
    "measures.MEASURE.units.RATER.failed", "measures.MEASURE.units.RATER.escaped",
    "measures.MEASURE.units.RATER.tied", "measures.MEASURE.units.RATER.absent",
    "measures.MEASURE.units.RATER.not_asked",
    "measures.MEASURE.evaluators", "measures.MEASURE.evaluators[].a",
    "measures.MEASURE.evaluators[].b", "measures.MEASURE.evaluators[].kendall",
    "measures.MEASURE.evaluators[].tau_ap",
    "measures.MEASURE.evaluators[].kendall_within",
    "measures.MEASURE.evaluators[].tau_ap_within",
    "measures.MEASURE.evaluator_matrix", "measures.MEASURE.evaluator_matrix.evaluators",
    "measures.MEASURE.evaluator_matrix.kendall",
    "measures.MEASURE.forms", "measures.MEASURE.forms[].a", "measures.MEASURE.forms[].form",
    "measures.MEASURE.forms[].b", "measures.MEASURE.forms[].kendall",
    "measures.MEASURE.forms[].spearman",
    "measures.MEASURE.settings", "measures.MEASURE.settings.RATER[].a",
    "measures.MEASURE.settings.RATER[].b", "measures.MEASURE.settings.RATER[].difference",
    "measures.MEASURE.settings.RATER[].p_value",
    "measures.MEASURE.settings.RATER[].adjusted_p_value",
    "measures.MEASURE.settings.RATER[].method", "measures.MEASURE.settings.RATER[].reason",
    "measures.MEASURE.settings.RATER[].wilcoxon",
    "measures.MEASURE.settings.RATER[].wilcoxon.p_value",
    "measures.MEASURE.settings.RATER[].wilcoxon.adjusted_p_value",
    "measures.MEASURE.settings.RATER[].wilcoxon.reason",
    "measures.MEASURE.powered", "measures.MEASURE.powered.JUDGE.systems",
    "measures.MEASURE.powered.JUDGE.pairs", "thresholds", "thresholds.RATER[].eta",
    "thresholds.RATER[].questions", "thresholds.RATER[].context", "thresholds.RATER[].report",
    "thresholds.RATER[].kendall", "thresholds.RATER[].estimates",
    "thresholds.RATER[].estimates.context", "thresholds.RATER[].estimates.report",
    "thresholds.RATER[].estimates.kendall", "metrics", "sampled", "required",
    "required.RATER.QUERY", "reference_contexts", "reference_contexts.RATER.oracle",
    "reference_contexts.RATER.required",
    "key_point_scores", "key_point_scores.cut", "key_point_scores.cuts",
    "key_point_scores.cuts[].threshold", "key_point_scores.cuts[].kept",
    "key_point_scores.cuts[].share", "key_point_scores.cuts[].false_discovery_rate",
    "key_point_scores.cuts[].false_positive_rate", "key_point_scores.brier",
    "key_point_scores.expected_calibration_error", "key_point_scores.reliability",
    "key_point_scores.reliability[].units", "key_point_scores.reliability[].probability",
    "key_point_scores.reliability[].share", "key_point_scores.raters",
)  # fmt: skip
"""Every key. Keys below a slice, a pair or an estimate are described at their first path."""
SAME_AGAIN = {
    SLICE: "measures.MEASURE.systems",
    "measures.MEASURE.powered.JUDGE.pairs[]": "measures.MEASURE.settings.RATER[]",
    "measures.MEASURE.powered.JUDGE.systems.SYSTEM": "leaderboard.boards[].systems.SYSTEM.MEASURE",
    "metrics.RATER[]": "measures.MEASURE.evaluators[]",
    "sampled.RATER[]": "measures.MEASURE.evaluators[]",
    "key_point_scores.raters.RATER": "key_point_scores",
}
"""Paths whose keys another path describes."""
OF_CELLS = ("judged", "bounds")
"""Keys of every estimate that depends on ratings of passages; described at the system ranking."""


def sections() -> Iterator[str]:
    rows = [(code(key), meaning(PART, key)) for key in KEYS]
    yield table(("key", "meaning"), rows)


def keys_of(report: Mapping[str, Any]) -> set[str]:
    """Return the paths of a report's keys in the form of `KEYS`."""
    return set(_walk(report, ""))


def _walk(value: object, path: str) -> Iterator[str]:
    if path in SAME_AGAIN:
        return
    if isinstance(value, Mapping):
        estimate = set(value) >= ESTIMATE
        keys = {"reason"} if "higher_than" in value else {"reason", *OF_CELLS}
        for key in set(value) - (ESTIMATE | keys if estimate else set()):
            below = ".".join(filter(None, (path, PLACES.get(path, key))))
            if path not in PLACES or below in KEYS:
                yield below
            yield from _walk(value[key], below)
    elif isinstance(value, list):
        for each in value:
            yield from _walk(each, f"{path}[]")
