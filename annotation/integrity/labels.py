"""Whether labels are what their answers say: each payload is taken apart again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from annotation.integrity.answered import STRICT, Answered
from annotation.integrity.stored import Answer, Value
from annotation.models import Label, Unit
from audit.violations import Check, Place, Violation

CHECK = Check(
    "labels",
    "an answer's labels are those that its payload says, and its payload is a whole answer to "
    "what was asked",
    "If the payload is what was sent (compare a backup, or the digests that the audit trail keeps "
    "of replaced answers), write the labels anew from it; else take the answer with its labels "
    "from a backup. Where both say different things and there is no backup, exclude the answer.",
)
LABEL = Label._meta.db_table
Key = tuple[str, str]


def wrong(each: Answered) -> Iterator[Violation]:
    if each.study.schema is None:
        return
    if strange := [name for name in each.row.asked if name not in each.asked]:
        yield each.wrong(CHECK.name, f"asks unit {strange[0]!r}, which its item does not have")
    for answer in each.answers:
        yield from _of_answer(each, answer)


def _of_answer(each: Answered, answer: Answer) -> Iterator[Violation]:
    said = each.entries[answer.pk]
    if said.refused:
        yield each.of_answer(CHECK.name, answer, said.refused)
        return
    if (answer.payload.get("comment") or "") != answer.comment:
        yield each.of_answer(CHECK.name, answer, "its comment is not that of its payload")
    if answer.door in STRICT:
        yield from _incomplete(each, answer)
    expected = {(e.name, name): code for e in said.entries for name, code in e.values.items()}
    there, strange = _there(each, answer)
    for value in strange:
        unit = Unit.objects.filter(pk=value.unit).values_list("name", flat=True).first()
        what = f"variable {value.variable} has a label of unit {unit!r}, which it was not asked"
        yield each.wrong(CHECK.name, what, (LABEL, value.pk), revision=answer.revision)
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
            yield each.of_answer(CHECK.name, answer, what, unit=unit, variable=variable)
        elif value.value != code:
            what = f"is labelled {value.value!r}, and the answer says {code!r}"
            yield each.wrong(CHECK.name, what, (LABEL, value.pk), **place)
    for (unit, variable), value in there.items():
        if (unit, variable) not in expected:
            what = f"is labelled {value.value!r}, and the answer says nothing of it"
            place = {"revision": answer.revision, "unit": unit, "variable": variable}
            yield each.wrong(CHECK.name, what, (LABEL, value.pk), **place)


def _incomplete(each: Answered, answer: Answer) -> Iterator[Violation]:
    """What pages, the API and judges could not have sent."""
    for name in each.asked:
        if name not in answer.payload["units"]:
            what = "was asked, and its payload says nothing of it"
            yield each.of_answer(CHECK.name, answer, what, unit=name)
    if each.study.is_of_this_version:
        for problem in each.entries[answer.pk].warnings:
            what = f"its payload would have been refused: {problem.key} {problem.message}"
            yield each.of_answer(CHECK.name, answer, what, unit=problem.unit)
