"""Frames of labels files, with warnings about values, variables and raters that may be one."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from tandem.files.jsonl import excerpt
from tandem.files.rows import InputError, Place, ReadNotes
from tandem.files.spelling import difference, listed, means_missing, similar, similar_names
from tandem.labels.file.columns import read_columns
from tandem.labels.file.grouping import group_rows
from tandem.labels.file.reader import read_labels
from tandem.labels.file.rows import CheckedRow, LabelRow, SpanRow
from tandem.labels.file.wide import Wide
from tandem.protocols import DECLARATIONS
from tandem.protocols.base import Declaration, split_codes

from ...statistics import Level
from ..categories import coded_scale
from ..facts import LARGEST, Evidence, EvidenceSpan, LabelFact, LabelKey, Scale, number_of, scale_of
from ..frame import Frame, Warning, selected_frame, without_garbage_collection
from ..judge_metadata import with_judge_metadata
from ..metadata import OF_META, meta_strata
from ..readings import KEY as STEPS
from ..selection import ALL_LABELS, ReportOptions, UnknownOptionError, available_values
from .column_frames import (
    Labels,
    column_values,
    frame_of,
    inputs_of,
    newest_revisions,
    selected_positions,
)
from .scales import DeclaredScale, declared_scale, is_on_scale, with_sets

Counts = Mapping[str, int]
"""Numbers of labels by value, variable or rater."""


def doubts(
    values: Mapping[str, Counts], raters: Counts, scales: Mapping[str, Scale]
) -> list[Warning]:
    """Return the warnings about labels whose `values` are counted by variable."""
    variables = {name: sum(of.values()) for name, of in values.items()}
    found = [
        Warning(f"similar_{what}s", None, None, text)
        for what, counts in (("variable", variables), ("rater", raters))
        for text in similar_names(what, counts)
    ]
    for name, counts in values.items():
        scale = scales.get(name, Scale((), "nominal"))
        if scale.level == "set":
            counts, scale = _codes_of_sets(counts), Scale((), "nominal")
        found += [*_similar_values(name, counts, scale), *_missing_words(name, counts, scale)]
    return found


def _codes_of_sets(counts: Counts) -> Counts:
    """Count the labels that have each code, for sets of codes."""
    found: Counter[str] = Counter()
    for value, number in counts.items():
        found.update(dict.fromkeys(split_codes(value) or (), number))
    return found


def _similar_values(name: str, counts: Counts, scale: Scale) -> Iterator[Warning]:
    code = coded_scale(scale, {(True, value) for value in counts})[1]
    merged = []
    for group in similar(counts):
        number = len({code.get(value, value) for value in group})
        if number == 1:
            merged.append(listed(group, counts))
            continue
        text = (
            f"The values {listed(group, counts)} differ only in {difference(group)}, and count as "
            f"{number} categories. If they are one code, write it alike everywhere."
        )
        yield Warning("similar_values", name, None, text)
    if merged:
        text = (
            f"Values that are written differently count as one number: {'; '.join(merged)}. If "
            "they are different codes, name them differently."
        )
        yield Warning("merged_values", name, None, text)


def _missing_words(name: str, counts: Counts, scale: Scale) -> Iterator[Warning]:
    known = {*scale.categories, *scale.escapes}
    words = [value for value in counts if means_missing(value) and value not in known]
    if not words:
        return
    is_one = len(words) == 1
    text = (
        f"{'The value' if is_one else 'The values'} {listed(words, counts)} "
        f"{'is a category' if is_one else 'are categories'}, although a word such as this usually "
        "means that there is no label. If so, leave the line out, leave the cell empty, or write a "
        f"reason under `missing`. If it is a code, declare it: --scale {name}=…"
    )
    yield Warning("missing_word", name, None, text)


class UnknownLevelError(ValueError):
    """A level or scale was given for a variable without labels."""


@without_garbage_collection()
def file_frame(
    paths: Iterable[Path],
    levels: Mapping[str, Level],
    options: ReportOptions = ALL_LABELS,
    scales: Mapping[str, DeclaredScale] = MappingProxyType({}),
    wide: str | None = None,
    protocol: Declaration | None = None,
) -> tuple[Frame, set[str]]:
    """Return the frame of the labels in files, and the protocols that the files name.

    Raises InputError, UnknownLevelError and UnknownOptionError.

    The codes, escapes and levels of the `protocol` apply, or those of a known one that the rows
    name. Scales that a file declares override them, `scales` and `levels` both. `wide` is the
    variable of tables with one column for each rater. Only the newest revision of a label counts.
    """
    given = _Given(list(paths), levels, scales, Wide(wide), protocol)
    labels = newest_revisions(read_columns(given.paths, (*OF_META, STEPS), given.notes, given.wide))
    found = None if labels is None else _by_columns(labels, given, options)
    return found or _by_rows(given.paths, levels, options, scales, wide, protocol)


@dataclass
class _Given:
    """Files, with what is declared of their labels, and the notes of their reading."""

    paths: list[Path]
    levels: Mapping[str, Level]
    scales: Mapping[str, DeclaredScale]
    wide: Wide
    protocol: Declaration | None = None
    notes: ReadNotes = field(default_factory=ReadNotes)

    def declared(self) -> dict[str, DeclaredScale]:
        """Return all declared scales. Raises InputError for one in a file that cannot be read."""
        found: dict[str, DeclaredScale] = {}
        for name, of in self.notes.scales.items():
            try:
                found[name] = declared_scale(of)
            except ValueError as error:
                place = Place(", ".join(map(str, self.paths)))
                remedy = "write codes in their order, such as 1,2,3:ordinal"
                raise InputError(place, f"the scale of {excerpt(name)} {error}", remedy) from None
        return {**found, **self.scales}

    def asked(self, named: Collection[str]) -> Declaration | None:
        """Return the protocol of the labels, whose rows have these names of protocols.

        Raises UnknownOptionError if rows are of another one than was given.
        """
        if self.protocol is None:
            return DECLARATIONS.get(next(iter(named))) if len(named) == 1 else None
        if others := sorted(set(named) - {self.protocol.name}):
            wrong = (
                f"The labels are of the protocol {excerpt(others[0])}, and the file given for it "
                f"declares {self.protocol.name}; give the one that they are of."
            )
            raise UnknownOptionError({"protocol": wrong})
        return self.protocol

    def warnings(
        self, values: Mapping[str, Counts], raters: Counts, scales: Mapping[str, Scale]
    ) -> tuple[Warning, ...]:
        read = (Warning("file", None, None, text) for text in self.notes.warnings)
        return (*read, *doubts(values, raters, scales))


def _by_columns(
    labels: Labels, given: _Given, options: ReportOptions
) -> tuple[Frame, set[str]] | None:
    """Return the frame by columns, or None if an error has to name a line."""
    protocols, declared = set(filter(None, labels.used("protocol"))), given.declared()
    (values, raters), asked = labels.counts(), given.asked(protocols)
    scales = _scales(labels.used("variable"), asked, given.levels, declared)
    scales = with_sets(scales, values)
    for variable, value, by_judge in labels.answers():
        if _is_word(value, scales.get(variable)):
            return None
        if variable in declared and not by_judge and not is_on_scale(value, scales[variable]):
            return None
        if variable in scales and value in scales[variable].single:
            return None
    rich = list(labels.rows.values())
    if any(row.spans and row.replicate for row in rich):
        # A unit's first judgement can only be found from all of its lines.
        return None
    strata = labels.strata()
    column_values(labels, strata).check(options)
    # First, since building the frame needs the most memory.
    inputs = inputs_of(labels)
    frame = frame_of(labels, selected_positions(labels, options, strata), scales)
    read = given.warnings(values, raters, scales)
    frame = replace(frame, strata=strata, inputs=inputs, warnings=read)
    frame = _with_metas(replace(frame, evidence=file_evidence(rich)), rich, dict(labels.steps()))
    return frame, protocols


def _by_rows(
    paths: Iterable[Path],
    levels: Mapping[str, Level],
    options: ReportOptions,
    scales: Mapping[str, DeclaredScale] = MappingProxyType({}),
    wide: str | None = None,
    protocol: Declaration | None = None,
) -> tuple[Frame, set[str]]:
    given = _Given(list(paths), levels, scales, Wide(wide), protocol)
    read = [row for path in given.paths for row in read_labels(path, None, given.notes, given.wide)]
    # As on import, duplicate labels and raters of two kinds are rejected.
    group_rows(CheckedRow(row, f"{row.kind or ''}:{row.unit}") for row in read)
    newest: dict[tuple[str, ...], LabelRow] = {}
    for row in read:
        before = newest.setdefault(_identity(row), row)
        if (row.revision or 0) > (before.revision or 0):
            newest[_identity(row)] = row
    rows = list(newest.values())
    protocols, declared = {row.protocol for row in rows if row.protocol}, given.declared()
    asked = given.asked(protocols)
    known = _scales([row.variable for row in rows], asked, levels, declared)
    known = with_sets(known, _counts(rows)[0])
    _check_values(rows, known, declared)
    facts, strata = (
        [fact_of(row) for row in rows],
        meta_strata((row.item, row.meta) for row in rows),
    )
    available_values(facts, strata).check(options)
    frame = selected_frame(facts, options, strata, known)
    warned = given.warnings(*_counts(rows), known)
    frame = replace(frame, evidence=file_evidence(rows), warnings=warned)
    return _with_metas(frame, rows), protocols


def _check_values(
    rows: Iterable[LabelRow], scales: Mapping[str, Scale], declared: Mapping[str, DeclaredScale]
) -> None:
    """Raise InputError for words on a numeric scale, and for people's values off a declared one."""
    for row in rows:
        if row.value is None or (scale := scales.get(row.variable)) is None:
            continue
        said = f"{row.variable} is {excerpt(row.value)}"
        if row.value in scale.single:
            wrong = f"{said}, and takes sets of codes"
            raise InputError(row.place, wrong, f"write a list: {json.dumps([row.value])}")
        if row.variable in declared and row.rater_kind != "judge":
            if not is_on_scale(row.value, scale):
                codes = ", ".join(scale.single or scale.categories)
                wrong = f"{said}, which is not on its scale ({codes})"
                raise InputError(row.place, wrong, "correct it, or add it to the declared codes")
        elif _is_word(row.value, scale):
            most = f" of at most {LARGEST:g}" if _is_number(row.value) else ""
            wrong = f"{said}, which is not a number{most}, and {scale.level}"
            remedy = "code it as a number, declare it nominal, or declare the order: --scale"
            raise InputError(row.place, wrong, remedy)


def _counts(rows: Iterable[LabelRow]) -> tuple[dict[str, Counter[str]], Counter[str]]:
    """Count the labels by variable and value, and by rater, like `Labels.counts`."""
    values: dict[str, Counter[str]] = defaultdict(Counter)
    raters: Counter[str] = Counter()
    for row in rows:
        raters[row.rater] += row.value is not None
        if row.value is not None:
            values[row.variable][row.value] += 1
    return values, raters


def _identity(row: LabelRow) -> tuple[str, ...]:
    return (row.item, row.kind or "", row.unit, row.variable, row.rater, str(row.replicate))


def _is_word(value: str, scale: Scale | None) -> bool:
    """Return whether a value is a word on a numeric scale, so that its rank is unknown."""
    if scale is None or not scale.is_ordered:
        return False
    known = value in scale.categories or value in scale.escapes
    return not known and number_of(value) is None


def _is_number(value: str) -> bool:
    try:
        return math.isfinite(float(value))
    except ValueError:
        return False


def fact_of(row: LabelRow) -> LabelFact:
    """Return the label of a line; without a query, each item is one of its own."""
    return LabelFact(
        row.item, row.unit, row.kind or "", row.variable, row.value, row.missing, row.rater,
        row.rater_kind, row.replicate, row.query or row.item, row.system, row.setting,
        row.assisted_by, row.score, row.exposed,
    )  # fmt: skip


def _scales(
    variables: Iterable[str],
    protocol: Declaration | None,
    levels: Mapping[str, Level],
    declared: Mapping[str, DeclaredScale],
) -> dict[str, Scale]:
    """Return the scales of variables: the protocol's if there is one, with what is declared.

    Raises UnknownLevelError if something is declared of a variable without labels.
    """
    scales: dict[str, Scale] = {}
    if protocol is not None:
        scales = {v.name: scale_of(v) for v in protocol.variables}
        scales.pop("category", None)
    there = set(variables)
    for name in (*declared, *levels):
        if name not in there:
            option = "--scale" if name in declared else "--level"
            names = ", ".join(sorted(there))
            raise UnknownLevelError(f"{option}: no label is of {name!r}; there are {names}")
    for name, of in declared.items():
        escapes = scales[name].escapes if name in scales else ()
        kept = tuple(escape for escape in escapes if escape not in of.codes)
        scales[name] = _scale(of.codes, of.level or "ordinal", kept)
    for name, level in levels.items():
        given = scales.get(name, Scale((), level))
        scales[name] = _scale(given.single or given.categories, level, given.escapes)
    return scales


def _scale(codes: tuple[str, ...], level: Level, escapes: tuple[str, ...]) -> Scale:
    if level == "set":
        return Scale((), level, escapes, declared=bool(codes), single=codes)
    return Scale(codes, level, escapes)


def file_evidence(rows: Iterable[LabelRow]) -> Evidence:
    """Return the spans of a labels file, without texts; of repeated judgements the first counts."""
    first: dict[LabelKey, LabelRow] = {}
    for row in rows:
        place = label_key(row)
        if place not in first or row.replicate < first[place].replicate:
            first[place] = row
    spans = {
        place: tuple(EvidenceSpan(span.field, span.start, span.end) for span in row.spans)
        for place, row in first.items()
        if row.spans
    }
    misfits = Counter(
        (row.variable, row.rater)
        for row in first.values()
        for span in row.spans or ()
        if _is_misfit(span)
    )
    return Evidence(spans, misfits=misfits)


def _is_misfit(span: SpanRow) -> bool:
    """Return whether a span with words has another length than these, in code points."""
    if not span.text.strip() or span.start is None or span.end is None:
        return False
    return span.end - span.start != len(span.text)


def _with_metas(
    frame: Frame, rows: Iterable[LabelRow], plain: Mapping[LabelKey, str] | None = None
) -> Frame:
    """Add the metadata of judges' first labels; `plain` are steps of labels outside the rows."""
    judged = [row for row in rows if row.rater_kind == "judge" and not row.replicate]
    metas = [(label_key(row), meta) for row in judged if (meta := row.stored_meta)]
    return with_judge_metadata(frame, metas, plain)


def label_key(row: LabelRow) -> LabelKey:
    return LabelKey(row.item, row.kind or "", row.unit, row.variable, row.rater)
