"""How many answers a campaign has, told to the audit trail before each seal.

A first answer is a row that never changes and says itself who gave it and when; to write each down
a second time would double what a save costs. Only what takes the place of an answer is an event.
"""

from __future__ import annotations

from typing import Any

from django.db.models import Count, Max

from annotation.models import Response
from audit.models import Event
from audit.recording import record

COUNTED = "answers.counted"


def count_answers() -> int:
    """Writes the numbers of answers down, by the door they came through, of each campaign that got
    some since the last time; how many campaigns these are.
    """
    before = Event.objects.filter(event=COUNTED).order_by("-pk").first()
    upto = Response.objects.aggregate(last=Max("pk"))["last"] or 0
    new = Response.objects.filter(pk__gt=before.facts["upto"] if before else 0, pk__lte=upto)
    campaigns = list(new.order_by().values_list("assignment__item__campaign", flat=True).distinct())
    for campaign in campaigns:
        record(COUNTED, campaign, ("campaign", campaign), upto=upto, **_by_door(campaign))
    return len(campaigns)


def _by_door(campaign: int) -> dict[str, Any]:
    rows = Response.objects.filter(assignment__item__campaign=campaign).order_by()
    return dict(rows.values_list("door").annotate(n=Count("pk")))
