"""The response schema of a campaign: the form that an answer must have.

One closed schema serves the page, the API and judges. It is keyed by unit, allows no unknown keys
and no defaults, and has nullable keys instead of optional ones. It follows from the variables that
the campaign asks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from typing import Any, Self, TypeVar

from tandem.messages import Word
from tandem.protocols import base
from tandem.protocols.base import (
    Conditions,
    Declaration,
    Evidence,
    PointList,
    UnitSpec,
    Variable,
    WrittenText,
    kinds_of,
)

EVIDENCE_KEY = "evidence"
UNIT = ("unit", "units")
UNIT_NOUNS = {
    "item": ("item", "items"),
    "key-point": ("key point", "key points"),
    "nugget": ("nugget", "nuggets"),
    "pair": ("pair", "pairs"),
    "passage": ("passage", "passages"),
    "passage-sentence": ("sentence", "sentences"),
    "query": ("query", "queries"),
    "question": ("question", "questions"),
    "report": ("report", "reports"),
    "report-nugget": ("nugget", "nuggets"),
    "sentence": ("sentence", "sentences"),
    "sentence-citation": ("citation", "citations"),
}
"""What a unit of a kind is called, in the singular and the plural."""

JSON = dict[str, Any]
S = TypeVar("S", bound="Schema")
T = TypeVar("T")


def by_kind(find: Callable[[S, str], T]) -> Callable[[S, str], T]:
    """Cache a method's result by kind of unit, since checking every answer calls it again."""

    name = f"_{find.__name__}"

    @wraps(find)
    def found(schema: S, kind: str) -> T:
        known: dict[str, T] = vars(schema).get(name) or vars(schema).setdefault(name, {})
        if kind not in known:
            known[kind] = find(schema, kind)
        return known[kind]

    return found


class UnknownVariableError(ValueError):
    """The campaign names a variable that its protocol does not have."""


def _noun(variables: Iterable[Variable]) -> tuple[str, str]:
    nouns = {UNIT_NOUNS.get(variable.kind, UNIT) for variable in variables}
    return nouns.pop() if len(nouns) == 1 else UNIT


@dataclass(frozen=True)
class Schema:
    """A protocol with the variables that one campaign asks."""

    protocol: Declaration
    variables: tuple[Variable, ...]

    @classmethod
    def of(
        cls, protocol: Declaration, variables: Sequence[str] = (), categories: Sequence[str] = ()
    ) -> Self:
        """Return the schema of a protocol under a campaign's options.

        `variables` are the names of the variables to ask: if empty, all that are not optional.
        `categories` replaces the codes of a variable called `category`. Raises
        UnknownVariableError.
        """
        known = {v.name for v in protocol.variables}
        if unknown := sorted(set(variables) - known):
            raise UnknownVariableError(f"{protocol.name} has no variable {unknown[0]!r}")
        chosen = _select_variables(protocol.variables, variables)
        return cls(protocol, tuple(_with_categories(v, categories) for v in chosen))

    @by_kind
    def variables_of(self, kind: str) -> tuple[Variable, ...]:
        return tuple(v for v in self.variables if v.kind == kind)

    def variable(self, name: str, kind: str | None = None) -> Variable | None:
        found = [v for v in self.variables if v.name == name and kind in (None, v.kind)]
        return found[0] if found else None

    def named(self, name: str, kind: str) -> Word:
        """Return a variable in a message: its name for programs, its question for people."""
        found = self.variable(name, kind) or self.variable(name)
        return found.named if found else Word(name, name)

    def coded(self, name: str, code: str, kind: str) -> Word:
        """Return a variable's code in a message, with the word of its button for people."""
        found = self.variable(name, kind) or self.variable(name)
        return found.coded(code) if found else Word(code, code)

    @property
    def sets(self) -> frozenset[str]:
        """The names of the variables that take several codes."""
        return frozenset(variable.name for variable in self.variables if variable.several)

    def word(self, name: str, value: str) -> str:
        """Return the word for a value of a variable of any kind; a value that none takes itself."""
        found = (v for v in self.variables if v.name == name and v.takes(value))
        variable = next(found, None)
        return variable.word(value) if variable else value

    def words(self) -> Mapping[str, Mapping[str, str]]:
        """Return the word of each code by variable, over all kinds of unit with the variable."""
        found: dict[str, dict[str, str]] = {}
        for variable in self.variables:
            named = {code: variable.word(code) for code in variable.answers}
            found[variable.name] = named | found.get(variable.name, {})
        return found

    @property
    def noun(self) -> tuple[str, str]:
        """The noun for all units in singular and plural: *unit* if there are several kinds."""
        return _noun(self.variables)

    def nouns(self) -> Mapping[str, tuple[str, str]]:
        """Return the noun for the units of each variable, in singular and plural."""
        return {
            v.name: _noun(w for w in self.variables if w.name == v.name) for v in self.variables
        }

    @by_kind
    def evidence(self, kind: str) -> Evidence | None:
        """Return the protocol's evidence rule, if its variable is asked of this kind of unit."""
        rule = self.protocol.evidence
        asked = {v.name for v in self.variables_of(kind)}
        return rule if rule is not None and rule.variable in asked else None

    @by_kind
    def written(self, kind: str) -> WrittenText | None:
        rule = self.protocol.written
        return rule if rule is not None and rule.kind == kind and self._asks(kind) else None

    @by_kind
    def listed(self, kind: str) -> PointList | None:
        rule = self.protocol.listed
        return rule if rule is not None and rule.kind == kind and self._asks(kind) else None

    def _asks(self, kind: str) -> bool:
        """Whether units of a kind are asked: about a variable, unless they have none."""
        return bool(self.variables_of(kind)) or kind not in kinds_of(self.protocol.variables)

    @by_kind
    def matching(self, kind: str) -> PointList | None:
        """Return the list that units of this kind are matched to, if both are asked."""
        rule = self.protocol.listed
        if rule is None or rule.match_kind != kind or self.listed(rule.kind) is None:
            return None
        return rule if self.variable(rule.match, kind) else None

    @by_kind
    def contradictions(self, kind: str) -> tuple[Conditions, ...]:
        """Return the answers that cannot all be given about one unit, if all of them are asked."""
        asked = {v.name for v in self.variables_of(kind)}
        return tuple(each for each in self.protocol.contradictions if asked.issuperset(each))

    @by_kind
    def free_keys(self, kind: str) -> tuple[str, ...]:
        """Return the keys of one unit's answer that contain written text instead of labels."""
        written, listed, matching = self.written(kind), self.listed(kind), self.matching(kind)
        return (
            *((written.name,) if written else ()),
            *((listed.name,) if listed else ()),
            *((matching.matches,) if matching else ()),
        )

    @by_kind
    def keys(self, kind: str) -> tuple[str, ...]:
        """Return the keys of one unit's answer, in the order in which a model fills them in."""
        return (
            *((EVIDENCE_KEY,) if self.evidence(kind) else ()),
            *(v.name for v in self.variables_of(kind)),
            *self.free_keys(kind),
        )

    def unit_schema(self, kind: str, with_field: bool = False) -> JSON:
        """Return the JSON schema of one unit's answer.

        Where one of several texts may be quoted, quotes `with_field` may name their text. A judge
        does not get the names of texts, so its quotes are looked for in all of them.
        """
        parts: JSON = {}
        if rule := self.evidence(kind):
            quote = QUOTE_WITH_FIELD if with_field and rule.names_texts else QUOTE
            parts[EVIDENCE_KEY] = {"type": "array", "items": quote}
        parts |= {v.name: self._nullable(_codes(v), v.asked_if) for v in self.variables_of(kind)}
        if written := self.written(kind):
            parts[written.name] = self._nullable(WRITTEN, written.asked_if)
        if listed := self.listed(kind):
            parts[listed.name] = self._nullable(POINTS, listed.asked_if)
        if matching := self.matching(kind):
            parts[matching.matches] = NUMBERS
        return closed_object(parts)

    def item_schema(self, units: Mapping[str, UnitSpec], with_field: bool = False) -> JSON:
        """Return the JSON schema of an answer with one entry per unit name."""
        return closed_object(
            {name: self.unit_schema(unit.kind, with_field) for name, unit in units.items()}
        )

    def only(self, keys: Collection[str]) -> Self:
        """Return the schema of a rater who gives these keys alone, such as a judge by its parser.

        Points owe no quotes if `evidence` is not among the keys.
        """
        evidence, written, listed = (
            self.protocol.evidence, self.protocol.written, self.protocol.listed
        )  # fmt: skip
        if listed is not None:
            listed = replace(listed, quoted=listed.quoted and EVIDENCE_KEY in keys)
        protocol = replace(
            self.protocol,
            variables=tuple(v for v in self.protocol.variables if v.name in keys),
            evidence=evidence if EVIDENCE_KEY in keys else None,
            written=written if written is not None and written.name in keys else None,
            listed=listed if listed is not None and listed.name in keys else None,
        )
        return replace(
            self, protocol=protocol, variables=tuple(v for v in self.variables if v.name in keys)
        )

    @property
    def is_closed(self) -> bool:
        """Whether every answer is one code: no set, no text, no list, and no numbers of points."""
        kinds = {variable.kind for variable in self.variables}
        several = any(variable.several for variable in self.variables)
        return not several and not any(self.free_keys(kind) for kind in kinds)

    def holds(self, conditions: Conditions, values: Mapping[str, Any]) -> bool:
        """Whether the unit's values meet the conditions. A variable not asked counts as met."""
        asked = self._asked(conditions)
        return all(base.names_code(values.get(n), codes) for n, codes in asked.items())

    def _asked(self, conditions: Conditions) -> Conditions:
        return {name: codes for name, codes in conditions.items() if name in self._names}

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(v.name for v in self.variables)

    def _nullable(self, schema: JSON, conditions: Conditions) -> JSON:
        """Return the schema, nullable if a condition on a variable of this campaign may fail."""
        if not self._asked(conditions):
            return schema
        return {"anyOf": [*schema.get("anyOf", [schema]), {"type": "null"}]}


def closed_object(properties: JSON) -> JSON:
    """Return the schema of an object with exactly these keys."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


QUOTE = closed_object(
    {
        "quote": {"type": "string"},
        "start": {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}]},
    }
)
QUOTE_WITH_FIELD = closed_object(
    {**QUOTE["properties"], "field": {"anyOf": [{"type": "string"}, {"type": "null"}]}}
)
WRITTEN = closed_object(
    {"text": {"type": "string"}, "citations": {"type": "array", "items": {"type": "string"}}}
)

POINTS: JSON = {
    "type": "array",
    "items": closed_object(
        {"text": {"type": "string"}, "evidence": {"type": "array", "items": QUOTE}}
    ),
}
NUMBERS: JSON = {"type": "array", "items": {"type": "integer", "minimum": 1}}


def _codes(variable: Variable) -> JSON:
    if not variable.several:
        return {"type": "string", "enum": list(variable.answers)}
    codes = {"type": "string", "enum": list(variable.codes)}
    several: JSON = {"type": "array", "items": codes, "uniqueItems": True}
    if not variable.escapes:
        return several
    return {"anyOf": [several, {"type": "string", "enum": list(variable.escapes)}]}


def _select_variables(all_of: Iterable[Variable], names: Sequence[str]) -> list[Variable]:
    return [v for v in all_of if (v.name in names if names else not v.optional)]


def _with_categories(variable: Variable, categories: Sequence[str]) -> Variable:
    swap = variable.name == "category" and categories
    return replace(variable, codes=tuple(categories), words={}, meanings={}) if swap else variable
