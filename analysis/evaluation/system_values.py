"""Values of measures by system, evaluator and slice; people's is the mean of each one's own.

Nothing here reads the database, so that a release is verified by the same functions.

People together, in contrast, are decided unit by unit (`analysis.evaluation.inputs`). If people
differ, these are two figures, in two rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace

import numpy as np

from analysis.evaluation.inputs import (
    JOINT_EVALUATORS,
    MEAN_OF_PEOPLE,
    AskedContent,
    Division,
    JointLabels,
    Part,
    QuerySample,
    Rows,
    variables_of,
)
from analysis.evaluation.layout import Layout
from analysis.evaluation.parts_by_protocol import parts_of
from analysis.evaluation.system_rankings import RANKED, Tables, matrix_of
from tandem.files.rows import Query
from tandem.labels.frame import Frame
from tandem.labels.reference import HUMAN
from tandem.labels.resampling import mean_of
from tandem.labels.selection import ReportOptions
from tandem.scores.answers.refusals import refusal_list
from tandem.scores.base import (
    JudgedValues,
    Measure,
    MeasureValues,
    Pooled,
    estimate,
    reason_of,
    rows_of,
    values_of,
)
from tandem.scores.declared import ReportValues
from tandem.scores.options import Options, tokenizer
from tandem.statistics import Bools, Estimate, Floats, macro
from tandem.types import JSON, Progress, Steps, ignore_progress


@dataclass
class Persons:
    """The values of measures from each person's labels, by name and systems of the rows."""

    by_name: dict[tuple[str, tuple[str, ...]], list[tuple[Measure, Part, MeasureValues]]] = field(
        default_factory=dict
    )

    def add(self, name: str, measure: Measure, part: Part, found: MeasureValues) -> None:
        """Add a part's values, if they are a person's."""
        if part.kind == HUMAN:
            self.by_name.setdefault((name, part.rows.system_names), []).append(
                (measure, part, found)
            )

    def together(self) -> Iterator[tuple[str, Measure, Part, MeasureValues]]:
        """Yield by measure the mean over people, if there are several."""
        for (name, _), of in self.by_name.items():
            measure, part, _ = of[0]
            if len(of) > 1:
                mean = replace(part, rater=MEAN_OF_PEOPLE, kind=MEAN_OF_PEOPLE)
                yield name, measure, mean, mean_over_people([found for *_, found in of])


def mean_over_people(found: Sequence[MeasureValues]) -> MeasureValues:
    """Return the mean over people of values of the same rows (N,), over those with a value.

    For sums it is the mean of people's own figures. If one person's value is unknown, so is the
    mean, since the others are not a random sample.
    """
    pooled = [each for each in found if isinstance(each, Pooled)]
    if pooled:
        return _mean_of_sums(pooled)
    values = mean_of(np.stack([values_of(each) for each in found], axis=1))
    unknown = [each for each in found if isinstance(each, JudgedValues) and reason_of(each)]
    if not unknown:
        return values
    refused = np.ones(len(values), bool)
    return JudgedValues(values, refused=refused, why=f"of a person, {reason_of(unknown[0])}")


def _mean_of_sums(found: Sequence[Pooled]) -> Pooled:
    ends = np.cumsum([each.sums.shape[1] for each in found])[:-1]

    def of(totals: Floats) -> Floats:
        parts = np.split(totals, ends, axis=-1)
        own = [each.of(part) for each, part in zip(found, parts, strict=True)]
        return np.asarray(macro(np.stack(np.broadcast_arrays(*own), axis=-1)))

    sizes = [each.sizes for each in found if each.sizes is not None]
    sums = np.concatenate([each.sums for each in found], axis=1)
    return Pooled(sums, of, np.sum(sizes, axis=0) if sizes else None)


@dataclass(frozen=True)
class Measured:
    """The values of each measure by system and slice, and the tables (Q, S) that they are of."""

    values: JSON
    tables: Tables


def measured(
    asked: AskedContent,
    queries: Sequence[Query],
    labels: JointLabels,
    options: Options,
    report_options: ReportOptions,
    sample: QuerySample,
) -> Measured:
    """Compute the measures of a campaign, without the tests and rankings of `measures_report`."""
    layout = Layout.from_queries(queries)
    tables, persons = Tables(sample, layout.oracles), Persons()
    parts = list(parts_of(asked, queries, labels.frame, options, None, layout, labels.points))
    steps = Steps(ignore_progress, sum(len(part.measures) for part in parts) + 1)
    found = measure_parts(parts, labels, options, report_options, (), tables, persons, steps)
    return Measured(found, tables)


def named_measures(
    asked: AskedContent,
    names: Collection[str],
    options: Options,
    report_options: ReportOptions,
    frame: Frame,
    queries: Sequence[Query],
    strata: Sequence[Division] = (),
) -> JSON:
    """Compute only these measures of a campaign, by name, with their values of each system.

    The values are those of `measures_report` under `measures`, with slices by further `strata`.
    """
    layout = Layout.from_queries(queries)
    found: JSON = {}
    for part in parts_of(asked, queries, frame, options, None, layout):
        for measure in part.measures:
            if f"{measure.name}{part.suffix}" in names:
                _add(found, measure, part, JointLabels(frame), options, report_options, strata)
    return found


def measures_with_tests(
    parts: Sequence[Part],
    labels: JointLabels,
    options: Options,
    report_options: ReportOptions,
    strata: Sequence[Division],
    tables: Tables,
    progress: Progress,
) -> JSON:
    """Compute the measures of all parts, with the tests and orderings of their tables."""
    number, persons = sum(len(part.measures) for part in parts), Persons()
    # The tests and orderings that follow take about as long as the measures themselves.
    steps = Steps(progress, 2 * number + 1)
    found = measure_parts(parts, labels, options, report_options, strata, tables, persons, steps)
    for name, measure, part, values in persons.together():
        _add_sliced(found[name], measure, values, part, report_options, strata)
    for place, (name, of) in enumerate(found.items(), start=1):
        of |= tests_of(tables, name, report_options)
        steps.done(number + number * place // len(found) - steps.number)
    return found


def measure_parts(
    parts: Iterable[Part],
    labels: JointLabels,
    options: Options,
    report_options: ReportOptions,
    strata: Sequence[Division],
    tables: Tables,
    persons: Persons,
    steps: Steps,
) -> JSON:
    """Compute the measures of all parts, and add their values to the tables and persons."""
    found: JSON = {}
    for part in parts:
        for measure in part.measures:
            steps.done()
            if not labels.counts(measure, part):
                continue
            name, values = _add(found, measure, part, labels, options, report_options, strata)
            persons.add(name, measure, part, values)
            if not isinstance(values, Pooled):
                tables.add(name, measure, part, values)
    return found


def tests_of(tables: Tables, name: str, report_options: ReportOptions) -> JSON:
    """Return the parts of a measure's report that need its values on all queries and systems."""
    evaluators = tables.evaluators(name, report_options)
    return {
        "evaluators": evaluators,
        "evaluator_matrix": matrix_of(evaluators),
        "forms": tables.forms(name, report_options),
        "settings": tables.settings(name),
        "powered": tables.powered(name),
    }


def options_as_json(options: Options) -> JSON:
    """Return every option with its value and the reason for its default."""
    values = asdict(options)
    values["tokenizer"] = tokenizer(options.tokenizer).name
    values["refusals"] = refusal_list(options.refusals).name
    return {
        each.name: {"value": values[each.name], "reason": each.metadata["help"]}
        for each in fields(options)
    }


def _add(
    found: JSON,
    measure: Measure,
    part: Part,
    labels: JointLabels,
    options: Options,
    report_options: ReportOptions,
    strata: Sequence[Division],
) -> tuple[str, MeasureValues]:
    name = f"{measure.name}{part.suffix}"
    of = found.setdefault(
        name,
        {
            "summary": measure.summary,
            "citation": measure.citation,
            "options": list(measure.options),
            "variables": list(variables_of(measure, part.suffix)),
            "judgements": {},
            "cut": part.suffix if part.family in RANKED else "",
            "systems": {},
            "slices": {},
        },
    )
    if judgements := labels.made_of(measure, part):
        of["judgements"][part.rater] = judgements
    values = part.compute(measure, options)
    if isinstance(values, ReportValues):
        _add_reports(of, values, part)
    _add_sliced(of, measure, values, part, report_options, strata)
    return name, values


def _add_reports(of: JSON, found: ReportValues, part: Part) -> None:
    """Add the value of each report, or the reason why it has none, and what its units have."""
    each = list(zip(part.reports, found.values.tolist(), found.reasons, strict=False))
    known = {report: None if why else value for report, value, why in each}
    of.setdefault("reports", {})[part.rater] = known
    of.setdefault("reasons", {})[part.rater] = {report: why for report, _, why in each if why}
    of.setdefault("units", {})[part.rater] = dict(found.states)


def _add_sliced(
    of: JSON,
    measure: Measure,
    values: MeasureValues,
    part: Part,
    report_options: ReportOptions,
    strata: Sequence[Division],
) -> None:
    """Add a part's values by system, overall and in every slice."""
    every = np.ones(len(part.rows.systems), bool)
    _add_values(of["systems"], _by_system(measure, values, part.rows, every, report_options), part)
    for stratum, rows in _strata(part.rows, strata):
        slices = of["slices"].setdefault(stratum, {})
        for value, where in rows.items():
            made = _by_system(measure, values, part.rows, where, report_options)
            _add_values(slices.setdefault(value, {}), made, part)


def _by_system(
    measure: Measure, values: MeasureValues, rows: Rows, where: Bools, report_options: ReportOptions
) -> dict[str, Estimate]:
    numbers = rows.numbers
    made = {}
    for column, system in enumerate(rows.system_names):
        kept = (rows.columns == column) & where
        if kept.any():
            own = rows_of(values, kept)
            made[system] = estimate(
                measure, own, numbers[kept], report_options.resamples, report_options.seed
            )
    return made


def _add_values(systems: JSON, made: Mapping[str, Estimate], part: Part) -> None:
    """Add values under each system, for joint evaluators such as `people` and for every rater."""
    for system, each in made.items():
        of = systems.setdefault(system, {**dict.fromkeys(JOINT_EVALUATORS), "raters": {}})
        (of if part.kind in JOINT_EVALUATORS else of["raters"])[part.rater] = each.as_json()


def _strata(rows: Rows, divisions: Sequence[Division]) -> Iterable[tuple[str, dict[str, Bools]]]:
    for name, values in rows.strata.items():
        every = np.array([value or "" for value in values], dtype=str)
        known = sorted(set(every.tolist()) - {""})
        yield name, {value: every == value for value in known}
    for stratum in divisions:
        if parts := stratum.among(rows):
            yield stratum.name, parts
