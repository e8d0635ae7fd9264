"""The state of a campaign's answers: a few numbers that change with every one of them.

Pages compare it with that of the last computation, so that it has to be cheap. To count one
campaign's responses all of the site are joined with their items. So a process remembers the numbers
as long as those of the whole site, which need no join, stay the same.
"""

from __future__ import annotations

from typing import Any

from cachetools import LRUCache
from django.db.models import Count, Max, Sum

from annotation.models import Response

State = dict[str, Any]
_CACHE: LRUCache[str, tuple[State, State]] = LRUCache(64)
_NEWEST = {"newest": Max("pk"), "at": Max("created_at")}


def answers_of(campaign: str) -> State:
    """Return the number of a campaign's current responses, the newest, its time, and a checksum.

    Responses never change, so that their primary keys identify what they say. The time is there
    because a key is used again after a rollback.
    """
    # These come first: an answer that arrives meanwhile changes them for the next call.
    site = _site()
    known = _CACHE.get(campaign)
    if known is None or known[0] != site:
        current = Response.objects.filter(current=True, assignment__item__campaign__name=campaign)
        known = site, current.aggregate(number=Count("pk"), sum=Sum("pk"), **_NEWEST)
        _CACHE[campaign] = known
    return known[1]


def _site() -> State:
    """Return what changes with any response of the site: one is added, withdrawn or restored."""
    current = Response.objects.filter(current=True)
    return current.aggregate(number=Count("assignment_id"), slots=Sum("assignment_id"), **_NEWEST)
