"""The items and units of a campaign by key, to check a file's rows, and as a file's template.

The reader skips lines without a rater and a value, and an import skips the example, so whoever
fills the template in deletes nothing.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cached_property
from sys import intern
from typing import Any, NoReturn

from annotation.imports.responses import ResponseRow, quote_rows
from annotation.models import Campaign, Item, Rater, Unit
from annotation.presentation import schema
from tandem.files.jsonl import excerpt
from tandem.files.rows import InputError, ReadNotes
from tandem.files.spelling import means_missing
from tandem.labels.file.rows import COLUMNS, CheckedRow, LabelRow
from tandem.options import options_of
from tandem.protocols.base import Variable, in_answer, join_codes
from tandem.protocols.schema import EVIDENCE_KEY
from tandem.protocols.validation import coerce, describe_answers, read_label
from tandem.similar import did_you_mean

FILES = ("command", "page")
"""Where files are imported; the API takes lines."""


@dataclass(frozen=True)
class ImportOptions:
    """What an import of labels may leave out, and how it reads a table."""

    ignore_unasked: bool = field(
        default=False,
        metadata={
            "help": "leave out labels of variables, and of Label Studio's controls, that the "
            "campaign does not ask; the result counts them",
            "label": "Leave out what the campaign does not ask",
            "hint": "Labels of other variables, and of other controls of Label Studio. The result "
            "counts them.",
        },
    )
    wide: str = field(
        default="",
        metadata={
            "help": "the files have one column for each rater, with labels of VARIABLE",
            "label": "Variable",
            "hint": "Only for a table with one column for each rater.",
            "metavar": "VARIABLE",
        },
    )
    variable: str = field(
        default="",
        metadata={
            "help": "the variable that a file of qrels grades; without it, the only graded one",
            "label": "Graded variable",
            "hint": "Only for qrels, if several variables may be graded.",
            "faces": FILES,
            "metavar": "VARIABLE",
        },
    )
    rater_kind: str = field(
        default="human",
        metadata={
            "help": "whose grades a file of qrels has",
            "label": "Graded by",
            "hint": "Only for qrels.",
            "faces": FILES,
            "values": {"human": "a person", "judge": "a judge", "reference": "a reference"},
        },
    )
    relevant_from: int = field(
        default=1,
        metadata={
            "help": "the lowest grade of qrels that is a yes, for a variable of yes and no",
            "label": "Relevant from grade",
            "hint": "Only for qrels, and a variable of yes and no.",
            "faces": FILES,
            "least": -9,
            "most": 9,
            "empty": 1,
        },
    )


def name_options(message: str, face: str) -> str:
    """Return a message in which options are named as a page or the API names them."""
    for option in options_of(ImportOptions):
        name = f"“{option.label}”" if face == "page" else option.name
        message = message.replace(option.flag, name)
    return message


class KnownItems:
    """The items and units of a campaign. Unknown keys and codes raise InputError with the line."""

    options: ImportOptions | None = None

    def __init__(
        self,
        campaign: Campaign,
        only: Collection[str] | None = None,
        options: ImportOptions | None = None,
    ) -> None:
        """Read all items, or those whose keys are in `only`. `options` are those of an import."""
        self.campaign = campaign
        self.only = only
        self.options = options
        self.schema = schema(campaign)

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """The names of the variables that the campaign asks."""
        return tuple(dict.fromkeys(v.name for v in self.schema.variables))

    @cached_property
    def raters_by_address(self) -> frozenset[str]:
        """The raters of the campaign that an earlier version named by an e-mail address."""
        named = Rater.objects.filter(name__contains="@", assignments__item__campaign=self.campaign)
        return frozenset(named.values_list("name", flat=True))

    @cached_property
    def ignored(self) -> Counter[str]:
        """The numbers of labels that were left out, by the variable that is not asked."""
        return Counter()

    def ignores(self, variable: str) -> bool:
        """Whether a label of a variable is to be left out, which is then counted."""
        if self.options is None or not self.options.ignore_unasked or variable in self.variables:
            return False
        self.ignored[variable] += 1
        return True

    def note_ignored(self, notes: ReadNotes) -> None:
        for variable, count in self.ignored.items():
            notes.skip(f"labels of {excerpt(variable)}, which the campaign does not ask", count)

    @cached_property
    def items(self) -> dict[str, Item]:
        related = self.campaign.items.select_related("query")
        if self.only is not None:
            related = related.filter(key__in=self.only)
        return {item.key: item for item in related}

    @cached_property
    def units(self) -> dict[int, list[tuple[str, str, str]]]:
        """The kind, key and name of each unit, by item, in order."""
        units: dict[int, list[tuple[str, str, str]]] = {}
        of_campaign = Unit.objects.filter(item__campaign=self.campaign).order_by("position")
        if self.only is not None:
            of_campaign = of_campaign.filter(item__key__in=self.only)
        for item, kind, key, name in of_campaign.values_list("item_id", "kind", "key", "name"):
            # A name mostly equals its key, so both are one string in memory; equal kinds are, too.
            unit = intern(kind), key, key if name == key else name
            units.setdefault(item, []).append(unit)
        return units

    @property
    def how_to_ignore(self) -> str:
        """The rest of a message about a variable that is not asked; empty without the option."""
        if self.options is None:
            return ""
        (option,) = (o for o in options_of(ImportOptions) if o.field == "ignore_unasked")
        return f" (to leave other variables out, give {option.flag})"

    def item(self, key: str) -> Item:
        return self.items[key]

    def position(self, key: str) -> int:
        return self.items[key].position

    def kinds(self, item: int) -> dict[str, str]:
        """Return the kinds of an item's units by name."""
        return {name: kind for kind, _, name in self.units.get(item, ())}

    def names(self, key: str) -> list[str]:
        return [name for _, _, name in self.units.get(self.items[key].pk, ())]

    @cached_property
    def facts(self) -> dict[str, dict[str, str | None]]:
        """The facts about an item that a labels file may repeat, by key."""
        batch = self.campaign.batch.name
        columns = ("query__key", "report__system", "report__setting")
        return {
            key: {"batch": batch, "query": query, "system": system, "setting": setting}
            for key, query, system, setting in self.campaign.items.values_list("key", *columns)
        }

    def check_rows(self, rows: Iterable[LabelRow]) -> Iterator[CheckedRow]:
        for row in rows:
            self.check_protocol(row)
            if not self.ignores(row.variable):
                kind, name = self._unit(row)
                yield self._with_value(row, kind, name)

    def check_protocol(self, row: LabelRow | ResponseRow) -> None:
        own = self.campaign.protocol
        if row.protocol not in (None, own):
            wrong = f"protocol is {excerpt(row.protocol)}, not {excerpt(own)}"
            self._refuse(row, wrong, "give a campaign of that protocol, or correct the line")

    def rows_of(self, response: ResponseRow) -> Iterator[LabelRow]:
        """Return a response as label rows. Raises InputError for an unknown item or unit."""
        asked = {name: (kind, key) for kind, key, name in self._units_of(response)}
        for name, answer in response.units.items():
            if name not in asked:
                wrong = f"unit {excerpt(name)} of item {excerpt(response.item)} is not asked"
                raise InputError(response.place, wrong, "check its name")
            stated = None if response.exposed is None else name in response.exposed
            for row in self._labels(response, *asked[name], answer):
                yield replace(row, exposed=stated)

    def _units_of(self, response: ResponseRow) -> list[tuple[str, str, str]]:
        if response.item not in self.items:
            wrong = f"item {excerpt(response.item)} is not in campaign {self.campaign.name!r}"
            raise InputError(response.place, wrong, "check the key")
        return self.units.get(self.items[response.item].pk, [])

    def _labels(
        self, response: ResponseRow, kind: str, key: str, answer: Mapping[str, Any]
    ) -> Iterator[LabelRow]:
        rule, free = self.schema.evidence(kind), self.schema.free_keys(kind)
        default = (rule.variable, rule.field) if rule else ("", "")
        quotes = quote_rows(answer.get(EVIDENCE_KEY), *default, response.place)
        for variable, value in answer.items():
            if variable == EVIDENCE_KEY or variable in free or value is None:
                continue
            # A set of codes is a list; `check_rows` says what is wrong with it.
            is_set = isinstance(value, list) and variable in self.schema.sets
            code = json.dumps(value) if is_set else coerce(value)
            if code is None:
                wrong = f"{excerpt(variable)} of unit {excerpt(key)} is not a code"
                raise InputError(response.place, wrong, "write it as text or a whole number")
            yield LabelRow(
                item=response.item,
                unit=key,
                kind=kind,
                variable=variable,
                value=code,
                rater=response.rater,
                rater_kind=response.rater_kind,
                replicate=response.replicate,
                revision=response.revision,
                created_at=response.created_at,
                seconds=response.seconds,
                assisted_by=response.assisted_by,
                spans=quotes.get(variable),
                place=response.place,
            )

    def _unit(self, row: LabelRow) -> tuple[str, str]:
        """Return the kind and the name of a row's unit."""
        if row.item not in self.items:
            self._refuse(row, f"item {excerpt(row.item)} is not in it", "check the key")
        kinds = {v.kind for v in self.schema.variables if v.name == row.variable}
        if not kinds:
            wrong = f"variable {excerpt(row.variable)} is not asked"
            asked = f"it asks {', '.join(self.variables)}"
            remedy = did_you_mean(row.variable, self.variables, asked)
            self._refuse(row, wrong, f"{remedy}{self.how_to_ignore}")
        found = [
            (kind, name)
            for kind, key, name in self.units.get(self.items[row.item].pk, ())
            if key == row.unit and kind in kinds and row.kind in (None, kind)
        ]
        if len(found) != 1:
            self._refuse_unit(row, len(found))
        return found[0]

    def _refuse_unit(self, row: LabelRow, count: int) -> None:
        unit = f"unit {excerpt(row.unit)} of item {excerpt(row.item)}"
        if count:
            self._refuse(row, f"{unit} may be one of {count}", "give its kind")
        drawn = " or create the campaign with --option sampling=all"
        self._refuse(
            row, f"{unit} is not asked", f"check key and kind{drawn * self.schema.protocol.sampled}"
        )

    def _with_value(self, row: LabelRow, kind: str, name: str) -> CheckedRow:
        """Check a row's value, and put it into its one form: that of a set, or of a number."""
        variable = self.schema.variable(row.variable, kind)
        if variable is None or row.value is None:
            return CheckedRow(row, name)
        value = read_label(variable, row.value)
        if value is None:
            remedy = f"give {describe_answers(variable)}"
            if means_missing(row.value):
                remedy += ", or for no label leave it out, or give a reason under missing"
            self._refuse(row, f"{row.variable} is {excerpt(row.value)}", remedy)
        codes = in_answer(variable, value)
        checked = row if value == row.value else replace(row, value=value)
        return CheckedRow(checked, name, tuple(codes) if isinstance(codes, list) else None)

    def _refuse(self, row: LabelRow | ResponseRow, wrong: str, remedy: str) -> NoReturn:
        raise InputError(row.place, f"campaign {self.campaign.name!r}: {wrong}", remedy)


EXAMPLE = "(example)"
"""The rater of the example. No label of this rater is imported."""
_NEEDED = {each.name for each in fields(LabelRow) if each.default is MISSING} - {"place"}
TEMPLATE_COLUMNS = tuple(name for name in COLUMNS if name in _NEEDED | {"kind", "value"})

Line = dict[str, Any]


def template_lines(campaign: Campaign) -> Iterator[Line]:
    """Yield the example, then a line for each unit and variable that the campaign asks."""
    asked = schema(campaign, "people")
    units = Unit.objects.filter(item__campaign=campaign, item__use=Item.Use.STUDY)
    rows = units.order_by("item__position", "position").values_list("item__key", "key", "kind")
    is_first = True
    for item, unit, kind in rows.iterator():
        for variable in asked.variables_of(kind):
            line = {"item": item, "unit": unit, "kind": kind, "variable": variable.name}
            if is_first:
                yield {**line, "value": _example(variable), "rater": EXAMPLE}
                is_first = False
            yield line


def _example(variable: Variable) -> str:
    first = variable.answers[:1]
    return join_codes(variable, first) if variable.several else first[0]


def without_example(rows: Iterator[LabelRow], notes: ReadNotes) -> Iterator[LabelRow]:
    """Leave out the template's example, and count it."""
    for row in rows:
        if row.rater == EXAMPLE:
            notes.skip("example of the template")
        else:
            yield row
