"""A campaign's totals of answers at little cost: from counters, or up to a minute old."""

from __future__ import annotations

from collections.abc import Sequence

from annotation.campaigns.answer_totals import AnswerTotals, answer_totals
from annotation.models import Campaign
from annotation.progress.counts import PersonCounts, Total, cached


def recent_answer_totals(
    campaign: Campaign, found: Total, people: Sequence[PersonCounts]
) -> AnswerTotals:
    """Like `answer_totals`, but from counters if nothing was imported, else up to a minute old."""
    placed = sum(each.placed for each in people)
    if placed == sum(each.done for each in people):
        return AnswerTotals(found.items, found.places, placed)
    return cached_answer_totals(campaign)


def cached_answer_totals(campaign: Campaign) -> AnswerTotals:
    """Like `answer_totals`, up to a minute old in a large campaign."""

    def count() -> tuple[AnswerTotals, int]:
        totals = answer_totals(campaign)
        return totals, totals.asked

    return cached(f"places-{campaign.pk}", count)
