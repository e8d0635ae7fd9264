"""The job that writes the audit trail as a file: of the site, or of one campaign."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from django.db.models import Max
from django.utils.dateparse import parse_datetime

from annotation.audit_log import EventFilter, describe_events, filter_events
from annotation.models import Campaign, User
from annotation.people.membership import may_manage
from audit.models import Event, Seal
from datasets.access import ADMIN
from datasets.work import Kind, Options, Progress, Result

TRAIL = "audit"
CHUNK = 2000
MEDIA_TYPE = "application/x-ndjson"


def question(campaign: Campaign | None, filters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the question of the file. `filters` are the fields of an EventFilter."""
    given = {
        name: value.isoformat() if name in ("since", "until") else value
        for name, value in filters.items()
        if value not in (None, "")
    }
    return {"campaign": campaign.pk if campaign else None, "wanted": given}


def _state(options: Options) -> Any:
    """Return a state that changes with every event and seal, and so with every shown name."""
    return [of.objects.aggregate(newest=Max("pk"))["newest"] for of in (Event, Seal)]


def _carry_out(options: Options, progress: Progress) -> Result:
    of, given = options["campaign"], dict(options["wanted"])
    for name in given.keys() & {"since", "until"}:
        given[name] = parse_datetime(given[name])
    events = Event.objects.all() if of is None else Event.objects.filter(campaign=of)
    found = filter_events(events, EventFilter(**given), of is None)
    rows = describe_events(found.iterator(chunk_size=CHUNK), of is None)
    name = "audit.jsonl" if of is None else f"audit-{of}.jsonl"
    return Result(_lines(rows, found.count(), progress), name, MEDIA_TYPE)


def _lines(rows: Iterator[Any], total: int, progress: Progress) -> Iterator[bytes]:
    for done, each in enumerate(rows, 1):
        if not done % CHUNK:
            progress(done, max(done, total))
        yield json.dumps(each.as_json(), ensure_ascii=False).encode() + b"\n"


def _may_see(user: User, options: Options) -> bool:
    if options["campaign"] is None:
        return user.role == ADMIN
    return may_manage(user, options["campaign"])


TRAIL_KIND = Kind(TRAIL, "Audit trail", _state, _carry_out, _may_see)
