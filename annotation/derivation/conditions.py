"""Conditions on labels, as a researcher writes them: `support=partial,full` or `score>=60`.

Commas separate the codes of a condition, and conditions. All conditions must hold. Those on one
variable are one test of a label, so that raters are counted by whether their label passes it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from operator import ge, gt, le, lt
from typing import Any

from annotation.derivation.decisions import NO, YES, Cut
from datasets.derivation import DerivationError
from tandem.protocols.base import Variable, names_code
from tandem.similar import did_you_mean

ORDERS: Mapping[str, Callable[[Any, Any], bool]] = {">=": ge, "<=": le, ">": gt, "<": lt}
EXAMPLE = "support=partial,full"
_CONDITION = re.compile(r"(?P<name>[\w:-]+)\s*(?P<sign>[<>!]=|[=<>])\s*(?P<code>.*)", re.DOTALL)


@dataclass(frozen=True)
class Condition:
    """A test of one variable's labels. `text` is how it was written."""

    variable: Variable
    text: str
    cut: Cut


def read_conditions(
    text: str, variables: Mapping[str, Variable], others: Mapping[str, str]
) -> list[Condition]:
    """Read conditions on variables, given by the names that may be written.

    `others` are names that may not, with what is wrong with each. Returns one condition for each
    variable, in the order of their first mention. Raises DerivationError.
    """
    found: dict[str, list[tuple[str, Cut]]] = {}
    for name, sign, codes in _split(text):
        if name not in variables:
            known = ", ".join(variables)
            hint = f"name one of {known}"
            if name not in others:
                hint = did_you_mean(name, variables, hint)
            wrong = others.get(name, f"there is no variable {name!r}")
            raise DerivationError(f"{wrong}; {hint}", "set")
        test = _test(variables[name], sign, codes)
        found.setdefault(name, []).append((f"{name}{sign}{','.join(codes)}", test))
    return [
        Condition(variables[name], ",".join(text for text, _ in tests), _all([t for _, t in tests]))
        for name, tests in found.items()
    ]


def has_code(codes: Sequence[str]) -> Cut:
    """Return a cut that says whether a label is one of the codes, or a set with one of them."""
    return lambda value: YES if names_code(value, codes) else NO


def _split(text: str) -> list[tuple[str, str, list[str]]]:
    """Return the name, the sign and the codes of each condition."""
    found: list[tuple[str, str, list[str]]] = []
    for part in (each.strip() for each in text.split(",")):
        if match := _CONDITION.fullmatch(part):
            found.append((match["name"], match["sign"], [match["code"]]))
        elif found and part:
            found[-1][2].append(part)
        else:
            raise DerivationError(
                f"a condition reads {EXAMPLE} or score>=60; {part!r} does not", "set"
            )
    return found


def _test(variable: Variable, sign: str, codes: Sequence[str]) -> Cut:
    if sign in ORDERS:
        return _ordered(variable, sign, codes)
    known = [_code(variable, code) for code in codes]
    if sign == "=":
        return has_code(known)
    return lambda value: NO if names_code(value, known) else YES


def _code(variable: Variable, text: str) -> str:
    code = variable.number(text)
    if code not in variable.answers:
        known = ", ".join(variable.answers_in_brief)
        hint = did_you_mean(text, variable.answers, f"it has {known}")
        raise DerivationError(f"{variable.name} has no code {text!r}; {hint}", "set")
    return code


def _ordered(variable: Variable, sign: str, codes: Sequence[str]) -> Cut:
    """Return a cut that compares codes with one of them. An escape never passes."""
    name = variable.name
    if variable.level == "nominal":
        raise DerivationError(f"the codes of {name} have no order; write {name}=CODE,CODE", "set")
    if len(codes) > 1:
        raise DerivationError(
            f"{name}{sign} takes one code, not {len(codes)}; write {name}{sign}{codes[0]}", "set"
        )
    is_number = variable.level == "interval"
    places = {code: Decimal(code) if is_number else n for n, code in enumerate(variable.codes)}
    bound = _number(variable, codes[0]) if is_number else places.get(codes[0])
    if bound is None:
        hint = did_you_mean(codes[0], variable.codes, f"it has {', '.join(variable.codes)}")
        raise DerivationError(f"{name} has no code {codes[0]!r} in its order; {hint}", "set")
    passing = {code for code, place in places.items() if ORDERS[sign](place, bound)}
    return lambda value: YES if value in passing else NO


def _number(variable: Variable, text: str) -> Decimal:
    """Return a bound within a scale. It need not be one of the scale's steps."""
    numbers = sorted(map(Decimal, variable.codes))
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite() or not numbers[0] <= number <= numbers[-1]:
        raise DerivationError(
            f"{variable.name} goes from {numbers[0]} to {numbers[-1]}, and {text!r} is outside; "
            "correct the number",
            "set",
        )
    return number


def _all(tests: Sequence[Cut]) -> Cut:
    if len(tests) == 1:
        return tests[0]
    return lambda value: YES if all(test(value) == YES for test in tests) else NO
