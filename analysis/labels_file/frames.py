"""Frames of labels files."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from annotation.imports.columns import read_columns
from annotation.imports.grouping import group_rows
from annotation.imports.labels import read_labels
from annotation.label_rows import CheckedRow, LabelRow, SpanRow
from annotation.protocols import PROTOCOLS
from datasets.readers.jsonl import excerpt
from datasets.rows import InputError

from ..data.frame import Frame, selected_frame, without_garbage_collection
from ..data.grades import grade_of, with_grades
from ..data.labels import (
    LARGEST,
    Evidence,
    EvidenceSpan,
    LabelFact,
    LabelKey,
    Scale,
    number_of,
    scale_of,
)
from ..data.metadata import OF_META, meta_strata
from ..data.own_sentences import own_codes_of, with_own_sentences
from ..data.probabilities import probabilities_of, with_probabilities
from ..data.readings import KEY as STEPS
from ..data.readings import reading_steps_of, with_readings
from ..data.selection import ALL_LABELS, ReportOptions, available_values
from ..statistics import Level
from .columns import (
    Labels,
    column_values,
    frame_of,
    inputs_of,
    newest_revisions,
    selected_positions,
)


class UnknownLevelError(ValueError):
    """A level was given for a variable without labels."""


@without_garbage_collection()
def file_frame(
    paths: Iterable[Path], levels: Mapping[str, Level], options: ReportOptions = ALL_LABELS
) -> tuple[Frame, set[str]]:
    """Return the frame of the labels in files, and the protocols that the files name.

    Raises InputError, UnknownLevelError and UnknownOptionError.

    If the rows name a known protocol, its codes, escapes and levels apply; `levels` override them.
    Only the newest revision of a label counts.
    """
    given = list(paths)
    labels = newest_revisions(read_columns(given, (*OF_META, STEPS)))
    found = None if labels is None else _by_columns(labels, levels, options)
    return found or _by_rows(given, levels, options)


def _by_columns(
    labels: Labels, levels: Mapping[str, Level], options: ReportOptions
) -> tuple[Frame, set[str]] | None:
    """Return the frame by columns, or None if an error has to name a line."""
    protocols = set(filter(None, labels.used("protocol")))
    scales = _scales(labels.used("variable"), protocols, levels)
    for variable, value in labels.answers():
        if _is_word(value, scales.get(variable)):
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
    frame = replace(frame, strata=strata, inputs=inputs)
    frame = _with_metas(replace(frame, evidence=file_evidence(rich)), rich, dict(labels.steps()))
    return frame, protocols


def _by_rows(
    paths: Iterable[Path], levels: Mapping[str, Level], options: ReportOptions
) -> tuple[Frame, set[str]]:
    read = [row for path in paths for row in read_labels(path)]
    # As on import, duplicate labels and raters of two kinds are rejected.
    group_rows(CheckedRow(row, f"{row.kind or ''}:{row.unit}") for row in read)
    newest: dict[tuple[str, ...], LabelRow] = {}
    for row in read:
        before = newest.setdefault(_identity(row), row)
        if (row.revision or 0) > (before.revision or 0):
            newest[_identity(row)] = row
    rows = list(newest.values())
    protocols = {row.protocol for row in rows if row.protocol}
    scales = _scales([row.variable for row in rows], protocols, levels)
    for row in rows:
        if row.value is not None and _is_word(row.value, scales.get(row.variable)):
            level = scales[row.variable].level
            most = f" of at most {LARGEST:g}" if _is_number(row.value) else ""
            wrong = (
                f"{row.variable} is {excerpt(row.value)}, which is not a number{most}, and {level}"
            )
            raise InputError(row.place, wrong, "code it as a number, or declare it nominal")
    facts, strata = [_fact(row) for row in rows], meta_strata((row.item, row.meta) for row in rows)
    available_values(facts, strata).check(options)
    frame = selected_frame(facts, options, strata, scales)
    return _with_metas(replace(frame, evidence=file_evidence(rows)), rows), protocols


def _identity(row: LabelRow) -> tuple[str, ...]:
    return (row.item, row.kind or "", row.unit, row.variable, row.rater, str(row.replicate))


def _is_word(value: str, scale: Scale | None) -> bool:
    """Return whether a value is a word on a numeric scale, so that its rank is unknown."""
    if scale is None or scale.level == "nominal":
        return False
    known = value in scale.categories or value in scale.escapes
    return not known and number_of(value) is None


def _is_number(value: str) -> bool:
    try:
        return math.isfinite(float(value))
    except ValueError:
        return False


def _fact(row: LabelRow) -> LabelFact:
    return LabelFact(
        row.item, row.unit, row.kind or "", row.variable, row.value, row.missing, row.rater,
        row.rater_kind, row.replicate, row.query or row.item, row.system, row.setting,
        row.assisted_by, row.score, row.exposed,
    )  # fmt: skip


def _scales(
    variables: Iterable[str], protocols: set[str], levels: Mapping[str, Level]
) -> dict[str, Scale]:
    scales: dict[str, Scale] = {}
    if len(protocols) == 1 and (known := PROTOCOLS.get(next(iter(protocols)))):
        scales = {v.name: scale_of(v) for v in known.variables}
        scales.pop("category", None)
    there = set(variables)
    for name, level in levels.items():
        if name not in there:
            names = ", ".join(sorted(there))
            raise UnknownLevelError(f"--level: no label is of {name!r}; there are {names}")
        given = scales.get(name, Scale((), level))
        scales[name] = Scale(given.categories, level, given.escapes)
    return scales


def file_evidence(rows: Iterable[LabelRow]) -> Evidence:
    """Return the spans of a labels file, without texts; of repeated judgements the first counts."""
    first: dict[LabelKey, LabelRow] = {}
    for row in rows:
        place = _place(row)
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
    """Add the metadata of judges' first labels: probabilities, steps, grades, and verdicts on
    a judge's own sentences.

    `plain` has the steps of labels that are not among the rows.
    """
    judged = [row for row in rows if row.rater_kind == "judge" and not row.replicate]
    metas = [(_place(row), meta) for row in judged if (meta := row.stored_meta)]
    shares = {place: p for place, meta in metas if (p := probabilities_of(meta))}
    steps = {place: s for place, meta in metas if (s := reading_steps_of(meta))} | dict(plain or {})
    frame = with_readings(with_probabilities(frame, shares), steps)
    frame = with_grades(frame, {place: g for place, meta in metas if (g := grade_of(meta))})
    own = {place: codes for place, meta in metas if (codes := own_codes_of(meta))}
    return with_own_sentences(frame, own)


def _place(row: LabelRow) -> LabelKey:
    return LabelKey(row.item, row.kind or "", row.unit, row.variable, row.rater)
