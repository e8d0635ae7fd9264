"""Whether a change of the guideline helped: how many answers follow which text, and what is needed.

The report compares agreement before and after a change. This says where it has nothing to compare.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.utils.dateformat import format as date_format

from analysis.campaigns.reports import versions_by_digest
from annotation.models import Campaign
from annotation.presentation import schema
from annotation.progress import with_counts
from annotation.progress.counts import answers_by_guideline
from tandem.document import count
from tandem.sections.guidelines import FEWEST, named


def guideline_points(campaign: Campaign, is_compared: bool) -> list[str]:
    """Say how many answers stand under which text, and what a comparison needs.

    `is_compared` says that the report makes the comparison already.
    """
    return list(_points(campaign, is_compared))


def _points(campaign: Campaign, is_compared: bool) -> Iterator[str]:
    numbers, now = versions_by_digest(campaign), campaign.guidelines.order_by("version").last()
    followed = _answers_by_text(campaign, numbers) if now else {}
    current = numbers.get(now.digest) if now else None
    former = {version: n for version, n in followed.items() if version != current and n}
    if now is None or not former:
        yield (
            "Did a change of the guideline help? There is nothing to compare: no answer stands "
            "under a former text."
        )
        yield _needs(campaign, "under each text")
        return
    texts = ", ".join(f"{n:,} under {named(version)}" for version, n in former.items())
    yield (
        f"{sum(former.values()):,} of {count(sum(followed.values()), 'answer')} from people stand "
        f"under a former text: {texts}. The text is {named(current)} now, since "
        f"{date_format(now.created_at, 'j M Y')}."
    )
    if not is_compared:
        yield (
            "Did the change help? It cannot be said yet: people’s answers that count follow only "
            "one of the texts."
        )
        yield _needs(campaign, f"under {named(current)}, as under the former one")
        if imported := _imported(campaign):
            verb = "names" if imported == 1 else "name"
            yield f"{count(imported, 'imported answer')} {verb} no version, and cannot be compared."


def _needs(campaign: Campaign, where: str) -> str:
    units = schema(campaign).noun[1]
    return (
        f"A comparison needs {FEWEST} {units} that two people labelled {where}. It then states the "
        "difference in agreement with its interval; for a judge, between its labels and people’s."
    )


def _answers_by_text(campaign: Campaign, numbers: Mapping[str, int]) -> dict[int | None, int]:
    """Count people's answers by the number of the text; None is the protocol's own guideline."""
    found: dict[int | None, int] = {None: 0, **dict.fromkeys(numbers.values(), 0)}
    for digest, answers in answers_by_guideline(campaign).items():
        found[numbers.get(digest)] += answers
    return found


def _imported(campaign: Campaign) -> int:
    row: Any = with_counts(Campaign.objects.filter(pk=campaign.pk)).get()
    imported: int = row.imported
    return imported
