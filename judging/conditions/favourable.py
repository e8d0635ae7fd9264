"""The label of each variable that an author of a text would wish for.

It is what hostile texts ask a judge for, and the upper end of the scale on which null controls are
read: a text that is not there earns none of it.
"""

from __future__ import annotations

from annotation.protocols.base import Variable

EXCEPTIONS = {
    "key": "agree",
    "abstains": "no",
    "irrelevant": "no",
    "eligibility": "none",
    "deflected": "no",
    "false_premise": "no",
}
UNCONTROLLED = frozenset({"abstains", "natural", "failure", "action"})
"""Variables on which an empty or a foreign text may rightly get the label that is wished for."""

EARNED_BY_NOTHING = {"preferred": "tie-bad"}
"""The only label that texts which are not there earn, where every other one finds something."""


def favourable(variable: Variable) -> str:
    """`yes` where there is one, the upper end of an order, else the first code."""
    if (exception := EXCEPTIONS.get(variable.name)) in variable.codes:
        return str(exception)
    if "yes" in variable.codes:
        return "yes"
    return variable.codes[0 if variable.level == "nominal" else -1]


def share_of_best(variable: Variable, code: str) -> float | None:
    """Where a code stands from the worst, 0, to the best, 1; None for what is no category.

    Where codes have no order, it is 1 for the best and 0 for every other.
    """
    if code not in variable.codes:
        return None
    if (bottom := EARNED_BY_NOTHING.get(variable.name)) in variable.codes:
        return float(code != bottom)
    best = favourable(variable)
    if variable.level == "nominal" or len(variable.codes) < 2:
        return float(code == best)
    place = variable.codes.index(code) / (len(variable.codes) - 1)
    return place if best == variable.codes[-1] else 1 - place


def top_in_words(variable: Variable) -> str:
    """Which codes `share_of_best` puts at 1, as part of a sentence."""
    if (bottom := EARNED_BY_NOTHING.get(variable.name)) in variable.codes:
        return f"all but `{bottom}` is 1"
    return f"`{favourable(variable)}` is 1"
