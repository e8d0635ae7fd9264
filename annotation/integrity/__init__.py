"""Integrity checks of assignments, answers and samples: is every answer still as it was given?

One pass goes over the assignments of each campaign, a chunk at a time, with all answers to them
(`rows.answered`). Each check in the other modules is a pair: a rule with its remedy, and a
function that names each place of one assignment that breaks the rule. Nothing is changed here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from annotation.integrity import draws, evidence
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
    strays,
    wrong_decisions,
    wrong_drafts,
)
from annotation.integrity.rows import Answered, Seen, Study, answered
from annotation.models import Campaign
from audit.violations import Check, Violation

__all__ = ["CHECKS", "Seen", "violations"]

_OF_ANSWERS: tuple[tuple[Check, Callable[[Answered], Iterator[Violation]]], ...] = (
    (REVISIONS, wrong_revisions),
    (LABELS, wrong_labels),
    (evidence.CHECK, evidence.wrong),
    (DRAFTS, wrong_drafts),
    (DECISIONS, wrong_decisions),
)
CHECKS: tuple[Check, ...] = (STATUS, *(check for check, _ in _OF_ANSWERS), draws.CHECK)


def violations(kept_elsewhere: Collection[int], seen: Seen) -> Iterator[Violation]:
    """Every place where a check fails, campaign by campaign; `seen` counts what was looked at.

    The status of rows of the raters `kept_elsewhere` is somebody else's to check.
    """
    yield from strays()
    for campaign in Campaign.objects.select_related("batch").order_by("pk").iterator():
        seen.campaigns += 1
        yield from draws.wrong(campaign)
        for each in answered(Study(campaign), seen):
            if each.row.rater not in kept_elsewhere:
                yield from wrong_status(each)
            for _, wrong in _OF_ANSWERS:
                yield from wrong(each)
