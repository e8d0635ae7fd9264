"""Integrity checks: is every stored assignment, answer and sample still as it was created?

`violations` passes once over the assignments of each campaign, a chunk at a time, with all answers
to them (`rows.answered_assignments`). Each of the other modules has a check, which is a rule with
its remedy, and a function that yields the violations of one assignment. Nothing is changed here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from annotation.integrity import evidence, exposure, items, sample
from annotation.integrity.answers import (
    LABELS,
    REVISIONS,
    STATUS,
    wrong_labels,
    wrong_revisions,
    wrong_status,
)
from annotation.integrity.decisions import (
    DECISIONS,
    DRAFTS,
    stray_decisions,
    wrong_decisions,
    wrong_drafts,
)
from annotation.integrity.rows import AnsweredAssignment, CheckedCounts, Study, answered_assignments
from annotation.models import Campaign
from audit.violations import Check, Violation

__all__ = ["CHECKS", "CheckedCounts", "violations"]

_OF_ANSWERS: tuple[tuple[Check, Callable[[AnsweredAssignment], Iterator[Violation]]], ...] = (
    (REVISIONS, wrong_revisions),
    (LABELS, wrong_labels),
    (evidence.CHECK, evidence.find_violations),
    (DRAFTS, wrong_drafts),
    (DECISIONS, wrong_decisions),
)
CHECKS: tuple[Check, ...] = (
    STATUS,
    *(check for check, _ in _OF_ANSWERS),
    sample.CHECK,
    items.CHECK,
    exposure.CHECK,
)


def violations(checked_elsewhere: Collection[int], checked: CheckedCounts) -> Iterator[Violation]:
    """Yield every violation, campaign by campaign. `checked` counts the rows that were checked.

    The status of assignments of the raters in `checked_elsewhere` is not checked here.
    """
    yield from stray_decisions()
    for campaign in Campaign.objects.select_related("batch").order_by("pk").iterator():
        checked.campaigns += 1
        yield from sample.find_violations(campaign)
        yield from exposure.find_violations(campaign)
        yield from items.find_violations(Study(campaign))
        for each in answered_assignments(Study(campaign), checked):
            if each.row.rater not in checked_elsewhere:
                yield from wrong_status(each)
            for _, wrong in _OF_ANSWERS:
                yield from wrong(each)
