"""Scores of labels, from the probabilities that a server returns with its tokens.

A score is the probability of *yes* if that is a code, or the expected rating on an ordered scale.
No threshold is applied here, so that the analysis can try many. A variable that takes several codes
has no score, since its value is not one place in the reply.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from annotation.answers.types import Detail
from annotation.blinding import SWAPPED_CODES
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
from judging.parsers.base import Reading
from judging.parsers.probabilities import score_of
from judging.prompts.request import Prepared

Details = Mapping[tuple[str, str], Detail]
Span = tuple[int, int]
LOW_MASS = 0.5
MAX_JOINT_SHARE = 0.01
DIGITS = 9
MASKED = "the server gives only the probabilities of the codes"
_DECODER = json.JSONDecoder()
_BLANK = " \t\r\n"


def score_answer(prepared: Prepared, answer: Answer, reading: Reading) -> Details:
    """Return score and label mass of each label, by the unit's stored name and variable.

    If a label has probabilities but no score, its detail says why. Never raises.
    """
    if not answer.logprobs:
        return {}
    units = {unit.name: unit for unit in prepared.request.facts.units}
    places = _locate_values(prepared, reading)
    swapped = SWAPPED_CODES if prepared.assignment.shown else {}
    tokens = _locate(answer)
    return {
        (prepared.names.get(name, name), variable.name): _score_span(
            answer.text, tokens, places[name, variable.name], variable, swapped
        )
        for name, unit in units.items()
        for variable in unit.variables
        if (name, variable.name) in places and not variable.several
    }


def select_logprobs(prepared: Prepared, answer: Answer, reading: Reading) -> Any:
    """Select the part of an answer's `logprobs` to store: its labels' tokens and alternatives.

    `score_answer` computes the same scores from them. Scores do not need the tokens of quotes and
    texts, which are most of a run's data. Logprobs that were selected before are returned
    unchanged. So are those of a text that is stored with escapes, which would shift its tokens.
    """
    logprobs, text = answer.logprobs, answer.text
    # A parser of probabilities needs all of them if it reads the answer again.
    if not logprobs or reading.scores or is_stored(logprobs) or storable_text(text) != text:
        return logprobs
    tokens = _locate(answer)
    if isinstance(tokens, NoLikelihoodError):
        return unplaced_as_json(tokens)
    units = {unit.name: unit for unit in prepared.request.facts.units}
    places = _locate_values(prepared, reading)
    used = {
        id(token)
        for name, unit in units.items()
        for variable in unit.variables
        if (name, variable.name) in places and not variable.several
        for token in tokens_at(text, tokens, places[name, variable.name], variable.codes)
    }
    return tokens_as_json([token for token in tokens if id(token) in used]) | {
        "tokens": len(tokens)
    }


def _locate(answer: Answer) -> list[LocatedToken] | NoLikelihoodError:
    try:
        return locate_tokens(answer.text, answer.logprobs)
    except NoLikelihoodError as error:
        return error


def _score_span(
    text: str,
    tokens: list[LocatedToken] | NoLikelihoodError,
    span: Span,
    variable: AskedVariable,
    swapped: Mapping[str, str],
) -> Detail:
    try:
        if isinstance(tokens, NoLikelihoodError):
            raise tokens
        return score_variable(variable, likelihoods_at(text, tokens, span, variable.codes), swapped)
    except NoLikelihoodError as error:
        return Detail(None, {"unscored": str(error)})


def score_variable(
    variable: AskedVariable, likely: Likelihoods, swapped: Mapping[str, str] | None = None
) -> Detail:
    """Return the score of one variable, and its sources in `meta`.

    `mass` is the probability of all codes together before renormalising, null if the server hides
    it. `probabilities` are renormalised over codes and escapes, the score over codes alone.
    """
    whole = sum(likely.codes.values())
    joint = sum((likely.joint or {}).values())
    if not whole:
        raise NoLikelihoodError("no code has any probability")
    shares = {code: likely.codes.get(code, 0.0) / whole for code in variable.codes}
    meta = _mass(likely) | {
        "probabilities": {
            (swapped or {}).get(code, code): round(share, DIGITS)
            for code, share in shares.items()
            if code in likely.codes
        }
    }
    if likely.bounded:
        meta["bounded"] = sorted((swapped or {}).get(code, code) for code in likely.bounded)
    if joint > MAX_JOINT_SHARE * (whole + joint):
        alike = sorted(set().union(*(likely.joint or {})))
        return Detail(None, meta | {"unscored": f"{', '.join(alike)} begin alike"})
    score, variance = score_of(variable, shares)
    return Detail(score, meta | ({} if variance is None else {"variance": variance}))


def _mass(likely: Likelihoods) -> dict[str, Any]:
    if likely.masked:
        return {"mass": None, "mass_unknown": MASKED}
    mass = round(likely.mass, DIGITS)
    return {"mass": mass} | ({"low_mass": True} if mass < LOW_MASS else {})


def _locate_values(prepared: Prepared, reading: Reading) -> dict[tuple[str, str], Span]:
    """Return the span of each plain value by unit and key, without its quotation marks.

    Return nothing for an answer that was not read from a JSON object.
    """
    facts = prepared.request.facts
    unit = facts.units[0].name if facts.unit_by_unit else None
    return locate_values(reading.text, unit, reading.start)


def locate_values(text: str, unit: str | None, start: int = 0) -> dict[tuple[str, str], Span]:
    """Return the span of each plain value in a JSON object, by unit and key.

    `unit` is the only unit if the object is its answer alone.
    """
    try:
        start += len(text[start:]) - len(text[start:].lstrip(_BLANK))
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
    """Yield the members of the object that begins at `start`, each with the span of its value."""
    if text[start] != "{":
        raise ValueError("no object begins here")
    at = _skip_blanks(text, start + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        begin = _skip_blanks(text, _skip_blanks(text, at) + 1)
        _, end = _DECODER.raw_decode(text, begin)
        yield str(key), (begin, end)
        at = _skip_blanks(text, end)
        at = _skip_blanks(text, at + 1) if text[at] == "," else at


def _skip_blanks(text: str, at: int) -> int:
    while text[at] in _BLANK:
        at += 1
    return at
