"""Isolation: which parts of an item one request may show, and in which order.

- `unit`: the texts that its units are about.
- `response`: of the answers, only the one that its units are about.
- `item` and `query`: everything that people are shown. No request shows more than an item.

An answer shown with others is rated relative to them, so `response` is the default if people rate
several answers on one page.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from annotation.models import Item
from annotation.presentation import present, schema
from judging.backends.decision_questions import MASS_FLOOR
from judging.judge_file.document import ISOLATION, file_of
from judging.models import Judge
from judging.parsers.base import Parser
from judging.parsers.decisions import DecisionsParser
from judging.parsers.schema import SCHEMA
from tandem.protocols.base import ItemSpec, UnitSpec, name_units

DEFAULTS = {"answer-rating": "response"}
REPORT = "report:"
SCOPE = "response "
"""Begins the scope of an assignment that asks about one answer."""


def isolation_of(judge: Judge, protocol: str) -> str:
    """Return the isolation of this judge's requests: its own choice, or the protocol's default."""
    return own_isolation(judge) or DEFAULTS.get(protocol, "item")


def own_isolation(judge: Judge) -> str:
    """Return the isolation that a judge chooses itself, empty if protocols decide."""
    own = file_of(judge).isolate if judge.file else judge.params.get("isolate")
    return str(own) if own in ISOLATION else ""


DESCRIPTIONS = {
    "unit": "the passage or answer that the unit is about, and no other",
    "response": "one answer, without the answers of other systems",
    "item": "everything that people see on one page",
    "query": "everything that people see on one page",
    "": "everything that people see on one page; where answers are rated, one answer without the "
    "answers of other systems",
}


@dataclass(frozen=True)
class OneRequest:
    """A description of what one request of a judge asks about and shows.

    If granularity and isolation differ, `narrower` says which of them decides.
    """

    isolate: str
    asks: str
    shows: str
    narrower: str = ""


def one_request(judge: Judge) -> OneRequest:
    """Describe what one request of a judge asks about and shows."""
    own, by_unit = own_isolation(judge), judge.granularity == Judge.Granularity.UNIT
    if by_unit:
        return OneRequest(own, "one unit", DESCRIPTIONS[own], _why_one_unit(judge, own))
    if own in ("unit", "response"):
        why = f"The isolation ({own}) is narrower than the granularity (item), and decides."
        return OneRequest(own, "the units of one answer", DESCRIPTIONS[own], why)
    asks = "all units of an item" if own else "all units of an item; of one answer, if rated"
    return OneRequest(own, asks, DESCRIPTIONS[own])


def _why_one_unit(judge: Judge, own: str) -> str:
    file = file_of(judge) if judge.file else None
    if own == "unit":
        return "The isolation (unit) asks unit by unit, whatever the granularity."
    if file and not file.parser.several:
        return (
            f"The parser ({file.parser_name}) reads one answer at a time, so each unit has its "
            "own request."
        )
    if not own:
        return ""
    return f"The granularity (unit) is narrower than the isolation ({own}), and decides."


def parser_of(judge: Judge) -> Parser:
    """Return the parser of a judge's answers. Decisions have a parser of their own."""
    if judge.backend == "decisions":
        return DecisionsParser(float(judge.params.get("mass_floor", MASS_FLOOR)))
    return file_of(judge).parser if judge.file else SCHEMA


def report_of(unit: UnitSpec) -> str:
    """Return the field of the answer that a unit is about, empty if there is none."""
    if unit.kind == "report":
        return f"{REPORT}{unit.key}"
    if unit.kind == "sentence":
        return f"{REPORT}{unit.key.rsplit('#', 1)[0]}"
    return unit.of[0] if unit.kind == "report-passage" else ""


def needs_texts(judge: Judge, protocol: str) -> bool:
    """Return whether an item's texts must be loaded, since its requests depend on them."""
    return bool(judge.file) or isolation_of(judge, protocol) in ("response", "unit")


def request_parts(judge: Judge, item: Item, names: list[str]) -> list[tuple[str, list[str]]]:
    """Return the requests about an item's units: each request's scope and unit names.

    The scope is the unit's name, or the answer's if each answer has its own request. A parser that
    reads some keys of an answer alone is asked about no units without them.
    """
    if reads := parser_of(judge).reads:
        asked = schema(item.campaign, "judges")
        units = name_units(present(item).units)
        names = [name for name in names if set(reads) & set(asked.keys(units[name].kind))]
    if not names:
        return []
    if judge.granularity == Judge.Granularity.UNIT:
        return [(name, [name]) for name in names]
    if isolation_of(judge, item.campaign.protocol) not in ("response", "unit"):
        return [("", names)]
    units, groups = name_units(present(item).units), dict[str, list[str]]()
    for name in names:
        groups.setdefault(report_of(units[name]), []).append(name)
    if len(groups) == 1:
        return [("", names)]
    return [(f"{SCOPE}{field.removeprefix(REPORT)}", part) for field, part in groups.items()]


def visible_fields(spec: ItemSpec, units: Iterable[UnitSpec], level: str) -> frozenset[str]:
    """Return the fields of the texts that a request about these units shows."""
    fields = frozenset(text.field for text in spec.texts)
    if level not in ("unit", "response"):
        return fields
    asked = list(units)
    # Pairs compare answers, and a unit without a text of its own is about the item.
    if any(unit.kind == "pair" for unit in asked):
        return fields
    reports = {report_of(unit) for unit in asked}
    hidden = {field for field in fields if field.startswith(REPORT) and field not in reports}
    if level == "unit" and (own := {field for unit in asked for field in _passages(unit, fields)}):
        hidden |= {field for field in fields if field.startswith("passage:") and field not in own}
    return fields - hidden


def _passages(unit: UnitSpec, fields: frozenset[str]) -> set[str]:
    """Return the field of the passage that a unit is, or is a sentence of."""
    if unit.of:
        return {unit.of[1]} & fields
    if not unit.kind.startswith("passage"):
        return set()
    key = unit.key.rsplit("#", 1)[0] if unit.kind.endswith("sentence") else unit.key
    named = {field for field in fields if field == f"passage:{key}"}
    return named or {f for f in fields if f.startswith("passage:") and key.endswith(f"/{f[8:]}")}


def isolate(spec: ItemSpec, visible: frozenset[str]) -> ItemSpec:
    """Return an item with the visible texts alone."""
    return replace(spec, texts=tuple(text for text in spec.texts if text.field in visible))


def orders(judge: Judge, spec: ItemSpec, samples: int) -> list[list[str]]:
    """Return each replicate's order of an item's texts, as field names; empty for the item's order.

    A judge file with the order `both` asks about each pair in both orders. With `shuffled`, each
    replicate has an order drawn by the judge's seed.
    """
    order = file_of(judge).order if judge.file else "given"
    fields = [text.field for text in spec.texts]
    if order == "both" and any(unit.kind == "pair" for unit in spec.units):
        return [swapped for _ in range(samples) for swapped in ([], fields[::-1])]
    if order == "shuffled":
        return [_sample_order(judge, spec, fields, n) for n in range(samples)]
    return [[]] * samples


def _sample_order(judge: Judge, spec: ItemSpec, fields: Sequence[str], replicate: int) -> list[str]:
    seed = judge.params.get("seed", 0)
    # A string as the seed, since hashes of other objects differ between processes.
    draw = random.Random(f"{seed}\0{spec.key}\0{replicate}")
    # The codes of a pair refer to the text shown first, so pairs are swapped or left unchanged.
    if any(unit.kind == "pair" for unit in spec.units):
        return list(fields[::-1]) if draw.random() < 0.5 else []
    drawn = draw.sample(list(fields), len(fields))
    return [] if drawn == list(fields) else drawn
