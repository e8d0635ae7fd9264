"""Inputs of the measures of answers: coverage, key points, sentences, citations, preferences."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.campaigns.frames import campaign_frame
from analysis.data.frame import Frame, VariableFrame
from analysis.data.reference import HUMAN
from analysis.data.selection import ReportOptions
from analysis.evaluation.inputs import (
    PEOPLE,
    TEXTS,
    EvaluatorLabels,
    Part,
    Rows,
    all_reports,
    evaluator_labels,
    system_of,
)
from analysis.evaluation.slicing import check_same_batch
from analysis.measures.answers import Grades, Preferences, Texts
from analysis.measures.answers.refusals import refusal_list
from analysis.measures.base import MISSING, NO, SHARE, YES, Options
from analysis.measures.coverage import ReportQuestions, cut_ratings
from analysis.measures.grounding import Citations, Deflections, Responses
from analysis.measures.key_points import (
    UNKNOWN,
    AnswerPoints,
    Both,
    Cut,
    Failures,
    Points,
    Verified,
    cuts,
    kept,
)
from analysis.statistics import Bools, Floats, Ints, calibration, majority
from analysis.types import JSON
from annotation.models import Campaign
from annotation.registry import declared
from datasets.rows import KeyPoint, Query, Report
from datasets.text import sentences as sentences_of

Codes = Mapping[str, int]
YES_OR_NO: Codes = {"yes": YES, "no": NO}
_NO_LABELS = np.zeros(0, np.int64)
Pairs = Sequence[tuple[Query, Report]]
RECALL, VERIFICATION = "key-point-recall", "key-point-verification"
GRADES = ("faithful", "appropriate", "natural")
BORNE = {"supported": YES, "no-rad": YES, "unsupported": NO, "contradictory": NO}
ISSUES = {0.0: YES, 1.0: YES, 2.0: NO}
LabelsByRater = Mapping[str, Mapping[str, EvaluatorLabels]]
PROTOCOL = "key-point-verification"
STEPS = tuple(n / 10 for n in range(10))
GROUNDED, VARIABLE = "grounded-answer", "deflected"


def coded(frame: VariableFrame, evaluator: EvaluatorLabels, meaning: Codes) -> Ints:
    """Return one rater's labels by the codes of the categories, (U,); -1 = missing."""
    places = {float(n): meaning[c] for n, c in enumerate(frame.scale.categories) if c in meaning}
    return evaluator.codes(places)


def decided(frame: VariableFrame, evaluator: EvaluatorLabels, meaning: Codes) -> tuple[Ints, Bools]:
    """Return one rater's labels by their meaning, (U,), -1 = missing, and which units count (U,).

    People's joint label is the most frequent meaning, not the most frequent label: two labels with
    the same meaning do not tie. A tie between meanings does not count.
    """
    if evaluator.kind != PEOPLE:
        return coded(frame, evaluator, meaning), evaluator.asked
    codes = np.array([meaning.get(c, MISSING) for c in (*frame.scale.categories, "")], np.int64)
    together, _ = majority(codes[frame.codes_of(HUMAN)])
    return together, (together != MISSING) | evaluator.failed


def report_rows(queries: Sequence[Query]) -> tuple[dict[str, int], list[Report], Rows]:
    """Return the row of each report by its id, the reports, and the rows."""
    reports, rows = all_reports(queries)
    return {report.id: n for n, report in enumerate(reports)}, reports, rows


def rows_of_units(frame: VariableFrame, row: Mapping[str, int]) -> Ints:
    """Return the row of each unit (U,), whose item is a report."""
    return np.array([row[item] for item, _, _ in frame.units.names], dtype=np.int64)


@dataclass(frozen=True)
class Counted:
    """The sub-questions of the denominator, and the queries for which they are unknown."""

    questions: frozenset[str]
    unsure: frozenset[str] = frozenset()


def report_parts(
    queries: Sequence[Query], frame: Frame, options: Options, counted: Counted | None = None
) -> Iterator[Part]:
    """Yield the coverage of reports by yes and no, and by ratings cut at eta.

    Without `counted` all sub-questions are in the denominator.
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
        for evaluator in evaluator_labels(variable):
            answered = (
                cut_ratings(evaluator.values, options.eta)
                if suffix
                else coded(variable, evaluator, YES_OR_NO)
            )
            place, within = rows_of_units(variable, row), evaluator.asked & inside
            of = ReportQuestions(answered, place, len(reports), within, unsure)
            yield Part("reports", evaluator.rater, evaluator.kind, of, rows, suffix)


def point_parts(
    queries: Sequence[Query], frame: Frame, of_answers: Frame | None = None
) -> Iterator[Part]:
    """Yield the key points that reports make, and how they fail to make the others.

    `of_answers` are labels of the reports' own points, for KPP and KPF: each evaluator's KPR is
    joined with its own labels there. Without them both measures have no value.
    """
    row, reports, rows = report_rows(queries)
    passages = {k.id: _sources(k) for query in queries for k in query.key_points}
    supported = dict(_supported(reports, row, of_answers))
    nothing = AnswerPoints(_NO_LABELS, _NO_LABELS, len(reports), np.zeros(len(reports), bool))
    if entailed := frame.variables.get("entailed"):
        place = rows_of_units(entailed, row)
        held = _retrieved(entailed, [reports[n] for n in place], passages)
        for evaluator in evaluator_labels(entailed):
            by_rater, asked = decided(entailed, evaluator, {**YES_OR_NO, "neutral": NO})
            of = Points(by_rater[asked], held[asked], place[asked], len(reports))
            own = supported.get(evaluator.rater, nothing)
            yield Part("points", evaluator.rater, evaluator.kind, of, rows)
            yield Part("answer-points", evaluator.rater, evaluator.kind, own, rows)
            yield Part("both-points", evaluator.rater, evaluator.kind, Both(of, own), rows)
    if failure := frame.variables.get("failure"):
        place = rows_of_units(failure, row)
        kinds = {"incomplete": 0, "general": 1, "missing": 2}
        for evaluator in evaluator_labels(failure):
            failures = Failures(coded(failure, evaluator, kinds), place, len(reports))
            yield Part("failures", evaluator.rater, evaluator.kind, failures, rows)


def answer_point_parts(queries: Sequence[Query], frame: Frame) -> Iterator[Part]:
    """Yield the points that reports make themselves, compared with the context of each."""
    row, reports, rows = report_rows(queries)
    of = dict(_supported(reports, row, frame))
    for evaluator in evaluator_labels(frame.variables["grounded"]) if of else ():
        yield Part("answer-points", evaluator.rater, evaluator.kind, of[evaluator.rater], rows)


def _supported(
    reports: Sequence[Report], row: Mapping[str, int], frame: Frame | None
) -> Iterator[tuple[str, AnswerPoints]]:
    """Yield by evaluator which points of reports their context supports."""
    grounded = frame.variables.get("grounded") if frame else None
    if grounded is None:
        return
    place = rows_of_units(grounded, row)
    silent = np.array([report.key_points == () for report in reports], dtype=bool)
    for evaluator in evaluator_labels(grounded):
        by_rater, asked = decided(grounded, evaluator, YES_OR_NO)
        yield evaluator.rater, AnswerPoints(by_rater[asked], place[asked], len(reports), silent)


def _sources(point: KeyPoint) -> frozenset[str]:
    """Return the passages that hold a key point: its own, and those of points merged into it."""
    return frozenset({point.passage, *_merged(point.meta)})


def _merged(told: object) -> Iterator[str]:
    """Yield the passages in `sources`, recursively; a batch's `meta` may hold anything there."""
    sources = told.get("sources") if isinstance(told, Mapping) else None
    for each in sources if isinstance(sources, list) else ():
        if isinstance(each, Mapping) and isinstance(each.get("passage"), str):
            yield each["passage"]
        yield from _merged(each)


def _retrieved(
    frame: VariableFrame, reports: Sequence[Report], passages: Mapping[str, frozenset[str]]
) -> Ints:
    """Return whether a passage of each unit's key point is in its report's context, (U,)."""
    made = [
        MISSING if report.context is None else int(not passages[point].isdisjoint(report.context))
        for (_, _, point), report in zip(frame.units.names, reports, strict=True)
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
        asked = np.zeros(len(row), bool)
        if key is not None and evaluator.rater in judged:
            own = judged[evaluator.rater]
            second = _aligned(grounded, key, own.rounded().codes(ranks))
            asked = _aligned(grounded, key, own.asked.astype(np.int64)) == 1
        by_rater = coded(grounded, evaluator, YES_OR_NO)
        kept: Bools = evaluator.asked
        of = Verified(by_rater[kept], second[kept], row[kept], len(queries), asked[kept])
        rows = Rows(tuple(queries), ("",) * len(queries))
        yield Part("verified", evaluator.rater, evaluator.kind, of, rows)


def _aligned(frame: VariableFrame, other: VariableFrame, codes: Ints) -> Ints:
    """Return another variable's codes in the order of this one's units, -1 where it has none."""
    found = dict(zip(other.units.names, codes.tolist(), strict=True))
    return np.array([found.get(name, MISSING) for name in frame.units.names], dtype=np.int64)


def written_parts(
    queries: Sequence[Query], options: Options, deflected: Mapping[str, bool]
) -> Iterator[Part]:
    """Yield answers compared with references, for the queries that have references.

    `deflected` holds, by query, whether the campaign's labels say that people deflect it. For other
    queries their references decide.
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
    """Return the same, including the reports of other queries, by id."""
    kept = [query for query in queries if query.references or query.id in others]
    pairs = [(query, report) for query in kept for report in query.reports]
    systems = tuple(system_of(report) for _, report in pairs)
    lengths = tuple(len(report.text) for _, report in pairs)
    return pairs, Rows(tuple(query for query, _ in pairs), systems, lengths)


def deflected_by_people(pairs: Pairs, deflected: Mapping[str, bool] | None = None) -> Ints:
    """Return 1 if no reference of a report's query answers it, else 0, (N,), after `deflected`."""
    by_rater = deflected or {}
    return np.array([int(by_rater.get(q.id, not _answers(q))) for q, _ in pairs], np.int64)


def _answers(query: Query) -> list[str]:
    """Return the references that answer: neither deflected nor empty ones."""
    return [r.text for r in query.references if not r.deflected and r.text.strip()]


def _texts(pairs: Pairs) -> Texts:
    return Texts(
        [report.text for _, report in pairs],
        [_answers(query) for query, _ in pairs],
        [" ".join(p.text for p in query.passages) or None for query, _ in pairs],
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


def answer_points(points: Campaign, campaign: Campaign, report_options: ReportOptions) -> Frame:
    """Return the labels of a campaign that compares points of answers with their context.

    Raises ValueError if it has another protocol, option or batch, or if `campaign` does not ask
    about key points of the query.
    """
    if campaign.protocol != RECALL:
        raise ValueError(
            f"points do not apply to {campaign.name!r}, which is of {campaign.protocol}; give them "
            f"to a campaign of {RECALL}"
        )
    if points.protocol != VERIFICATION or declared(points).reading != "answers":
        raise ValueError(
            f"{points.name!r} does not ask about points of answers; name a campaign of "
            f"{VERIFICATION} with points=answers"
        )
    check_same_batch(points, campaign)
    return campaign_frame(points, report_options)


def rated_parts(
    queries: Sequence[Query], frame: Frame, bare: Collection[str] | None
) -> Iterator[Part]:
    """Yield answer ratings: grades, eligibility, and sentences by the passages that were shown.

    `bare` are the ids of queries without a relevant passage, in campaigns that show only relevant
    ones; None in other campaigns. There is no passage to support a sentence then, not even one that
    needs no evidence, so their responses have no relevance-aware factuality.
    """
    row, reports, rows = report_rows(queries)
    asked = reports if "support" in frame.variables else ()
    sentences = np.array([*map(_sentences, asked)], dtype=np.int64)
    by_rater = {name: _by_rater(of) for name, of in frame.variables.items()}
    kinds = {r: evaluator.kind for of in by_rater.values() for r, evaluator in of.items()}
    for rater, kind in kinds.items():
        grades = [
            _of_reports(frame, by_rater.get(name, {}).get(rater), name, row) for name in GRADES
        ]
        if any(np.isfinite(values).any() for values in grades):
            yield Part("grades", rater, kind, Grades(*grades), rows)
        responses = _responses(frame, by_rater, rater, row, sentences)
        if responses.asked.any():
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


def _was_asked(
    frame: Frame, evaluator: EvaluatorLabels | None, name: str, row: Mapping[str, int]
) -> Bools:
    """Return the reports about which a rater was asked, (N,), whether answered or missing."""
    made = np.zeros(len(row), bool)
    if evaluator:
        places = [row[unit] for _, _, unit in frame.variables[name].units.names]
        made[places] = evaluator.asked
    return made


def _responses(
    frame: Frame, by_rater: LabelsByRater, rater: str, row: Mapping[str, int], sentences: Ints
) -> Responses:
    """Return a rater's labels of the responses, which have this many `sentences` (N,) each."""
    issues = by_rater.get("eligibility", {}).get(rater)
    grades = _of_reports(frame, issues and issues.rounded(), "eligibility", row)
    eligible = np.array([ISSUES.get(value, MISSING) for value in grades.tolist()], np.int64)
    asked = _was_asked(frame, issues, "eligibility", row)
    if evaluator := by_rater.get("support", {}).get(rater):
        borne = _supported_sentences(frame.variables["support"], evaluator, row, sentences)
        return Responses(eligible, asked, *borne)
    return Responses(eligible, asked, np.zeros(0, np.int64), np.zeros(0, np.int64))


def _supported_sentences(
    variable: VariableFrame, evaluator: EvaluatorLabels, row: Mapping[str, int], sentences: Ints
) -> tuple[Ints, Ints]:
    """Return whether sentences are supported, and the response of each, both (U,).

    A response with sentences that were not asked about, or on which people tie, has none: the
    remaining ones would make it pass too often.
    """
    borne, asked = decided(variable, evaluator, BORNE)
    place = np.array([row[unit.rpartition("#")[0]] for _, _, unit in variable.units.names], int)
    whole = np.bincount(place[asked], minlength=len(sentences)) == sentences
    kept = asked & whole[place]
    return borne[kept], place[kept]


def _sentences(report: Report) -> int:
    """Count the sentences of a report that raters are asked about."""
    return len(sentences_of(report.text) if report.sentences is None else report.sentences)


def _rated_deflections(
    queries: Sequence[Query], frame: Frame, by_rater: LabelsByRater, rater: str, kind: str
) -> Iterator[Part]:
    """Yield whether a rater says that an answer abstains, beside the references of its query."""
    pairs, rows = with_references(queries)
    row = {report.id: n for n, (_, report) in enumerate(pairs)}
    abstains, evaluator = frame.variables["abstains"], by_rater["abstains"][rater]
    own, asked = np.full(len(pairs), MISSING, np.int64), np.zeros(len(pairs), bool)
    codes = coded(abstains, evaluator, YES_OR_NO)
    for n, (_, _, unit) in enumerate(abstains.units.names):
        if unit in row:
            own[row[unit]], asked[row[unit]] = codes[n], evaluator.asked[n]
    if asked.any():
        given = Deflections(own, deflected_by_people(pairs), asked)
        yield Part("deflections", rater, kind, given, rows)


def preference_parts(queries: Sequence[Query], frame: Frame) -> Iterator[Part]:
    """Yield preferences; each verdict counts by itself, so people together are all verdicts."""
    variable = frame.variables.get("preferred")
    if variable is None:
        return
    row, _, rows = report_rows(queries)
    pairs = _pairs(queries, row)
    sides = np.array([pairs[item] for item, _, _ in variable.units.names], np.int64).reshape(-1, 2)
    meaning = {"first": 0, "second": 1, "tie-good": 2, "tie-bad": 3}
    own = [evaluator for evaluator in evaluator_labels(variable) if evaluator.kind != PEOPLE]
    verdicts = {evaluator.rater: coded(variable, evaluator, meaning) for evaluator in own}
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


def _preferences(sides: Ints, given: Sequence[Ints], rater: str, kind: str, rows: Rows) -> Part:
    first, second = np.tile(sides, (len(given), 1)).T
    of = Preferences(first, second, np.concatenate(given), len(rows.systems))
    return Part("preferences", rater, kind, of, rows)


def key_point_scores(
    campaign: Campaign,
    queries: Sequence[Query],
    frame: Frame,
    options: Options,
    report_options: ReportOptions,
) -> JSON | None:
    """Return cuts of the scores at tenths and the option's, with calibration; None without any.

    A point is key if people together keep it (`Retention`), and for each rater if that rater does:
    Qi and others 2024 print the mean of two annotators.
    """
    if campaign.protocol != PROTOCOL or declared(campaign).reading:
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
        assert isinstance(part.given, Verified)
        verdicts = np.full(len(place), UNKNOWN, np.int64)
        # Points that were not asked about, or on which people tie, are not among the verified ones.
        verdicts[units[evaluator.asked]] = kept(part.given, options)
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


def deflected_in(queries: Sequence[Query], frame: Frame, protocol: str) -> dict[str, bool]:
    """Return by query whether most people deflect it, in campaigns of grounded answers; no ties."""
    variable = frame.variables.get(VARIABLE)
    if protocol != GROUNDED or variable is None:
        return {}
    people = next(
        (evaluator for evaluator in evaluator_labels(variable) if evaluator.kind == PEOPLE), None
    )
    if people is None:
        return {}
    codes, _ = decided(variable, people, YES_OR_NO)
    known = {query.id for query in queries}
    names = [unit for _, _, unit in variable.units.names]
    return {
        name: code == YES
        for name, code in zip(names, codes.tolist(), strict=True)
        if code != MISSING and name in known
    }


def deflecting_parts(queries: Sequence[Query], frame: Frame) -> Iterator[Part]:
    """Yield whether each judge declines if people do; the rows are queries, without a system.

    A judge that writes answers is compared with people as a system is. A query without a relevant
    passage counts as one that people deflect.
    """
    deflecting = deflected_in(queries, frame, GROUNDED)
    if not deflecting:
        return
    variable = frame.variables[VARIABLE]
    kept = [query for query in queries if query.id in deflecting]
    rows = Rows(tuple(kept), ("",) * len(kept))
    place = {unit: n for n, (_, _, unit) in enumerate(variable.units.names)}
    where = np.array([place[query.id] for query in kept], np.int64)
    theirs = np.array([YES if deflecting[query.id] else NO for query in kept], np.int64)
    for evaluator in evaluator_labels(variable):
        if evaluator.kind not in (PEOPLE, HUMAN):
            own, asked = coded(variable, evaluator, YES_OR_NO)[where], evaluator.asked[where]
            if asked.any():
                given = Deflections(own, theirs, asked)
                yield Part("deflections", evaluator.rater, evaluator.kind, given, rows)
