"""Whether what adjudicators decided has its decision, its reason and its unit."""

from __future__ import annotations

from collections.abc import Iterator

from annotation.integrity.answered import Answered
from annotation.integrity.stored import Answer
from annotation.models import Decision, Rater
from audit.violations import Check, Violation

CHECK = Check(
    "decisions",
    "each answer of the Reference that a page or the API took is one decision on one unit, by a "
    "person who gave a reason; nobody else's answer is a decision",
    "Take the decision from a backup. The audit trail says who decided when, and when it was "
    "changed; where nothing else is left, let the adjudicator decide the unit again.",
)
DECISION = Decision._meta.db_table


def wrong(each: Answered) -> Iterator[Violation]:
    if each.row.rater_kind != Rater.Kind.REFERENCE:
        return
    for answer in each.answers:
        yield from _of_answer(each, answer)


def _of_answer(each: Answered, answer: Answer) -> Iterator[Violation]:
    decision, revision = each.decisions.get(answer.pk), answer.revision
    if decision is None:
        if answer.door != "import":
            yield each.of_answer(CHECK.name, answer, "is of the Reference, and nobody decided it")
        return
    row = DECISION, decision.pk
    unit = each.units.get(decision.unit)
    if unit is None or list(each.row.asked) != [unit.name] or each.row.scope != unit.name:
        what = "its decision is on another unit than its answer"
        yield each.wrong(CHECK.name, what, row, revision=revision)
    if decision.by_kind != Rater.Kind.HUMAN:
        what = "its decision is by a rater who is no person"
        yield each.wrong(CHECK.name, what, row, revision=revision)
    if not answer.comment.strip():
        yield each.of_answer(CHECK.name, answer, "its decision has no reason")


def strays() -> Iterator[Violation]:
    """Decisions that hang on an answer which is not the Reference's."""
    other = Decision.objects.exclude(response__assignment__rater__kind=Rater.Kind.REFERENCE)
    columns = (
        "pk", "response__assignment__item__campaign__name", "response__assignment__rater__name",
        "response__assignment__item__key", "response__revision",
    )  # fmt: skip
    for pk, campaign, rater, item, revision in other.values_list(*columns):
        place = {"campaign": campaign, "rater": rater, "item": item, "revision": revision}
        words = f"campaign {campaign}, {rater}, item {item}, revision {revision}"
        what = f"{words}: a decision hangs on it, and it is not the Reference's"
        yield Violation(CHECK.name, what, {**place, "table": DECISION, "id": pk})
