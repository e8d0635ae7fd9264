"""Checks that labels, revisions and status match the stored answers.

Each payload is taken apart again and compared with the labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from annotation.integrity.rows import STRICT, Answer, Answered, Value
from annotation.models import Assignment, Label, Unit
from audit.models import Event
from audit.violations import Check, Place, Violation

LABELS = Check(
    "labels",
    "an answer's labels are those that its payload says, and its payload is a whole answer to "
    "what was asked",
    "If the payload is what was sent (compare a backup, or the digests that the audit trail keeps "
    "of replaced answers), write the labels anew from it; else take the answer with its labels "
    "from a backup. Where both say different things and there is no backup, exclude the answer.",
)
LABEL = Label._meta.db_table
Key = tuple[str, str]


def wrong_labels(each: Answered) -> Iterator[Violation]:
    if each.study.schema is None:
        return
    if strange := [name for name in each.row.asked if name not in each.asked]:
        yield each.wrong(LABELS.name, f"asks unit {strange[0]!r}, which its item does not have")
    for answer in each.answers:
        yield from _of_answer(each, answer)


def _of_answer(each: Answered, answer: Answer) -> Iterator[Violation]:
    said = each.entries[answer.pk]
    if said.refused:
        yield each.of_answer(LABELS.name, answer, said.refused)
        return
    if (answer.payload.get("comment") or "") != answer.comment:
        yield each.of_answer(LABELS.name, answer, "its comment is not that of its payload")
    if answer.door in STRICT:
        yield from _incomplete(each, answer)
    expected = {(e.name, name): code for e in said.entries for name, code in e.values.items()}
    there, strange = _there(each, answer)
    for value in strange:
        unit = Unit.objects.filter(pk=value.unit).values_list("name", flat=True).first()
        what = f"variable {value.variable} has a label of unit {unit!r}, which it was not asked"
        yield each.wrong(LABELS.name, what, (LABEL, value.pk), revision=answer.revision)
    if len(there) == len(expected) and all(
        value.value == expected.get(key) for key, value in there.items()
    ):
        return
    yield from _differing(each, answer, expected, there)


def _there(each: Answered, answer: Answer) -> tuple[dict[Key, Value], list[Value]]:
    """The labels by unit and variable, and those of units of other items."""
    units = each.units
    there: dict[Key, Value] = {}
    strange = []
    for value in each.labels.get(answer.pk, ()):
        unit = units.get(value.unit)
        if unit is None:
            strange.append(value)
        else:
            there[unit.name, value.variable] = value
    return there, strange


def _differing(
    each: Answered, answer: Answer, expected: Mapping[Key, str], there: Mapping[Key, Value]
) -> Iterator[Violation]:
    for (unit, variable), code in expected.items():
        value = there.get((unit, variable))
        place: Place = {"revision": answer.revision, "unit": unit, "variable": variable}
        if value is None:
            what = f"its label is gone; the answer says {code!r}"
            yield each.of_answer(LABELS.name, answer, what, unit=unit, variable=variable)
        elif value.value != code:
            what = f"is labelled {value.value!r}, and the answer says {code!r}"
            yield each.wrong(LABELS.name, what, (LABEL, value.pk), **place)
    for (unit, variable), value in there.items():
        if (unit, variable) not in expected:
            what = f"is labelled {value.value!r}, and the answer says nothing of it"
            place = {"revision": answer.revision, "unit": unit, "variable": variable}
            yield each.wrong(LABELS.name, what, (LABEL, value.pk), **place)


def _incomplete(each: Answered, answer: Answer) -> Iterator[Violation]:
    """What pages, the API and judges could not have sent."""
    for name in each.asked:
        if name not in answer.payload["units"]:
            what = "was asked, and its payload says nothing of it"
            yield each.of_answer(LABELS.name, answer, what, unit=name)
    if each.study.is_of_this_version:
        for problem in each.entries[answer.pk].warnings:
            what = f"its payload would have been refused: {problem.key} {problem.message}"
            yield each.of_answer(LABELS.name, answer, what, unit=problem.unit)


REVISIONS = Check(
    "revisions",
    "revisions count from 1 without gaps, but for numbers that a file gave, and the newest alone "
    "is current",
    "Where the newest revision is not current, or not alone: make it the current one and the "
    "others not. A gap may be an answer that was deleted: look for it in a backup first; to "
    "number the answers anew is safe only where the backup has no other.",
)


def wrong_revisions(each: Answered) -> Iterator[Violation]:
    before = 0
    for answer in each.answers:
        if answer.revision != before + 1 and not _is_numbered_by_a_file(answer, before):
            after = f"revision {before}" if before else "no other"
            what = f"is revision {answer.revision}, and follows {after}"
            yield each.of_answer(REVISIONS.name, answer, what)
        before = answer.revision
    if not each.answers:
        return
    current = [answer for answer in each.answers if answer.current]
    newest = each.answers[-1]
    if not current:
        what = f"none of its {len(each.answers)} answers is current"
        yield each.of_answer(REVISIONS.name, newest, what)
    for answer in current:
        if answer is not newest:
            what = f"is current, though revision {newest.revision} came after it"
            yield each.of_answer(REVISIONS.name, answer, what)


def _is_numbered_by_a_file(answer: Answer, before: int) -> bool:
    """Whether the trail tells that a file brought this answer under this number."""
    if answer.door != "import" or answer.revision <= before:
        return False
    told = Event.objects.filter(
        event="answer.numbered", object_kind="assignment", object_id=str(answer.assignment)
    )
    return any(
        facts.get("revision") == answer.revision for facts in told.values_list("facts", flat=True)
    )


STATUS = Check(
    "status",
    "an assignment is done where an answer stands, and nowhere else",
    "An assignment that has an answer: set its status to done and its lease to null. A done one "
    "without any lost its answer: take the answer from a backup or an export, and import it; "
    "opening it again would ask for another answer, which may differ.",
)
Status = Assignment.Status


def wrong_status(each: Answered) -> Iterator[Violation]:
    status, answers = each.row.status, each.answers
    if status not in Status.values:
        yield each.wrong(STATUS.name, f"is {status!r}, which is no status")
    elif status == Status.DONE and not answers:
        yield each.wrong(STATUS.name, "is done, and its answer is gone")
    elif status != Status.DONE and answers:
        last = answers[-1].revision
        yield each.wrong(STATUS.name, f"is {status}, though revision {last} answers it")
