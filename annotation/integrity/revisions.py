"""Whether the answers to an assignment are numbered one after the other, and the newest stands."""

from __future__ import annotations

from collections.abc import Iterator

from annotation.integrity.answered import Answered
from annotation.integrity.stored import Answer
from audit.models import Event
from audit.violations import Check, Violation

CHECK = Check(
    "revisions",
    "revisions count from 1 without gaps, but for numbers that a file gave, and the newest alone "
    "is current",
    "Where the newest revision is not current, or not alone: make it the current one and the "
    "others not. A gap may be an answer that was deleted: look for it in a backup first; to "
    "number the answers anew is safe only where the backup has no other.",
)


def wrong(each: Answered) -> Iterator[Violation]:
    before = 0
    for answer in each.answers:
        if answer.revision != before + 1 and not _is_numbered_by_a_file(answer, before):
            after = f"revision {before}" if before else "no other"
            what = f"is revision {answer.revision}, and follows {after}"
            yield each.of_answer(CHECK.name, answer, what)
        before = answer.revision
    if not each.answers:
        return
    current = [answer for answer in each.answers if answer.current]
    newest = each.answers[-1]
    if not current:
        what = f"none of its {len(each.answers)} answers is current"
        yield each.of_answer(CHECK.name, newest, what)
    for answer in current:
        if answer is not newest:
            what = f"is current, though revision {newest.revision} came after it"
            yield each.of_answer(CHECK.name, answer, what)


def _is_numbered_by_a_file(answer: Answer, before: int) -> bool:
    """Whether the trail tells that a file brought this answer under this number."""
    if answer.door != "import" or answer.revision <= before:
        return False
    told = Event.objects.filter(
        event="answer.numbered", object_kind="assignment", object_id=str(answer.assignment)
    )
    return any(facts.get("revision") == answer.revision
               for facts in told.values_list("facts", flat=True))  # fmt: skip
