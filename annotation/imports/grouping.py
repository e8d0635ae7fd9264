"""Grouping the rows of a labels file by rater, item and time: each group is one answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from annotation.label_rows import CheckedRow, LabelRow, SpanRow
from annotation.protocols.schema import EVIDENCE_KEY
from datasets.readers.jsonl import shown
from datasets.rows import InputError, Place


@dataclass
class Group:
    """The rows of one rater, item, replicate and revision; `comments` are by unit name."""

    rater: str
    item: str
    replicate: int
    revision: int | None
    rows: list[CheckedRow] = field(default_factory=list)
    comments: dict[str, str] = field(default_factory=dict)
    written: dict[str, dict[str, Any]] = field(default_factory=dict)
    scope: str = ""

    @property
    def order(self) -> tuple[str, int, int]:
        return self.rater, self.replicate, self.revision or 0

    @property
    def place(self) -> Place:
        return self.rows[0].row.place

    @property
    def rater_kind(self) -> str:
        return self.rows[0].row.rater_kind

    @property
    def assisted_by(self) -> str | None:
        return self.rows[0].row.assisted_by

    @property
    def comment(self) -> str | None:
        return "\n".join(dict.fromkeys(self.comments.values())) or None

    @property
    def created_at(self) -> str | None:
        """When the answer was whole: the latest of its labels."""
        given = [row.row.created_at for row in self.rows if row.row.created_at]
        return max(given, key=moment, default=None)

    @property
    def seconds(self) -> float | None:
        """The time on the item: what every line says, or the sum where they say their own."""
        lines = {row.row.place: row.row.seconds for row in self.rows}
        given = [seconds for seconds in lines.values() if seconds is not None]
        return sum(given) if len(set(given)) > 1 else next(iter(given), None)

    @property
    def values(self) -> list[CheckedRow]:
        return [row for row in self.rows if row.row.value is not None]

    def place_of(self, unit: str) -> Place:
        return next((row.row.place for row in self.rows if row.name == unit), self.place)

    def missing(self) -> dict[str, dict[str, str]]:
        reasons: dict[str, dict[str, str]] = {}
        for row in self.rows:
            if row.row.missing is not None:
                reasons.setdefault(row.name, {})[row.row.variable] = row.row.missing
        return reasons

    def payload(self) -> dict[str, Any]:
        """The answer as `submit` takes it; scores and free data stand in `details`."""
        units: dict[str, dict[str, Any]] = {}
        details: dict[str, dict[str, Any]] = {}
        for checked in self.values:
            row, answer = checked.row, units.setdefault(checked.name, {})
            answer[row.variable] = row.value
            if row.spans:
                quotes = [_quote(span, row.variable) for span in row.spans]
                answer.setdefault(EVIDENCE_KEY, []).extend(quotes)
            if row.score is not None or row.meta is not None:
                detail = {"score": row.score, "meta": row.meta}
                details.setdefault(checked.name, {})[row.variable] = detail
        for name, written in self.written.items():
            units.setdefault(name, {}).update(written)
        payload = {"units": units, "comment": self.comment}
        return {**payload, "details": details} if details else payload


def moment(text: str) -> datetime:
    """A moment as it is written in a file; UTC where it names no zone."""
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def split_by_scope(group: Group, scopes: Mapping[str, str]) -> Iterator[Group]:
    """A group in the parts of a judge that works unit by unit; `scopes` are those of its units."""
    if not scopes:
        yield group
        return
    parts: dict[str, Group] = {}
    for row in group.rows:
        scope = scopes.get(row.name, "")
        if scope not in parts:
            parts[scope] = replace(group, rows=[], written={}, comments={}, scope=scope)
        parts[scope].rows.append(row)
        if row.name in group.written:
            parts[scope].written[row.name] = group.written[row.name]
        if row.name in group.comments:
            parts[scope].comments[row.name] = group.comments[row.name]
    yield from parts.values()


def fill_quotes(group: Group, texts: Mapping[str, str]) -> None:
    """Writes the words of spans that have offsets only. Raises InputError where none stand."""
    for n, (row, name) in enumerate((each.row, each.name) for each in group.rows):
        if any(not span.text.strip() for span in row.spans or ()):
            spans = tuple(_with_words(span, texts, row.place) for span in row.spans or ())
            group.rows[n] = CheckedRow(replace(row, spans=spans), name)


def _with_words(span: SpanRow, texts: Mapping[str, str], place: Place) -> SpanRow:
    if span.text.strip():
        return span
    text = texts.get(span.field or next(iter(texts), ""), "")
    words = text[span.start : span.end]
    if span.end is None or span.end > len(text) or not words.strip():
        wrong = f"no words stand from {span.start} to {span.end} of {span.field or 'the text'}"
        raise InputError(place, wrong, "give offsets in code points, or the quote")
    return replace(span, text=words)


def _quote(span: SpanRow, variable: str) -> dict[str, Any]:
    return {"quote": span.text, "start": span.start, "field": span.field, "variable": variable}


def group_rows(rows: Iterable[CheckedRow]) -> list[Group]:
    """Groups in the order of their first rows. Raises InputError as `check_groups` does."""
    groups: dict[tuple[str, str, int, int | None], Group] = {}
    for checked in rows:
        row = checked.row
        key = (row.rater, row.item, row.replicate, row.revision)
        if key not in groups:
            groups[key] = Group(*key)
        groups[key].rows.append(checked)
    return check_groups(groups.values())


def check_groups(groups: Iterable[Group]) -> list[Group]:
    """The groups. Raises InputError where a label stands twice, or a rater is of two kinds."""
    groups = list(groups)
    seen: dict[tuple[str, str, int, int | None, str, str], Place] = {}
    kinds: dict[str, tuple[str, Place]] = {}
    rows = sorted((row for g in groups for row in g.rows), key=lambda c: c.row.place.line or 0)
    for checked in rows:
        row = checked.row
        label = (row.rater, row.item, row.replicate, row.revision, checked.name, row.variable)
        if label in seen:
            wrong = f"{row.rater!r} has this label on line {seen[label].line} too"
            raise InputError(row.place, wrong, "keep one, or number replicates or revisions")
        seen[label] = row.place
        kind, place = kinds.setdefault(row.rater, (row.rater_kind, row.place))
        if kind != row.rater_kind:
            wrong = f"{row.rater!r} is a {row.rater_kind} here and a {kind} on line {place.line}"
            raise InputError(row.place, wrong, "mend rater_kind, or give each a name of its own")
    return groups


def check_assisted(groups: Iterable[Group]) -> None:
    """Raises InputError where one rater's answer to an item is assisted in a part of its lines."""
    seen: dict[tuple[str, str, int], LabelRow] = {}
    rows = (checked.row for group in groups for checked in group.rows)
    for row in sorted(rows, key=lambda row: row.place.line or 0):
        first = seen.setdefault((row.rater, row.item, row.replicate), row)
        if row.assisted_by != first.assisted_by:
            there = f"{assistance(first.assisted_by)} on line {first.place.line}"
            raise mixed(row, there)


def mixed(row: LabelRow, there: str) -> InputError:
    """The refusal of a row that is assisted otherwise than what stands `there`."""
    here = f"{row.rater!r} answers item {shown(row.item)} {assistance(row.assisted_by)} here"
    mend = "give the assisted answer a replicate or a rater of its own"
    return InputError(row.place, f"{here} and {there}", mend)


def assistance(by: str | None) -> str:
    return f"assisted by {by!r}" if by else "unassisted"
