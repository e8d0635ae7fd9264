"""Scores of labels, from the probabilities that a server returns with its tokens.

A score is the probability of yes, where that is a possible answer, or the expected rating on an
ordered scale. No threshold is applied here: the analysis does that, and can then try many.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from annotation.answers.types import Detail
from annotation.presentation import TURNED
from judging.answers.calls import storable_text
from judging.backends.base import Answer, AskedVariable
from judging.backends.logprobs import (
    Likelihoods,
    LocatedToken,
    NoLikelihoodError,
    is_stored,
    likelihoods_at,
    locate_tokens,
    tokens_as_json,
    tokens_at,
    unplaced_as_json,
)
from judging.prompts.request import Prepared

Details = Mapping[tuple[str, str], Detail]
Span = tuple[int, int]
YES = "yes"
LOW_MASS = 0.5
MOST_JOINT = 0.01
DIGITS = 9
MASKED = "the server tells the probabilities of the codes alone"
_DECODER = json.JSONDecoder()
_BLANK = " \t\r\n"


def details_of(prepared: Prepared, answer: Answer, by_unit: bool) -> Details:
    """Score and label mass for each variable, by unit name (the stored one) and variable.

    Where the server gave probabilities and one cannot be scored, its detail says why. Never raises.
    """
    if not answer.logprobs:
        return {}
    units = {unit.name: unit for unit in prepared.request.facts.units}
    places = _places(answer.text, next(iter(units)) if by_unit else None)
    turned = TURNED if prepared.assignment.shown else {}
    tokens = _placed(answer)
    return {
        (prepared.names.get(name, name), variable.name): _detail(
            answer.text, tokens, places[name, variable.name], variable, turned
        )
        for name, unit in units.items()
        for variable in unit.variables
        if (name, variable.name) in places
    }


def kept_logprobs(prepared: Prepared, answer: Answer, by_unit: bool) -> Any:
    """What is stored of an answer's `logprobs`: the tokens of its labels, with all alternatives.

    From these `details_of` tells the same. Those of quotes and texts would be most of what a run
    stores, and no score is computed from them. What was kept before stays as it is, and so do the
    tokens of a text that no database takes as it is, since their places would be others.
    """
    told, text = answer.logprobs, answer.text
    if not told or is_stored(told) or storable_text(text) != text:
        return told
    tokens = _placed(answer)
    if isinstance(tokens, NoLikelihoodError):
        return unplaced_as_json(tokens)
    units = {unit.name: unit for unit in prepared.request.facts.units}
    places = _places(text, next(iter(units)) if by_unit else None)
    used = {
        id(token)
        for name, unit in units.items()
        for variable in unit.variables
        if (name, variable.name) in places
        for token in tokens_at(text, tokens, places[name, variable.name], variable.codes)
    }
    return tokens_as_json([token for token in tokens if id(token) in used]) | {
        "tokens": len(tokens)
    }


def _placed(answer: Answer) -> list[LocatedToken] | NoLikelihoodError:
    try:
        return locate_tokens(answer.text, answer.logprobs)
    except NoLikelihoodError as error:
        return error


def _detail(
    text: str,
    tokens: list[LocatedToken] | NoLikelihoodError,
    span: Span,
    variable: AskedVariable,
    turned: Mapping[str, str],
) -> Detail:
    try:
        if isinstance(tokens, NoLikelihoodError):
            raise tokens
        return scored(variable, likelihoods_at(text, tokens, span, variable.codes), turned)
    except NoLikelihoodError as error:
        return Detail(None, {"unscored": str(error)})


def scored(
    variable: AskedVariable, likely: Likelihoods, turned: Mapping[str, str] | None = None
) -> Detail:
    """The score of one variable, and in `meta` all that it rests on.

    `mass` is the probability of all codes together before renormalising, null where the server
    hides it; `probabilities` are renormalised over codes and escapes, the score over codes alone.
    """
    whole = sum(likely.codes.values())
    joint = sum((likely.joint or {}).values())
    if not whole:
        raise NoLikelihoodError("no code has any probability")
    shares = {code: likely.codes.get(code, 0.0) / whole for code in variable.codes}
    meta = _mass(likely) | {
        "probabilities": {
            (turned or {}).get(code, code): round(share, DIGITS)
            for code, share in shares.items()
            if code in likely.codes
        }
    }
    if likely.bounded:
        meta["bounded"] = sorted((turned or {}).get(code, code) for code in likely.bounded)
    if joint > MOST_JOINT * (whole + joint):
        alike = sorted(set().union(*(likely.joint or {})))
        return Detail(None, meta | {"unscored": f"{', '.join(alike)} begin alike"})
    score, variance = _score(variable, shares)
    return Detail(score, meta | ({} if variance is None else {"variance": variance}))


def _mass(likely: Likelihoods) -> dict[str, Any]:
    if likely.masked:
        return {"mass": None, "mass_unknown": MASKED}
    mass = round(likely.mass, DIGITS)
    return {"mass": mass} | ({"low_mass": True} if mass < LOW_MASS else {})


def _score(
    variable: AskedVariable, shares: Mapping[str, float]
) -> tuple[float | None, float | None]:
    """The score and its variance: p(yes), or the expected rating; an escape is no rating."""
    codes = [code for code in variable.codes if code not in variable.escapes]
    whole = sum(shares[code] for code in codes)
    if not whole:
        return None, None
    if variable.level != "nominal":
        values = _values(codes)
        mean = sum(value * shares[code] for code, value in values.items()) / whole
        spread = sum((v - mean) ** 2 * shares[code] for code, v in values.items()) / whole
        return round(mean, DIGITS), round(spread, DIGITS)
    return (round(shares[YES] / whole, DIGITS), None) if YES in codes else (None, None)


def _values(codes: list[str]) -> dict[str, float]:
    """Codes as numbers where all are such, else their ranks from 0."""
    if all(code.isascii() and code.isdecimal() for code in codes):
        return {code: float(code) for code in codes}
    return {code: float(rank) for rank, code in enumerate(codes)}


def _places(text: str, unit: str | None) -> dict[tuple[str, str], Span]:
    """Where the value of each key of each unit stands, without its quotation marks.

    `unit` is the only one, where the text is its answer alone. Keys without a plain value are left
    out; nothing is found in a text that is no JSON object.
    """
    try:
        start = len(text) - len(text.lstrip(_BLANK))
        if unit is not None:
            return {(unit, key): span for key, span in _plain_spans(text, start)}
        return {
            (name, key): span
            for name, (begin, _) in _members(text, start)
            if text[begin] == "{"
            for key, span in _plain_spans(text, begin)
        }
    except (ValueError, IndexError, RecursionError):
        return {}


def _plain_spans(text: str, start: int) -> Iterator[tuple[str, Span]]:
    for key, (begin, end) in _members(text, start):
        if text[begin] == '"':
            yield key, (begin + 1, end - 1)
        elif text[begin].isdigit():
            yield key, (begin, end)


def _members(text: str, start: int) -> Iterator[tuple[str, Span]]:
    """The members of the object that begins at `start`, each with the place of its value."""
    if text[start] != "{":
        raise ValueError("no object begins here")
    at = _skip(text, start + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        begin = _skip(text, _skip(text, at) + 1)
        _, end = _DECODER.raw_decode(text, begin)
        yield str(key), (begin, end)
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at


def _skip(text: str, at: int) -> int:
    while text[at] in _BLANK:
        at += 1
    return at
