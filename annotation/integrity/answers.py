"""Check that labels, revisions and status match the stored answers.

Each payload is read again and compared with the labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from annotation.integrity.rows import STRICT, Answer, AnsweredAssignment, Value
from annotation.models import Assignment, Label, Unit
from audit.models import Event
from audit.violations import Check, Place, Violation

LABELS = Check(
    "labels",
    "an answer's labels are those in its payload, and its payload is a whole answer to what was "
    "asked",
    "If the payload is what was sent (compare a backup, or the digests of replaced answers in the "
    "audit trail), write the labels again from it. Otherwise restore the answer with its labels "
    "from a backup. If payload and labels differ and there is no backup, exclude the answer.",
)
LABEL = Label._meta.db_table
Key = tuple[str, str]


def wrong_labels(each: AnsweredAssignment) -> Iterator[Violation]:
    if each.study.schema is None:
        return
    if strange := [name for name in each.row.asked if name not in each.asked]:
        yield each.wrong(LABELS.name, f"asks unit {strange[0]!r}, which its item does not have")
    for answer in each.answers:
        yield from _of_answer(each, answer)


def _of_answer(each: AnsweredAssignment, answer: Answer) -> Iterator[Violation]:
    said = each.entries[answer.pk]
    if said.refused:
        yield each.of_answer(LABELS.name, answer, said.refused)
        return
    if (answer.payload.get("comment") or "") != answer.comment:
        yield each.of_answer(LABELS.name, answer, "its comment differs from its payload")
    if answer.door in STRICT:
        yield from _incomplete(each, answer)
    expected = {(e.name, name): code for e in said.entries for name, code in e.values.items()}
    stored, strange = _stored_labels(each, answer)
    for value in strange:
        unit = Unit.objects.filter(pk=value.unit).values_list("name", flat=True).first()
        what = f"variable {value.variable} has a label for unit {unit!r}, which was not asked"
        yield each.wrong(LABELS.name, what, (LABEL, value.pk), revision=answer.revision)
    if len(stored) == len(expected) and all(
        value.value == expected.get(key) for key, value in stored.items()
    ):
        return
    yield from _differing(each, answer, expected, stored)


def _stored_labels(
    each: AnsweredAssignment, answer: Answer
) -> tuple[dict[Key, Value], list[Value]]:
    """Return the labels by unit and variable, and the labels for units of other items."""
    units = each.units
    stored: dict[Key, Value] = {}
    strange = []
    for value in each.labels.get(answer.pk, ()):
        unit = units.get(value.unit)
        if unit is None:
            strange.append(value)
        else:
            stored[unit.name, value.variable] = value
    return stored, strange


def _differing(
    each: AnsweredAssignment,
    answer: Answer,
    expected: Mapping[Key, str],
    stored: Mapping[Key, Value],
) -> Iterator[Violation]:
    for (unit, variable), code in expected.items():
        value = stored.get((unit, variable))
        place: Place = {"revision": answer.revision, "unit": unit, "variable": variable}
        if value is None:
            what = f"its label is missing; the answer has {code!r}"
            yield each.of_answer(LABELS.name, answer, what, unit=unit, variable=variable)
        elif value.value != code:
            what = f"is labelled {value.value!r}, but the answer has {code!r}"
            yield each.wrong(LABELS.name, what, (LABEL, value.pk), **place)
    for (unit, variable), value in stored.items():
        if (unit, variable) not in expected:
            what = f"is labelled {value.value!r}, but the answer has no label for it"
            place = {"revision": answer.revision, "unit": unit, "variable": variable}
            yield each.wrong(LABELS.name, what, (LABEL, value.pk), **place)


def _incomplete(each: AnsweredAssignment, answer: Answer) -> Iterator[Violation]:
    """Yield violations for answers that pages, the API and judges could not have sent."""
    for name in each.asked:
        if name not in answer.payload["units"]:
            what = "was asked, but its payload has no answer to it"
            yield each.of_answer(LABELS.name, answer, what, unit=name)
    if each.study.is_of_this_version:
        for problem in each.entries[answer.pk].warnings:
            what = f"its payload would have been refused: {problem.key} {problem.message}"
            yield each.of_answer(LABELS.name, answer, what, unit=problem.unit)


REVISIONS = Check(
    "revisions",
    "revisions count from 1 without gaps, except for numbers from a file, and only the newest is "
    "current, or none if its person revoked their consent",
    "If the newest revision is not current, or is not the only one, make it the only current one. "
    "A gap may be a deleted answer: look for it in a backup first. Numbering the answers again is "
    "safe only if the backup has no other answer.",
)


def wrong_revisions(each: AnsweredAssignment) -> Iterator[Violation]:
    before = 0
    for answer in each.answers:
        if answer.revision != before + 1 and not _has_number_from_file(answer, before):
            after = f"revision {before}" if before else "no other"
            what = f"is revision {answer.revision}, and follows {after}"
            yield each.of_answer(REVISIONS.name, answer, what)
        before = answer.revision
    if not each.answers:
        return
    current = [answer for answer in each.answers if answer.current]
    newest = each.answers[-1]
    if each.row.is_revoked:
        for answer in current:
            what = "is current, though its person revoked their consent"
            yield each.of_answer(REVISIONS.name, answer, what)
        return
    if not current:
        what = f"none of its {len(each.answers)} answers is current"
        yield each.of_answer(REVISIONS.name, newest, what)
    for answer in current:
        if answer is not newest:
            what = f"is current, though revision {newest.revision} came after it"
            yield each.of_answer(REVISIONS.name, answer, what)


def _has_number_from_file(answer: Answer, before: int) -> bool:
    """Whether the audit log shows that this number came from a file."""
    if answer.door != "import" or answer.revision <= before:
        return False
    events = Event.objects.filter(
        event="answer.numbered", object_kind="assignment", object_id=str(answer.assignment)
    )
    return any(
        facts.get("revision") == answer.revision for facts in events.values_list("facts", flat=True)
    )


STATUS = Check(
    "status",
    "an assignment is done if and only if it has an answer that was not revoked",
    "If an assignment has an answer, set its status to done and its lease to null. If a done "
    "assignment has no answer, restore the answer from a backup or import it from an export. "
    "Opening the assignment again would ask for another answer, which may differ.",
)
Status = Assignment.Status


def wrong_status(each: AnsweredAssignment) -> Iterator[Violation]:
    status, answers = each.row.status, each.answers
    if status not in Status.values:
        yield each.wrong(STATUS.name, f"is {status!r}, which is not a status")
    elif status == Status.DONE and not answers:
        yield each.wrong(STATUS.name, "is done, but its answer is missing")
    elif status != Status.DONE and answers and not each.row.is_revoked:
        last = answers[-1].revision
        yield each.wrong(STATUS.name, f"is {status}, though revision {last} answers it")
