"""Check adjudicators' decisions and people's drafts."""

from __future__ import annotations

from collections.abc import Iterator

from annotation.integrity.rows import Answer, AnsweredAssignment
from annotation.models import Decision, Draft, Rater
from audit.violations import Check, Violation

DECISIONS = Check(
    "decisions",
    "each answer of the Reference from a page or the API is one decision on one unit, by a person "
    "who gave a reason, and no other answer is a decision",
    "Restore the decision from a backup. The audit trail shows who decided when, and when the "
    "decision was changed. If there is no backup, let the adjudicator decide the unit again.",
)
DECISION = Decision._meta.db_table


def wrong_decisions(each: AnsweredAssignment) -> Iterator[Violation]:
    if each.row.rater_kind != Rater.Kind.REFERENCE:
        return
    for answer in each.answers:
        yield from _of_answer(each, answer)


def _of_answer(each: AnsweredAssignment, answer: Answer) -> Iterator[Violation]:
    decision, revision = each.decisions.get(answer.pk), answer.revision
    if decision is None:
        if answer.door != "import":
            yield each.of_answer(
                DECISIONS.name, answer, "is from the Reference, but has no decision"
            )
        return
    row = DECISION, decision.pk
    unit = each.units.get(decision.unit)
    if unit is None or list(each.row.asked) != [unit.name] or each.row.scope != unit.name:
        what = "its decision is on another unit than its answer"
        yield each.wrong(DECISIONS.name, what, row, revision=revision)
    if decision.by_kind != Rater.Kind.HUMAN:
        what = "its decision is by a rater who is not a person"
        yield each.wrong(DECISIONS.name, what, row, revision=revision)
    if not answer.comment.strip():
        yield each.of_answer(DECISIONS.name, answer, "its decision has no reason")


def stray_decisions() -> Iterator[Violation]:
    """Yield decisions that belong to an answer of a rater other than the Reference."""
    other = Decision.objects.exclude(response__assignment__rater__kind=Rater.Kind.REFERENCE)
    columns = (
        "pk",
        "response__assignment__item__campaign__name",
        "response__assignment__rater__name",
        "response__assignment__item__key",
        "response__revision",
    )
    for pk, campaign, rater, item, revision in other.values_list(*columns):
        place = {"campaign": campaign, "rater": rater, "item": item, "revision": revision}
        words = f"campaign {campaign}, {rater}, item {item}, revision {revision}"
        what = f"{words}: has a decision, but is not from the Reference"
        yield Violation(DECISIONS.name, what, {**place, "table": DECISION, "id": pk})


DRAFTS = Check(
    "drafts",
    "a draft belongs to a person, has a version, and answers only units that this person was asked",
    "A draft is not a label, and no report reads it. Ask the person to open the item and save "
    "again. Delete the draft only if the person agrees.",
)
DRAFT = Draft._meta.db_table


def wrong_drafts(each: AnsweredAssignment) -> Iterator[Violation]:
    if (draft := each.draft) is None:
        return
    row, units = (DRAFT, draft.pk), None
    if isinstance(draft.payload, dict):
        units = draft.payload.get("units")
    if each.row.rater_kind != Rater.Kind.HUMAN or each.row.scope:
        yield each.wrong(DRAFTS.name, "has a draft, which only people's assignments may have", row)
    if draft.version < 1:
        yield each.wrong(DRAFTS.name, f"its draft has version {draft.version}", row)
    if not isinstance(units, dict):
        yield each.wrong(DRAFTS.name, "its draft contains no units", row)
        return
    for name in units:
        if name not in each.row.asked:
            yield each.wrong(
                DRAFTS.name, "is answered in its draft, but was not asked", row, unit=name
            )
