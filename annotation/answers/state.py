"""The state of a campaign's answers: a few numbers that change with every one of them.

Pages compare it with the state at the last computation, so it has to be cheap. Counting one
campaign's responses joins all responses of the site with their items. So a process caches a
campaign's numbers while those of the whole site, which need no join, stay the same.
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

    Responses never change, so their primary keys identify their content. The time is included
    because a key is used again after a rollback.
    """
    # These are read first, so that an answer that arrives meanwhile changes them for the next call.
    site = _site()
    known = _CACHE.get(campaign)
    if known is None or known[0] != site:
        current = Response.objects.filter(current=True, assignment__item__campaign__name=campaign)
        known = site, current.aggregate(number=Count("pk"), sum=Sum("pk"), **_NEWEST)
        _CACHE[campaign] = known
    return known[1]


def _site() -> State:
    """Return numbers that change when any response of the site is added, withdrawn or restored."""
    current = Response.objects.filter(current=True)
    return current.aggregate(number=Count("assignment_id"), slots=Sum("assignment_id"), **_NEWEST)
