"""Inputs of the measures that a campaign's protocol declares: the units of its reports, and labels.

Which units a report has, and their attributes, comes from the protocol's items, so a unit that
nobody was asked about is known, too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from analysis.evaluation.answers import number_of_sentences
from analysis.evaluation.inputs import PEOPLE, DeclaredContent, Part, Rows, all_reports
from tandem.files.rows import Query, Report
from tandem.labels.frame import Frame, VariableFrame
from tandem.labels.reference import HUMAN
from tandem.protocols.base import DeclaredMeasure, ItemSpec, UnitSpec, Variable, split_codes
from tandem.scores import MEASURES
from tandem.scores.base import Measure
from tandem.scores.declared import (
    FAILED,
    NOT_APPLICABLE,
    NOT_ASKED,
    OPTIONS,
    Labelled,
    ReportUnits,
    UnitLabels,
    bounds_of,
    declared_values,
)
from tandem.scores.options import ZERO, Options
from tandem.statistics import Bools, Ints

FAMILY = "declared"
CITATION, REPORT = "sentence-citation", "report:"
Fields = tuple[tuple[str, str], ...]
UnitName = tuple[str, str, str]
"""The item, kind and key of a unit, as in a frame."""


def declared_parts(
    queries: Sequence[Query], frame: Frame, declared: DeclaredContent, options: Options
) -> Iterator[Part]:
    """Yield the units of reports with each evaluator's labels, for each variable with measures."""
    reports, rows = _rows(queries, options)
    asked = {v.name: v for v in declared.variables}
    measures: dict[str, list[DeclaredMeasure]] = defaultdict(list)
    for measure in declared.measures:
        if measure.variable in frame.variables and measure.variable in asked:
            measures[measure.variable].append(measure)
    kinds = {asked[name].kind for name in measures}
    found = _units(queries, reports, declared, kinds) if kinds else {}
    for name, of in measures.items():
        variable, units = asked[name], found.get(asked[name].kind, _Units())
        data = units.of_reports(reports, rows)
        made = tuple(_measure(each, variable, declared.source) for each in of)
        for rater, kind, labels in _evaluators(frame, variable, units):
            yield Part(
                FAMILY,
                rater,
                kind,
                Labelled(data, labels),
                rows,
                declared=made,
                reports=tuple(report.id for report in reports),
            )


def _rows(queries: Sequence[Query], options: Options) -> tuple[list[Report], Rows]:
    """Return all reports and their rows, followed by rows without a report if these count."""
    reports, rows = all_reports(queries)
    if options.missing_topics != ZERO:
        return reports, rows
    there = set(zip((query.id for query in rows.queries), rows.systems, strict=True))
    lacking = [
        (query, system)
        for query in queries
        for system in rows.system_names
        if system and (query.id, system) not in there
    ]
    return reports, replace(
        rows,
        queries=(*rows.queries, *(query for query, _ in lacking)),
        systems=(*rows.systems, *(system for _, system in lacking)),
    )


@dataclass
class _Units:
    """The units of one kind in their order, with the row and the sentence of each.

    `absent` are those about a passage that the batch lacks, and `fields` their attributes.
    `labelled` are the names of the units whose labels they have: their own or an equal one's.
    """

    names: list[UnitName] = field(default_factory=list)
    row: list[int] = field(default_factory=list)
    sentence: list[int] = field(default_factory=list)
    absent: list[bool] = field(default_factory=list)
    fields: list[Fields] = field(default_factory=list)
    labelled: list[UnitName] = field(default_factory=list)

    def add(
        self,
        name: UnitName,
        row: int,
        sentence: int,
        fields: Fields,
        labelled: UnitName | None = None,
        absent: bool = False,
    ) -> None:
        self.names.append(name)
        self.labelled.append(labelled or name)
        self.row.append(row)
        self.sentence.append(sentence)
        self.absent.append(absent)
        self.fields.append(fields)

    def of_reports(self, reports: Sequence[Report], rows: Rows) -> ReportUnits:
        held = [dict(of) for of in self.fields]
        names = dict.fromkeys(name for of in held for name in of)
        values = {name: np.array([of.get(name, "") for of in held], str) for name in names}
        lacks = np.arange(len(rows.systems)) >= len(reports)
        sentences = np.zeros(len(lacks), np.int64)
        sentences[~lacks] = [number_of_sentences(report) for report in reports]
        return ReportUnits(
            np.array(self.row, np.int64),
            np.array(self.sentence, np.int64),
            np.array(self.absent, bool),
            values,
            sentences,
            rows.numbers,
            lacks,
        )


def _units(
    queries: Sequence[Query],
    reports: Sequence[Report],
    declared: DeclaredContent,
    kinds: Collection[str],
) -> dict[str, _Units]:
    """Return the units of reports by kind, those of each report in the order of the items."""
    row = {report.id: n for n, report in enumerate(reports)}
    found = {kind: _Units() for kind in kinds}
    for query in queries:
        longest_first = sorted((report.id for report in query.reports), key=len, reverse=True)
        own = dict.fromkeys(longest_first)
        for item in declared.items(query):
            for unit in item.units:
                if unit.kind in kinds and (report := _report_of(item, unit, own)) is not None:
                    name = item.key, unit.kind, unit.key
                    sentence = _sentence_of(unit.key, report)
                    first = unit.same_as and (unit.same_as[0], unit.kind, unit.same_as[1])
                    found[unit.kind].add(name, row[report], sentence, unit.fields, first)
    if citations := found.get(CITATION):
        found[CITATION] = _with_absent(citations, queries, row)
    return found


def _report_of(item: ItemSpec, unit: UnitSpec, reports: Collection[str]) -> str | None:
    """Return the report, of these with longer ids first, that a unit is about; None if of none."""
    if item.report in reports:
        return item.report
    if unit.kind == "report":
        return unit.key if unit.key in reports else None
    named = [each.removeprefix(REPORT) for each in unit.of if each.startswith(REPORT)]
    starts = (each for each in reports if unit.key.startswith((f"{each}#", f"{each}/")))
    return next((each for each in named if each in reports), None) or next(starts, None)


def _sentence_of(key: str, report: str) -> int:
    """Return the number of the sentence in a key such as `report#2` or `report#2/passage`, or 0."""
    number = key.removeprefix(f"{report}#").partition("/")[0]
    return int(number) if key != number and number.isdecimal() else 0


def _with_absent(units: _Units, queries: Sequence[Query], row: Mapping[str, int]) -> _Units:
    """Add citations of passages that the batch lacks, each at its place in its sentence."""
    there = {key: n for n, (_, _, key) in enumerate(units.names)}
    made = _Units()
    for query in queries:
        passages = {passage.id for passage in query.passages}
        for report in query.reports:
            for number, cited in enumerate(report.sentence_citations or (), start=1):
                for passage in dict.fromkeys(cited):
                    key = f"{report.id}#{number}/{passage}"
                    if (n := there.get(key)) is not None:
                        own = units.names[n], row[report.id], number, units.fields[n]
                        made.add(*own, units.labelled[n])
                    elif passage not in passages:
                        name = "", CITATION, key
                        made.add(name, row[report.id], number, (), absent=True)
    return made


def _evaluators(
    frame: Frame, variable: Variable, units: _Units
) -> Iterator[tuple[str, str, UnitLabels]]:
    """Yield people together, then each single rater, with their labels. See `evaluator_labels`."""
    of = frame.variables[variable.name]
    place = {name: n for n, name in enumerate(units.names)}
    escapes = dict.fromkeys(aside.what for aside in of.asides if not aside.is_missing)
    categories = [_codes_of(each, variable) for each in of.scale.categories]
    labels = UnitLabels(
        (*categories, *((escape,) for escape in escapes)),
        np.arange(len(categories) + len(escapes)) >= len(categories),
        _codes(of, place, list(escapes)),
        of.scale.level == "interval",
    )
    unmet = _conditions_not_met(frame, variable, place, [r.name for r in of.raters])
    codes = np.where(unmet & (labels.codes == NOT_ASKED), NOT_APPLICABLE, labels.codes)
    codes = codes[[place[name] for name in units.labelled]]
    people = of.columns(HUMAN)
    if people:
        yield PEOPLE, PEOPLE, replace(labels, codes=codes[:, people])
    for column, rater in enumerate(of.raters):
        if rater.excluded is None and (codes[:, column] >= FAILED).any():
            yield rater.name, rater.kind, replace(labels, codes=codes[:, [column]])


def _codes_of(category: str, variable: Variable) -> tuple[str, ...]:
    codes = split_codes(category) if variable.several else None
    return (category,) if codes is None else tuple(codes)


def _codes(of: VariableFrame, place: Mapping[UnitName, int], escapes: Sequence[str]) -> Ints:
    """Return the answers of all raters about the units at their places, (U, R)."""
    codes = np.full((len(place), len(of.raters)), NOT_ASKED, np.int64)
    at = np.array([place.get(name, -1) for name in of.units.names], np.int64)
    there = at >= 0
    codes[at[there]] = np.where(of.codes[there] >= 0, of.codes[there], NOT_ASKED)
    column = {rater.name: n for n, rater in enumerate(of.raters)}
    escape = {what: len(of.scale.categories) + n for n, what in enumerate(escapes)}
    for aside in of.asides:
        if aside.rater in column and there[aside.unit]:
            answer = FAILED if aside.is_missing else escape[aside.what]
            codes[at[aside.unit], column[aside.rater]] = answer
    return codes


def _conditions_not_met(
    frame: Frame, variable: Variable, place: Mapping[UnitName, int], raters: Sequence[str]
) -> Bools:
    """Return where a rater's answer to another variable excludes this one, (U, R)."""
    unmet = np.zeros((len(place), len(raters)), bool)
    for name, codes in variable.asked_if.items():
        if (of := frame.variables.get(name)) is None:
            continue
        answers = _codes(of, place, escapes := list({a.what for a in of.asides}))
        named = [*of.scale.categories, *escapes]
        other = np.array([each not in codes for each in named] + [False], bool)
        found = other[np.where(answers >= 0, answers, len(named))]
        columns = {rater.name: n for n, rater in enumerate(of.raters)}
        unmet |= found[:, [columns[rater] for rater in raters]]
    return unmet


def _measure(declared: DeclaredMeasure, variable: Variable, source: str) -> Measure:
    """Return a declared measure like those of papers. One with the name of another is renamed."""
    name = declared.name
    return Measure(
        f"{name} ({source})" if name.partition("@")[0] in MEASURES else name,
        FAMILY,
        describe(declared),
        source,
        partial(declared_values, declared),
        "no report has a unit that counts",
        OPTIONS,
        bounds_of(declared, variable.codes, variable.several, variable.kind),
        variables=(variable.name,),
    )


def describe(measure: DeclaredMeasure) -> str:
    """Say in a sentence what a declared measure is."""
    points = ", ".join(f"{code} {value:g}" for code, value in measure.scores.items())
    parts = [f"Points of {measure.variable} ({points or 'its number'})"]
    parts += [f"where {name} is {' or '.join(of)}" for name, of in measure.where.items()]
    for name, of in measure.weight.items():
        parts.append(f"weighed by {name} ({', '.join(f'{v} {w:g}' for v, w in of.items())})")
    over = "" if measure.over == "units" else f", the {measure.over.replace('-', ' ')}"
    below = "sentences of the report" if measure.denominator == "sentences" else "units"
    return f"{' '.join(parts)}{over}, over the {below}."
