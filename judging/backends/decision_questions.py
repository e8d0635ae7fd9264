"""Questions to a decision model: what to ask about each unit, and how answers become labels.

Each variable of each unit is one question, whose options are the variable's codes and escapes. A
conditional variable is asked once the labels in its condition are known.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

from judging.backends.base import JSON, AskedUnit, AskedVariable, Facts

Kind = Literal["predicate", "choice", "score"]
Undecided = Literal["unreadable", "ambiguous", "refused", "off-label"]
MASS_FLOOR = 0.5
YES_NO = ("yes", "no")
MOST_LEVELS = 10
TIE = 1e-9
DIGITS = 9
Labels = dict[str, dict[str, str | None]]
"""The label of each variable that is settled, by unit; None if it has none or is not asked."""


class NoLabelError(ValueError):
    """An answer gives no label. `fault` is the missing reason."""

    def __init__(self, fault: Undecided) -> None:
        super().__init__(f"the answer means no label: {fault}")
        self.fault: Undecided = fault


@dataclass(frozen=True)
class Question:
    """A question about one variable of a unit.

    `options` are the codes with their descriptions, which may be empty: yes and no for a predicate,
    the levels from low to high for a score.
    """

    unit: str
    variable: str
    kind: Kind
    instructions: str
    options: tuple[tuple[str, str], ...]

    @property
    def codes(self) -> tuple[str, ...]:
        return tuple(code for code, _ in self.options)


@dataclass(frozen=True)
class Decision:
    """A server's answer to one question.

    `probabilities` are renormalised over the codes, and may lack some. `mass` is the probability
    of all options before that, None if the server does not report it. `choice` is the server's own
    pick. The probability of the codes in `bounded` is below that of every listed one.
    """

    probabilities: Mapping[str, float] = field(default_factory=dict)
    mass: float | None = None
    confidence: float | None = None
    choice: str | None = None
    refused: bool = False
    bounded: tuple[str, ...] = ()

    def as_json(self) -> JSON:
        found: JSON = {
            "probabilities": {code: _short(p) for code, p in self.probabilities.items()},
            "mass": None if self.mass is None else _short(self.mass),
            "confidence": None if self.confidence is None else _short(self.confidence),
            "refused": self.refused,
        }
        if self.choice is not None:
            found["choice"] = self.choice
        return found | ({"bounded": list(self.bounded)} if self.bounded else {})

    @classmethod
    def from_json(cls, found: Mapping[str, Any], codes: Sequence[str]) -> Decision:
        """Read a stored decision, dropping everything but valid probabilities of known codes."""
        listed = found.get("probabilities")
        bounded = found.get("bounded")
        choice = found.get("choice")
        return cls(
            probabilities_of(listed if isinstance(listed, Mapping) else {}, codes),
            probability(found.get("mass")),
            probability(found.get("confidence")),
            choice if choice in codes else None,
            found.get("refused") is True,
            tuple(c for c in codes if c in bounded) if isinstance(bounded, list) else (),
        )


def _short(number: float) -> float:
    """Round to significant digits, since a mass of 2e-10 is not 0."""
    return float(f"{number:.{DIGITS}g}")


def probability(value: object) -> float | None:
    """Return a number as a probability, or None if it is not one. Tolerates rounding errors."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not math.isfinite(value) or not -TIE <= value <= 1 + 1e-3:
        return None
    return min(max(float(value), 0.0), 1.0)


def probabilities_of(listed: Mapping[str, object], codes: Sequence[str]) -> dict[str, float]:
    """Return the probability of each code that has one, scaled down if their sum is above 1."""
    found = {code: probability(listed[code]) for code in codes if code in listed}
    good = {code: p for code, p in found.items() if p is not None}
    whole = sum(good.values())
    return {code: p / whole for code, p in good.items()} if whole > 1 else good


def label_of(decision: Decision, floor: float) -> str:
    """Return the most probable code. Raises NoLabelError.

    A model that puts less than `floor` of its probability on the options did not answer. A model
    that gives two codes the same, highest probability did not either.
    """
    if decision.refused:
        raise NoLabelError("refused")
    if decision.mass is not None and decision.mass < floor:
        raise NoLabelError("off-label")
    ranked = sorted(decision.probabilities.items(), key=lambda each: -each[1])
    if not ranked or ranked[0][1] <= 0:
        if decision.choice is None or ranked:
            raise NoLabelError("unreadable")
        return decision.choice
    if len(ranked) > 1 and ranked[0][1] - ranked[1][1] <= TIE:
        raise NoLabelError("ambiguous")
    return ranked[0][0]


def is_closed(facts: Facts) -> bool:
    """Return whether every answer is one code: no set, no text, no list and no matches in one."""
    several = any(v.several for unit in facts.units for v in unit.variables)
    free = any(unit.written or unit.listed or unit.matches for unit in facts.units)
    return not (several or free)


def next_questions(facts: Facts, labels: Labels, two_codes: str) -> list[Question]:
    """Return the questions to ask next, and settle the variables that are not asked.

    `two_codes` says how a variable with the codes yes and no is asked: as `noul` or as `choice`.
    """
    settled = -1
    while settled < (settled := sum(map(len, labels.values()))):
        questions = [
            _question(facts, unit, variable, labels[unit.name], two_codes)
            for unit in facts.units
            for variable in _due_variables(unit, labels.setdefault(unit.name, {}))
        ]
        if questions:
            return questions
    return []


def every_question(facts: Facts, two_codes: str) -> list[Question]:
    """Return all questions that may be asked, regardless of conditions."""
    return [
        _question(facts, unit, variable, {}, two_codes)
        for unit in facts.units
        for variable in unit.variables
    ]


def _due_variables(unit: AskedUnit, labels: dict[str, str | None]) -> Iterator[AskedVariable]:
    names = {variable.name for variable in unit.variables}
    for variable in unit.variables:
        if variable.name in labels:
            continue
        needed = {n: codes for n, codes in variable.asked_if.items() if n in names}
        if any(name not in labels for name in needed):
            continue
        if len(needed) == len(variable.asked_if) and all(
            labels[name] in codes for name, codes in needed.items()
        ):
            yield variable
        else:
            labels[variable.name] = None


def _question(
    facts: Facts,
    unit: AskedUnit,
    variable: AskedVariable,
    labels: Mapping[str, str | None],
    two_codes: str,
) -> Question:
    options = tuple(
        (code, _single_line(variable.criteria.get(code, ""))) for code in variable.codes
    )
    lines = [_describe_unit(facts, unit), variable.question or f"What is its {variable.name}?"]
    given = [f"{name} is {labels[name]}" for name in variable.asked_if if labels.get(name)]
    lines += [f"It is already known that {' and '.join(given)}."] if given else []
    instructions = "\n".join(filter(None, lines))
    kind = kind_of(variable, two_codes)
    if kind == "predicate":
        options = tuple(sorted(options, key=lambda option: option[0] != "yes"))
    return Question(unit.name, variable.name, kind, instructions, options)


def kind_of(variable: AskedVariable, two_codes: str) -> Kind:
    """Return how a variable is asked. Escapes are not levels, so they make a scale a choice."""
    if variable.level != "nominal":
        scale = not variable.escapes and len(variable.codes) <= MOST_LEVELS
        return "score" if scale else "choice"
    if sorted(variable.codes) == sorted(YES_NO) and two_codes != "choice":
        return "predicate"
    return "choice"


def _describe_unit(facts: Facts, unit: AskedUnit) -> str:
    kind = unit.kind.replace("-", " ")
    places = [n + 1 for n in (unit.about, unit.answer) if n is not None]
    if len(facts.texts) < 2 or not places:
        where = ""
    elif len(places) == 1:
        where = f" (text {places[0]})"
    else:
        where = f" (texts {places[0]} and {places[1]})"
    return f"The {kind}{where}: {json.dumps(_single_line(unit.text), ensure_ascii=False)}"


def _single_line(text: str) -> str:
    return " ".join(text.split())


def split_question(question: Question, most: int) -> list[Question]:
    """Split a question with too many options into a choice of group and a question per group.

    A question with few enough options is returned as it is.
    """
    if len(question.options) <= most:
        return [question]
    groups = _groups(question, most)
    choices = tuple(
        (f"group {n}", f"one of: {', '.join(code for code, _ in group)}")
        for n, group in enumerate(groups, start=1)
    )
    which = f"{question.instructions}\nIn which group of answers is the right one?"
    first = Question(question.unit, question.variable, "choice", which, choices)
    rest = [
        Question(question.unit, question.variable, "choice", question.instructions, group)
        for group in groups
    ]
    return [first, *rest]


def join_decisions(question: Question, answers: Sequence[Decision]) -> Decision:
    """Combine the answers to the parts of a split question: p(group) times p(code in the group)."""
    if len(answers) == 1:
        return answers[0]
    first, *rest = answers
    shares = [first.probabilities.get(f"group {n}", 0.0) for n in range(1, len(rest) + 1)]
    masses = [each.mass for each in answers if each.mass is not None]
    found = {
        code: share * p
        for share, each in zip(shares, rest, strict=True)
        for code, p in each.probabilities.items()
    }
    return Decision(
        probabilities_of(found, question.codes),
        min(masses) if len(masses) == len(answers) else None,
        refused=any(each.refused for each in answers),
        bounded=tuple(code for each in rest for code in each.bounded),
    )


def _groups(question: Question, most: int) -> list[tuple[tuple[str, str], ...]]:
    size = len(question.options)
    number = -(-size // most)
    bounds = [n * size // number for n in range(number + 1)]
    return [question.options[start:end] for start, end in pairwise(bounds)]
