"""Whether what was answered is provably there: every check of assignments, answers and draws.

One pass goes over the assignments of each campaign, a chunk at a time, with all that hangs on them
(`answered`). The other modules are one check each: what it holds and how to mend it, and a function
that names each place of one assignment where it fails. Nothing is changed here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from annotation.integrity import decisions, drafts, draws, evidence, labels, revisions, status
from annotation.integrity.answered import Answered, Seen, Study, answered
from annotation.models import Campaign
from audit.violations import Check, Violation

__all__ = ["CHECKS", "Seen", "violations"]

_OF_ANSWERS: tuple[tuple[Check, Callable[[Answered], Iterator[Violation]]], ...] = (
    (revisions.CHECK, revisions.wrong),
    (labels.CHECK, labels.wrong),
    (evidence.CHECK, evidence.wrong),
    (drafts.CHECK, drafts.wrong),
    (decisions.CHECK, decisions.wrong),
)
CHECKS: tuple[Check, ...] = (status.CHECK, *(check for check, _ in _OF_ANSWERS), draws.CHECK)


def violations(kept_elsewhere: Collection[int], seen: Seen) -> Iterator[Violation]:
    """Every place where a check fails, campaign by campaign; `seen` counts what was looked at.

    The status of rows of the raters `kept_elsewhere` is somebody else's to check.
    """
    yield from decisions.strays()
    for campaign in Campaign.objects.select_related("batch").order_by("pk").iterator():
        seen.campaigns += 1
        yield from draws.wrong(campaign)
        for each in answered(Study(campaign), seen):
            if each.row.rater not in kept_elsewhere:
                yield from status.wrong(each)
            for _, wrong in _OF_ANSWERS:
                yield from wrong(each)
