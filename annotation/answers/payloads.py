"""Turn input into a payload: from the page's form, or the API's JSON.

A payload is `{"units": {name: answer}, "comment": text or null}`. `submit` accepts nothing else.

The page's form numbers the units in the order of the page, from 0. Unit N sends `unit-N` (its
name), `unit-N-VARIABLE` (a code; absent if nothing is chosen), `unit-N-evidence` (JSON, a list of
`{quote, start}` in code points), `unit-N-answer` (a text) and `unit-N-citations` (one field for
each passage). A set of codes, a list of points and the numbers of points are JSON under their own
keys (`unit-N-VARIABLE`, `unit-N-points`, `unit-N-matches`). `comment` belongs to the whole page.
Any other field `unit-…` is refused.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from tandem.messages import Message
from tandem.protocols.base import Payload, UnitSpec, Variable
from tandem.protocols.points import NOT_STORABLE, describe_too_long, is_storable
from tandem.protocols.schema import EVIDENCE_KEY, Schema
from tandem.protocols.validation import MAX_COMMENT, Problem, RefusedError


class FormData(Protocol):
    """The methods of Django's QueryDict that this module uses."""

    def get(self, key: str, default: None = None, /) -> Any: ...
    def getlist(self, key: str) -> list[Any]: ...
    def __contains__(self, key: object) -> bool: ...
    def __iter__(self) -> Iterator[str]: ...


def from_form(schema: Schema, units: Mapping[str, UnitSpec], form: FormData) -> Payload:
    """Return the payload of a page's form.

    Raises RefusedError if a field contains broken JSON, belongs to no unit, or occurs twice.
    """
    names = list(unit_names(form))
    if problems := [
        *_repeated_unit_problems(names),
        *_stray_field_problems(schema, units, names, form),
    ]:
        raise RefusedError(problems)
    answers: dict[str, Any] = {}
    for number, name in enumerate(names):
        unit = units.get(name)
        answers[name] = _unit(schema, name, unit, form, f"unit-{number}-") if unit else {}
    return {"units": answers, "comment": _comment(form.get("comment"))}


def from_api(body: object) -> Payload:
    """Return the payload of an API call, with `units` and an optional `comment`.

    Raises RefusedError.
    """
    if not isinstance(body, Mapping) or not isinstance(body.get("units"), Mapping):
        raise RefusedError([Problem("", "", Message("send an object with units and comment"))])
    if unknown := sorted(str(k) for k in body.keys() - {"units", "comment"}):
        raise RefusedError([Problem("", unknown[0], Message("is not a key of a response"))])
    comment = body.get("comment")
    if comment is not None and not isinstance(comment, str):
        raise RefusedError([Problem("", "comment", Message("is not a text"))])
    return {"units": dict(body["units"]), "comment": _comment(comment)}


def _comment(text: str | None) -> str | None:
    if text and not is_storable(text):
        raise RefusedError([Problem("", "comment", NOT_STORABLE)])
    if text and len(text) > MAX_COMMENT:
        raise RefusedError([Problem("", "comment", describe_too_long(MAX_COMMENT))])
    return text if text and text.strip() else None


def unit_names(form: FormData) -> Iterator[str]:
    """Yield the names of the units in a form, in their order."""
    number = 0
    while f"unit-{number}" in form:
        yield str(form.get(f"unit-{number}"))
        number += 1


def _repeated_unit_problems(names: list[str]) -> list[Problem]:
    twice = Message("is answered twice")
    return [Problem(n, "", twice) for n, times in Counter(names).items() if times > 1]


def _stray_field_problems(
    schema: Schema, units: Mapping[str, UnitSpec], names: list[str], form: FormData
) -> Iterator[Problem]:
    """Yield problems for fields that their unit does not have.

    Fields of units that were not asked are left to the check of the payload.
    """
    numbered = {str(number): name for number, name in enumerate(names)}
    for field in form:
        if not field.startswith("unit-") or field.removeprefix("unit-") in numbered:
            continue
        number, _, key = field.removeprefix("unit-").partition("-")
        name = numbered.get(number)
        if name is None:
            yield Problem("", field, Message("is a field of no unit"))
        elif name in units and key not in _fields(schema, units[name].kind):
            yield Problem(name, key, Message("is not a field of this unit"))


def _fields(schema: Schema, kind: str) -> set[str]:
    written = schema.written(kind)
    fields = set(schema.keys(kind)) - ({written.name} if written else set())
    return fields | ({"answer", "citations"} if written else set())


def _unit(schema: Schema, name: str, unit: UnitSpec, form: FormData, prefix: str) -> dict[str, Any]:
    answer: dict[str, Any] = {
        v.name: _code(name, v, form.get(prefix + v.name)) for v in schema.variables_of(unit.kind)
    }
    if schema.evidence(unit.kind):
        answer[EVIDENCE_KEY] = _json(name, EVIDENCE_KEY, form.get(prefix + EVIDENCE_KEY))
    if written := schema.written(unit.kind):
        text = form.get(prefix + "answer") or ""
        citations = form.getlist(prefix + "citations")
        answer[written.name] = {"text": text, "citations": citations} if text.strip() else None
    if listed := schema.listed(unit.kind):
        answer[listed.name] = _list(name, listed.name, form.get(prefix + listed.name)) or None
    if matching := schema.matching(unit.kind):
        numbers = form.get(prefix + matching.matches)
        answer[matching.matches] = _list(name, matching.matches, numbers)
    return answer


def _code(name: str, variable: Variable, text: str | None) -> str | list[Any] | None:
    """Return the code that is chosen, or the codes of a set. None is no answer."""
    is_set = variable.several and bool(text) and text not in variable.escapes
    return _list(name, variable.name, text) if is_set else text or None


def _list(name: str, key: str, text: str | None) -> list[Any]:
    found = _json(name, key, text)
    if found is not None and not isinstance(found, list):
        raise RefusedError([Problem(name, key, Message("is not a list"))])
    return found or []


def _json(name: str, key: str, text: str | None) -> Any:
    try:
        return json.loads(text) if text else []
    except (ValueError, RecursionError) as error:
        raise RefusedError([Problem(name, key, Message("is not JSON"))]) from error
