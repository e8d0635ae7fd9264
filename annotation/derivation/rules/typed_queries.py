"""Queries that pass the gate of question typing (GaRAGe), with their types as slices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from annotation.derivation.base import Job, LabelWork, Rule
from annotation.derivation.decisions import NO, Decision, one_of
from annotation.derivation.labels import LabelledUnit
from annotation.presentation import schema
from datasets.derivation import DerivationError
from tandem.files import rows
from tandem.protocols.shipped import FILES

QUERIES = "queries"
_TYPE = FILES["question-typing"].variable("category")
GATE = ",".join(f"{name}={codes[0]}" for name, codes in _TYPE.asked_if.items())


@dataclass(frozen=True)
class Options:
    keep: str = field(
        default=GATE,
        metadata={"help": f"the gate: the code that each variable must have, such as `{GATE}`"},
    )


def read_gate(text: str) -> dict[str, str]:
    """Read a gate of the form `variable=code,variable=code`. Raises DerivationError."""
    found: dict[str, str] = {}
    for part in filter(None, (each.strip() for each in text.split(","))):
        name, equals, code = (each.strip() for each in part.partition("="))
        if not equals or not name or not code or name in found:
            raise DerivationError(
                f"option keep is a list such as {GATE}; {part!r} does not fit", "set"
            )
        found[name] = code
    return found


class TypedQueries(LabelWork):
    plural = QUERIES

    def __init__(self, job: Job) -> None:
        self._gate = read_gate(job.options.keep)
        asked = [v for each in job.campaigns for v in schema(each).variables_of("query")]
        codes = {variable.name: variable.answers for variable in asked}
        for name, code in self._gate.items():
            if name not in codes:
                known = ", ".join(codes)
                raise DerivationError(f"nobody was asked {name!r}; the gate can use {known}", "set")
            if code not in codes[name]:
                known = ", ".join(codes[name])
                raise DerivationError(f"{name} has no code {code!r}; it has {known}", "set")
        self.variables = tuple(codes)
        self._conditional = {v.name for v in asked if v.asked_if}
        self._types = tuple(name for name in codes if name not in _TYPE.asked_if)
        super().__init__(job)

    def apply(self, pk: int, query: rows.Query) -> rows.Query | None:
        unit = next((unit for unit in self.units(pk) if unit.kind == "query"), None)
        reason = "not in the campaign" if unit is None else self._reason(query.id, unit)
        if reason or unit is None:
            self.tally.drop(QUERIES, query.id, reason)
            return None
        self.tally.keep(QUERIES)
        types = self._types_of(query.id, unit)
        return replace(query, meta={**(query.meta or {}), **types}) if types else query

    def _reason(self, key: str, unit: LabelledUnit) -> str:
        """Return why a query does not pass the gate, or nothing."""
        undecided = ""
        for name, code in self._gate.items():
            decision = self._decide(unit, name, code)
            if decision.value == NO:
                return f"{name} is not {code}"
            if not decision and not undecided and not self.keeps(decision, key):
                undecided = f"{name}: undecided"
        return undecided

    def _decide(self, unit: LabelledUnit, name: str, code: str) -> Decision:
        decider, cut = self.job.decider, one_of((code,))
        if name in self._conditional:
            return decider.decide_if_asked(unit, name, cut)
        return decider.decide(unit, name, cut)

    def _types_of(self, key: str, unit: LabelledUnit) -> Mapping[str, str]:
        """Return the query's types. A tie gives no slice, and is refused like any other tie."""
        found: dict[str, str] = {}
        for name in self._types:
            decision = self.job.decider.decide_if_asked(unit, name)
            if decision.value is not None:
                found[name] = decision.value
                self.tally.keep(f"slices of {name}")
            elif decision.state == "tie":
                self.job.decider.note("tie", f"{key} ({name})")
                self.tally.undecided[f"{name} tied, no slice"] += 1
        return found


RULE = Rule(
    "typed-queries",
    "Typed queries",
    "Queries that pass the gate; each typed variable becomes a slice.",
    TypedQueries,
    ("question-typing",),
    Options,
)
