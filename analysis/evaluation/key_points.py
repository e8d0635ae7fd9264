"""Inputs of the measures of key points: recall, precision, failures, verification, scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.evaluation.inputs import (
    PEOPLE,
    YES_OR_NO,
    AskedContent,
    EvaluatorLabels,
    Part,
    Rows,
    asked_units,
    decided_codes,
    evaluator_labels,
    label_codes,
    report_rows,
    rows_of_units,
)
from tandem.files.rows import KeyPoint, Query, Report
from tandem.labels.frame import Frame, VariableFrame
from tandem.labels.selection import ReportOptions
from tandem.scores.base import MISSING, NO
from tandem.scores.key_points import (
    UNKNOWN,
    AnswerPoints,
    Both,
    Cut,
    Failures,
    Points,
    Verified,
    cuts,
    retained_points,
)
from tandem.scores.options import Options
from tandem.statistics import SHARE, Bools, Ints, calibration
from tandem.types import JSON

_NO_LABELS = np.zeros(0, np.int64)
RECALL, VERIFICATION = "key-point-recall", "key-point-verification"
STEPS = tuple(n / 10 for n in range(10))


def point_parts(
    queries: Sequence[Query], frame: Frame, of_answers: Frame | None = None
) -> Iterator[Part]:
    """Yield the key points that reports make, and the kinds of failure for the others.

    `of_answers` are labels of the reports' own points, for KPP and KPF. For KPF, each evaluator's
    KPR is combined with its own labels of these points. Without `of_answers`, KPP and KPF have no
    value. If an evaluator was asked about some points of a report, all others are unasked.
    """
    row, reports, rows = report_rows(queries)
    passages = {k.id: _sources(k) for query in queries for k in query.key_points}
    supported = dict(_supported(reports, row, of_answers))
    nothing = AnswerPoints(_NO_LABELS, _NO_LABELS, len(reports), np.zeros(len(reports), bool))
    if entailed := frame.variables.get("entailed"):
        place = rows_of_units(entailed, row)
        due = [tuple(k.id for k in query.key_points) for query in rows.queries]
        for evaluator in evaluator_labels(entailed):
            by_rater, applicable = decided_codes(entailed, evaluator, {**YES_OR_NO, "neutral": NO})
            labelled = _Labelled.of(entailed, evaluator, by_rater, applicable, place, due)
            held = _retrieved(labelled, reports, passages)
            of = Points(labelled.codes, held, labelled.row, len(reports), labelled.unasked)
            own = supported.get(evaluator.rater, nothing)
            yield Part("points", evaluator.rater, evaluator.kind, of, rows)
            yield Part("answer-points", evaluator.rater, evaluator.kind, own, rows)
            yield Part("both-points", evaluator.rater, evaluator.kind, Both(of, own), rows)
    if failure := frame.variables.get("failure"):
        place = rows_of_units(failure, row)
        kinds = {"incomplete": 0, "general": 1, "missing": 2}
        for evaluator in evaluator_labels(failure):
            failures = Failures(label_codes(failure, evaluator, kinds), place, len(reports))
            yield Part("failures", evaluator.rater, evaluator.kind, failures, rows)


def answer_point_parts(queries: Sequence[Query], frame: Frame) -> Iterator[Part]:
    """Yield the reports' own points, compared with each report's context."""
    row, reports, rows = report_rows(queries)
    of = dict(_supported(reports, row, frame))
    for evaluator in evaluator_labels(frame.variables["grounded"]) if of else ():
        yield Part("answer-points", evaluator.rater, evaluator.kind, of[evaluator.rater], rows)


def _supported(
    reports: Sequence[Report], row: Mapping[str, int], frame: Frame | None
) -> Iterator[tuple[str, AnswerPoints]]:
    """Yield by evaluator which of the reports' points are supported by their context."""
    grounded = frame.variables.get("grounded") if frame else None
    if grounded is None:
        return
    place = rows_of_units(grounded, row)
    silent = np.array([report.key_points == () for report in reports], dtype=bool)
    due = [tuple(k.id for k in report.key_points or ()) for report in reports]
    for evaluator in evaluator_labels(grounded):
        by_rater, applicable = decided_codes(grounded, evaluator, YES_OR_NO)
        labelled = _Labelled.of(grounded, evaluator, by_rater, applicable, place, due)
        of = AnswerPoints(labelled.codes, labelled.row, len(reports), silent, labelled.unasked)
        yield evaluator.rater, of


@dataclass(frozen=True)
class _Labelled:
    """The points (U,) of reports that an evaluator was asked about, and the `unasked` others."""

    points: tuple[str, ...]
    codes: Ints
    row: Ints
    unasked: Bools

    @classmethod
    def of(
        cls,
        frame: VariableFrame,
        evaluator: EvaluatorLabels,
        codes: Ints,
        counted: Bools,
        row: Ints,
        due: Sequence[Sequence[str]],
    ) -> _Labelled:
        """Add to the `counted` units (U,) those of the points `due` in a row that were not asked.

        Only rows with an asked unit have any, since the others were not sampled.
        """
        names = [unit for _, _, unit in frame.units.names]
        asked = asked_units(frame, evaluator)
        known = {(row[n], names[n]) for n in np.flatnonzero(asked).tolist()}
        others = [
            (at, point)
            for at in np.unique(row[asked]).tolist()
            for point in due[at]
            if (at, point) not in known
        ]
        kept = np.flatnonzero(counted)
        return cls(
            (*(names[n] for n in kept.tolist()), *(point for _, point in others)),
            np.append(codes[kept], np.full(len(others), MISSING, np.int64)),
            np.append(row[kept], np.array([at for at, _ in others], np.int64)),
            np.arange(len(kept) + len(others)) >= len(kept),
        )


def _sources(point: KeyPoint) -> frozenset[str]:
    """Return the passages with a key point: its own, and those of points merged into it."""
    return frozenset({point.passage, *_merged(point.meta)})


def _merged(meta: object) -> Iterator[str]:
    """Yield the passages in `sources`, recursively; a batch's `meta` may hold anything."""
    sources = meta.get("sources") if isinstance(meta, Mapping) else None
    for each in sources if isinstance(sources, list) else ():
        if isinstance(each, Mapping) and isinstance(each.get("passage"), str):
            yield each["passage"]
        yield from _merged(each)


def _retrieved(
    labelled: _Labelled, reports: Sequence[Report], passages: Mapping[str, frozenset[str]]
) -> Ints:
    """Return whether a passage of each key point is in its report's context, (U,)."""
    made = [
        MISSING if context is None else int(not passages[point].isdisjoint(context))
        for point, context in zip(
            labelled.points, (reports[n].context for n in labelled.row), strict=True
        )
    ]
    return np.array(made, dtype=np.int64)


def verified_parts(queries: Sequence[Query], frame: Frame) -> Iterator[Part]:
    """Yield key points as people verified them; the rows are queries, without a system."""
    grounded, key = (frame.variables.get(name) for name in ("grounded", "key"))
    if grounded is None:
        return
    query = {k.id: n for n, each in enumerate(queries) for k in each.key_points}
    row = np.array([query[unit] for _, _, unit in grounded.units.names], dtype=np.int64)
    judged = {evaluator.rater: evaluator for evaluator in evaluator_labels(key)} if key else {}
    ranks = {0.0: 0, 1.0: 1, 2.0: 2}
    for evaluator in evaluator_labels(grounded):
        second = np.full(len(row), MISSING, np.int64)
        applicable = np.zeros(len(row), bool)
        if key is not None and evaluator.rater in judged:
            own = judged[evaluator.rater]
            second = _aligned(grounded, key, own.rounded().codes(ranks))
            applicable = _aligned(grounded, key, own.applicable.astype(np.int64)) == 1
        by_rater = label_codes(grounded, evaluator, YES_OR_NO)
        kept: Bools = evaluator.applicable
        of = Verified(by_rater[kept], second[kept], row[kept], len(queries), applicable[kept])
        rows = Rows(tuple(queries), ("",) * len(queries))
        yield Part("verified", evaluator.rater, evaluator.kind, of, rows)


def _aligned(frame: VariableFrame, other: VariableFrame, codes: Ints) -> Ints:
    """Return another variable's codes in the order of this one's units, -1 for missing ones."""
    found = dict(zip(other.units.names, codes.tolist(), strict=True))
    return np.array([found.get(name, MISSING) for name in frame.units.names], dtype=np.int64)


def key_point_scores(
    asked: AskedContent,
    queries: Sequence[Query],
    frame: Frame,
    options: Options,
    report_options: ReportOptions,
) -> JSON | None:
    """Return the scores cut at tenths and at the option's value, and their calibration.

    The cuts are compared with the verdicts of people together (`Retention`) and of each rater: Qi
    and others 2024 print the mean of two annotators. None for another protocol, and without scores
    or verdicts.
    """
    if asked.protocol != VERIFICATION or asked.reading:
        return None
    if all(k.score is None for q in queries for k in q.key_points):
        return None
    by_rater = dict(_verdicts(queries, frame, options))
    if not by_rater:
        return None
    nobody = np.full(sum(len(query.key_points) for query in queries), UNKNOWN, np.int64)
    together = by_rater.pop(PEOPLE, nobody)
    return {
        "cut": options.score_cut,
        **_scores_and_verdicts(queries, together, options, report_options),
        "raters": {
            name: _scores_and_verdicts(queries, of, options, report_options)
            for name, of in by_rater.items()
        },
    }


def _verdicts(
    queries: Sequence[Query], frame: Frame, options: Options
) -> Iterator[tuple[str, Ints]]:
    """Yield by rater whether each point of the batch is key: 1, 0, or -1 if unknown."""
    grounded = frame.variables.get("grounded")
    if grounded is None:
        return
    place = {k.id: n for n, k in enumerate(k for query in queries for k in query.key_points)}
    units = np.array([place[unit] for _, _, unit in grounded.units.names], np.int64)
    for part, evaluator in zip(
        verified_parts(queries, frame), evaluator_labels(grounded), strict=True
    ):
        assert isinstance(part.data, Verified)
        verdicts = np.full(len(place), UNKNOWN, np.int64)
        # Points that were not asked about, or on which people tie, are not among the verified ones.
        verdicts[units[evaluator.applicable]] = retained_points(part.data, options)
        yield part.rater, verdicts


def _scores_and_verdicts(
    queries: Sequence[Query], verdicts: Ints, options: Options, report_options: ReportOptions
) -> JSON:
    """Compare the scores of all points with one rater's verdicts on them."""
    points = [(n, k.score) for n, query in enumerate(queries) for k in query.key_points]
    scores = np.array([np.nan if score is None else score for _, score in points], float)
    number = np.array([n for n, _ in points], dtype=np.int64)
    thresholds = sorted({*STEPS, options.score_cut})
    made = cuts(scores, verdicts, number, thresholds, report_options.resamples, report_options.seed)
    curve = calibration(
        scores, verdicts, number, draws=report_options.resamples, seed=report_options.seed
    )
    return {
        "cuts": [_cut(each) for each in made],
        "brier": curve.brier.within(*SHARE).as_json(),
        "expected_calibration_error": curve.expected_calibration_error.as_json(),
        "reliability": [
            {"units": b.units, "probability": b.probability, "share": b.share.as_json()}
            for b in curve.reliability
        ],
    }


def _cut(cut: Cut) -> JSON:
    return {
        "threshold": cut.threshold,
        "kept": cut.kept,
        "share": cut.share,
        "false_discovery_rate": cut.false_discovery.as_json(),
        "false_positive_rate": cut.false_positive.as_json(),
    }
