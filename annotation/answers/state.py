"""The state of a campaign's answers: a few numbers that change with every one of them."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, Max, Sum

from annotation.models import Response


def answers_of(campaign: str) -> dict[str, Any]:
    """Return the number of a campaign's current responses, the newest, its time, and a checksum.

    Responses never change, so that their primary keys identify what they say. The keys alone are
    read from indexes; only the newest row is looked up, since a key is used again after a rollback.
    """
    current = Response.objects.filter(current=True, assignment__item__campaign__name=campaign)
    found = current.aggregate(number=Count("pk"), newest=Max("pk"), sum=Sum("pk"))
    newest = Response.objects.filter(pk=found["newest"]).values_list("created_at", flat=True)
    return {**found, "sum": int(found["sum"] or 0), "at": newest.first()}
