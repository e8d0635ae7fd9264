"""Whether an assignment's status fits the answers that are there."""

from __future__ import annotations

from collections.abc import Iterator

from annotation.integrity.answered import Answered
from annotation.models import Assignment
from audit.violations import Check, Violation

CHECK = Check(
    "status",
    "an assignment is done where an answer stands, and nowhere else",
    "An assignment that has an answer: set its status to done and its lease to null. A done one "
    "without any lost its answer: take the answer from a backup or an export, and import it; "
    "opening it again would ask for another answer, which may differ.",
)
Status = Assignment.Status


def wrong(each: Answered) -> Iterator[Violation]:
    status, answers = each.row.status, each.answers
    if status not in Status.values:
        yield each.wrong(CHECK.name, f"is {status!r}, which is no status")
    elif status == Status.DONE and not answers:
        yield each.wrong(CHECK.name, "is done, and its answer is gone")
    elif status != Status.DONE and answers:
        last = answers[-1].revision
        yield each.wrong(CHECK.name, f"is {status}, though revision {last} answers it")
