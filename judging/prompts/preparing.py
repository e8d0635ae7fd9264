"""From an assignment to a request: its presentation, masked, in the words of its prompt."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from django.db.models import QuerySet

from annotation.basis import Bases
from annotation.models import Assignment, Campaign, Item
from annotation.presenting import present, schema
from annotation.protocols.base import Conditions, ItemSpec, UnitSpec, name_units
from annotation.protocols.schema import Schema
from datasets.models import Report
from datasets.prepared import Given
from datasets.prepared import Prepared as PreparedQuery
from judging.backends.base import AskedUnit, AskedVariable, Backend, Facts, Request
from judging.conditions.variations import in_order, varied
from judging.models import Judge
from judging.prompting import Prompt, fill
from judging.prompts.wording import answer_words, query_words, texts_words, units_words

KEPT_ITEMS = 64
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)
_FIELDS = {
    "report": "report",
    "sentence": "report",
    "passage": "passage",
    "passage-sentence": "passage",
}
NAMED_BY_REPORT = ("report", "sentence", "pair")


@dataclass(frozen=True)
class Prepared:
    """A request with what is needed to take its answer in.

    `units` are under the names that the judge is told; `names` leads from these to the real ones.
    `basis` are the digests of what it is given to (`annotation.basis`). `late` says how often it
    was not answered in time in this run, by pumps before.
    """

    assignment: Assignment
    spec: ItemSpec
    units: Mapping[str, UnitSpec]
    names: Mapping[str, str]
    request: Request
    request_hash: str
    basis: str | None = None
    late: int = 0

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
        self.judge = judge
        self.schema = schema(campaign)
        self.by_unit = judge.granularity == Judge.Granularity.UNIT
        self.prompt = prompt
        self.backend = backend
        self.guideline = self.schema.protocol.guideline.strip()
        self.bases = Bases(self.schema)
        self._seen: OrderedDict[tuple[int, tuple[str, ...]], _Seen] = OrderedDict()
        self._asked_of = cache(partial(_asked_of, self.schema))
        self._unit_schema = cache(self.schema.unit_schema)
        self._answer_words: dict[tuple[str, ...], str] = {}

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
            secrets=_secrets(item),
            texts=tuple(text.text for text in shown.texts),
            words={
                "guideline": self.guideline,
                "texts": texts_words(shown.texts),
                "query": query_words(item.query.text, item.query.asked_at),
            },
            places={text.field: n for n, text in reversed(list(enumerate(shown.texts)))},
        )

    def _request(
        self, assignment: Assignment, seen: _Seen, units: Mapping[str, UnitSpec]
    ) -> Request:
        query = assignment.item.query
        asked = tuple(
            AskedUnit(
                name=name,
                kind=unit.kind,
                text=unit.text,
                about=_about(unit, seen.places, query.key),
                **self._asked_of(unit.kind),
            )
            for name, unit in units.items()
        )
        values = {
            **seen.words,
            "units": units_words(asked),
            "answer": self._answered_by(asked),
        }
        form = self._unit_schema(asked[0].kind) if self.by_unit else self.schema.item_schema(units)
        facts = Facts(query.text, seen.texts, asked, self.by_unit)
        return Request(fill(self.prompt, values), form, facts, assignment.replicate)

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


def _secrets(item: Item) -> frozenset[str]:
    rows = _systems.rows(query=item.query_id)
    return frozenset(word.casefold() for row in rows for word in row if word)


def _system_query() -> QuerySet[Report, tuple[str | None, str | None]]:
    return Report.objects.filter(query=Given("query")).values_list("system", "setting")


_systems = PreparedQuery(_system_query)


def _asked_of(schema: Schema, kind: str) -> dict[str, Any]:
    """What is asked of every unit of a kind, as fields of `AskedUnit`."""
    rule, written = schema.evidence(kind), schema.written(kind)
    listed, matching = schema.listed(kind), schema.matching(kind)
    return {
        "variables": tuple(
            AskedVariable(v.name, v.answers, v.level, _asked_only(schema, v.asked_if), v.escapes)
            for v in schema.of(kind)
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


def _about(unit: UnitSpec, places: Mapping[str, int], query: str) -> int | None:
    """The number of the text, from 0, that a unit is or is a sentence of."""
    field = _FIELDS.get(unit.kind)
    key = unit.key.rsplit("#", 1)[0] if unit.kind.endswith("sentence") else unit.key
    names = f"{field}:{key}", f"{field}:{key.removeprefix(f'{query}/')}"
    return min((places[name] for name in names if name in places), default=None)
