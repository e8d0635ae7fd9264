"""From an assignment to a request: its presentation, masked, in the words of its prompt."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from django.db.models import QuerySet

from annotation.models import Assignment, Campaign
from annotation.presentation import bring, present, schema
from annotation.protocols.base import Conditions, ItemSpec, UnitSpec, name_units
from annotation.protocols.schema import Schema
from annotation.provenance import Bases
from datasets.db.prepared import Among
from datasets.db.prepared import Prepared as PreparedQuery
from datasets.models import Report
from judging.backends.base import (
    ANY_FORM,
    JSON,
    AskedUnit,
    AskedVariable,
    Backend,
    Facts,
    Request,
)
from judging.models import Judge
from judging.prompts.perturbations import in_order, is_unconstrained, varied
from judging.prompts.template import (
    NO_PASSAGES,
    NO_TEXTS,
    Prompt,
    answer_words,
    fill,
    query_words,
    texts_words,
    units_words,
)

KEPT_ITEMS = 64
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)
_FIELDS = {
    "report": "report",
    "sentence": "report",
    "passage": "passage",
    "passage-sentence": "passage",
}
NAMED_BY_REPORT = ("report", "sentence", "report-passage", "pair", "key-point")


@dataclass(frozen=True)
class Prepared:
    """A request with what is needed to take its answer in.

    `units` are under the names that the judge is told; `names` leads from these to the real ones.
    `basis` are the digests of what it is given to (`annotation.basis`). `late` says how often it
    was not answered in time in this run, by pumps before, `refused_for` for how many seconds a busy
    server has refused it while others were answered.
    """

    assignment: Assignment
    spec: ItemSpec
    units: Mapping[str, UnitSpec]
    names: Mapping[str, str]
    request: Request
    request_hash: str
    basis: str | None = None
    late: int = 0
    refused_for: float = 0.0

    @property
    def asked(self) -> dict[str, UnitSpec]:
        """The units that are asked, under their real names."""
        return {self.names[told]: unit for told, unit in self.units.items()}


@dataclass(frozen=True)
class _Seen:
    """An item as it is stored and as this judge is shown it, with what its requests share."""

    spec: ItemSpec
    shown: ItemSpec
    named: Mapping[str, UnitSpec]
    secrets: frozenset[str]
    texts: tuple[str, ...]
    words: Mapping[str, str]
    places: Mapping[str, int]


class Preparer:
    """Makes the requests of one judge over one campaign; remembers the items it saw last."""

    def __init__(self, campaign: Campaign, judge: Judge, prompt: Prompt, backend: Backend) -> None:
        self.campaign, self.judge = campaign, judge
        self.schema = schema(campaign)
        self.by_unit = judge.granularity == Judge.Granularity.UNIT
        self.unconstrained = is_unconstrained(judge)
        self.prompt = prompt
        self.backend = backend
        self.guideline = self.schema.protocol.guideline.strip()
        self.bases = Bases(self.schema)
        grounded = "passages" in self.schema.protocol.needs
        self.without_texts = NO_PASSAGES if grounded else NO_TEXTS
        self._secrets: Mapping[int, frozenset[str]] = {}
        self._seen: OrderedDict[tuple[int, tuple[str, ...]], _Seen] = OrderedDict()
        self._asked_of = cache(partial(asked_of, self.schema))
        self._unit_schema = cache(self.schema.unit_schema)
        self._answer_words: dict[tuple[str, ...], str] = {}

    def prepare_all(self, assignments: Sequence[Assignment]) -> list[Prepared]:
        """The same for several, with fewer questions to the database."""
        items = {row.item_id: row.item for row in assignments if not self._knows(row)}
        bring(self.campaign, items.values())
        self._secrets = _secrets({item.query_id for item in items.values()})
        return [self.prepare(assignment) for assignment in assignments]

    def prepare(self, assignment: Assignment) -> Prepared:
        seen = self._look_at(assignment)
        asked = {name: seen.named[name] for name in assignment.asked}
        told = masked(asked, seen.secrets)
        units = {told[name]: unit for name, unit in asked.items()}
        request = self._request(assignment, seen, units)
        names = {masked_name: name for name, masked_name in told.items()}
        digest = request_hash(self.backend, request)
        basis = str(self.bases.of(seen.shown, asked.values()))
        return Prepared(assignment, seen.spec, units, names, request, digest, basis)

    def _knows(self, assignment: Assignment) -> bool:
        return (assignment.item_id, tuple(assignment.shown)) in self._seen

    def _look_at(self, assignment: Assignment) -> _Seen:
        key = assignment.item_id, tuple(assignment.shown)
        if key not in self._seen:
            self._seen[key] = self._new(assignment)
            if len(self._seen) > KEPT_ITEMS:
                self._seen.popitem(last=False)
        return self._seen[key]

    def _new(self, assignment: Assignment) -> _Seen:
        item = assignment.item
        spec = present(item)
        shown = in_order(assignment, varied(self.judge, spec, item))
        return _Seen(
            spec=spec,
            shown=shown,
            named=name_units(shown.units),
            secrets=self._secrets_of(item.query_id),
            texts=tuple(text.text for text in shown.texts),
            words={
                "guideline": self.guideline,
                "texts": texts_words(shown.texts, self.without_texts),
                "query": query_words(item.query.text, item.query.asked_at),
            },
            places={text.field: n for n, text in reversed(list(enumerate(shown.texts)))},
        )

    def _secrets_of(self, query: int) -> frozenset[str]:
        if query not in self._secrets:
            self._secrets = _secrets({query})
        return self._secrets[query]

    def _request(
        self, assignment: Assignment, seen: _Seen, units: Mapping[str, UnitSpec]
    ) -> Request:
        query = assignment.item.query
        asked = tuple(
            AskedUnit(
                name=name,
                kind=unit.kind,
                text=unit.text,
                about=about(unit, seen.places, query.key),
                answer=answer_of(unit, seen.places),
                **self._asked_of(unit.kind),
            )
            for name, unit in units.items()
        )
        values = {
            **seen.words,
            "units": units_words(asked),
            "answer": self._answered_by(asked),
        }
        form = ANY_FORM if self.unconstrained else self._form(units)
        facts = Facts(query.text, seen.texts, asked, self.by_unit)
        return Request(fill(self.prompt, values), form, facts, assignment.replicate)

    def _form(self, units: Mapping[str, UnitSpec]) -> JSON:
        if self.by_unit:
            return self._unit_schema(next(iter(units.values())).kind)
        return self.schema.item_schema(units)

    def _answered_by(self, asked: tuple[AskedUnit, ...]) -> str:
        """What is said of the answer, which is the same for the same kinds of units."""
        kinds = tuple(dict.fromkeys(unit.kind for unit in asked))
        if kinds not in self._answer_words:
            self._answer_words[kinds] = answer_words(self.schema, asked, self.by_unit)
        return self._answer_words[kinds]


def request_hash(backend: Backend, request: Request) -> str:
    """SHA-256 of the canonical JSON of all that decides the answer, in hexadecimal."""
    canonical = _CANONICAL.encode(backend.identity(request))
    return hashlib.sha256(canonical.encode()).hexdigest()


def masked(units: Mapping[str, UnitSpec], secrets: frozenset[str]) -> dict[str, str]:
    """The name that the judge is told for each unit: its own, or a number where it tells too much.

    Ids of reports often hold the name of the system that wrote them. Then all units of the item
    are numbered, so that no number can be the key of another.
    """
    telling = any(
        secret in name.casefold()
        for name, unit in units.items()
        if unit.kind in NAMED_BY_REPORT
        for secret in secrets
    )
    numbers = [f"{unit.kind} {n}" for n, unit in enumerate(units.values(), start=1)]
    return {name: number if telling else name for name, number in zip(units, numbers, strict=True)}


def _secrets(queries: Collection[int]) -> dict[int, frozenset[str]]:
    """What would tell, by query, which systems wrote its reports."""
    found: dict[int, set[str]] = {query: set() for query in queries}
    for query, *words in _systems.rows(queries=list(queries)) if queries else ():
        found[query].update(word.casefold() for word in words if word)
    return {query: frozenset(words) for query, words in found.items()}


def _system_query() -> QuerySet[Report, tuple[int, str | None, str | None]]:
    reports = Report.objects.filter(Among("query", "queries"))
    return reports.values_list("query", "system", "setting")


_systems = PreparedQuery(_system_query)


def asked_of(schema: Schema, kind: str) -> dict[str, Any]:
    """What is asked of every unit of a kind, as fields of `AskedUnit`."""
    rule, written = schema.evidence(kind), schema.written(kind)
    listed, matching = schema.listed(kind), schema.matching(kind)
    return {
        "variables": tuple(
            AskedVariable(v.name, v.answers, v.level, _asked_only(schema, v.asked_if), v.escapes)
            for v in schema.variables_of(kind)
        ),
        "evidence": (rule.variable, rule.owed_if) if rule else None,
        "written": written.name if written else None,
        "written_if": _asked_only(schema, written.asked_if) if written else {},
        "listed": listed.name if listed else None,
        "listed_if": _asked_only(schema, listed.asked_if) if listed else {},
        "matches": (matching.matches, matching.match, matching.match_code) if matching else None,
    }


def _asked_only(schema: Schema, conditions: Conditions) -> Conditions:
    asked = {v.name for v in schema.variables}
    return {name: codes for name, codes in conditions.items() if name in asked}


def about(unit: UnitSpec, places: Mapping[str, int], query: str) -> int | None:
    """The number of the text, from 0, that a unit is or is a sentence of; or of its passage."""
    if unit.of:
        return places.get(unit.of[1])
    field = _FIELDS.get(unit.kind)
    key = unit.key.rsplit("#", 1)[0] if unit.kind.endswith("sentence") else unit.key
    names = f"{field}:{key}", f"{field}:{key.removeprefix(f'{query}/')}"
    return min((places[name] for name in names if name in places), default=None)


def answer_of(unit: UnitSpec, places: Mapping[str, int]) -> int | None:
    """The number of the answer, from 0, beside which a unit's passage is judged."""
    return places.get(unit.of[0]) if unit.of else None
