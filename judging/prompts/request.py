"""Build the request of an assignment: present the item, mask names, fill in the prompt."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

from cachetools import FIFOCache
from django.db.models import QuerySet

from annotation.blinding import BLIND
from annotation.models import Assignment, Campaign, Item
from annotation.presentation import preload, present, schema
from annotation.protocols.schema import CampaignSchema
from annotation.provenance import Bases
from datasets.db.prepared import InList
from datasets.db.prepared import Prepared as PreparedQuery
from datasets.models import Report
from judging.backends.base import (
    ANY_FORM,
    JSON,
    Answer,
    AskedUnit,
    AskedVariable,
    Backend,
    Facts,
    Message,
    Quotable,
    Request,
)
from judging.judge_file.context import RequestItem, template_context
from judging.judge_file.document import file_of
from judging.judge_file.template import FileError
from judging.models import Judge
from judging.parsers.base import ExpectedAnswer, Parser, Reading
from judging.parsers.schema import SCHEMA
from judging.prompts.examples import (
    Example,
    ExamplesError,
    as_values,
    category_of,
    sample_examples,
    select_examples,
)
from judging.prompts.isolation import isolate, isolation_of, parser_of, visible_fields
from judging.prompts.perturbations import (
    apply_perturbation,
    campaign_shown_to,
    is_unconstrained,
    reorder_texts,
)
from judging.prompts.template import (
    NO_PASSAGES,
    NO_TEXTS,
    Prompt,
    PromptError,
    describe_answer,
    describe_query,
    describe_texts,
    describe_units,
    fill,
)
from tandem.protocols.base import Conditions, ItemSpec, UnitSpec, name_units
from tandem.protocols.schema import Schema, closed_object
from tandem.protocols.validation import Channel, RefusedError, check

CACHED_ITEMS = 64
MOST_LISTED = 250
"""The longest enumeration that a schema for a server has."""
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)
_FIELDS = {
    "report": "report",
    "sentence": "report",
    "passage": "passage",
    "passage-sentence": "passage",
}
NAMED_BY_REPORT = (*BLIND, "key-point")


@dataclass(frozen=True)
class Prepared:
    """A request with everything needed to read and store its answer.

    `units` has the names that the judge is shown, and `names` maps these to the real names.
    `basis` has the digests of what the judge is shown (`annotation.provenance`). `late` counts
    how often the request timed out earlier in this run. `refused_for` says for how many seconds a
    busy server rejected it while answering others.
    """

    assignment: Assignment
    spec: ItemSpec
    units: Mapping[str, UnitSpec]
    names: Mapping[str, str]
    request: Request
    request_hash: str
    schema: CampaignSchema
    parser: Parser = SCHEMA
    basis: str | None = None
    late: int = 0
    refused_for: float = 0.0

    def read(self, answer: Answer) -> Reading:
        """Read an answer with the judge's parser.

        Unit names are those shown to the judge. Raises UnreadError.
        """
        facts = self.request.facts
        return self.parser.read(answer, ExpectedAnswer(facts.units, facts.unit_by_unit, self._fits))

    def _fits(self, answer: Any) -> bool:
        by_unit = self.request.facts.unit_by_unit
        units = {next(iter(self.units)): answer} if by_unit else answer
        try:
            check(self.schema, self.units, units, self.channel)
        except RefusedError:
            return False
        return True

    @property
    def channel(self) -> Channel:
        """The channel. If the parser reads only some keys, answers are checked only for these."""
        return "judge" if self.parser.whole else "parser"

    @property
    def asked(self) -> dict[str, UnitSpec]:
        """The units that are asked, by their real names."""
        return {self.names[name]: unit for name, unit in self.units.items()}


@dataclass(frozen=True)
class _PresentedItem:
    """An item as stored and as shown to this judge, with the parts that its requests share."""

    spec: ItemSpec
    shown: ItemSpec
    named: Mapping[str, UnitSpec]
    secrets: frozenset[str]
    texts: tuple[str, ...]
    words: Mapping[str, str]
    places: Mapping[str, int]


class Preparer:
    """Builds the requests of one judge over one campaign, and caches the latest items."""

    def __init__(self, campaign: Campaign, judge: Judge, prompt: Prompt, backend: Backend) -> None:
        self.campaign, self.judge = campaign, judge
        self.schema = schema(campaign_shown_to(judge, campaign), "judges")
        self.by_unit = judge.granularity == Judge.Granularity.UNIT
        self.unconstrained = is_unconstrained(judge)
        self.prompt = prompt
        self.file = file_of(judge) if judge.file else None
        self.parser = parser_of(judge)
        self.backend = backend
        self.guideline = self.schema.protocol.guideline.strip()
        self.bases = Bases(self.schema)
        grounded = "passages" in self.schema.protocol.needs
        self.without_texts = NO_PASSAGES if grounded else NO_TEXTS
        self._secrets: Mapping[int, frozenset[str]] = {}
        self.isolation = isolation_of(judge, campaign.protocol)
        self._cache: FIFOCache[tuple[int, tuple[str, ...]], _PresentedItem] = FIFOCache(
            CACHED_ITEMS
        )
        self._parts: FIFOCache[tuple[int, tuple[str, ...], frozenset[str]], _PresentedItem] = (
            FIFOCache(CACHED_ITEMS)
        )
        self._drawn: list[Example] | None = None
        self._example_cache: dict[tuple[int, str], Mapping[str, Any]] = {}
        self._answer_fields = cache(partial(answer_fields, self.schema))
        self._unit_schema = cache(partial(reply_schema, self.schema))
        self._answer_words: dict[tuple[str, ...], str] = {}

    def prepare_all(self, assignments: Sequence[Assignment]) -> list[Prepared]:
        """Prepare several assignments with fewer database queries."""
        items = {row.item_id: row.item for row in assignments if not self._is_cached(row)}
        preload(self.campaign, items.values())
        self._secrets = _secrets({item.query_id for item in items.values()})
        return [self.prepare(assignment) for assignment in assignments]

    def prepare(self, assignment: Assignment) -> Prepared:
        """Build the request of an assignment."""
        shown_item = self._presented(assignment)
        asked = {name: shown_item.named[name] for name in assignment.asked}
        shown_item = self._isolated(assignment, shown_item, asked.values())
        masked = mask_names(asked, shown_item.secrets)
        units = {masked[name]: unit for name, unit in asked.items()}
        request = self._request(assignment, shown_item, units)
        names = {masked_name: name for name, masked_name in masked.items()}
        digest = request_hash(self.backend, request)
        basis = str(self.bases.of(shown_item.shown, asked.values()))
        return Prepared(
            assignment,
            shown_item.spec,
            units,
            names,
            request,
            digest,
            self.schema,
            self.parser,
            basis,
        )

    def _is_cached(self, assignment: Assignment) -> bool:
        return (assignment.item_id, tuple(assignment.shown)) in self._cache

    def _presented(self, assignment: Assignment) -> _PresentedItem:
        key = assignment.item_id, tuple(assignment.shown)
        if key not in self._cache:
            self._cache[key] = self._present(assignment)
        return self._cache[key]

    def _isolated(
        self, assignment: Assignment, whole: _PresentedItem, asked: Collection[UnitSpec]
    ) -> _PresentedItem:
        """Return the part of an item that a request about these units may show."""
        visible = visible_fields(whole.shown, asked, self.isolation)
        if len(visible) == len({text.field for text in whole.shown.texts}):
            return whole
        key = assignment.item_id, tuple(assignment.shown), visible
        if key not in self._parts:
            part = isolate(whole.shown, visible)
            self._parts[key] = self._presented_item(assignment.item, whole.spec, part)
        return self._parts[key]

    def _present(self, assignment: Assignment) -> _PresentedItem:
        item = assignment.item
        spec = present(item)
        shown = reorder_texts(assignment, apply_perturbation(self.judge, spec, item))
        return self._presented_item(item, spec, shown)

    def _presented_item(self, item: Item, spec: ItemSpec, shown: ItemSpec) -> _PresentedItem:
        return _PresentedItem(
            spec=spec,
            shown=shown,
            named=name_units(shown.units),
            secrets=self._secrets_of(item.query_id),
            texts=tuple(text.text for text in shown.texts),
            words={
                "guideline": self.guideline,
                "texts": describe_texts(shown.texts, self.without_texts),
                "query": describe_query(item.query.text, item.query.asked_at, shown.earlier),
            },
            places={text.field: n for n, text in reversed(list(enumerate(shown.texts)))},
        )

    def _secrets_of(self, query: int) -> frozenset[str]:
        if query not in self._secrets:
            self._secrets = _secrets({query})
        return self._secrets[query]

    def _request(
        self, assignment: Assignment, shown_item: _PresentedItem, units: Mapping[str, UnitSpec]
    ) -> Request:
        query = assignment.item.query
        asked = self._asked_units(shown_item, units, query.key)
        free = self.unconstrained or not self.parser.whole
        form = ANY_FORM if free else self._answer_schema(units)
        facts = Facts(query.text, shown_item.texts, asked, self.by_unit, assignment.item.key)
        messages = self._messages(shown_item, asked, assignment.item, form)
        return Request(messages, form, facts, assignment.replicate)

    def _asked_units(
        self, shown_item: _PresentedItem, units: Mapping[str, UnitSpec], query: str
    ) -> tuple[AskedUnit, ...]:
        return tuple(
            AskedUnit(
                name=name,
                kind=unit.kind,
                text=unit.text,
                about=text_number(unit, shown_item.places, query),
                answer=answer_number(unit, shown_item.places),
                key=unit.key,
                fields=self.schema.protocol.shown_fields(unit),
                quotable=quotable_texts(self.schema, unit, shown_item.places),
                **self._answer_fields(unit.kind),
            )
            for name, unit in units.items()
        )

    def _messages(
        self, shown_item: _PresentedItem, asked: tuple[AskedUnit, ...], item: Item, form: JSON
    ) -> tuple[Message, ...]:
        if self.file is not None:
            shown = self._shown(shown_item, asked, item, form)
            try:
                return self.file.render(
                    template_context(replace(shown, examples=self._examples(item)))
                )
            except (FileError, ExamplesError) as error:
                raise PromptError(f"the judge file: {error}") from error
        values = {
            **shown_item.words,
            "units": describe_units(asked),
            "answer": self._describe_answer(asked),
        }
        return fill(self.prompt, values)

    def _shown(
        self, shown_item: _PresentedItem, asked: tuple[AskedUnit, ...], item: Item, form: JSON
    ) -> RequestItem:
        texts, query = shown_item.shown.texts, item.query
        parts = self.guideline, self.schema, form
        return RequestItem(
            query.text, query.asked_at, texts, asked, *parts, history=shown_item.shown.earlier
        )

    def _examples(self, item: Item) -> list[Mapping[str, Any]]:
        """Return the template values of an item's examples."""
        rule = self.file.examples if self.file else None
        if rule is None or not rule.k:
            return []
        if self._drawn is None:
            self._drawn = sample_examples(self.campaign, self.judge) or []
        chosen = select_examples(self._drawn, rule, item.query.key, category_of(item))
        return [self._example_values(example) for example in chosen]

    def _example_values(self, example: Example) -> Mapping[str, Any]:
        key = example.item, example.unit
        if key not in self._example_cache:
            item = Item.objects.select_related("campaign", "query", "report").get(pk=example.item)
            whole = self._presented_item(item, spec := present(item), spec)
            unit = whole.named[example.unit]
            part = self._isolated(Assignment(item=item), whole, [unit])
            asked = self._asked_units(part, {"the unit": unit}, item.query.key)
            values = template_context(self._shown(part, asked, item, ANY_FORM))
            self._example_cache[key] = as_values(example, values)
        return self._example_cache[key]

    def _answer_schema(self, units: Mapping[str, UnitSpec]) -> JSON:
        if self.by_unit:
            return self._unit_schema(next(iter(units.values())).kind)
        return closed_object({name: self._unit_schema(unit.kind) for name, unit in units.items()})

    def _describe_answer(self, asked: tuple[AskedUnit, ...]) -> str:
        """Describe the answer, once for each combination of kinds of units."""
        kinds = tuple(dict.fromkeys(unit.kind for unit in asked))
        if kinds not in self._answer_words:
            self._answer_words[kinds] = describe_answer(self.schema, asked, self.by_unit)
        return self._answer_words[kinds]


def reply_schema(schema: Schema, kind: str) -> JSON:
    """Return the JSON schema of a unit's reply, in the terms that servers hold models to.

    Strict modes refuse `uniqueItems` and enumerations of many values, so a repeated code and a
    number off a long scale are found when the reply is read.
    """
    form = schema.unit_schema(kind)
    properties: JSON = form["properties"]
    for variable in schema.variables_of(kind):
        if variable.several or (variable.scale and len(variable.codes) > MOST_LISTED):
            own = properties[variable.name]
            properties[variable.name] = _plainer(own, variable.escapes)
    return form


def _plainer(form: JSON, escapes: Sequence[str]) -> JSON:
    if "anyOf" in form:
        return {"anyOf": [_plainer(each, escapes) for each in form["anyOf"]]}
    if len(form.get("enum", ())) > MOST_LISTED:
        other = [{"type": "string", "enum": list(escapes)}] if escapes else []
        return {"anyOf": [{"type": "number"}, *other]} if other else {"type": "number"}
    return {key: value for key, value in form.items() if key != "uniqueItems"}


def request_hash(backend: Backend, request: Request) -> str:
    """Return the hexadecimal SHA-256 of everything that determines the answer."""
    canonical = _CANONICAL.encode(backend.identity(request))
    return hashlib.sha256(canonical.encode()).hexdigest()


def mask_names(units: Mapping[str, UnitSpec], secrets: frozenset[str]) -> dict[str, str]:
    """Return the name that the judge is shown for each unit.

    Keys of reports often contain the name of the system that wrote them. If any does, all units of
    the item are numbered, so that no number can equal another unit's key.
    """
    revealing = any(
        secret in name.casefold()
        for name, unit in units.items()
        if unit.kind in NAMED_BY_REPORT
        for secret in secrets
    )
    numbers = [f"{unit.kind} {n}" for n, unit in enumerate(units.values(), start=1)]
    return {
        name: number if revealing else name for name, number in zip(units, numbers, strict=True)
    }


def _secrets(queries: Collection[int]) -> dict[int, frozenset[str]]:
    """Return by query the words that would reveal the systems behind its reports."""
    found: dict[int, set[str]] = {query: set() for query in queries}
    for query, *words in _systems.rows(queries=list(queries)) if queries else ():
        found[query].update(word.casefold() for word in words if word)
    return {query: frozenset(words) for query, words in found.items()}


def _system_query() -> QuerySet[Report, tuple[int, str | None, str | None]]:
    reports = Report.objects.filter(InList("query", "queries"))
    return reports.values_list("query", "system", "setting")


_systems = PreparedQuery(_system_query)


def answer_fields(schema: CampaignSchema, kind: str) -> dict[str, Any]:
    """Return the fields of `AskedUnit` that all units of a kind share."""
    rule, written = schema.evidence(kind), schema.written(kind)
    listed, matching = schema.listed(kind), schema.matching(kind)
    return {
        "variables": tuple(
            AskedVariable(
                v.name,
                v.answers,
                v.level,
                _asked_conditions(schema, v.asked_if),
                v.escapes,
                v.question,
                schema.criteria(kind)[v.name],
                v.several,
            )
            for v in schema.variables_of(kind)
        ),
        "evidence": (rule.variable, rule.codes) if rule else None,
        "written": written.name if written else None,
        "written_if": _asked_conditions(schema, written.asked_if) if written else {},
        "listed": listed.name if listed else None,
        "listed_if": _asked_conditions(schema, listed.asked_if) if listed else {},
        "matches": (matching.matches, matching.match, matching.match_code) if matching else None,
        "contradictions": schema.contradictions(kind),
    }


def _asked_conditions(schema: CampaignSchema, conditions: Conditions) -> Conditions:
    asked = {v.name for v in schema.variables}
    return {name: codes for name, codes in conditions.items() if name in asked}


def quotable_texts(
    schema: CampaignSchema, unit: UnitSpec, places: Mapping[str, int]
) -> tuple[Quotable, ...]:
    """Return the rules of the two texts that may be quoted for a unit; none if there is one."""
    rule = schema.evidence(unit.kind)
    if rule is None or rule.beside is None:
        return ()
    own = [field for field in places if field in unit.of] or list(places)
    alone = [replace(each, beside=None) for each in rule.rules]
    return tuple(
        Quotable(
            each.owed_if,
            tuple((field, places[field]) for field in own if each.covers(field)),
            each.within,
        )
        for each in alone
    )


def text_number(unit: UnitSpec, places: Mapping[str, int], query: str) -> int | None:
    """Return the number, from 0, of the text that contains a unit, or of the unit's passage."""
    if unit.of:
        return places.get(unit.of[1])
    if unit.place:
        return places.get(unit.place[0])
    field = _FIELDS.get(unit.kind)
    key = unit.key.rsplit("#", 1)[0] if unit.kind.endswith("sentence") else unit.key
    names = f"{field}:{key}", f"{field}:{key.removeprefix(f'{query}/')}"
    return min((places[name] for name in names if name in places), default=None)


def answer_number(unit: UnitSpec, places: Mapping[str, int]) -> int | None:
    """Return the number, from 0, of the answer for which a unit's passage is judged."""
    return places.get(unit.of[0]) if unit.of else None
