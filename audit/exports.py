"""Writing down that something leaves the site as a file."""

from __future__ import annotations

from datetime import timedelta

from django.db import models
from django.http import HttpRequest
from django.utils import timezone

from audit.models import Event
from audit.recording import record


def record_export(
    request: HttpRequest,
    campaign: int | None,
    what: str,
    form: str,
    of: models.Model | tuple[str, object] | None = None,
) -> None:
    """Tells of a file that a request takes along; HEAD only asks whether it is there.

    `of` is what the file is of, where it is not the campaign itself.
    """
    if request.method != "GET":
        return
    whole = None if campaign is None else ("campaign", campaign)
    record("export", campaign, of or whole, what=what, form=form)


def was_told(request: HttpRequest, campaign: int, what: str, form: str) -> bool:
    """Whether this account began to take it along within a day."""
    since = timezone.now() - timedelta(days=1)
    rows = Event.objects.filter(event="export", campaign=campaign, who=request.user.pk)
    return rows.filter(at__gte=since, facts__what=what, facts__form=form).exists()
