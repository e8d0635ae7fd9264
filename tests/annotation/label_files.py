"""Labels files that answer every unit of a campaign, created from `export --what units`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from annotation.models import Campaign
from annotation.protocols import PROTOCOLS
from annotation.protocols.base import Protocol
from tandem.protocols.base import Variable
from tests.cast import Line

# Name, kind, replicate, and the index of the first code in the list of codes.
RATERS = (
    ("ann", "human", 0, 0),
    ("=bo", "human", 0, 1),
    ("jude", "judge", 0, 2),
    ("jude", "judge", 1, 3),
    ("all of us", "reference", 0, 1),
)


def labels_for(campaign: Campaign, units: list[Line]) -> list[Line]:
    """Labels of every unit by every rater that follow all conditions; some are missing."""
    protocol = PROTOCOLS[campaign.protocol]
    return [
        line
        for rater in RATERS
        for number, unit in enumerate(units)
        for line in _of_unit(campaign, protocol, unit, rater, number)
    ]


def _of_unit(
    campaign: Campaign,
    protocol: Protocol,
    unit: Line,
    rater: tuple[str, str, int, int],
    number: int,
) -> Iterator[Line]:
    name, kind, replicate, start = rater
    values: dict[str, str] = {}
    for place, variable in enumerate(_asked(protocol, unit), start=start + number):
        conditions = {n: c for n, c in variable.asked_if.items() if n in unit["variables"]}
        if not all(values.get(n) in codes for n, codes in conditions.items()):
            continue
        line = _head(campaign, unit) | {
            "variable": variable.name,
            "rater": name,
            "rater_kind": kind,
            "replicate": replicate,
            "seconds": 12.5 + replicate,
        }
        if name == "jude" and replicate == 1 and number == 0:
            yield line | {"missing": "timeout"}
            continue
        code = variable.answers[place % len(variable.answers)]
        values[variable.name] = code
        line |= {"value": code, "revision": 2, "created_at": "2026-03-01T08:00:00+00:00"}
        yield line | _details(kind, number) | _spans(protocol, variable, code, unit, number)


def _asked(protocol: Protocol, unit: Line) -> list[Variable]:
    names = unit["variables"]
    return [v for v in protocol.variables if v.kind == unit["kind"] and v.name in names]


def _head(campaign: Campaign, unit: Line) -> Line:
    report = campaign.items.select_related("report").get(key=unit["item"]).report
    facts = {
        "campaign": campaign.name,
        "protocol": campaign.protocol,
        "item": unit["item"],
        "unit": unit["unit"],
        "kind": unit["kind"],
        "batch": campaign.batch.name,
        "query": unit["query"],
        "system": report.system if report else None,
        "setting": report.setting if report else None,
    }
    return {name: value for name, value in facts.items() if value is not None}


def _details(kind: str, number: int) -> Line:
    if kind != "judge":
        return {"assisted_by": "jude"} if kind == "reference" else {}
    return {"score": number / 8, "meta": {"why": "because\n= it is 🌉", "n": [number, None]}}


def _spans(
    protocol: Protocol, variable: Variable, code: str, unit: Mapping[str, Any], number: int
) -> Line:
    rule = protocol.evidence
    if rule is None or rule.variable != variable.name:
        return {}
    if code not in rule.owed_if and number % 2:
        return {}
    text = unit["texts"][rule.field]
    places = [(0, 8), (4, len(text) - 1)] if number % 3 else [(3, 9)]
    return {
        "spans": [
            {"field": rule.field, "start": start, "end": end, "text": text[start:end]}
            for start, end in places
        ]
    }
