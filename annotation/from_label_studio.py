"""What was said in Label Studio as labels of a campaign: its tasks as units, controls as variables.

A task that our own export made names its unit. Any other is the one unit of its query (the task's
id is the query's, as the reader of batches has it) that is asked what its controls are called.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace

from annotation.files.label_studio import EVIDENCE, Choice, Highlight, Said
from annotation.files.rows import LabelRow, SpanRow
from annotation.known import KnownItems
from annotation.protocols.base import Variable
from annotation.submit import REASONS
from datasets.readers.jsonl import shown
from datasets.rows import InputError, ReadNotes

Units = list[tuple[str, str, str]]
"""Item, kind and key."""


def rows_said(answers: Iterable[Said], known: KnownItems, notes: ReadNotes) -> Iterator[LabelRow]:
    """The labels of all answers. Raises InputError where a task is none of the campaign's units."""
    finder = _Finder(known)
    for said in answers:
        row = LabelRow(
            *finder.unit_of(said), variable="", rater=said.rater, rater_kind=said.rater_kind,
            replicate=said.replicate, revision=said.revision, created_at=said.created_at,
            seconds=said.seconds, assisted_by=said.assisted_by, place=said.place,
        )  # fmt: skip
        yield from _Rows(said, row, known, notes).all()


class _Finder:
    """The unit that a task is about."""

    def __init__(self, known: KnownItems) -> None:
        self.known = known
        self.of_query: dict[str, list[str]] = defaultdict(list)
        for key, item in known.items.items():
            self.of_query[item.query.key].append(key)

    def unit_of(self, said: Said) -> tuple[str, str]:
        """Item and unit by their keys."""
        if said.item is not None and said.unit is not None:
            return said.item, said.unit
        asked = {choice.control for choice in said.choices}
        found = [(item, key) for item, kind, key in self._units(said) if self._asks(kind, asked)]
        if len(found) != 1:
            self._refuse(said, len(found))
        return found[0]

    def _units(self, said: Said) -> Iterator[tuple[str, str, str]]:
        for item in self.of_query.get(said.task, ()):
            for kind, key, _ in self.known.units.get(self.known.item(item).pk, ()):
                yield item, kind, key

    def _asks(self, kind: str, asked: set[str]) -> bool:
        names = {variable.name for variable in self.known.schema.of(kind)}
        return bool(names & asked) if asked else bool(names)

    def _refuse(self, said: Said, count: int) -> None:
        name = self.known.campaign.name
        wrong = f"task {shown(said.task)} may be each of {count} units of campaign {name!r}"
        mend = 'name "item" and "unit" in its data, as `export --what label-studio` does'
        if not count:
            wrong = f"task {shown(said.task)} is no unit of campaign {name!r}"
            mend = f"check its id and its controls, or {mend}"
        raise InputError(said.place, wrong, mend)


class _Rows:
    """The labels of one answer; `row` is what they share."""

    def __init__(self, said: Said, row: LabelRow, known: KnownItems, notes: ReadNotes) -> None:
        self.said, self.notes, self.known = said, notes, known
        units = known.units.get(known.items[row.item].pk, ()) if row.item in known.items else ()
        kinds = [kind for kind, key, _ in units if key == row.unit]
        self.kind = said.kind or (kinds[0] if len(kinds) == 1 else None)
        self.row = replace(row, kind=self.kind)

    def all(self) -> Iterator[LabelRow]:
        spans = self._spans()
        for choice in self.said.choices:
            yield replace(
                self.row,
                variable=choice.control,
                value=self._code(choice),
                score=choice.score,
                spans=tuple(spans.pop(choice.control, ())) or None,
                meta=self.said.meta.get(choice.control),
            )
        if lost := sum(map(len, spans.values())):
            self.notes.skip("highlights without a label that they stand for", lost)
        yield from self._missing()

    def _missing(self) -> Iterator[LabelRow]:
        """With the reasons that the file names; a task that was skipped was declined."""
        reasons = dict(self.said.missing)
        if self.said.declined and not reasons and not self.said.choices:
            asked = self.known.schema.of(self.kind) if self.kind else ()
            reasons = {variable.name: "declined" for variable in asked if not variable.asked_if}
        for name, reason in reasons.items():
            if reason not in REASONS:
                wrong = f"missing is {shown(str(reason))}"
                raise InputError(self.said.place, wrong, f"give one of {', '.join(REASONS)}")
            yield replace(self.row, variable=name, missing=reason)

    def _spans(self) -> dict[str, list[SpanRow]]:
        found: dict[str, list[SpanRow]] = defaultdict(list)
        for highlight in self.said.highlights:
            found[self._meant(highlight)].append(highlight.span)
        return found

    def _meant(self, highlight: Highlight) -> str:
        """The variable that a highlight is evidence for: by its label, its control, the rule."""
        rule = self.known.schema.protocol.evidence
        for name in (highlight.label, highlight.control.removesuffix(EVIDENCE)):
            if self.known.schema.variable(name, self.kind):
                return name
        return rule.variable if rule else ""

    def _code(self, choice: Choice) -> str:
        """A choice as a code: as it stands, or by the words that people read for it."""
        variable = self.known.schema.variable(choice.control, self.kind)
        if variable is None or choice.value in variable.answers:
            return choice.value
        return _in_words(variable).get(_plain(choice.value), choice.value)


def _in_words(variable: Variable) -> dict[str, str]:
    own = {_plain(code): code for code in variable.answers}
    return own | {_plain(words): code for code, words in variable.words.items()}


def _plain(text: str) -> str:
    return " ".join(text.lower().replace("-", " ").replace("_", " ").split())
