"""Group the rows of a labels file by rater, item and time. Each group is one answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from tandem.files.jsonl import excerpt
from tandem.files.rows import InputError, Place
from tandem.labels.file.rows import CheckedRow, LabelRow, SpanRow
from tandem.labels.word_boundaries import is_inside_word
from tandem.protocols.schema import EVIDENCE_KEY


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
    def exposed(self) -> frozenset[str] | None:
        """The names of the exposed units, or None if no line says whether its label is exposed."""
        known = [row for row in self.rows if row.row.exposed is not None]
        return frozenset(row.name for row in known if row.row.exposed) if known else None

    @property
    def comment(self) -> str | None:
        return "\n".join(dict.fromkeys(self.comments.values())) or None

    @property
    def created_at(self) -> str | None:
        """The time of the answer, which is that of its latest label."""
        given = [row.row.created_at for row in self.rows if row.row.created_at]
        return max(given, key=moment, default=None)

    @property
    def seconds(self) -> float | None:
        """The time on the item: the number in all lines, or the sum of different ones."""
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
        """Return the answer in the form for `submit`. Scores and metadata are in `details`."""
        units: dict[str, dict[str, Any]] = {}
        details: dict[str, dict[str, Any]] = {}
        for checked in self.values:
            row, answer = checked.row, units.setdefault(checked.name, {})
            answer[row.variable] = row.value if checked.codes is None else list(checked.codes)
            if row.spans:
                quotes = [_quote(span, row.variable) for span in row.spans]
                answer.setdefault(EVIDENCE_KEY, []).extend(quotes)
            if row.score is not None or row.stored_meta is not None:
                detail = {"score": row.score, "meta": row.stored_meta}
                details.setdefault(checked.name, {})[row.variable] = detail
        for name, written in self.written.items():
            units.setdefault(name, {}).update(written)
        payload = {"units": units, "comment": self.comment}
        return {**payload, "details": details} if details else payload


def moment(text: str) -> datetime:
    """Read a time from a file. It is in UTC if it names no zone."""
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def split_by_scope(group: Group, scopes: Mapping[str, str]) -> Iterator[Group]:
    """Split a group for a judge that works unit by unit. `scopes` are the scopes of its units."""
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


def fill_quotes(group: Group, texts: Mapping[str, str]) -> list[str]:
    """Add the words to spans that have only offsets. Raises InputError if there are none.

    Returns a remark for each span whose offsets cut a word.
    """
    remarks = []
    for n, checked in enumerate(group.rows):
        row = checked.row
        bare = [span for span in row.spans or () if not span.text.strip()]
        if bare:
            spans = tuple(_with_words(span, texts, row.place) for span in row.spans or ())
            group.rows[n] = replace(checked, row=replace(row, spans=spans))
            remarks += [f"{row.place}: {cut}" for each in bare if (cut := _cut(each, texts))]
    return remarks


def _cut(span: SpanRow, texts: Mapping[str, str]) -> str | None:
    text = texts[span.field or next(iter(texts))]
    cuts = [at for at in (span.start, span.end) if at is not None and is_inside_word(text, at)]
    if not cuts:
        return None
    cut = " and ".join(map(str, cuts))
    words = f"{excerpt(text[span.start : span.end])} of {span.field or 'the text'}"
    return f"the highlight {words} is cut inside a word, at {cut}; check what its offsets count"


def _with_words(span: SpanRow, texts: Mapping[str, str], place: Place) -> SpanRow:
    if span.text.strip():
        return span
    text = texts.get(span.field or next(iter(texts), ""), "")
    words = text[span.start : span.end]
    if span.end is None or span.end > len(text) or not words.strip():
        wrong = f"there are no words from {span.start} to {span.end} of {span.field or 'the text'}"
        raise InputError(place, wrong, "give offsets in code points, or the quote")
    return replace(span, text=words)


def _quote(span: SpanRow, variable: str) -> dict[str, Any]:
    return {"quote": span.text, "start": span.start, "field": span.field, "variable": variable}


def group_rows(rows: Iterable[CheckedRow]) -> list[Group]:
    """Return groups in the order of their first rows. Raises InputError like `check_groups`."""
    groups: dict[tuple[str, str, int, int | None], Group] = {}
    for checked in rows:
        row = checked.row
        key = (row.rater, row.item, row.replicate, row.revision)
        if key not in groups:
            groups[key] = Group(*key)
        groups[key].rows.append(checked)
    return check_groups(groups.values())


def check_groups(groups: Iterable[Group]) -> list[Group]:
    """Check the groups. Raises InputError if a label occurs twice, or a rater has two kinds."""
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
            raise InputError(row.place, wrong, "correct rater_kind, or give each a name of its own")
    return groups


def check_assisted(groups: Iterable[Group]) -> None:
    """Raise InputError if only a part of one rater's lines for an item is assisted."""
    seen: dict[tuple[str, str, int], LabelRow] = {}
    rows = (checked.row for group in groups for checked in group.rows)
    for row in sorted(rows, key=lambda row: row.place.line or 0):
        first = seen.setdefault((row.rater, row.item, row.replicate), row)
        if row.assisted_by != first.assisted_by:
            there = f"{assistance(first.assisted_by)} on line {first.place.line}"
            raise mixed(row, there)


def mixed(row: LabelRow, there: str) -> InputError:
    """Return the error for a row whose assistance differs from that of the answer `there`."""
    here = f"{row.rater!r} answers item {excerpt(row.item)} {assistance(row.assisted_by)} here"
    remedy = "give the assisted answer a replicate or a rater of its own"
    return InputError(row.place, f"{here} and {there}", remedy)


def assistance(by: str | None) -> str:
    return f"assisted by {by!r}" if by else "unassisted"
