"""The names of units in the API of a person's work: those of the page, where stored ones would tell
whose text is whose.
"""

from __future__ import annotations

from annotation.blinding import Blinding, alias_of, blinding_of
from annotation.doors import Payload
from annotation.models import Assignment
from annotation.presenting import present

PLAIN = Blinding({}, {})


def blinding(assignment: Assignment) -> Blinding:
    """How an assignment's units are called; its texts are looked up only where they hide any."""
    if not alias_of(assignment):
        return PLAIN
    return blinding_of(assignment, present(assignment.item))


def stored_names(assignment: Assignment, payload: Payload) -> Payload:
    """An answer that was sent, under the stored names. Raises RefusedError."""
    known = blinding(assignment)
    known.check_names(payload["units"])
    return known.revealed(payload)


def shown_names(assignment: Assignment, payload: Payload) -> Payload:
    """A stored answer or draft as the page names its units and codes."""
    return blinding(assignment).hidden(payload) or payload
