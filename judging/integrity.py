"""Every check of what is stored, by name, and one pass over them all.

Texts are `datasets`' to check, answers and draws `annotation`'s, the trail `audit`'s; the ledger of
judges and what runs cost is `judging.invariants`'. What is checked against files and a server
stands there too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from annotation import integrity as answers
from annotation.integrity import Seen
from annotation.tallies.checking import wrong as wrong_tallies
from audit.sealing import broken
from audit.violations import Check, Violation
from datasets import digests
from judging import invariants
from judging.models import Judge

_TALLIES = Check(
    "Tallies",
    "the numbers that pages show are those of the rows they count",
    "Safe: they are counted anew by `manage.py shell -c 'from annotation.tallies.installing import "
    "recount; recount()'`.",
)
_TRAIL = Check(
    "audit",
    "the audit trail is as it was sealed",
    "Nothing repairs it: that is what the seals are for. Compare a backup, and keep both.",
)
_AGAIN = "Take the rows from a backup, or exclude the judge and run it again under another name."
LAWS: tuple[Check, ...] = (
    Check(
        "I1",
        "one answer stands for each assignment, and one label of a unit and variable by a rater",
        "Where two answers stand, leave the newest revision current, once its payload was read.",
    ),
    Check(
        "I2",
        "every save that a client was told of is stored",
        "Look for the save in a backup; its key is in the list that was given.",
    ),
    Check(
        "I3",
        "no item has more people than planned, and nobody has it twice",
        "Set `taken` to the number of assignments with a place. An answer too many stays: exclude "
        "nobody for it, and say so in the methods.",
    ),
    Check(
        "I4",
        "every row of a judge is in one state, held by the run that is under way, and runs count "
        "what was closed",
        "Wait a minute and check again: a run that is started takes over what a dead one left. "
        "Counts of a run may be set to those of its rows.",
    ),
    Check("I5", "a failure of a judge is no label, and a done row has an answer", _AGAIN),
    Check(
        "I6",
        "nothing was asked without need, and runs count their calls",
        "Counts of a run may be set to those of its calls; the calls are what was paid for.",
    ),
    Check(
        "I7",
        "a fault is answered with 503 and shows as no wrong page",
        "Nothing is stored wrongly; the log's line says which page to look at.",
    ),
    Check(
        "I8",
        "what runs cost is what their calls cost",
        "Sums of a run may be set to those of its calls; the calls are what was paid for.",
    ),
)
CHECKS: tuple[Check, ...] = (digests.TEXTS, *answers.CHECKS, _TALLIES, _TRAIL, *LAWS)


def violations(seen: Seen) -> Iterator[Violation]:
    """Every place where what the database holds is not as it must be, as it is found.

    Call it within `invariants.one_instant`. `seen` counts what was looked at.
    """
    yield from _told(LAWS, invariants.stored())
    yield from _of(_TALLIES, (line.removeprefix("Tallies: ") for line in wrong_tallies()))
    yield from _of(_TRAIL, broken())
    yield from digests.changed()
    judges = set(Judge.objects.values_list("rater", flat=True))
    yield from answers.violations(judges, seen)


def told(lines: Iterable[str]) -> Iterator[Violation]:
    """The lines of `judging.invariants` as violations."""
    yield from _told(LAWS, lines)


def _told(checks: Iterable[Check], lines: Iterable[str]) -> Iterator[Violation]:
    names = {check.name for check in checks}
    for line in lines:
        name, _, wrong = line.partition(": ")
        if name not in names:
            raise ValueError(f"{name!r} is the name of no check; add it to LAWS")
        yield Violation(name, wrong)


def _of(check: Check, lines: Iterable[str]) -> Iterator[Violation]:
    yield from (Violation(check.name, line) for line in lines)
