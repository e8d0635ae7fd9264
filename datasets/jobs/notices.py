"""Notices at the end of long work: which of a person's jobs are under way, and which have ended.

A browser remembers the jobs that were under way on any page, and asks for them until they have
ended. What a page asks for by itself, and shows in place, needs no notice.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from datasets.jobs import queue
from datasets.jobs.kinds import kind_named
from datasets.jobs.pages import with_job
from datasets.models import Job, JobAsker

MOST = 20
_IN_PLACE = re.compile(r"/campaigns/\d+/")
"""A campaign's first page, which asks for its figures by itself."""
State = Job.State


def under_way(user: Any) -> list[str]:
    """Return the keys of the jobs that a person waits for."""
    rows = JobAsker.objects.filter(user=user.pk, withdrawn=False, job__state__in=queue.ACTIVE)
    found = rows.order_by("-pk").values_list("job__key", "job__kind", "address")[:MOST]
    return [
        key
        for key, kind, address in found
        if kind_named(kind).listed and not _IN_PLACE.fullmatch(address)
    ]


def notices(user: Any, keys: Sequence[str]) -> dict[str, Any]:
    """Return which of these jobs are `active`, and what to say of those that `ended`."""
    rows = JobAsker.objects.filter(user=user.pk, job__key__in=list(keys)[:MOST])
    found: dict[str, Any] = {"active": [], "ended": []}
    for each in rows.select_related("job"):
        kind = kind_named(each.job.kind)
        if each.job.state in queue.ACTIVE:
            found["active"].append(each.job.key)
        elif each.job.state != State.CANCELLED and kind.may_see(user, each.job.options):
            found["ended"].append(_ended(each, kind.title))
    return found


def _ended(asker: JobAsker, title: str) -> dict[str, str]:
    is_done = asker.job.state == State.DONE
    address = asker.address if asker.address.startswith("/") else ""
    return {
        "key": asker.job.key,
        "text": f"{title}: {'ready' if is_done else 'not computed'}.",
        "address": with_job(address, asker.job) if address and is_done else address,
    }
