"""From an assignment to a request: its presentation, masked, in the words of its prompt."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from annotation.models import Assignment, Campaign, Item
from annotation.presenting import asked_units, present, schema
from annotation.protocols.base import Conditions, ItemSpec, Text, UnitSpec
from annotation.protocols.schema import Schema
from datasets.models import Report
from judging.backends.base import AskedUnit, AskedVariable, Backend, Facts, Request
from judging.models import Judge
from judging.prompting import Prompt, fill
from judging.wording import answer_words, query_words, texts_words, units_words

KEPT_ITEMS = 64
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
    """

    assignment: Assignment
    spec: ItemSpec
    units: Mapping[str, UnitSpec]
    names: Mapping[str, str]
    request: Request
    request_hash: str


class Preparer:
    """Makes the requests of one judge over one campaign; remembers the items it saw last."""

    def __init__(self, campaign: Campaign, judge: Judge, prompt: Prompt, backend: Backend) -> None:
        self.schema = schema(campaign)
        self.by_unit = judge.granularity == Judge.Granularity.UNIT
        self.prompt = prompt
        self.backend = backend
        self.guideline = self.schema.protocol.guideline.strip()
        self._seen: OrderedDict[int, tuple[ItemSpec, frozenset[str]]] = OrderedDict()

    def prepare(self, assignment: Assignment) -> Prepared:
        spec, secrets = self._look_at(assignment.item)
        asked = asked_units(assignment, spec)
        told = masked(asked, secrets)
        units = {told[name]: unit for name, unit in asked.items()}
        request = self._request(assignment.item, spec, units)
        names = {masked_name: name for name, masked_name in told.items()}
        digest = request_hash(self.backend, request)
        return Prepared(assignment, spec, units, names, request, digest)

    def _look_at(self, item: Item) -> tuple[ItemSpec, frozenset[str]]:
        if item.pk not in self._seen:
            self._seen[item.pk] = present(item), _secrets(item)
            if len(self._seen) > KEPT_ITEMS:
                self._seen.popitem(last=False)
        return self._seen[item.pk]

    def _request(self, item: Item, spec: ItemSpec, units: Mapping[str, UnitSpec]) -> Request:
        asked = tuple(
            _asked(self.schema, name, unit, spec.texts, item.query.key)
            for name, unit in units.items()
        )
        facts = Facts(item.query.text, tuple(t.text for t in spec.texts), asked, self.by_unit)
        values = {
            "guideline": self.guideline,
            "texts": texts_words(spec.texts),
            "query": query_words(item.query.text, item.query.asked_at),
            "units": units_words(asked),
            "answer": answer_words(self.schema, asked, self.by_unit),
        }
        form = (
            self.schema.unit_schema(asked[0].kind)
            if self.by_unit
            else self.schema.item_schema(units)
        )
        return Request(fill(self.prompt, values), form, facts)


def request_hash(backend: Backend, request: Request) -> str:
    """SHA-256 of the canonical JSON of all that decides the answer, in hexadecimal."""
    canonical = json.dumps(
        backend.identity(request), sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )
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
    rows = Report.objects.filter(query=item.query_id).values_list("system", "setting")
    return frozenset(word.casefold() for row in rows for word in row if word)


def _asked(
    schema: Schema, name: str, unit: UnitSpec, texts: Sequence[Text], query: str
) -> AskedUnit:
    rule, written = schema.evidence(unit.kind), schema.written(unit.kind)
    listed, matching = schema.listed(unit.kind), schema.matching(unit.kind)
    return AskedUnit(
        name=name,
        kind=unit.kind,
        text=unit.text,
        variables=tuple(
            AskedVariable(v.name, v.answers, v.level, _asked_only(schema, v.asked_if))
            for v in schema.of(unit.kind)
        ),
        about=_about(unit, texts, query),
        evidence=(rule.variable, rule.owed_if) if rule else None,
        written=written.name if written else None,
        written_if=_asked_only(schema, written.asked_if) if written else {},
        listed=listed.name if listed else None,
        listed_if=_asked_only(schema, listed.asked_if) if listed else {},
        matches=(matching.matches, matching.match, matching.match_code) if matching else None,
    )


def _asked_only(schema: Schema, conditions: Conditions) -> Conditions:
    asked = {v.name for v in schema.variables}
    return {name: codes for name, codes in conditions.items() if name in asked}


def _about(unit: UnitSpec, texts: Sequence[Text], query: str) -> int | None:
    """The number of the text, from 0, that a unit is or is a sentence of."""
    field = _FIELDS.get(unit.kind)
    key = unit.key.rsplit("#", 1)[0] if unit.kind.endswith("sentence") else unit.key
    names = {f"{field}:{key}", f"{field}:{key.removeprefix(f'{query}/')}"}
    return next((n for n, text in enumerate(texts) if text.field in names), None)
