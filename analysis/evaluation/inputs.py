"""The common input of all measures: rows of systems and queries, judgements, sampled queries.

Evaluators are people together, each person and each judge; nothing else is pooled. If queries have
splits, only evaluation queries combine people and judges.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from analysis.evaluation.relevance import RatedRankings
from tandem.files.rows import Query, Report
from tandem.labels.evaluators import Evaluator, Judgements, with_evaluators
from tandem.labels.frame import EVALUATION, Frame, VariableFrame
from tandem.labels.metadata import MOST_VALUES, OF_META, length_strata, text_of
from tandem.labels.people_sample import describe_unfinished
from tandem.labels.reference import HUMAN, joint_labels
from tandem.protocols.base import Declaration, DeclaredMeasure, ItemSpec, Variable
from tandem.scores import of_family
from tandem.scores.agreement import Labelled
from tandem.scores.base import MISSING, NO, YES, Measure, MeasureValues, grounding_quality
from tandem.scores.options import Options
from tandem.statistics import Bools, Floats, Ints, majority

PEOPLE, MEAN_OF_PEOPLE, TEXTS = "people", "mean_of_people", "texts"
JOINT_EVALUATORS = {PEOPLE: "people", MEAN_OF_PEOPLE: "mean of people", TEXTS: "texts"}
"""Evaluators that are not a single rater, with their names in tables."""
CHOSEN_ITEMS = "the items that people are asked were chosen, not sampled at random"
NO_DRAW = "no sample of the queries for people is stored"
JUDGE = "judge"
Codes = Mapping[str, int]
YES_OR_NO: Codes = {"yes": YES, "no": NO}


@dataclass(frozen=True)
class DeclaredContent:
    """The measures that a protocol declares, the `variables` asked, and the `items` of a query.

    `source` names the protocol with its version.
    """

    source: str
    measures: tuple[DeclaredMeasure, ...]
    variables: tuple[Variable, ...]
    items: Callable[[Query], Iterable[ItemSpec]]

    @classmethod
    def of(
        cls,
        protocol: Declaration,
        variables: tuple[Variable, ...],
        items: Callable[[Query], Iterable[ItemSpec]],
    ) -> DeclaredContent | None:
        """Return what a protocol declares; None if it declares no measures."""
        if not protocol.measures:
            return None
        source = f"{protocol.name} {protocol.version}"
        return cls(source, protocol.measures, variables, items)


@dataclass(frozen=True)
class AskedContent:
    """The content of a campaign's questions on which its measures depend.

    `reading` comes from its protocol and options. `bare` are the queries whose items show no
    passage, if the campaign shows only relevant ones; None for other campaigns. `declared` is there
    if its protocol declares measures.
    """

    protocol: str
    reading: str = ""
    bare: frozenset[str] | None = None
    declared: DeclaredContent | None = None


@dataclass(frozen=True)
class Rows:
    """N rows of a table, each of a query and a system; a system without a name is ``""``.

    If the rows are answers, `lengths` are their lengths in characters.
    """

    queries: tuple[Query, ...]
    systems: tuple[str, ...]
    lengths: tuple[int, ...] = ()

    def of_another(self, system: str) -> Rows:
        """Return the same rows for another system, keeping cached values that depend on queries."""
        other = Rows(self.queries, (system,) * len(self.queries), self.lengths)
        other.__dict__.update(ids=self.ids, numbers=self.numbers, strata=self.strata)
        other.__dict__.update(system_names=(system,), columns=np.zeros(len(self.queries), np.int64))
        return other

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The distinct ids of the queries, in their order."""
        return tuple(sorted({query.id for query in self.queries}))

    @cached_property
    def numbers(self) -> Ints:
        """The number of each row's query, (N,), in the order of the queries' ids."""
        place = {each: n for n, each in enumerate(self.ids)}
        return np.array([place[query.id] for query in self.queries], dtype=np.int64)

    @cached_property
    def system_names(self) -> tuple[str, ...]:
        """The distinct systems, in their order."""
        return tuple(dict.fromkeys(self.systems))

    @cached_property
    def columns(self) -> Ints:
        """The number of each row's system, (N,), in the order of `system_names`."""
        place = {each: n for n, each in enumerate(self.system_names)}
        return np.array([place[each] for each in self.systems], dtype=np.int64)

    @cached_property
    def strata(self) -> dict[str, list[str | None]]:
        """The strata of the rows: the queries' `meta`, grounding quality, thirds of lengths.

        Strata with a single value or with too many are left out.
        """
        found = {name: [text_of(q.meta, name) for q in self.queries] for name in OF_META}
        found["source"] = [text_of(q.meta, "source") or _sources(q) for q in self.queries]
        found["grounding"] = grounding_quality(np.array([*map(_relevant, self.queries)]))
        documents = {q.id: sum(len(p.text) for p in q.passages) for q in self.queries}
        thirds = length_strata(documents)
        found["document_length"] = [thirds[query.id] for query in self.queries]
        answers = length_strata({str(n): length for n, length in enumerate(self.lengths)})
        found["generation_length"] = [answers.get(str(n)) for n in range(len(self.queries))]
        return {
            name: values
            for name, values in found.items()
            if 1 < len(set(values) - {None}) <= MOST_VALUES
        }


class Division(Protocol):
    """A named division of rows into slices."""

    @property
    def name(self) -> str: ...

    def among(self, rows: Rows) -> dict[str, Bools]: ...


def _sources(query: Query) -> str | None:
    """Return the sources of a query's passages, such as `private + web`; None if unknown."""
    return " + ".join(sorted({p.source for p in query.passages if p.source})) or None


def _relevant(query: Query) -> float:
    """Return the share of a query's passages that the batch calls relevant, NaN if unknown."""
    marks = [p.relevant for p in query.passages if p.relevant is not None]
    return sum(marks) / len(marks) if marks else float("nan")


@dataclass(frozen=True)
class Part:
    """The input of all measures of a family, by one evaluator.

    `kind` is human, judge or reference, `people` for people's joint labels, `mean_of_people` for
    the mean of each person's own values, and `texts` if no rater is asked. `suffix` distinguishes
    cuts of a ranking, such as `@10`. `declared` are the measures of a family that a protocol
    declares, and `reports` the ids of the reports of its rows, before those without a report.
    """

    family: str
    rater: str
    kind: str
    data: object
    rows: Rows
    suffix: str = ""
    declared: tuple[Measure, ...] = ()
    reports: tuple[str, ...] = ()

    @property
    def measures(self) -> Sequence[Measure]:
        """The measures of the family."""
        return self.declared or of_family(self.family)

    def compute(self, measure: Measure, options: Options) -> MeasureValues:
        """Compute a measure of the family."""
        if isinstance(self.data, RatedRankings):
            return self.data.compute(measure, options)
        return measure.of(self.data, options)


def system_of(report: Report) -> str:
    """Return a report's system name in tables, with the setting if settings differ."""
    system, setting = report.system or "", report.setting or ""
    if not setting or setting == system:
        return system
    return f"{system} ({setting})" if system else setting


def all_reports(queries: Sequence[Query]) -> tuple[list[Report], Rows]:
    """Return every report of a batch, and its row."""
    pairs = [(query, report) for query in queries for report in query.reports]
    systems = tuple(system_of(report) for _, report in pairs)
    lengths = tuple(len(report.text) for _, report in pairs)
    return [r for _, r in pairs], Rows(tuple(query for query, _ in pairs), systems, lengths)


class SampledQuery(NamedTuple):
    """How a query was sampled: whether people are asked about it, its split, and both chances."""

    query: str
    probability: float
    drawn: bool
    role: str
    role_probability: float


def chance_given_split(chance: float, asked: float, others: float) -> float:
    """Return the chance of being asked, given that a query is for evaluation (Bayes' rule).

    `asked` is the chance of the evaluation split among the queries that people are asked, and
    `others` that among the other queries. Splits are sampled separately in the two groups.
    """
    return chance * asked / (chance * asked + (1 - chance) * others)


@dataclass(frozen=True)
class QuerySample:
    """The stored sample of queries. `chances` are the probabilities of evaluation queries, by id.

    `sampled` are the queries that people are asked, and `unfinished` those that lack a vote.
    `is_chosen` says that their items were chosen instead of sampled.
    """

    chances: Mapping[str, float] = field(default_factory=dict)
    sampled: frozenset[str] = frozenset()
    unfinished: frozenset[str] = frozenset()
    is_chosen: bool = False

    @classmethod
    def of(
        cls, rows: Sequence[SampledQuery], unfinished: Collection[str], is_chosen: bool
    ) -> QuerySample:
        """Return the sample of a campaign's queries."""

        def kept(drawn: bool) -> float:
            """Return the chance of the evaluation split among queries sampled in the same way."""
            own = (row for row in rows if row.drawn is drawn and row.role == EVALUATION)
            return next((row.role_probability for row in own), 1.0)

        asked, others = kept(True), kept(False)
        evaluated = [row for row in rows if row.role == EVALUATION]
        sampled = frozenset(row.query for row in evaluated if row.drawn)
        chances = {r.query: chance_given_split(r.probability, asked, others) for r in evaluated}
        return cls(chances, sampled, sampled & frozenset(unfinished), is_chosen)

    def among(self, queries: Sequence[str]) -> Bools:
        """Return on which queries (Q,) people and judges combine; all without a stored sample."""
        return np.array([not self.chances or each in self.chances for each in queries], dtype=bool)

    def combined(self, queries: int) -> int:
        """Return on how many queries people and judges combine; `queries` without a sample."""
        return len(self.chances) if self.chances else queries

    def labelled(self, queries: Sequence[str], human: Floats, judge: Floats) -> Labelled:
        """Return the scores (Q, S) on the queries for which people and a judge are combined."""
        kept = self.among(queries)
        names = [each for each, there in zip(queries, kept, strict=True) if there]
        sampled = np.array([each in self.sampled for each in names], dtype=bool)
        chances = np.array([self.chances.get(each, np.nan) for each in names], dtype=float)
        return Labelled(human[kept], judge[kept], sampled, chances, self._reason())

    def _reason(self) -> str | None:
        if not self.chances:
            return NO_DRAW
        if self.is_chosen:
            return CHOSEN_ITEMS
        if self.unfinished:
            return describe_unfinished(self.unfinished, self.sampled)
        return None


@dataclass(frozen=True)
class EvaluatorLabels:
    """One evaluator's labels on the units of a variable.

    `values` (U,) are indices of the scale's categories, or their numbers if they are ordered; NaN =
    none. `applicable` (U,) marks the units that count at all: units not asked about, escapes and
    people's ties are not missing judgements. People together have failed if some of them were asked
    and none answered.
    """

    rater: str
    kind: str
    values: Floats
    applicable: Bools

    @property
    def failed(self) -> Bools:
        """Return the units (U,) whose judgement failed."""
        return self.applicable & np.isnan(self.values)

    def rounded(self) -> EvaluatorLabels:
        """Return these labels with values rounded to the nearest rank, halves up."""
        return replace(self, values=np.floor(self.values + 0.5))

    def codes(self, meaning: Mapping[float, int]) -> Ints:
        """Map the values to codes (U,); -1 without a value or a mapping."""
        return np.array([meaning.get(value, MISSING) for value in self.values.tolist()], np.int64)


def evaluator_labels(frame: VariableFrame) -> Iterator[EvaluatorLabels]:
    """Yield people together, then each single rater. Excluded raters are left out.

    People's joint labels are decided unit by unit, see `tandem.labels.reference`.
    """
    missing = _missing(frame)
    ordered = frame.scale.is_ordered
    numbers = np.append(
        frame.scale.values() if ordered else np.arange(len(frame.scale.categories), dtype=float),
        np.nan,
    )
    values = numbers[frame.codes]
    if frame.columns(HUMAN):
        together = joint_labels(frame)
        yield EvaluatorLabels(
            PEOPLE, PEOPLE, together, np.isfinite(together) | _unanswered(frame, missing)
        )
    for column, rater in enumerate(frame.raters):
        applicable = np.isfinite(values[:, column]) | missing.get(rater.name, np.zeros(1, bool))
        if rater.excluded is None and applicable.any():
            yield EvaluatorLabels(rater.name, rater.kind, values[:, column], applicable)


def asked_units(frame: VariableFrame, evaluator: EvaluatorLabels) -> Bools:
    """Return the units (U,) that the evaluator was asked about, with or without an answer."""
    joint = evaluator.kind == PEOPLE
    columns = [
        n
        for n, rater in enumerate(frame.raters)
        if rater.excluded is None
        and (rater.kind == HUMAN if joint else rater.name == evaluator.rater)
    ]
    names = {frame.raters[n].name for n in columns}
    asked = np.asarray((frame.codes[:, columns] >= 0).any(axis=1))
    asked[[aside.unit for aside in frame.asides if aside.rater in names]] = True
    return asked


def _missing(frame: VariableFrame) -> dict[str, Bools]:
    found: dict[str, Bools] = {}
    for aside in frame.asides:
        if aside.is_missing:
            found.setdefault(aside.rater, np.zeros(len(frame.codes), bool))[aside.unit] = True
    return found


def _unanswered(frame: VariableFrame, missing: Mapping[str, Bools]) -> Bools:
    """Return the units (U,) on which a person's answer is missing and no other person's exists."""
    people = {r.name for r in frame.raters if r.kind == HUMAN and r.excluded is None}
    found = np.zeros(len(frame.codes), bool)
    for rater in people & missing.keys():
        found |= missing[rater]
    if not found.any():
        return found
    found &= (frame.codes_of(HUMAN) < 0).all(axis=1)
    escaped = [a.unit for a in frame.asides if not a.is_missing and a.rater in people]
    found[escaped] = False
    return found


def label_codes(frame: VariableFrame, evaluator: EvaluatorLabels, meaning: Codes) -> Ints:
    """Return one rater's labels by the codes of the categories, (U,); -1 = missing."""
    places = {float(n): meaning[c] for n, c in enumerate(frame.scale.categories) if c in meaning}
    return evaluator.codes(places)


def decided_codes(
    frame: VariableFrame, evaluator: EvaluatorLabels, meaning: Codes
) -> tuple[Ints, Bools]:
    """Return one rater's labels mapped to meanings, (U,), -1 = missing, and which units count (U,).

    People's joint label is the most frequent meaning, not the most frequent label: two labels with
    the same meaning do not tie. A tie between meanings does not count.
    """
    if evaluator.kind != PEOPLE:
        return label_codes(frame, evaluator, meaning), evaluator.applicable
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


RATED = "@rated"
"""The suffix of the coverage of reports by ratings."""


def variables_of(measure: Measure, suffix: str) -> tuple[str, ...]:
    """Return the variables whose labels a measure is made of."""
    return ("rating",) if suffix == RATED else measure.variables


@dataclass(frozen=True)
class JointLabels:
    """A campaign's labels, those of its answers' points, and the evaluators among their raters.

    `judgements` has the judge of each variable, by evaluator. `own` are the judges whose measures
    are computed, too; None if evaluators take their place.
    """

    frame: Frame
    points: Frame | None = None
    evaluators: tuple[Evaluator, ...] = ()
    judgements: Mapping[str, Judgements] = field(default_factory=dict)
    own: frozenset[str] | None = None

    def counts(self, measure: Measure, part: Part) -> bool:
        """Whether a part's measure is computed.

        An evaluator's measure is, unless it only repeats that of one of its judges.
        """
        if self.own is None or part.rater not in self.judgements:
            return True
        judges = set(self.made_of(measure, part).values())
        return len(judges) > 1 or not judges <= self.own

    def made_of(self, measure: Measure, part: Part) -> dict[str, str]:
        """Return the judges of the variables that a part's measure is made of; none of a rater."""
        judges = self.judgements.get(part.rater, {})
        named = variables_of(measure, part.suffix)
        return {variable: judges[variable] for variable in named if variable in judges}


def evaluators_beside(
    frame: Frame, points: Frame | None, evaluators: Sequence[Evaluator]
) -> JointLabels:
    """Add the evaluators with labels of several judges to the raters."""
    judgements = _judgements(frame, points, evaluators)
    several = {name: of for name, of in judgements.items() if len(set(of.values())) > 1}
    own = frozenset(r.name for r in frame.raters if r.kind == JUDGE and r.excluded is None)
    return _joined(frame, points, evaluators, several, own)


def evaluators_instead(
    frame: Frame, points: Frame | None, evaluators: Sequence[Evaluator]
) -> JointLabels:
    """Let evaluators take the place of their judges."""
    return _joined(frame, points, evaluators, _judgements(frame, points, evaluators), None)


def _judgements(
    frame: Frame, points: Frame | None, evaluators: Sequence[Evaluator]
) -> dict[str, Judgements]:
    """Return the judge of each variable, by evaluator; evaluators without labels are left out."""
    found = {
        each.name: {
            **(each.judgements(points) if points is not None else {}),
            **each.judgements(frame),
        }
        for each in evaluators
    }
    return {name: of for name, of in found.items() if of}


def _joined(
    frame: Frame,
    points: Frame | None,
    evaluators: Sequence[Evaluator],
    judgements: Mapping[str, Judgements],
    own: frozenset[str] | None,
) -> JointLabels:
    named = tuple(each for each in evaluators if each.name in judgements)
    instead = own is None
    joint = with_evaluators(frame, named, instead)
    joint_points = None if points is None else with_evaluators(points, named, instead)
    return JointLabels(joint, joint_points, named, judgements, own)
