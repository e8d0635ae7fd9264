"""Where labels come from: a campaign or a labels file, as a frame with strata and the floor."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from django.db.models import CharField, OuterRef, Subquery, Value
from django.db.models.functions import Coalesce, Length, NullIf

from analysis.data.assisted import Place
from analysis.data.columns import Labels, chosen, frame_of, inputs_of, offered, whole
from analysis.data.frame import (
    Frame,
    Inputs,
    LabelFact,
    Scale,
    VariableFrame,
    make_frame,
    number_of,
)
from analysis.data.labels import FloorCodes, campaign_marks, file_marks
from analysis.data.metadata import OF_META, in_order, length_strata, meta_strata, telling, text_of
from analysis.data.selection import OWN_STRATA, Choices, Offered, Strata, offered_by
from analysis.data.splits import STRATUM, roles_of_items
from analysis.statistics import Level
from annotation.imports.columns import read_columns
from annotation.imports.grouping import group_rows
from annotation.imports.index import CheckedRow
from annotation.imports.labels import read_labels
from annotation.label_rows import LabelRow, reasons
from annotation.models import Assignment, Campaign, Item, Label, Rater, Unit
from annotation.people.membership import excluded
from annotation.prerequisites.verdict_validation import validated_judge, verdict_campaign
from annotation.presentation import schema
from annotation.protocols import PROTOCOLS
from annotation.protocols.base import Variable
from annotation.protocols.schema import Schema
from datasets.models import Grounding
from datasets.readers.jsonl import shown
from datasets.rows import InputError
from judging.floor import Place as FloorPlace
from judging.floor import floor_of


@contextmanager
def uncollected() -> Iterator[None]:
    """While objects are made that all stay, Python does not look for cycles among them.

    Each such search goes through all that was made before, a tenth of the time of a report. It is
    the whole process that does not search; of two threads in here, the first to end lets it go on.
    """
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


NO_RULE = "the lexical rule says nothing of categories that are neither yes and no nor in an order"
NO_TEXT = "the items show no text in which the lexical rule could look for words"


def with_floor(frame: Frame, campaign: Campaign) -> Frame:
    """The frame of a campaign with its floor, where a judge is there to stand beside it."""
    if not any(rater.kind == "judge" for rater in frame.raters):
        return frame
    floor = floor_of(campaign)
    made = {
        name: replace(of, floor=_codes(of, floor.codes.get(name, {}), name in floor.without_rule))
        for name, of in frame.variables.items()
    }
    return replace(frame, variables=made)


def _codes(frame: VariableFrame, said: Mapping[FloorPlace, str], is_without: bool) -> FloorCodes:
    if is_without or not said:
        return FloorCodes(reason=NO_RULE if is_without else NO_TEXT)
    code = {category: n for n, category in enumerate(frame.scale.categories)}
    found = [code.get(said.get(place, ""), -1) for place in frame.units.names]
    return FloorCodes(np.array(found, dtype=np.int64), "")


_UNMISSED: Value = Value(None, CharField())
_COLUMNS = (
    "response__assignment__item__key",
    "unit__key",
    "unit__kind",
    "variable",
    "value",
    _UNMISSED,
    "response__assignment__rater__name",
    "response__assignment__rater__kind",
    "response__assignment__replicate",
    "response__assignment__item__query__key",
    "response__assignment__item__report__system",
    "response__assignment__item__report__setting",
    NullIf("response__assignment__assisted_by", Value("")),
    "score",
)
"""Of a label, as `LabelFact` has them."""
_ORDER = ("response__assignment__item__position", "unit__position", "id")


class UnknownLevelError(ValueError):
    """A level for a variable that no label is of."""


EVERYTHING = Choices()


@uncollected()
def campaign_frame(
    campaign: Campaign, choices: Choices = EVERYTHING, strata: Strata | None = None
) -> Frame:
    """The chosen current labels of a campaign, and the missing ones; those of trials left out.

    So are the answers to gold and practice items: what is right there was known beforehand.
    """
    asked = schema(campaign)
    scales = {v.name: scale_of(v) for v in asked.variables}
    verdicts = verdicts_elsewhere(campaign)
    facts, out = list(_stored(campaign, asked)), excluded(campaign.name)
    frame = _chosen(facts, choices, strata or {}, scales, verdicts, out)
    return replace(frame, marks=campaign_marks(campaign))


def _chosen(
    facts: list[LabelFact],
    choices: Choices,
    strata: Strata,
    scales: Mapping[str, Scale],
    verdicts: dict[Place, str] | None = None,
    out: Mapping[str, str] | None = None,
) -> Frame:
    kept = choices.kept(facts, strata)
    frame = make_frame(kept, scales, out, verdicts, choices.assisted)
    return replace(frame, strata=strata, inputs=Inputs.of(facts))


def scale_of(variable: Variable) -> Scale:
    return Scale(variable.codes, variable.level, variable.escapes)


def _stored(campaign: Campaign, asked: Schema) -> Iterator[LabelFact]:
    labels = Label.objects.filter(
        response__current=True,
        response__assignment__item__campaign=campaign,
        response__assignment__item__use=Item.Use.STUDY,
    ).exclude(response__assignment__rater__kind=Rater.Kind.TRIAL)
    rows = labels.order_by(*_ORDER).values_list(*_COLUMNS).iterator(chunk_size=5000)
    yield from map(LabelFact._make, rows)
    yield from _missing(campaign, asked)


def verdicts_elsewhere(campaign: Campaign) -> dict[Place, str]:
    """The labels of the judge that a campaign validates, where another campaign holds them."""
    judge, source = validated_judge(campaign), verdict_campaign(campaign)
    if not judge or source == campaign.name:
        return {}
    labels = Label.objects.filter(
        response__current=True,
        response__assignment__rater__name=judge,
        response__assignment__replicate=0,
        unit__item__campaign__name=source,
    )
    rows = labels.values_list("unit__item__key", "unit__kind", "unit__key", "variable", "value")
    return {
        (judge, item, kind, unit, variable): value for item, kind, unit, variable, value in rows
    }


def _missing(campaign: Campaign, asked: Schema) -> Iterator[LabelFact]:
    """One fact for each variable that an assignment was asked and gave no label for."""
    closed = Assignment.objects.filter(item__campaign=campaign).exclude(
        status__in=("open", "leased", "done", "cancelled"), missing={}
    )
    closed = closed.filter(item__use=Item.Use.STUDY).exclude(rater__kind=Rater.Kind.TRIAL)
    related = ("item__query", "item__report", "rater")
    for assignment in closed.select_related(*related).prefetch_related("item__units").iterator(500):
        units = {u.name: u for u in assignment.item.units.all() if u.name in assignment.asked}
        kinds = {name: unit.kind for name, unit in units.items()}
        for name, lost in reasons(assignment, asked, kinds).items():
            for variable, reason in lost.items():
                yield _missing_fact(assignment, units[name], variable, reason)


def _missing_fact(assignment: Assignment, unit: Unit, variable: str, reason: str) -> LabelFact:
    item, rater = assignment.item, assignment.rater
    return LabelFact(
        item=item.key,
        unit=unit.key,
        kind=unit.kind,
        variable=variable,
        value=None,
        missing=reason,
        rater=rater.name,
        rater_kind=rater.kind,
        replicate=assignment.replicate,
        query=item.query.key,
        system=item.report.system if item.report else None,
        setting=item.report.setting if item.report else None,
        assisted_by=assignment.assisted_by or None,
    )


@uncollected()
def file_frame(
    paths: Iterable[Path], levels: Mapping[str, Level], choices: Choices = EVERYTHING
) -> tuple[Frame, set[str]]:
    """The labels of files, and the protocols that they name.

    Raises InputError, UnknownLevelError and ChoiceError.

    Where the rows name a known protocol, its codes, escapes and levels hold; `levels` come first.
    Only the newest revision of a label counts.
    """
    given = list(paths)
    labels = whole(read_columns(given, OF_META))
    found = None if labels is None else _by_columns(labels, levels, choices)
    return found or _by_rows(given, levels, choices)


def _by_columns(
    labels: Labels, levels: Mapping[str, Level], choices: Choices
) -> tuple[Frame, set[str]] | None:
    """None where a line is to be named that is wrong."""
    protocols = set(filter(None, labels.used("protocol")))
    scales = _scales(labels.used("variable"), protocols, levels)
    for variable, value in labels.answers():
        if _is_word(value, scales.get(variable)):
            return None
    rich = list(labels.rows.values())
    if any(row.spans and row.replicate for row in rich):
        # Which judgement of a unit is the first, only all of its lines say.
        return None
    strata = labels.strata()
    offered(labels, strata).check(choices)
    # First, since it takes the most memory while it is made.
    inputs = inputs_of(labels)
    frame = frame_of(labels, chosen(labels, choices, strata), scales)
    frame = replace(frame, strata=strata, inputs=inputs)
    return replace(frame, marks=file_marks(rich)), protocols


def _by_rows(
    paths: Iterable[Path], levels: Mapping[str, Level], choices: Choices
) -> tuple[Frame, set[str]]:
    read = [row for path in paths for row in read_labels(path)]
    # A label that stands twice, and a rater of two kinds, are refused as they are on import.
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
            wrong = f"{row.variable} is {shown(row.value)}, no number, and {level}"
            raise InputError(row.place, wrong, "code it as a number, or call it nominal")
    facts, strata = [_fact(row) for row in rows], meta_strata((row.item, row.meta) for row in rows)
    offered_by(facts, strata).check(choices)
    frame = _chosen(facts, choices, strata, scales)
    return replace(frame, marks=file_marks(rows)), protocols


def _identity(row: LabelRow) -> tuple[str, ...]:
    return (row.item, row.kind or "", row.unit, row.variable, row.rater, str(row.replicate))


def _is_word(value: str, scale: Scale | None) -> bool:
    """Whether a word stands for a number: where it ranks among others, no file says."""
    if scale is None or scale.level == "nominal":
        return False
    known = value in scale.categories or value in scale.escapes
    return not known and number_of(value) is None


def _fact(row: LabelRow) -> LabelFact:
    return LabelFact(
        row.item, row.unit, row.kind or "", row.variable, row.value, row.missing, row.rater,
        row.rater_kind, row.replicate, row.query or row.item, row.system, row.setting,
        row.assisted_by, row.score,
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


def campaign_strata(campaign: Campaign) -> Strata:
    """The strata of a campaign's items; one of a single value says nothing and is left out."""
    source = Grounding.objects.filter(query=OuterRef("query"), passage=OuterRef("passage"))
    rows = list(
        Item.objects.filter(campaign=campaign)
        .order_by("position")
        .annotate(
            length=Coalesce(Length("report__text"), Length("passage__text")),
            grounding=Subquery(source.values("source")[:1]),
        )
        .values_list("key", "query__meta", "report__meta", "grounding", "length")
    )
    found = {name: dict(_of_meta(rows, name)) for name in OF_META}
    found["length"] = length_strata({key: length for key, *_, length in rows if length is not None})
    found[STRATUM] = roles_of_items(campaign)
    return telling(found)


def campaign_offers(campaign: Campaign, strata: Strata) -> Offered:
    """What a campaign's report lets choose, whether it has labels yet or not."""
    asked = schema(campaign)
    cuts = {
        cut for v in asked.variables if v.level != "nominal" for cut in scale_of(v).values()[1:]
    }
    raters = Rater.objects.filter(assignments__item__campaign=campaign).exclude(kind="trial")
    items = Item.objects.filter(campaign=campaign).order_by()
    own = {
        name: sorted(set(items.values_list(f"report__{name}", flat=True).distinct()) - {None})
        for name in OWN_STRATA
    }
    return Offered(
        list(dict.fromkeys(v.name for v in asked.variables)),
        dict(raters.order_by("kind", "name").values_list("name", "kind").distinct()),
        {name: values for name, values in own.items() if values}
        | {name: in_order(sorted(set(of.values()))) for name, of in strata.items()},
        sorted(float(cut) for cut in cuts),
    )


def _of_meta(rows: Iterable[tuple[Any, ...]], name: str) -> Iterable[tuple[str, str]]:
    for key, query, report, grounding, _ in rows:
        value = text_of(query, name) or text_of(report, name)
        if name == "source":
            value = grounding or value
        if value:
            yield key, value
