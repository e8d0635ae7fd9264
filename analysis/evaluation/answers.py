"""Inputs of the measures of written answers: references, ratings, deflection, preferences."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from analysis.evaluation.inputs import (
    PEOPLE,
    TEXTS,
    YES_OR_NO,
    EvaluatorLabels,
    Part,
    Rows,
    decided_codes,
    evaluator_labels,
    label_codes,
    report_rows,
    system_of,
)
from datasets.text import sentences_of
from tandem.files.rows import Query, Report
from tandem.labels.frame import Frame, VariableFrame
from tandem.labels.reference import HUMAN
from tandem.scores.answers import Grades, Preferences, Texts
from tandem.scores.answers.refusals import refusal_list
from tandem.scores.base import MISSING, NO, YES
from tandem.scores.grounding import Citations, Deflections, Responses
from tandem.scores.options import Options
from tandem.statistics import Bools, Floats, Ints

Pairs = Sequence[tuple[Query, Report]]
GRADES = ("faithful", "appropriate", "natural")
SUPPORT_CODES = {"supported": YES, "no-rad": YES, "unsupported": NO, "contradictory": NO}
ELIGIBILITY_CODES = {0.0: YES, 1.0: YES, 2.0: NO}
LabelsByRater = Mapping[str, Mapping[str, EvaluatorLabels]]
GROUNDED_ANSWER, DEFLECTED = "grounded-answer", "deflected"


def written_parts(
    queries: Sequence[Query], options: Options, deflected: Mapping[str, bool]
) -> Iterator[Part]:
    """Yield answers compared with references, for the queries that have references.

    `deflected` says, by query, whether people deflect it according to the campaign's labels. For
    queries that it lacks, the references decide.
    """
    judged, of = _with_other_reports(queries, deflected.keys())
    if judged:
        yield Part("deflections", TEXTS, TEXTS, _deflections(judged, options, deflected), of)
    pairs, rows = with_references(queries)
    if not pairs:
        return
    yield Part("texts", TEXTS, TEXTS, _texts(pairs), rows)
    if any(report.citations is not None for _, report in pairs):
        yield Part("citations", TEXTS, TEXTS, _citations(pairs), rows)


def with_references(queries: Sequence[Query]) -> tuple[Pairs, Rows]:
    """Return the reports of queries with references, and their rows."""
    return _with_other_reports(queries, ())


def _with_other_reports(queries: Sequence[Query], others: Collection[str]) -> tuple[Pairs, Rows]:
    """Return the reports, and their rows, of queries with references or with one of these ids."""
    kept = [query for query in queries if query.references or query.id in others]
    pairs = [(query, report) for query in kept for report in query.reports]
    systems = tuple(system_of(report) for _, report in pairs)
    lengths = tuple(len(report.text) for _, report in pairs)
    return pairs, Rows(tuple(query for query, _ in pairs), systems, lengths)


def deflected_by_people(pairs: Pairs, deflected: Mapping[str, bool] | None = None) -> Ints:
    """Return 1 if a report's query is deflected, by `deflected` or its references, else 0, (N,)."""
    by_rater = deflected or {}
    return np.array([int(by_rater.get(q.id, not _answers(q))) for q, _ in pairs], np.int64)


def _answers(query: Query) -> list[str]:
    """Return the references that answer: neither deflected nor empty ones."""
    return [r.text for r in query.references if not r.deflected and r.text.strip()]


def _texts(pairs: Pairs) -> Texts:
    return Texts(
        [report.text for _, report in pairs],
        [_answers(query) for query, _ in pairs],
        [" ".join(p.titled for p in query.passages) or None for query, _ in pairs],
        np.array([bool(_answers(query)) for query, _ in pairs], dtype=bool),
        [system_of(report) for _, report in pairs],
    )


def _deflections(pairs: Pairs, options: Options, deflected: Mapping[str, bool]) -> Deflections:
    """Return a report's own mark of deflection, or whether its text refuses."""
    refuses = refusal_list(options.refusals).refuses
    own = [
        int(refuses(r.text, system_of(r)) if r.deflected is None else r.deflected) for _, r in pairs
    ]
    every = np.ones(len(own), bool)
    return Deflections(np.array(own, np.int64), deflected_by_people(pairs, deflected), every)


def _citations(pairs: Pairs) -> Citations:
    """Return citations; a deflecting answer cites nothing, so its citations are undefined."""
    return Citations(
        [None if r.citations is None else frozenset(r.citations) for _, r in pairs],
        [
            [
                frozenset(r.citations)
                for r in query.references
                if r.citations is not None and not r.deflected
            ]
            for query, _ in pairs
        ],
    )


def rated_parts(
    queries: Sequence[Query], frame: Frame, bare: Collection[str] | None
) -> Iterator[Part]:
    """Yield answer ratings: grades, eligibility, and sentences by the passages that were shown.

    `bare` are the ids of queries without a relevant passage, in campaigns that show only relevant
    passages; None in other campaigns. For these queries, raters see no passage, so the responses
    have no relevance-aware factuality, even if their sentences need no evidence.
    """
    row, reports, rows = report_rows(queries)
    with_sentences = reports if "support" in frame.variables else ()
    sentences = np.array([*map(number_of_sentences, with_sentences)], dtype=np.int64)
    by_rater = {name: _by_rater(of) for name, of in frame.variables.items()}
    kinds = {r: evaluator.kind for of in by_rater.values() for r, evaluator in of.items()}
    for rater, kind in kinds.items():
        grades = [
            _of_reports(frame, by_rater.get(name, {}).get(rater), name, row) for name in GRADES
        ]
        if any(np.isfinite(values).any() for values in grades):
            yield Part("grades", rater, kind, Grades(*grades), rows)
        responses = _responses(frame, by_rater, rater, row, sentences)
        if responses.applicable.any():
            yield Part("responses", rater, kind, responses, rows)
        if rater in by_rater.get("support", {}):
            if bare is None:
                yield Part("all-passages", rater, kind, responses, rows)
            else:
                held = responses.only(np.array([q.id not in bare for q in rows.queries], bool))
                yield Part("relevant-passages", rater, kind, held, rows)
        if rater in by_rater.get("abstains", {}):
            yield from _rated_deflections(queries, frame, by_rater, rater, kind)


def _by_rater(variable: VariableFrame) -> dict[str, EvaluatorLabels]:
    return {evaluator.rater: evaluator for evaluator in evaluator_labels(variable)}


def _of_reports(
    frame: Frame, evaluator: EvaluatorLabels | None, name: str, row: Mapping[str, int]
) -> Floats:
    """Return a rater's value of each report, (N,), NaN without one."""
    made = np.full(len(row), np.nan)
    if evaluator:
        places = [row[unit] for _, _, unit in frame.variables[name].units.names]
        made[places] = evaluator.values
    return made


def _applicable_reports(
    frame: Frame, evaluator: EvaluatorLabels | None, name: str, row: Mapping[str, int]
) -> Bools:
    """Return the reports about which a rater was asked, (N,), whether answered or missing."""
    made = np.zeros(len(row), bool)
    if evaluator:
        places = [row[unit] for _, _, unit in frame.variables[name].units.names]
        made[places] = evaluator.applicable
    return made


def _responses(
    frame: Frame, by_rater: LabelsByRater, rater: str, row: Mapping[str, int], sentences: Ints
) -> Responses:
    """Return a rater's labels of the responses, which have this many `sentences` (N,) each."""
    issues = by_rater.get("eligibility", {}).get(rater)
    grades = _of_reports(frame, issues and issues.rounded(), "eligibility", row)
    eligible = np.array(
        [ELIGIBILITY_CODES.get(value, MISSING) for value in grades.tolist()], np.int64
    )
    applicable = _applicable_reports(frame, issues, "eligibility", row)
    if evaluator := by_rater.get("support", {}).get(rater):
        supported = _supported_sentences(frame.variables["support"], evaluator, row, sentences)
        return Responses(eligible, applicable, *supported)
    return Responses(eligible, applicable, np.zeros(0, np.int64), np.zeros(0, np.int64))


def _supported_sentences(
    variable: VariableFrame, evaluator: EvaluatorLabels, row: Mapping[str, int], sentences: Ints
) -> tuple[Ints, Ints]:
    """Return whether sentences are supported, and the response of each, both (U,).

    A response has no value if any of its sentences was not asked about, or if people tie on one:
    its remaining sentences would make it pass too often. If a judge split a response into other
    sentences, so that some of ours have no label, its own sentences count.
    """
    supported, applicable = decided_codes(variable, evaluator, SUPPORT_CODES)
    place = np.array([row[unit.rpartition("#")[0]] for _, _, unit in variable.units.names], int)
    whole = np.bincount(place[applicable], minlength=len(sentences)) == sentences
    kept = applicable & whole[place]
    own = _own_sentences(variable, evaluator, place)
    split = np.unique(place[kept & (supported == MISSING)]).tolist()
    verdicts = [(code, of) for of in split for code in own.get(of, ())]
    kept &= ~np.isin(place, [of for of in split if of in own])
    codes, rows = np.array(verdicts, np.int64).reshape(-1, 2).T
    return np.concatenate((supported[kept], codes)), np.concatenate((place[kept], rows))


def _own_sentences(
    variable: VariableFrame, evaluator: EvaluatorLabels, place: Ints
) -> dict[int, list[int]]:
    """Return what a judge says of its own sentences, by the row of their response.

    Every label of a response must say the same.
    """
    names = [rater.name for rater in variable.raters]
    if evaluator.rater not in names:
        return {}
    texts: dict[int, set[str]] = {}
    column = names.index(evaluator.rater)
    for row, text in zip(place.tolist(), variable.own.get(column, ()), strict=False):
        if text:
            texts.setdefault(row, set()).add(text)
    return {
        row: [SUPPORT_CODES.get(code, MISSING) for code in min(found).split()]
        for row, found in texts.items()
        if len(found) == 1
    }


def number_of_sentences(report: Report) -> int:
    """Count the sentences of a report that raters are asked about."""
    return len(sentences_of(report))


def _rated_deflections(
    queries: Sequence[Query], frame: Frame, by_rater: LabelsByRater, rater: str, kind: str
) -> Iterator[Part]:
    """Yield whether a rater says that an answer abstains, beside the references of its query."""
    pairs, rows = with_references(queries)
    row = {report.id: n for n, (_, report) in enumerate(pairs)}
    abstains, evaluator = frame.variables["abstains"], by_rater["abstains"][rater]
    own, applicable = np.full(len(pairs), MISSING, np.int64), np.zeros(len(pairs), bool)
    codes = label_codes(abstains, evaluator, YES_OR_NO)
    for n, (_, _, unit) in enumerate(abstains.units.names):
        if unit in row:
            own[row[unit]], applicable[row[unit]] = codes[n], evaluator.applicable[n]
    if applicable.any():
        deflections = Deflections(own, deflected_by_people(pairs), applicable)
        yield Part("deflections", rater, kind, deflections, rows)


def preference_parts(queries: Sequence[Query], frame: Frame) -> Iterator[Part]:
    """Yield preferences. For people together these are the verdicts of all people, each counted."""
    variable = frame.variables.get("preferred")
    if variable is None:
        return
    row, _, rows = report_rows(queries)
    pairs = _pairs(queries, row)
    sides = np.array([pairs[item] for item, _, _ in variable.units.names], np.int64).reshape(-1, 2)
    meaning = {"first": 0, "second": 1, "tie-good": 2, "tie-bad": 3}
    own = [evaluator for evaluator in evaluator_labels(variable) if evaluator.kind != PEOPLE]
    verdicts = {evaluator.rater: label_codes(variable, evaluator, meaning) for evaluator in own}
    people = [verdicts[evaluator.rater] for evaluator in own if evaluator.kind == HUMAN]
    if people:
        yield _preferences(sides, people, PEOPLE, PEOPLE, rows)
    for evaluator in own:
        yield _preferences(
            sides, [verdicts[evaluator.rater]], evaluator.rater, evaluator.kind, rows
        )


def _pairs(queries: Sequence[Query], row: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    """Return the rows of every pair by its key, which is not split since ids may hold a slash."""
    return {
        f"{first.id}/{second.id}": (row[first.id], row[second.id])
        for query in queries
        for n, first in enumerate(query.reports)
        for second in query.reports[n + 1 :]
    }


def _preferences(sides: Ints, verdicts: Sequence[Ints], rater: str, kind: str, rows: Rows) -> Part:
    first, second = np.tile(sides, (len(verdicts), 1)).T
    of = Preferences(first, second, np.concatenate(verdicts), len(rows.systems))
    return Part("preferences", rater, kind, of, rows)


def deflected_in(queries: Sequence[Query], frame: Frame, protocol: str) -> dict[str, bool]:
    """Return by query whether most people deflect it, in campaigns of grounded answers.

    Queries on which people tie are left out.
    """
    variable = frame.variables.get(DEFLECTED)
    if protocol != GROUNDED_ANSWER or variable is None:
        return {}
    people = next(
        (evaluator for evaluator in evaluator_labels(variable) if evaluator.kind == PEOPLE), None
    )
    if people is None:
        return {}
    codes, _ = decided_codes(variable, people, YES_OR_NO)
    known = {query.id for query in queries}
    names = [unit for _, _, unit in variable.units.names]
    return {
        name: code == YES
        for name, code in zip(names, codes.tolist(), strict=True)
        if code != MISSING and name in known
    }


def deflecting_parts(queries: Sequence[Query], frame: Frame) -> Iterator[Part]:
    """Yield whether each judge declines if people do; the rows are queries, without a system.

    A judge that writes answers is compared with people like a system. Queries without a relevant
    passage count as deflected by people.
    """
    deflecting = deflected_in(queries, frame, GROUNDED_ANSWER)
    if not deflecting:
        return
    variable = frame.variables[DEFLECTED]
    kept = [query for query in queries if query.id in deflecting]
    rows = Rows(tuple(kept), ("",) * len(kept))
    place = {unit: n for n, (_, _, unit) in enumerate(variable.units.names)}
    where = np.array([place[query.id] for query in kept], np.int64)
    theirs = np.array([YES if deflecting[query.id] else NO for query in kept], np.int64)
    for evaluator in evaluator_labels(variable):
        if evaluator.kind not in (PEOPLE, HUMAN):
            own = label_codes(variable, evaluator, YES_OR_NO)[where]
            applicable = evaluator.applicable[where]
            if applicable.any():
                deflections = Deflections(own, theirs, applicable)
                yield Part("deflections", evaluator.rater, evaluator.kind, deflections, rows)
