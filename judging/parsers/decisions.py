"""`decisions`: the probabilities that a decision model gives, and the label that they mean.

The label is the most probable code. A question gets a missing reason of its own if it was refused,
if most probability is on other tokens than the labels, or if the two highest probabilities are
equal. The other questions keep their labels. There are no quotes and no texts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from judging.backends.base import Answer, AskedVariable
from judging.backends.decision_questions import MASS_FLOOR, Decision, NoLabelError, label_of
from judging.parsers.base import ExpectedAnswer, Fault, Reading, Score, UnitVariable, UnreadError
from judging.parsers.probabilities import score_of

NO_MASS = "the server does not report it"


class DecisionsParser:
    """Reads the codes of all variables. `floor` is the least mass on the labels."""

    whole, several = False, True
    reads: tuple[str, ...] = ()

    def __init__(self, floor: float = MASS_FLOOR) -> None:
        self.floor = floor

    def read(self, answer: Answer, expected: ExpectedAnswer) -> Reading:
        answers = _answers(answer.text)
        units: dict[str, dict[str, str]] = {unit.name: {} for unit in expected.units}
        scores: dict[UnitVariable, Score] = {}
        missing: dict[UnitVariable, Fault] = {}
        for unit in expected.units:
            given = answers.get(unit.name)
            if not isinstance(given, Mapping):
                raise UnreadError(f"there are no decisions on {unit.name!r}")
            for variable in unit.variables:
                place = unit.name, variable.name
                found = given.get(variable.name)
                # A variable is not asked if its condition does not hold.
                if not isinstance(found, Mapping):
                    if not variable.asked_if:
                        missing[place] = "unreadable"
                    continue
                decision = Decision.from_json(found, variable.codes)
                try:
                    units[unit.name][variable.name] = label_of(decision, self.floor)
                except NoLabelError as error:
                    missing[place] = error.fault
                else:
                    scores[place] = score_from(variable, decision)
        if not scores and len(faults := set(missing.values())) == 1:
            raise UnreadError(f"no question has a label: {min(faults)}", min(faults))
        return Reading(units, text=answer.text, scores=scores, missing=missing)


def _answers(text: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    answers = found.get("answers") if isinstance(found, dict) else None
    if not isinstance(answers, dict):
        raise UnreadError("the answer is not a decision model's")
    return answers


def score_from(variable: AskedVariable, decision: Decision) -> Score:
    """Return a label's score, with its probabilities and their mass in `meta`."""
    value, variance = score_of(variable, decision.probabilities)
    meta: dict[str, Any] = {"mass": decision.mass}
    if decision.mass is None:
        meta["mass_unknown"] = NO_MASS
    meta["probabilities"] = dict(decision.probabilities)
    if decision.confidence is not None:
        meta["confidence"] = decision.confidence
    if decision.bounded:
        meta["bounded"] = list(decision.bounded)
    if variance is not None:
        meta["variance"] = variance
    return Score(value, meta)
