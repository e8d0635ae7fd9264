"""Whether people's unfinished work is work on what they were asked."""

from __future__ import annotations

from collections.abc import Iterator

from annotation.integrity.answered import Answered
from annotation.models import Draft, Rater
from audit.violations import Check, Violation

CHECK = Check(
    "drafts",
    "a draft is a person's, has a version, and answers only units that this person was asked",
    "A draft is no label, and no report reads it. Ask its person to open the item and save again; "
    "delete the draft only where the person agrees that it holds nothing of worth.",
)
DRAFT = Draft._meta.db_table


def wrong(each: Answered) -> Iterator[Violation]:
    if (draft := each.draft) is None:
        return
    row, units = (DRAFT, draft.pk), None
    if isinstance(draft.payload, dict):
        units = draft.payload.get("units")
    if each.row.rater_kind != Rater.Kind.HUMAN or each.row.scope:
        yield each.wrong(CHECK.name, "has a draft, which only a person's item has", row)
    if draft.version < 1:
        yield each.wrong(CHECK.name, f"its draft has version {draft.version}", row)
    if not isinstance(units, dict):
        yield each.wrong(CHECK.name, "its draft holds no units", row)
        return
    for name in units:
        if name not in each.row.asked:
            yield each.wrong(
                CHECK.name, "its draft answers it, and it was not asked", row, unit=name
            )
