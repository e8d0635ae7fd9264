"""Whether a change of the guideline helped: how many answers follow which text, and what is needed.

The report compares agreement before and after a change. This says where it has nothing to compare.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.utils.dateformat import format as date_format

from annotation.models import Campaign, GuidelineVersion
from annotation.presentation import schema
from annotation.progress import with_counts
from annotation.progress.counts import answers_by_guideline
from tandem.document import count
from tandem.formats.guideline_sections import named
from tandem.sections.guidelines import FEWEST


def guideline_points(campaign: Campaign, is_compared: bool) -> list[str]:
    """Say how many answers stand under which text, and what a comparison needs.

    `is_compared` says that the report makes the comparison already.
    """
    return list(_points(campaign, is_compared))


def _points(campaign: Campaign, is_compared: bool) -> Iterator[str]:
    versions = list(campaign.guidelines.order_by("version"))
    followed = _answers_by_text(campaign, versions)
    now = versions[-1] if versions else None
    current = now.version if now and now.digest else None
    former = {version: n for version, n in followed.items() if version != current and n}
    if not former and len(versions) < 2:
        yield "Did a change of the guideline help? Nobody can say: it has not changed."
        yield _needs(campaign, "under each text")
    elif former:
        whole, answers = sum(followed.values()), sum(former.values())
        since = f", since {date_format(now.created_at, 'j M Y')}" if now else ""
        texts = ", ".join(f"{n:,} under {named(version)}" for version, n in former.items())
        yield (
            f"{answers:,} of {count(whole, 'answer')} from people stand under a former text: "
            f"{texts}. The text is {named(current)} now{since}."
        )
        if not is_compared:
            yield (
                "Did the change help? It cannot be said, since no answer that counts follows "
                f"{named(current)} yet."
            )
            yield _needs(campaign, f"under {named(current)}, as under the former one")
    else:
        answers = count(followed.get(current, 0), "answer")
        yield (
            f"Did the change of the guideline help? It cannot be said: no answer stands under a "
            f"former text, and {answers} under {named(current)}."
        )
    if (imported := _imported(campaign)) and not is_compared:
        verb = "names" if imported == 1 else "name"
        yield f"{count(imported, 'imported answer')} {verb} no version, and cannot be compared."


def _needs(campaign: Campaign, where: str) -> str:
    units = schema(campaign).noun[1]
    return (
        f"A comparison needs {FEWEST} {units} that two people labelled {where}. It then states the "
        "difference in agreement with its interval; for a judge, between its labels and people’s."
    )


def _answers_by_text(
    campaign: Campaign, versions: list[GuidelineVersion]
) -> Mapping[int | None, int]:
    """Count people's answers by version; None is the protocol's own guideline."""
    answers = answers_by_guideline(campaign)
    # A text that is used again counts as its first version, as in the report.
    first: dict[str, int] = {}
    for each in versions:
        if each.digest:
            first.setdefault(each.digest, each.version)
    found: dict[int | None, int] = {None: 0, **dict.fromkeys(first.values(), 0)}
    for digest, number in answers.items():
        found[first.get(digest)] += number
    return found


def _imported(campaign: Campaign) -> int:
    row: Any = with_counts(Campaign.objects.filter(pk=campaign.pk)).get()
    imported: int = row.imported
    return imported
