"""The parts of a batch whose labels have the codes that a researcher names, of any protocol.

A variable is about the part that its unit stands for: a query, a question, a passage, a key point,
a nugget, a report, or a citation of a sentence. A unit such as a sentence or a pair of reports is
no part that a batch could lack. A part has several units where each of several items asks about it,
such as a question of each report.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from annotation.derivation.base import ANY_PROTOCOL, Job, LabelWork, Rule
from annotation.derivation.conditions import EXAMPLE, Condition, has_code, read_conditions
from annotation.derivation.decisions import NO, YES, Cut, Decision
from annotation.derivation.labels import LabelledUnit
from annotation.models import Campaign
from annotation.presentation import items_of, schema
from annotation.protocols.base import passage_key
from annotation.protocols.items import PARTS
from annotation.registry import TASKS, is_known
from datasets.derivation import DerivationError
from tandem.files import rows
from tandem.grouping import grouped
from tandem.protocols.base import Variable, kinds_of
from tandem.protocols.schema import UNIT_NOUNS

LISTED = ("question", "passage", "key-point", "nugget", "report")
"""The kinds of units that are parts of a query, in the list that `PARTS` names."""
CITATION, QUERY = "sentence-citation", "query"
Key = tuple[str, str]
"""The kind and the name of a variable."""


@dataclass(frozen=True)
class Options:
    keep: str = field(
        default="",
        metadata={
            "help": f"what the labels of a part must be, such as `{EXAMPLE}`; `!=` means none of "
            "the codes, and `>=`, `<=`, `>` and `<` compare codes that have an order",
            "required": True,
            "longest": 2000,
        },
    )
    units: Literal["any", "all"] = field(
        default="any",
        metadata={
            "help": "whether any or all units of a part must have the codes, where it has several, "
            "such as a question that is asked of each report",
        },
    )


def part_of(variable: Variable, campaign: Campaign) -> str:
    """Return the kind of part that a variable is about, or an empty text."""
    form = schema(campaign).protocol.items
    kind = form.each if variable.kind == "item" and form else variable.kind
    return kind if kind in (*LISTED, CITATION, QUERY) else ""


def has_parts(campaign: Campaign) -> bool:
    """Whether a campaign asks about parts of its batch."""
    if campaign.protocol in TASKS or not is_known(campaign):
        return False
    return any(part_of(variable, campaign) for variable in schema(campaign).variables)


@dataclass(frozen=True)
class Outcome:
    """Whether a unit has the codes, and if it does not, or nobody knows, why."""

    decision: Decision
    why: str = ""


class ByCodes(LabelWork):
    def __init__(self, job: Job) -> None:
        self._asked, parts = _asked_in(job.campaigns)
        usable = [variable for key, variable in self._asked.items() if parts[key]]
        named = _by_written_name(usable)
        self._conditions = read_conditions(job.options.keep, named, _misnamed(parts))
        kinds = kinds_of(condition.variable for condition in self._conditions)
        if len(kinds) > 1:
            raise DerivationError(
                f"the conditions are about {' and '.join(sorted(kinds))}; derive twice, by one "
                "after the other",
                "set",
            )
        first = self._conditions[0].variable
        self._kind, self._part = first.kind, parts[first.kind, first.name]
        self.plural = UNIT_NOUNS[self._part][1]
        needed = (self._with_earlier(condition.variable) for condition in self._conditions)
        self.variables = tuple(dict.fromkeys(name for names in needed for name in names))
        super().__init__(job)

    def _with_earlier(self, variable: Variable) -> Iterator[str]:
        """Yield a variable's name, after those of the variables on which it depends."""
        for name in self._earlier(variable):
            yield from self._with_earlier(self._asked[variable.kind, name])
        yield variable.name

    def _earlier(self, variable: Variable) -> Mapping[str, Sequence[str]]:
        """Return the conditions under which a variable is asked. What nobody is asked is met."""
        return {n: c for n, c in variable.asked_if.items() if (variable.kind, n) in self._asked}

    def apply(self, pk: int, query: rows.Query) -> rows.Query | None:
        units = grouped((unit.key, unit) for unit in self.units(pk) if unit.kind == self._kind)
        if self._part == QUERY:
            return query if self._select([query.id], units) else None
        if self._part == CITATION:
            units |= self._of_equal(query, units)
            made = replace(query, reports=tuple(self._cited(r, units) for r in query.reports))
        else:
            made = self._with_parts(query, units)
        self.tally.keep("queries")
        return made

    def _of_equal(
        self, query: rows.Query, units: Mapping[str, list[LabelledUnit]]
    ) -> dict[str, list[LabelledUnit]]:
        """Return the labelled units of the citations that were not asked, but equal ones were."""
        return {
            unit.key: units[unit.same_as[1]]
            for campaign in self.job.campaigns
            if campaign.options.get("same")
            for item in items_of(campaign, query)
            for unit in item.units
            if unit.same_as and unit.key not in units and unit.same_as[1] in units
        }

    def _with_parts(
        self, query: rows.Query, units: Mapping[str, Sequence[LabelledUnit]]
    ) -> rows.Query:
        name = PARTS[self._part]
        parts: Sequence[Any] = getattr(query, name)
        keys = [passage_key(query, p) if self._part == "passage" else p.id for p in parts]
        kept = self._select(keys, units)
        if parts and not kept:
            self.tally.keep(f"queries without {self.plural}")
        found = tuple(part for key, part in zip(keys, parts, strict=True) if key in kept)
        changed: dict[str, Any] = {name: found}
        made = replace(query, **changed)
        return self._without_orphans(made, query) if self._part == "passage" else made

    def _without_orphans(self, made: rows.Query, before: rows.Query) -> rows.Query:
        """Leave out the key points of passages that are left out."""
        lost = {p.id for p in before.passages} - {p.id for p in made.passages}
        for point in made.key_points:
            if point.passage in lost:
                self.tally.drop(UNIT_NOUNS["key-point"][1], point.id, "its passage is left out")
        kept = tuple(point for point in made.key_points if point.passage not in lost)
        return replace(made, key_points=kept)

    def _cited(
        self, report: rows.Report, units: Mapping[str, Sequence[LabelledUnit]]
    ) -> rows.Report:
        """Return a report with the citations that are kept, also in the list of all."""
        before = report.sentence_citations
        if before is None:
            return report
        keys = [
            [f"{report.id}#{n}/{each}" for each in cited] for n, cited in enumerate(before, start=1)
        ]
        kept = self._select(dict.fromkeys(key for each in keys for key in each), units)
        after = tuple(
            tuple(each for each, key in zip(cited, own, strict=True) if key in kept)
            for cited, own in zip(before, keys, strict=True)
        )
        lost = {p for cited in before for p in cited} - {p for cited in after for p in cited}
        flat = tuple(each for each in report.citations or () if each not in lost)
        return replace(report, sentence_citations=after, citations=flat or None)

    def _select(
        self, keys: Iterable[str], units: Mapping[str, Sequence[LabelledUnit]]
    ) -> frozenset[str]:
        """Return the keys of the parts that are kept, and note the others with the reason."""
        kept = []
        for key in keys:
            if reason := self._reason(key, units.get(key, ())):
                self.tally.drop(self.plural, key, reason)
            else:
                kept.append(key)
        self.tally.keep(self.plural, len(kept))
        return frozenset(kept)

    def _reason(self, key: str, units: Sequence[LabelledUnit]) -> str:
        """Return why a part is left out, or nothing. One unit may decide for the others."""
        if not units:
            return "not in the campaign"
        decisive = YES if self.job.options.units == "any" else NO
        outcomes = [self._outcome(unit) for unit in units]
        for found in outcomes:
            if found.decision.value == decisive:
                return found.why
        undecided = [each for each in outcomes if not each.decision]
        if undecided:
            first = next((u for u in undecided if u.decision.state == "open"), undecided[0])
            return "" if self.keeps(first.decision, key) else first.why
        return outcomes[0].why

    def _outcome(self, unit: LabelledUnit) -> Outcome:
        """Return whether a unit meets all conditions. One that it does not meet decides."""
        undecided = None
        for condition in self._conditions:
            found = self._of_condition(unit, condition)
            if found.decision.value == NO:
                return found
            if not found.decision:
                undecided = undecided or found
        return undecided or Outcome(Decision(YES, "decided"))

    def _of_condition(self, unit: LabelledUnit, condition: Condition) -> Outcome:
        variable = condition.variable
        asked = self._is_asked(unit, variable)
        if asked.value == NO:
            return Outcome(asked, f"{variable.name}: not asked")
        decision = self._decide(unit, variable, condition.cut) if asked else asked
        if not decision:
            return Outcome(decision, f"{variable.name}: undecided")
        return Outcome(decision, "" if decision.value == YES else f"not {condition.text}")

    def _is_asked(self, unit: LabelledUnit, variable: Variable) -> Decision:
        """Decide whether the answers to earlier variables ask for this one."""
        for name, codes in self._earlier(variable).items():
            earlier = self._asked[variable.kind, name]
            asked = self._is_asked(unit, earlier)
            met = self._decide(unit, earlier, has_code(codes)) if asked.value == YES else asked
            if met.value != YES:
                return met
        return Decision(YES, "decided")

    def _decide(self, unit: LabelledUnit, variable: Variable, cut: Cut) -> Decision:
        decider = self.job.decider
        decide = decider.decide_if_asked if self._earlier(variable) else decider.decide
        return decide(unit, variable.name, cut)


def _asked_in(campaigns: Sequence[Campaign]) -> tuple[dict[Key, Variable], dict[Key, str]]:
    """Return the variables of all campaigns, and the part that each is about."""
    found, parts = dict[Key, Variable](), dict[Key, str]()
    for campaign in campaigns:
        for variable in schema(campaign).variables:
            key, part = (variable.kind, variable.name), part_of(variable, campaign)
            if (found.setdefault(key, variable), parts.setdefault(key, part)) != (variable, part):
                raise DerivationError(
                    f"{variable.name} is not the same in all of these campaigns; derive from one",
                    "from",
                )
    return found, parts


def _by_written_name(variables: Sequence[Variable]) -> dict[str, Variable]:
    """Return variables by name, with the kind before a name that parts of two kinds share."""
    names = [variable.name for variable in variables]
    return {v.name if names.count(v.name) == 1 else f"{v.kind}:{v.name}": v for v in variables}


def _misnamed(parts: Mapping[Key, str]) -> dict[str, str]:
    """Return the names of variables that say too little, or are about no part, with the reason."""
    kinds = grouped((name, kind) for (kind, name), part in parts.items() if part)
    found = {
        name: f"{name} is asked about a {' and a '.join(of)}"
        for name, of in kinds.items()
        if len(of) > 1
    }
    for kind, name in parts:
        if name not in kinds:
            found[name] = f"{name} is about a {kind}, which is no part that a batch can leave out"
    return found


def hints(campaigns: Sequence[Campaign]) -> dict[str, str]:
    """Return what the option `keep` can name in each of these campaigns."""
    lines = []
    for campaign in campaigns:
        named = _by_written_name([v for v in schema(campaign).variables if part_of(v, campaign)])
        found = (f"{name} ({', '.join(each.answers_in_brief)})" for name, each in named.items())
        lines.append(f"{campaign.name} asks {'; '.join(found)}.")
    return {"keep": " ".join(lines)}


RULE = Rule(
    "by-codes",
    "Parts by codes",
    "The parts whose labels have the codes that you name, by any protocol; the others are left out "
    "with the reason.",
    ByCodes,
    ANY_PROTOCOL,
    Options,
    fits=has_parts,
    hints=hints,
)
