"""CRUX's data sets: contexts and reports of the same systems, from two campaigns, as values.

People rated passages before the systems answered. The reports' batch is derived from the rated one,
so the ratings are matched with the reports' contexts by the ids of passages and questions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from analysis.evaluation.inputs import PEOPLE, Part, system_of
from analysis.evaluation.layout import RANKING, Layout
from analysis.evaluation.passages import CountedQuestions, PassageRatings, contexts_of, report_parts
from analysis.evaluation.relevance import RatedRankings
from analysis.papers.base import missing
from analysis.papers.material import Material, evaluators, labels_by
from analysis.papers.sources import CampaignFacts
from tandem.files.rows import Query
from tandem.labels.frame import Frame, VariableFrame
from tandem.scores import of_family
from tandem.scores.agreement import orderings
from tandem.scores.base import (
    Measure,
    MeasureValues,
    estimate,
    placed,
    reason_of,
    rows_of,
    values_of,
)
from tandem.scores.contexts import Contexts, answerable, answers, members, sizes_of
from tandem.scores.coverage import (
    ALPHA_NDCG,
    COV,
    DENSITIES,
    REPORT_COVERAGE,
    REPORT_DENSITY,
    ReportDensities,
    tokens,
)
from tandem.scores.options import Options, tokenizer
from tandem.statistics import Floats, Ints
from tandem.statistics.estimate import ratio
from tandem.types import JSON

REFERENCE = "reference"
DEN = DENSITIES[0]
RATED = "@rated"
YES_NO_ETA = 3.0
"""The paper's own threshold, at which alone a yes and a no hold."""
NO_CONTEXT = "it was written without a context"
NO_REPORT = "the batch has no report of it"
NOT_CUT = "{by} said yes or no about reports, which cannot be cut at another η, {eta:g}"
TOO_FEW = "fewer than three retrieval settings"


def holds(part: Part, options: Options) -> bool:
    """Return whether answers about reports hold at the threshold: ratings are cut at any."""
    return part.suffix == RATED or options.eta == YES_NO_ETA


@dataclass(frozen=True)
class Values:
    """A measure's values by query for each system, (Q,), NaN = none; or why there are none."""

    measure: Measure
    by_system: Mapping[str, MeasureValues] = field(default_factory=dict)
    reason: str = ""

    def cell(self, system: str, numbers: Ints, material: Material, without: str) -> JSON:
        """Return a system's estimate over queries, or the reason why there is none."""
        if self.reason:
            return missing(self.reason)
        if system not in self.by_system:
            return missing(without)
        options = material.options
        values = self.by_system[system]
        return estimate(self.measure, values, numbers, options.resamples, options.seed).as_json()

    def table(self, systems: list[str]) -> Floats | None:
        """Return the values of these systems, (Q, S); None if one of them has none."""
        if self.reason or any(system not in self.by_system for system in systems):
            return None
        return np.column_stack([values_of(self.by_system[system]) for system in systems])

    def why(self, systems: list[str]) -> str:
        return self.reason or next(
            filter(None, (reason_of(self.by_system[s]) for s in systems if s in self.by_system)), ""
        )


@dataclass
class DataSet:
    """A data set: a campaign with its reports, a campaign with its passages, or both."""

    name: str
    material: Material
    passages: CampaignFacts | None
    reports: CampaignFacts | None
    _of_contexts: dict[tuple[object, ...], dict[str, Values]] = field(default_factory=dict)
    _of_reports: dict[tuple[object, ...], dict[str, Values]] = field(default_factory=dict)

    @cached_property
    def campaign(self) -> CampaignFacts:
        found = self.reports or self.passages
        assert found is not None
        return found

    @property
    def options(self) -> Options:
        return self.material.chosen

    @cached_property
    def queries(self) -> tuple[Query, ...]:
        return self.material.queries(self.campaign.batch)

    @cached_property
    def numbers(self) -> Ints:
        return np.arange(len(self.queries), dtype=np.int64)

    @cached_property
    def layout(self) -> Layout:
        return Layout.from_queries(self.queries)

    @cached_property
    def evaluators(self) -> list[str]:
        there = [c for c in (self.passages, self.reports) if c is not None]
        return evaluators(map(self.material.joint_frame, there))

    @cached_property
    def ratings(self) -> VariableFrame | None:
        if self.passages is None:
            return None
        return self.material.frame(self.passages).variables.get("rating")

    @cached_property
    def systems(self) -> list[str]:
        """The systems with reports in the batch's order; if there are none, those with rankings."""
        written = [system_of(report) for query in self.queries for report in query.reports]
        return list(dict.fromkeys(written)) or list(self.layout.systems)

    @cached_property
    def references(self) -> list[str]:
        """The rows above the retrieval settings: direct prompting, the reference, the oracle."""
        direct = [s for s in self.systems if s not in self.layout.systems and s != REFERENCE]
        human = [s for s in self.systems if s == REFERENCE]
        oracle = [s for s in self.systems if s in self.layout.oracles]
        return [*direct, *human, *oracle]

    @cached_property
    def settings(self) -> list[str]:
        return [s for s in self.systems if s not in self.references]

    def no_ratings(self, by: str) -> str:
        if self.passages is None:
            return f"no campaign of rubric-passage rates the passages of {self.name}"
        return f"{by} rated no passage in {self.material.named(self.passages)}"

    def no_labels(self, by: str) -> str:
        if self.reports is None:
            return f"no campaign of report-coverage labels reports of {self.name}"
        return f"{by} labelled no report in {self.material.named(self.reports)}"

    def passage_ratings(self, by: str) -> PassageRatings | None:
        if self.passages is None:
            return None
        ratings = self.material.joint_frame(self.passages).variables.get("rating")
        evaluator = labels_by(ratings, by)
        if evaluator is None or ratings is None:
            return None
        return PassageRatings(self.layout, self.layout.ratings(ratings, evaluator))

    def counted(self, by: str, options: Options) -> CountedQuestions | None:
        """Return the sub-questions that count by an evaluator's ratings; None: all of them."""
        rated = self.passage_ratings(by)
        return rated.counted_questions(options) if rated and options.filtered else None

    def contexts(self, by: str, options: Options) -> Iterator[tuple[str, Contexts]]:
        """Yield each system's contexts under an evaluator's ratings; rankings are among them."""
        rated = self.passage_ratings(by)
        if rated is None:
            return
        found = answers(rated.ratings, options)
        lengths = self.layout.tokens(tokenizer(options.tokenizer))
        for system in self.layout.systems:
            yield system, contexts_of(self.layout, system, found, lengths, options)

    def oracle(self, by: str, options: Options) -> Contexts | None:
        """Return the oracle contexts."""
        rated = self.passage_ratings(by)
        if rated is None:
            return None
        found, place = answers(rated.ratings, options), self.layout.oracle(options)
        counted = answerable(found, members(place, found.passages.shape[1]), options)
        lengths = self.layout.tokens(tokenizer(options.tokenizer))
        every = np.ones(len(place), bool)
        return Contexts(found, place, place, counted, lengths, sizes_of(place), every)

    def of_contexts(
        self, by: str, options: Options, size: int | None = None, is_cut: bool = False
    ) -> dict[str, Values]:
        """Return the values of contexts by measure: whole, or the first `size` passages.

        A cut takes a system's whole ranking if the batch has it. `size` None cuts at the size of
        the oracle context.
        """
        key = by, options, size, is_cut
        if key not in self._of_contexts:
            self._of_contexts[key] = self._measured_contexts(by, options, size, is_cut)
        return self._of_contexts[key]

    def _measured_contexts(
        self, by: str, options: Options, size: int | None, is_cut: bool
    ) -> dict[str, Values]:
        families = (*(COV, ALPHA_NDCG, DEN), *of_family("rankings"))
        if self.passage_ratings(by) is None:
            return {m.name: Values(m, reason=self.no_ratings(by)) for m in families}
        made: dict[str, dict[str, MeasureValues]] = {m.name: {} for m in families}
        rated = self.passage_ratings(by)
        assert rated is not None
        whole = dict(self.contexts(by, options))
        for system, contexts in whole.items():
            used = whole.get(f"{system}{RANKING}", contexts).cut(size) if is_cut else contexts
            for measure in (COV, ALPHA_NDCG, DEN):
                made[measure.name][system] = measure.of(used, options)
            ranked = RatedRankings(rated.ratings, used)
            for measure in of_family("rankings"):
                made[measure.name][system] = ranked.compute(measure, options)
        return {m.name: Values(m, made[m.name]) for m in families}

    def report_part(self, by: str, options: Options) -> Part | None:
        """Return the answers of reports by an evaluator: people's yes and no, judges' ratings.

        At another threshold than the paper's, people's ratings come first as well. If an evaluator
        has answers only in the other form, these are returned.
        """
        if self.reports is None:
            return None
        frame = self.material.joint_frame(self.reports)
        parts = [
            part
            for part in report_parts(self.queries, frame, options, self.counted(by, options))
            if part.rater == by and self._has_labels(frame, part)
        ]
        form = "" if by == PEOPLE and options.eta == YES_NO_ETA else RATED
        return next((p for p in parts if p.suffix == form), next(iter(parts), None))

    def _has_labels(self, frame: Frame, part: Part) -> bool:
        """Return whether an evaluator was asked for answers in the form of a part."""
        variable = frame.variables["rating" if part.suffix == RATED else "answerable"]
        labels = labels_by(variable, part.rater)
        return labels is not None and bool(labels.applicable.any())

    def of_reports(self, by: str, options: Options) -> dict[str, Values]:
        """Return Cov(y) and Den(y) by system."""
        if (by, options) not in self._of_reports:
            self._of_reports[by, options] = self._measured_reports(by, options)
        return self._of_reports[by, options]

    def _measured_reports(self, by: str, options: Options) -> dict[str, Values]:
        part = self.report_part(by, options)
        if part is None or not holds(part, options):
            reason = self.no_labels(by) if part is None else NOT_CUT.format(by=by, eta=options.eta)
            return {m.name: Values(m, reason=reason) for m in (REPORT_COVERAGE, REPORT_DENSITY)}
        values = part.compute(REPORT_COVERAGE, options)
        densities = self._densities(by, part, values_of(values), options)
        if unknown := reason_of(values):
            densities = Values(REPORT_DENSITY, reason=unknown)
        return {
            REPORT_COVERAGE.name: Values(REPORT_COVERAGE, self.by_system(part, values)),
            REPORT_DENSITY.name: densities,
        }

    def _densities(self, by: str, part: Part, covered: Floats, options: Options) -> Values:
        oracle = self.oracle(by, options)
        if oracle is None:
            return Values(REPORT_DENSITY, reason=self.no_ratings(by))
        best = COV.of(oracle, options)
        if reason := reason_of(best):
            return Values(REPORT_DENSITY, reason=reason)
        place = {query.id: n for n, query in enumerate(self.queries)}
        row = np.array([place[query.id] for query in part.rows.queries], np.int64)
        count = tokenizer(options.tokenizer).count
        written = [report.text for query in self.queries for report in query.reports]
        lengths = np.array([count(text) for text in written], float)
        data = ReportDensities(covered, lengths, values_of(best)[row], tokens(oracle, options)[row])
        return Values(
            REPORT_DENSITY, self.by_system(part, values_of(REPORT_DENSITY.of(data, options)))
        )

    def by_system(self, part: Part, values: MeasureValues) -> dict[str, MeasureValues]:
        """Return rows of reports as values by query, (Q,), for each system."""
        place = {query.id: n for n, query in enumerate(self.queries)}
        at = np.array([place[query.id] for query in part.rows.queries], np.int64)
        made: dict[str, MeasureValues] = {}
        for column, system in enumerate(part.rows.system_names):
            kept = part.rows.columns == column
            made[system] = placed(rows_of(values, kept), at[kept], len(self.queries))
        return made

    def tau(self, one: Values, other: Values, systems: list[str]) -> JSON:
        """Return Kendall's tau-b of the systems' means by two measures."""
        if len(systems) < 3:
            return missing(TOO_FEW)
        tables = [values.table(systems) for values in (one, other)]
        if tables[0] is None or tables[1] is None or one.why(systems) or other.why(systems):
            reason = one.why(systems) or other.why(systems)
            return missing(reason or "a setting has no context or no report")
        options = self.material.options
        pair = {"a": tables[0], "b": tables[1]}
        return orderings(pair, options.resamples, options.seed)[0].kendall.as_json()


def data_sets(material: Material, sampled: bool = False) -> list[DataSet]:
    """Return the data sets with passages or reports that were rated.

    With `sampled`, only those whose systems are randomly sampled contexts; otherwise only others.
    """
    key = "data sets", sampled
    if key not in material.cache:
        material.cache[key] = _data_sets(material, sampled)
    found: list[DataSet] = material.cache[key]
    return found


def _data_sets(material: Material, sampled: bool) -> list[DataSet]:
    found: list[DataSet] = []
    reports = material.campaigns("report-coverage")
    kept = [c for c in reports if material.is_derived_by(c.batch, "sampled-contexts") == sampled]
    roots = [material.data_set(c.batch) for c in kept]
    for campaign, root in zip(kept, roots, strict=True):
        passages = material.only(material.of_same_data(campaign, "rubric-passage"))
        name = root if roots.count(root) == 1 else campaign.batch.name
        found.append(DataSet(name, material, passages, campaign))
    if not sampled:
        for campaign in material.campaigns("rubric-passage"):
            if (root := material.data_set(campaign.batch)) not in roots:
                roots.append(root)
                found.append(DataSet(root, material, campaign, None))
    return found


def column_means(table: Floats) -> Floats:
    """Return the mean of each column (N, M) over the rows with a value; NaN without any."""
    return ratio(np.nansum(table, axis=0), np.isfinite(table).sum(axis=0).astype(float))
