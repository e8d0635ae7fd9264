"""What a rater is shown of an item, without anything that names a system.

A presentation is computed from the stored material and never copied into a table. The id of a
report often contains the name of a system. So where a unit is a report, a part of one or a pair,
all units of the item are numbered in the recorded order, as `u0`; other units keep their names. A
pair's codes `first` and `second` follow the batch; on the page they follow what is shown.

A campaign may show the written answers of an earlier one: in a second round each is shown to
another person, in a validation pass its sentences are asked about. A response never changes, so
neither does what such a campaign shows.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Generic, TypeVar

from django.db.models import Count, Exists, F, Max, Min, OuterRef, Q, QuerySet

from annotation.campaigns.design import Design, stored_design
from annotation.campaigns.relevance import Uses, keep_passages, without_uses
from annotation.models import Assignment, Campaign, Item, Label, Response, Unit
from annotation.protocols import PROTOCOLS
from annotation.protocols.base import ItemSpec, Payload, Text, UnitSpec, kinds_of, name_units
from annotation.protocols.schema import Schema, schema_of
from annotation.protocols.validation import Problem, RefusedError
from annotation.registry import DECLARED, declared
from datasets import rows
from datasets.db.prepared import Among, Given, Prepared
from datasets.material import as_row, as_rows
from datasets.text import sentences

Thing = TypeVar("Thing")


class Kept(Generic[Thing]):
    """The things that were asked for last: `most` of them, and so much of `weight` in all."""

    def __init__(self, most: int, heaviest: int, weight: Callable[[Thing], int]) -> None:
        self._most, self._heaviest, self._weight = most, heaviest, weight
        self._kept: OrderedDict[object, tuple[Thing, int]] = OrderedDict()
        self._sum = 0
        self._lock = threading.Lock()

    def get(self, key: object) -> Thing | None:
        with self._lock:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key][0]

    def keep(self, key: object, thing: Thing) -> Thing:
        """Keeps it, unless another thread came first, and gives it back."""
        weight = self._weight(thing)
        with self._lock:
            if key not in self._kept:
                self._kept[key] = thing, weight
                self._sum += weight
            while len(self._kept) > self._most or self._sum > self._heaviest:
                self._sum -= self._kept.popitem(last=False)[1][1]
        return thing

    def __len__(self) -> int:
        return len(self._kept)


PREFIX = "answer-"


@dataclass(frozen=True)
class FirstAnswer:
    """A written answer of an earlier campaign. `selected` are names of units there."""

    response: int
    text: str
    citations: tuple[str, ...]
    selected: frozenset[str]


def usable_answers(campaign: str) -> QuerySet[Response]:
    """The standing answers of people in a campaign that say something, the oldest place first."""
    rule = PROTOCOLS["grounded-answer"].written
    found = Response.objects.filter(
        current=True,
        assignment__item__campaign__name=campaign,
        assignment__rater__kind="human",
        assignment__replicate=0,
        assignment__scope="",
    )
    for variable, codes in (rule.asked_if if rule else {}).items():
        other = Label.objects.filter(response=OuterRef("pk"), variable=variable)
        found = found.filter(~Exists(other.exclude(value__in=codes)))
    # A file may hold an answer that nobody says to be one.
    told = Label.objects.filter(response=OuterRef("pk"), variable="deflected", value="no")
    if _asks(campaign, "deflected"):
        found = found.filter(Exists(told))
    return found.order_by("assignment_id")


def with_a_gap(answers: QuerySet[Response]) -> QuerySet[Response]:
    """Those with two selected sentences or more that do not all follow each other.

    It is the gate of CLAPnq's second round (Rosenthal and others 2025).
    """
    chosen = Label.objects.filter(response=OuterRef("pk"), variable="selected", value="yes")
    spread = (
        chosen.order_by()
        .values("response")
        .annotate(n=Count("pk"), low=Min("unit__position"), high=Max("unit__position"))
    )
    return answers.filter(Exists(spread.filter(n__gte=2, high__gte=F("low") + F("n"))))


def written_in(response: Response) -> FirstAnswer | None:
    """What a response holds of a written answer; None without words."""
    units: Mapping[str, Mapping[str, Any]] = response.payload["units"]
    written = next((a["written"] for a in units.values() if a.get("written")), None)
    if not written or not written["text"].strip():
        return None
    selected = frozenset(name for name, a in units.items() if a.get("selected") == "yes")
    return FirstAnswer(response.pk, written["text"], tuple(written["citations"]), selected)


def validates_answers(campaign: Campaign, asked: Schema) -> bool:
    """Whether sentences of an earlier campaign's answers are asked about, not those of reports."""
    named = campaign.protocol == "grounded-answer" and campaign.options.get("prerequisite")
    return bool(named) and "sentence" in kinds_of(asked.variables)


def answers_as_reports(campaign: Campaign, query: str) -> tuple[rows.Report, ...]:
    """The answers to a query that a campaign validates: those there were when it was made."""
    stored = Unit.objects.filter(item__campaign=campaign, item__query__key=query, kind="sentence")
    keys = {key.rpartition("#")[0] for key in stored.values_list("key", flat=True)}
    if keys:
        wanted = {key.removeprefix(PREFIX) for key in keys}
        found = Response.objects.filter(pk__in=wanted).order_by("assignment_id")
    else:
        first = str(campaign.options["prerequisite"])
        found = usable_answers(first).filter(assignment__item__query__key=query)
    return tuple(_reports(found))


def _reports(answers: QuerySet[Response]) -> Iterator[rows.Report]:
    """Identical answers of several people are one."""
    seen: set[str] = set()
    for response in answers:
        answer = written_in(response)
        if answer and answer.text not in seen:
            seen.add(answer.text)
            yield rows.Report(
                f"{PREFIX}{response.pk}", answer.text, citations=answer.citations or None
            )


def _asks(campaign: str, variable: str) -> bool:
    options = Campaign.objects.filter(name=campaign).values_list("options", flat=True).first()
    chosen = (options or {}).get("variables")
    return not chosen or variable in chosen


def by_others(answers: QuerySet[Response], rater: int) -> QuerySet[Response]:
    return answers.filter(~Q(assignment__rater=rater))


class ForgottenItemError(LookupError):
    """A stored item that its material no longer makes: the batch or the protocol was changed."""


def design(campaign: Campaign) -> Design:
    return stored_design(
        campaign.options,
        raters_per_item=campaign.raters_per_item,
        overlap=campaign.overlap,
        human_share=campaign.human_share,
    )


def schema(campaign: Campaign) -> Schema:
    """The response schema of a campaign."""
    chosen = design(campaign)
    asked = campaign.protocol, campaign.protocol_version, chosen.points or ""
    return _schema(*asked, chosen.variables, chosen.categories, campaign.guideline)


@lru_cache(maxsize=64)
def _schema(
    protocol: str,
    version: str,
    points: str,
    variables: tuple[str, ...],
    categories: tuple[str, ...],
    guideline: str,
) -> Schema:
    task = DECLARED[protocol].as_of(version).read_as(points)
    if guideline:
        task = replace(task, own_guideline=guideline)
    return schema_of(task, variables, categories)


def items_of(
    campaign: Campaign,
    query: rows.Query,
    passages: Collection[str] | None = None,
    uses: Uses | None = None,
) -> Iterable[ItemSpec]:
    """The items that a protocol makes of a query, with every unit that may be asked.

    `passages` are those that the campaign's option left (None: all), with their `uses`.
    """
    asked = schema(campaign)
    query = without_uses(query) if passages is None else keep_passages(query, passages, uses)
    if validates_answers(campaign, asked):
        query = replace(query, reports=answers_as_reports(campaign, query.id))
    if "sentence" in kinds_of(asked.variables):
        query = replace(query, reports=tuple(map(_with_sentences, query.reports)))
    return asked.protocol.make_items(query, asked.variables)


def present(item: Item) -> ItemSpec:
    """An item as it is shown: its texts, and all its units in their stored order.

    The newest ones are kept in memory, which is safe: a batch's rows are written once, when it is
    loaded, and a campaign with its items once, when it is made (`datasets.loading` and
    `annotation.campaigns` alone write them). Whatever stands in their place after a deletion, or
    in another database, bears another time of making in its key.
    """
    made = _identity(item)
    return _shown.get(made) or _shown.keep(made, _present(item))


def bring(campaign: Campaign, items: Iterable[Item]) -> None:
    """Looks up at once what `present` and `stored_units` keep of several items of a campaign."""
    new = [item for item in items if not (_shown.get(key := _identity(item)) and _units.get(key))]
    if not new:
        return
    queries = as_rows((item.query for item in new), declared(campaign).needs)
    units: dict[int, dict[str, int]] = {item.pk: {} for item in new}
    for item_id, name, unit in _units_of_several.rows(items=list(units)):
        units[item_id][name] = unit
    for item in new:
        _shown.keep(_identity(item), _made_of(item, queries[item.query_id]))
        _units.keep(_identity(item), units[item.pk])


def _present(item: Item) -> ItemSpec:
    return _made_of(item, as_row(item.query, declared(item.campaign).needs))


def _made_of(item: Item, query: rows.Query) -> ItemSpec:
    campaign = item.campaign
    for spec in items_of(campaign, query, item.shown_passages, item.passage_uses):
        if spec.key == item.key:
            return spec
    raise ForgottenItemError(f"item {item.key!r} of campaign {campaign.name!r}")


def stored_units(item: Item) -> Mapping[str, int]:
    """The primary keys of an item's units by their names, in their stored order; kept like it."""
    made = _identity(item)
    if found := _units.get(made):
        return found
    return _units.keep(made, dict(map(tuple, _unit_rows.rows(item=item.pk))))


def _identity(item: Item) -> object:
    campaign = item.campaign
    return campaign.pk, campaign.created_at, item.pk, item.query_id, item.key


def _characters(spec: ItemSpec) -> int:
    texts = sum(len(text.text) + sum(map(len, text.suggested)) for text in spec.texts)
    return texts + sum(len(unit.text) for unit in spec.units)


def _unit_query() -> QuerySet[Unit, tuple[str, int]]:
    return Unit.objects.filter(item=Given("item")).order_by("position").values_list("name", "pk")


def _units_of_several_query() -> QuerySet[Unit, tuple[int, str, int]]:
    units = Unit.objects.filter(Among("item", "items")).order_by("item", "position")
    return units.values_list("item", "name", "pk")


_unit_rows, _units_of_several = Prepared(_unit_query), Prepared(_units_of_several_query)
_shown = Kept[ItemSpec](256, 4_000_000, _characters)
_units = Kept[Mapping[str, int]](1024, 1_000_000, lambda units: sum(map(len, units)))


def asked_units(assignment: Assignment, spec: ItemSpec) -> dict[str, UnitSpec]:
    """The units that an assignment asks, by name, in the order in which they are shown."""
    named = name_units(spec.units)
    return {name: named[name] for name in assignment.asked}


def ordered_texts(assignment: Assignment, spec: ItemSpec) -> list[Text]:
    """An item's texts in the order in which this rater sees them, first those that have none."""
    places = {field: n for n, field in enumerate(assignment.shown)}
    return sorted(spec.texts, key=lambda text: places.get(text.field, -1))


def shown_texts(spec: ItemSpec) -> Mapping[str, str]:
    """The texts that spans may refer to, by field."""
    return {text.field: text.text for text in spec.texts}


def _with_sentences(report: rows.Report) -> rows.Report:
    if report.sentences is not None:
        return report
    return replace(
        report, sentences=tuple(report.text[start:end] for start, end in sentences(report.text))
    )


BLIND = {"report", "sentence", "report-passage", "pair"}
SWAPPED_CODES = {"first": "second", "second": "first"}


@dataclass(frozen=True)
class Blinding:
    """A page's names for units with the stored ones; `swapped` if a pair is in reverse order."""

    names: Mapping[str, str]
    units: Mapping[str, UnitSpec]
    swapped: bool = False

    @cached_property
    def aliases(self) -> dict[str, str]:
        return {name: alias for alias, name in self.names.items()}

    def hidden(self, payload: Payload | None) -> Payload | None:
        """A stored payload as the page may know it; what stands beside its answers stays here."""
        if payload is None or not self.names:
            return payload
        return self._renamed(payload, self.aliases)

    def revealed(self, payload: Payload) -> Payload:
        """A page's payload under the stored names. One that is none of ours stays as it came."""
        return self._renamed(payload, self.names) if self.names else payload

    def check_names(self, names: Iterable[str]) -> None:
        """Raises RefusedError for a name that is none of the page's.

        It is told alike of a stored one: who guesses that would learn whose text is whose.
        """
        if self.names and not set(names) <= self.names.keys():
            raise RefusedError([Problem("", "", "was not asked")])

    def _renamed(self, payload: Payload, names: Mapping[str, str]) -> Payload:
        given = payload.get("units")
        units = given if isinstance(given, Mapping) else {}
        answers = {names.get(name, name): self._swap(units[name]) for name in units}
        return {"units": answers, "comment": payload.get("comment")}

    def _swap(self, answer: Any) -> Any:
        if not self.swapped or not isinstance(answer, Mapping):
            return answer
        return {key: _swap(code) for key, code in answer.items()}


def _swap(code: Any) -> Any:
    return SWAPPED_CODES.get(code, code) if isinstance(code, str) else code


def blinding_of(assignment: Assignment, spec: ItemSpec) -> Blinding:
    named = asked_units(assignment, spec)
    aliases = alias_of(assignment)
    units = {aliases.get(name, name): unit for name, unit in named.items()}
    pair = any(unit.kind == "pair" for unit in named.values())
    swapped = pair and ordered_texts(assignment, spec) != list(spec.texts)
    return Blinding({alias: name for name, alias in aliases.items()}, units, swapped)


def alias_of(assignment: Assignment) -> dict[str, str]:
    """The page's names of units by the stored ones; none where nothing has to be hidden.

    The id of a point that a report makes mostly holds that of the report.
    """
    asked = schema(assignment.item.campaign)
    if not (BLIND & kinds_of(asked.variables) or asked.protocol.reading == "answers"):
        return {}
    return {name: f"u{number}" for number, name in enumerate(assignment.asked)}


def hidden_fields(assignment: Assignment, spec: ItemSpec) -> dict[str, str]:
    """The page's names of the answers on show, by their fields, which hold the ids of reports."""
    shown = [text.field for text in ordered_texts(assignment, spec)]
    answers = [field for field in shown if field.startswith("report:")]
    return {field: f"answer-{number}" for number, field in enumerate(answers, start=1)}


def hidden_problems(assignment: Assignment, problems: list[Problem]) -> list[Problem]:
    """Problems that name units as the page does."""
    aliases = alias_of(assignment)
    return [replace(each, unit=aliases.get(each.unit, each.unit)) for each in problems]
