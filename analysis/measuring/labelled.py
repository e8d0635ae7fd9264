"""Labels of sub-questions, key points, sentences and pairs as the measures take them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.frames import Frame, VariableFrame
from analysis.measures.coverage.reports import ReportQuestions, cut_ratings
from analysis.measures.key_points.failures import Failures
from analysis.measures.key_points.points import AnswerPoints, Both, Points
from analysis.measures.key_points.retention import Verified
from analysis.measures.options import Options
from analysis.measures.shares import MISSING, NO, YES
from analysis.measuring.parts import PEOPLE, Part, Rows, all_reports
from analysis.measuring.voices import HUMAN, Voice, voices
from analysis.statistics import Bools, Ints, majority
from datasets.rows import KeyPoint, Query, Report

Codes = Mapping[str, int]
YES_OR_NO: Codes = {"yes": YES, "no": NO}
_NO_LABELS = np.zeros(0, np.int64)


def coded(frame: VariableFrame, voice: Voice, meaning: Codes) -> Ints:
    """One rater's labels by the codes of the categories, (U,); -1 = missing."""
    places = {float(n): meaning[c] for n, c in enumerate(frame.scale.categories) if c in meaning}
    return voice.codes(places)


def decided(frame: VariableFrame, voice: Voice, meaning: Codes) -> tuple[Ints, Bools]:
    """One side's labels by what they mean, (U,), -1 = missing, and which units count (U,).

    People's is the most frequent meaning, not the most frequent label: two labels that mean the
    same are no tie. A tie between meanings does not count.
    """
    if voice.kind != PEOPLE:
        return coded(frame, voice, meaning), voice.asked
    codes = np.array([meaning.get(c, MISSING) for c in (*frame.scale.categories, "")], np.int64)
    together, _ = majority(codes[frame.of(HUMAN)])
    return together, (together != MISSING) | voice.failed


def report_rows(queries: Sequence[Query]) -> tuple[dict[str, int], list[Report], Rows]:
    """The row of each report by its id, the reports, and the rows."""
    reports, rows = all_reports(queries)
    return {report.id: n for n, report in enumerate(reports)}, reports, rows


def rows_of_units(frame: VariableFrame, row: Mapping[str, int]) -> Ints:
    """The row of each unit (U,), whose item is a report."""
    return np.array([row[item] for item, _, _ in frame.units.names], dtype=np.int64)


@dataclass(frozen=True)
class Counted:
    """The sub-questions of the denominator, and the queries of which it is not known."""

    questions: frozenset[str]
    unsure: frozenset[str] = frozenset()


def report_parts(
    queries: Sequence[Query], frame: Frame, options: Options, counted: Counted | None = None
) -> Iterator[Part]:
    """Coverage of reports by yes and no, and by ratings that are cut at eta.

    All sub-questions are in the denominator where it is not told which.
    """
    row, reports, rows = report_rows(queries)
    unsure = np.array([counted is not None and q.id in counted.unsure for q in rows.queries], bool)
    for name, suffix in (("answerable", ""), ("rating", "@rated")):
        variable = frame.variables.get(name)
        if variable is None:
            continue
        inside = np.array(
            [counted is None or unit in counted.questions for *_, unit in variable.units.names],
            dtype=bool,
        )
        for voice in voices(variable):
            answered = (
                cut_ratings(voice.values, options.eta)
                if suffix
                else coded(variable, voice, YES_OR_NO)
            )
            place, within = rows_of_units(variable, row), voice.asked & inside
            of = ReportQuestions(answered, place, len(reports), within, unsure)
            yield Part("reports", voice.rater, voice.kind, of, rows, suffix)


def point_parts(
    queries: Sequence[Query], frame: Frame, of_answers: Frame | None = None
) -> Iterator[Part]:
    """Key points that reports make, and how they fail to.

    `of_answers` are labels of the points of reports, for KPP and KPF: each evaluator's KPR is
    joined with its own labels there. Without them both are there and have no value.
    """
    row, reports, rows = report_rows(queries)
    passages = {k.id: _sources(k) for query in queries for k in query.key_points}
    supported = dict(_supported(reports, row, of_answers))
    nothing = AnswerPoints(_NO_LABELS, _NO_LABELS, len(reports), np.zeros(len(reports), bool))
    if entailed := frame.variables.get("entailed"):
        place = rows_of_units(entailed, row)
        held = _retrieved(entailed, [reports[n] for n in place], passages)
        for voice in voices(entailed):
            said, asked = decided(entailed, voice, {**YES_OR_NO, "neutral": NO})
            of = Points(said[asked], held[asked], place[asked], len(reports))
            own = supported.get(voice.rater, nothing)
            yield Part("points", voice.rater, voice.kind, of, rows)
            yield Part("answer-points", voice.rater, voice.kind, own, rows)
            yield Part("both-points", voice.rater, voice.kind, Both(of, own), rows)
    if failure := frame.variables.get("failure"):
        place = rows_of_units(failure, row)
        kinds = {"incomplete": 0, "general": 1, "missing": 2}
        for voice in voices(failure):
            failures = Failures(coded(failure, voice, kinds), place, len(reports))
            yield Part("failures", voice.rater, voice.kind, failures, rows)


def answer_point_parts(queries: Sequence[Query], frame: Frame) -> Iterator[Part]:
    """Points that reports make themselves, held against the context of each."""
    row, reports, rows = report_rows(queries)
    of = dict(_supported(reports, row, frame))
    for voice in voices(frame.variables["grounded"]) if of else ():
        yield Part("answer-points", voice.rater, voice.kind, of[voice.rater], rows)


def _supported(
    reports: Sequence[Report], row: Mapping[str, int], frame: Frame | None
) -> Iterator[tuple[str, AnswerPoints]]:
    """By evaluator which points of reports their context supports."""
    grounded = frame.variables.get("grounded") if frame else None
    if grounded is None:
        return
    place = rows_of_units(grounded, row)
    silent = np.array([report.key_points == () for report in reports], dtype=bool)
    for voice in voices(grounded):
        said, asked = decided(grounded, voice, YES_OR_NO)
        yield voice.rater, AnswerPoints(said[asked], place[asked], len(reports), silent)


def _sources(point: KeyPoint) -> frozenset[str]:
    """The passages that hold a key point: its own, and those of the points merged in it."""
    return frozenset({point.passage, *_merged(point.meta)})


def _merged(told: object) -> Iterator[str]:
    """The passages of `sources`, and of theirs; a batch's meta may hold anything there."""
    sources = told.get("sources") if isinstance(told, Mapping) else None
    for each in sources if isinstance(sources, list) else ():
        if isinstance(each, Mapping) and isinstance(each.get("passage"), str):
            yield each["passage"]
        yield from _merged(each)


def _retrieved(
    frame: VariableFrame, reports: Sequence[Report], passages: Mapping[str, frozenset[str]]
) -> Ints:
    """Whether a passage of each unit's key point stands in its report's context, (U,)."""
    made = [
        MISSING if report.context is None else int(not passages[point].isdisjoint(report.context))
        for (_, _, point), report in zip(frame.units.names, reports, strict=True)
    ]
    return np.array(made, dtype=np.int64)


def verified_parts(queries: Sequence[Query], frame: Frame) -> Iterator[Part]:
    """Key points as people verified them; the rows are queries, of no system."""
    grounded, key = (frame.variables.get(name) for name in ("grounded", "key"))
    if grounded is None:
        return
    query = {k.id: n for n, each in enumerate(queries) for k in each.key_points}
    row = np.array([query[unit] for _, _, unit in grounded.units.names], dtype=np.int64)
    judged = {voice.rater: voice for voice in voices(key)} if key else {}
    ranks = {0.0: 0, 1.0: 1, 2.0: 2}
    for voice in voices(grounded):
        second = np.full(len(row), MISSING, np.int64)
        asked = np.zeros(len(row), bool)
        if key is not None and voice.rater in judged:
            own = judged[voice.rater]
            second = _aligned(grounded, key, own.rounded().codes(ranks))
            asked = _aligned(grounded, key, own.asked.astype(np.int64)) == 1
        said = coded(grounded, voice, YES_OR_NO)
        kept: Bools = voice.asked
        of = Verified(said[kept], second[kept], row[kept], len(queries), asked[kept])
        rows = Rows(tuple(queries), ("",) * len(queries))
        yield Part("verified", voice.rater, voice.kind, of, rows)


def _aligned(frame: VariableFrame, other: VariableFrame, codes: Ints) -> Ints:
    """The codes of another variable's units in the order of this one's, -1 where it has none."""
    found = dict(zip(other.units.names, codes.tolist(), strict=True))
    return np.array([found.get(name, MISSING) for name in frame.units.names], dtype=np.int64)
