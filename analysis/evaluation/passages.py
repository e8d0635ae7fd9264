"""Inputs of CRUX's measures: ratings of passages, rankings, the oracle's contexts, reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from analysis.evaluation.inputs import (
    TEXTS,
    YES_OR_NO,
    EvaluatorLabels,
    Part,
    evaluator_labels,
    label_codes,
    report_rows,
    rows_of_units,
    system_of,
)
from analysis.evaluation.layout import Layout
from analysis.evaluation.relevance import BY_ORACLE, RatedRankings
from tandem.files.rows import Query
from tandem.labels.frame import Frame, VariableFrame
from tandem.labels.selection import ReportOptions
from tandem.scores import of_family
from tandem.scores.agreement import orderings
from tandem.scores.base import Measure, MeasureValues, estimate, reason_of, values_of
from tandem.scores.contexts import (
    Answers,
    Contexts,
    Ratings,
    answerable,
    answers,
    as_context,
    in_oracles,
    members,
    of_cells,
    questions_without_failures,
    required_subset,
    sampled_contexts,
    sizes_of,
)
from tandem.scores.coverage import (
    AtThreshold,
    RatedReports,
    ReportQuestions,
    cut_ratings,
    threshold_table,
)
from tandem.scores.options import CONDENSED, Options, Tokenizer, tokenizer
from tandem.scores.retrieval import Ranked
from tandem.statistics import Bools, Floats, Ints
from tandem.types import JSON

ETAS = (1.0, 2.0, 3.0, 4.0, 5.0)


def context_parts(
    layout: Layout, frame: VariableFrame, options: Options, tokenizer: Tokenizer
) -> Iterator[Part]:
    """Yield the contexts of each system under each rater, whole and at every cut."""
    tokens = layout.tokens(tokenizer)
    for evaluator in evaluator_labels(frame):
        ratings = layout.ratings(frame, evaluator)
        found = answers(ratings, options)
        for system in layout.systems:
            contexts = contexts_of(layout, system, found, tokens, options)
            rows = layout.rows.of_another(system)
            for suffix, cut in _cuts(contexts, options):
                yield Part("contexts", evaluator.rater, evaluator.kind, cut, rows, suffix)
                if options.relevance != BY_ORACLE:
                    ranked = RatedRankings(ratings, cut)
                    yield Part("rankings", evaluator.rater, evaluator.kind, ranked, rows, suffix)


def ranking_parts(layout: Layout, options: Options) -> Iterator[Part]:
    """Yield the rankings of each system against the oracle passages, without a rater."""
    if options.relevance != BY_ORACLE or not layout.systems:
        return
    passages, questions = layout.masks()
    nothing = np.full((*passages.shape, questions.shape[1]), np.nan)
    found = answers(Ratings(nothing, passages, questions), options)
    for system in layout.systems:
        contexts = contexts_of(layout, system, found, np.zeros(passages.shape), options)
        relevance = members(contexts.oracle, passages.shape[1]).astype(float)
        rows = layout.rows.of_another(system)
        for suffix, cut in _cuts(contexts, options):
            ranked = Ranked(relevance, cut.ranked, cut.depth, cut.present)
            yield Part("rankings", TEXTS, TEXTS, ranked, rows, suffix)


def _cuts(contexts: Contexts, options: Options) -> Iterator[tuple[str, Contexts]]:
    yield "", contexts
    yield "@oracle", contexts.cut(None)
    for cut in options.cuts:
        yield f"@{cut}", contexts.cut(cut)


def contexts_of(
    layout: Layout, system: str, found: Answers, tokens: Floats, options: Options
) -> Contexts:
    """Return a system's contexts of all queries."""
    of, ranked = layout.systems[system], layout.ranked(system)
    oracle = layout.oracle(options)
    counted = answerable(found, members(oracle, found.passages.shape[1]), options)
    present = np.array([query.id in of for query in layout.queries], bool)
    return Contexts(found, ranked, oracle, counted, tokens, (ranked >= 0).sum(axis=1), present)


def reference_contexts(
    layout: Layout, frame: VariableFrame, options: Options, report_options: ReportOptions
) -> JSON:
    """Return the required subset P** of each query, and CRUX's measures of it and the oracle.

    Both are by each rater's ratings (Ju and others 2025, section 3).
    """
    oracle = layout.oracle(options)
    tokens, every = layout.tokens(tokenizer(options.tokenizer)), np.ones(len(oracle), bool)
    required, measured = {}, {}
    for evaluator in evaluator_labels(frame):
        found = answers(layout.ratings(frame, evaluator), options)
        inside = members(oracle, found.passages.shape[1])
        counted = answerable(found, inside, options)
        whole = Contexts(found, oracle, oracle, counted, tokens, sizes_of(oracle), every)
        required[evaluator.rater] = _by_query(layout, whole, options)
        measured[evaluator.rater] = {
            name: {
                measure.name: _estimate(layout, measure, of, report_options)
                for measure, of in _context_measures(whole, options, name == "required")
            }
            for name in ("oracle", "required")
        }
    return {"required": required, "reference_contexts": measured}


def _context_measures(
    whole: Contexts, options: Options, required: bool
) -> Iterator[tuple[Measure, MeasureValues]]:
    """Yield the measures of the oracle context or, if `required`, of its required subset."""
    for measure in of_family("contexts"):
        if not required:
            yield measure, measure.of(whole, options)
            continue

        def value(of: Contexts, measure: Measure = measure) -> Floats:
            return values_of(measure.of(_required(of), options))

        yield measure, of_cells(whole, options, value, in_oracles)


def _required(whole: Contexts) -> Contexts:
    """Return the contexts with the required subset in place of the oracle context."""
    ranked = as_context(_required_passages(whole))
    return replace(whole, ranked=ranked, depth=sizes_of(ranked), full_ranking=None)


def _required_passages(whole: Contexts) -> Bools:
    """Return the passages (Q, P) of the required subset."""
    found = whole.answers
    inside = members(whole.oracle, found.passages.shape[1])
    counted = questions_without_failures(whole)[:, None, :]
    return required_subset(replace(found, yes=found.yes & counted), inside)


def _estimate(
    layout: Layout, measure: Measure, of: MeasureValues, report_options: ReportOptions
) -> JSON:
    numbers = layout.rows.numbers
    return estimate(measure, of, numbers, report_options.resamples, report_options.seed).as_json()


def _by_query(layout: Layout, whole: Contexts, options: Options) -> dict[str, list[str] | None]:
    """Return each query's required subset; None if nobody was asked about a cell of its oracle."""
    known = whole.answers.sampled
    if options.unrated == CONDENSED:
        whole = whole.condensed(options)
        known = known & whole.present
    known = known & ~(in_oracles(whole) & whole.answers.open).any(axis=(1, 2))
    return {
        query.id: [names[place] for place in np.flatnonzero(row)] if known_row else None
        for query, names, row, known_row in zip(
            layout.queries, layout.passages, _required_passages(whole), known, strict=True
        )
    }


@dataclass(frozen=True)
class PassageRatings:
    """One rater's ratings of the passages of the same batch, as tables."""

    layout: Layout
    ratings: Ratings

    def counted_questions(self, options: Options) -> CountedQuestions:
        """Return the sub-questions that an oracle passage answers by these ratings.

        A query is `unsure` if oracle passages might answer further sub-questions, since some of
        their cells are unrated.
        """
        found = answers(self.ratings, options)
        if options.unrated == CONDENSED:
            found = found.condensed
        oracle = members(self.layout.oracle(options), found.passages.shape[1])
        kept = answerable(found, oracle, options)
        hidden = (found.open & oracle[:, :, None]).any(axis=1) & ~kept
        queries = self.layout.queries
        return CountedQuestions(
            frozenset(
                question.id
                for query, of in zip(queries, kept, strict=True)
                for place, question in enumerate(query.questions)
                if of[place]
            ),
            frozenset(queries[n].id for n in np.flatnonzero(hidden.any(axis=1))),
        )

    def thresholds(
        self, frame: Frame, options: Options, report_options: ReportOptions
    ) -> dict[str, list[JSON]]:
        """Return the threshold table under each rater who rated the reports."""
        variable = frame.variables.get("rating")
        if variable is None:
            return {}
        return {
            evaluator.rater: self._table(variable, evaluator, options, report_options)
            for evaluator in evaluator_labels(variable)
        }

    def _table(
        self,
        variable: VariableFrame,
        evaluator: EvaluatorLabels,
        options: Options,
        report_options: ReportOptions,
    ) -> list[JSON]:
        found = answers(self.ratings, options)
        tokens = np.zeros(found.passages.shape)
        written = {system_of(report) for q in self.layout.queries for report in q.reports}
        # A ranking alone has no report to compare with.
        systems = [system for system in self.layout.systems if system in written]
        contexts = [contexts_of(self.layout, s, found, tokens, options) for s in systems]
        reports = [self._of_system(variable, evaluator, system) for system in systems]
        drawn = report_options.resamples, report_options.seed
        table = threshold_table(self.ratings, contexts, reports, ETAS, options, *drawn)
        return [_as_json(each) for each in table]

    def _of_system(
        self, variable: VariableFrame, evaluator: EvaluatorLabels, system: str
    ) -> RatedReports:
        """Return a rater's ratings of a system's reports."""
        place = {(item, unit): n for n, (item, _, unit) in enumerate(variable.units.names)}
        made = np.full(self.ratings.questions.shape, np.nan)
        asked = np.zeros(made.shape, bool)
        for row, query in enumerate(self.layout.queries):
            report = next((r.id for r in query.reports if system_of(r) == system), None)
            for column, question in enumerate(query.questions):
                unit = place.get((report or "", question.id))
                if unit is not None:
                    made[row, column], asked[row, column] = (
                        evaluator.values[unit],
                        evaluator.applicable[unit],
                    )
        return RatedReports(made, asked)


def _as_json(row: AtThreshold) -> JSON:
    estimates = {"context": row.context, "report": row.report, "kendall": row.tau}
    return {
        "eta": row.eta,
        "questions": row.questions,
        **{name: each.value for name, each in estimates.items()},
        "estimates": {name: each.as_json() for name, each in estimates.items()},
    }


def sampled_orderings(
    layout: Layout, frame: VariableFrame, options: Options, report_options: ReportOptions
) -> dict[str, list[JSON]]:
    """Return Kendall's tau-b between measures over random contexts, by rater.

    The contexts are sampled from each query's passages (Ju and others 2025 take 48). They are
    measured at the oracle's size and at every cut.
    """
    tokens = layout.tokens(tokenizer(options.tokenizer))
    # A passage that occurs only in a context has no text and could not be rated.
    passages = layout.masks()[0] & np.isfinite(tokens)
    # A longer sample starts with the shorter one.
    sizes = np.maximum(sizes_of(layout.oracle(options)), max(options.cuts, default=0))
    drawn = sampled_contexts(passages, sizes, options.samples, report_options.seed)
    if not options.samples:
        return {}
    made = {}
    for evaluator in evaluator_labels(frame):
        tables, reasons = _tables(layout, frame, evaluator, drawn, options)
        found = orderings(tables, report_options.resamples, report_options.seed, reasons)
        made[evaluator.rater] = [
            {"a": each.a, "b": each.b, "kendall": each.kendall.as_json()} for each in found
        ]
    return made


def _tables(
    layout: Layout,
    frame: VariableFrame,
    evaluator: EvaluatorLabels,
    drawn: Sequence[Ints],
    options: Options,
) -> tuple[dict[str, Floats], dict[str, str]]:
    """Return by measure and cut the values on each query and context, or why there are none."""
    ratings = layout.ratings(frame, evaluator)
    found = answers(ratings, options)
    oracle = layout.oracle(options)
    counted = answerable(found, members(oracle, found.passages.shape[1]), options)
    tokens = layout.tokens(tokenizer(options.tokenizer))
    every = np.ones(len(layout.queries), bool)
    none = np.full(oracle.shape, -1, np.int64)
    empty = Contexts(found, none, oracle, counted, tokens, sizes_of(oracle), every)
    # Running ndeval for each context would take minutes, and its check is not needed for orders.
    options = replace(options, alpha_ndcg="tandem")
    made: dict[str, Floats] = {}
    reasons: dict[str, str] = {}
    for cut in (None, *options.cuts):
        contexts = [replace(empty, ranked=ranked).cut(cut) for ranked in drawn]
        ranked = [RatedRankings(ratings, each) for each in contexts]
        suffix = "" if cut is None else f"@{cut}"
        measured = [
            *((m, [m.of(each, options) for each in contexts]) for m in of_family("contexts")),
            *((m, [each.compute(m, options) for each in ranked]) for m in of_family("rankings")),
        ]
        for measure, of in measured:
            name = f"{measure.name}{suffix}"
            made[name] = np.column_stack([values_of(each) for each in of])
            if reason := next(filter(None, map(reason_of, of)), None):
                reasons[name] = reason
    return made, reasons


@dataclass(frozen=True)
class CountedQuestions:
    """The sub-questions of the denominator, and the queries for which they are unknown."""

    questions: frozenset[str]
    unsure: frozenset[str] = frozenset()


def report_parts(
    queries: Sequence[Query],
    frame: Frame,
    options: Options,
    counted: CountedQuestions | None = None,
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
                else label_codes(variable, evaluator, YES_OR_NO)
            )
            place, within = rows_of_units(variable, row), evaluator.applicable & inside
            of = ReportQuestions(answered, place, len(reports), within, unsure)
            yield Part("reports", evaluator.rater, evaluator.kind, of, rows, suffix)
