"""Notices at the end of long work: which of a person's jobs are under way, and which have ended.

A browser remembers the jobs whose status it showed on any page, and asks for them until they have
ended. What a page shows in place without a status, such as a campaign's first page, needs none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from datasets.jobs import queue
from datasets.jobs.kinds import kind_named
from datasets.jobs.pages import with_job
from datasets.models import Job, JobAsker

MOST = 20
State = Job.State


def notices(user: Any, keys: Sequence[str]) -> dict[str, Any]:
    """Return which of these jobs are `active`, and what to say of those that `ended`.

    Nothing is said of parts that pages ask for by themselves.
    """
    rows = JobAsker.objects.filter(user=user.pk, job__key__in=list(keys)[:MOST])
    found: dict[str, Any] = {"active": [], "ended": []}
    for each in rows.select_related("job"):
        kind = kind_named(each.job.kind)
        if not kind.listed:
            continue
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
