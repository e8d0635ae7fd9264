"""An imported answer laid over the one that stands, so that files may hold parts of an item."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annotation.doors import Payload
from annotation.protocols.schema import EVIDENCE_KEY
from annotation.submit import Detail

Answer = Mapping[str, Any]


def merged(stands: Payload | None, payload: Payload, evidence: str | None) -> Payload:
    """`payload` over what stands; `evidence` is the variable of quotes that name none.

    A label that is given again keeps its old quotes and details only where its value is the same
    and the file brings none of its own.
    """
    if stands is None:
        return payload
    units = {name: dict(answer) for name, answer in stands["units"].items()}
    details = {name: dict(each) for name, each in stands.get("details", {}).items()}
    for name, new in payload["units"].items():
        old = units.get(name, {})
        units[name] = _with_quotes(old, new, evidence)
        details[name] = {
            **{v: d for v, d in details.get(name, {}).items() if _still(v, old, new)},
            **payload.get("details", {}).get(name, {}),
        }
    whole = {**stands, "units": units, "comment": payload["comment"] or stands.get("comment")}
    kept = {name: each for name, each in details.items() if each}
    return {k: v for k, v in whole.items() if k != "details"} | ({"details": kept} if kept else {})


def _with_quotes(old: Answer, new: Answer, evidence: str | None) -> dict[str, Any]:
    given = list(new.get(EVIDENCE_KEY) or ())
    renewed = {quote["variable"] for quote in given}
    kept = [
        quote
        for quote in old.get(EVIDENCE_KEY) or ()
        if (of := quote.get("variable", evidence)) not in renewed and _still(of, old, new)
    ]
    quotes = {EVIDENCE_KEY: kept + given} if kept or given or EVIDENCE_KEY in old else {}
    return {**old, **new, **quotes}


def _still(variable: str | None, old: Answer, new: Answer) -> bool:
    """Whether a variable keeps the value that it had."""
    return variable is None or variable not in new or new[variable] == old.get(variable)


def details_of(payload: Payload) -> dict[tuple[str, str], Detail]:
    return {
        (name, variable): Detail(detail.get("score"), detail.get("meta"))
        for name, variables in payload.get("details", {}).items()
        for variable, detail in variables.items()
    }
