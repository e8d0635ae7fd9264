"""Time the work alone, without process start-up: `python -m benchmarks.inside WHAT …`.

It prints one JSON object: seconds of wall time and CPU time, and what was created.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import django

Work = Callable[[], Any]


def main(what: str, *arguments: str) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    work = WORKS[what](*arguments)
    _connect()
    wall, processor = time.perf_counter(), time.process_time()
    made = work()
    seconds = time.perf_counter() - wall
    print(
        json.dumps({"seconds": seconds, "processor": time.process_time() - processor, "made": made})
    )


def _connect() -> None:
    from django.db import connection

    connection.ensure_connection()


def _load(path: str, name: str) -> Work:
    from datasets.loading import load_batch

    return lambda: load_batch([Path(path)], name).counts


def _campaign(name: str, batch: str, raters: str) -> Work:
    from annotation.campaign_setup.creation import create_campaign
    from annotation.campaigns.design import Design
    from datasets.models import Batch

    def make() -> dict[str, Any]:
        design = Design(raters_per_item=int(raters))
        of = Batch.objects.get(name=batch)
        made = create_campaign(name, "report-coverage", of, design, pool="open")
        return {"id": made.campaign.pk, "items": made.items, "units": made.units}

    return make


def _look(cells: str, form: str) -> Work:
    from benchmarks.trust_look import labelled_plan, look

    plan = labelled_plan(int(cells), form)
    return lambda: look(plan)


def _export(campaign: str, what: str, path: str) -> Work:
    from django.core.management import call_command

    def export() -> dict[str, Any]:
        call_command("export", campaign=campaign, what=what, output=Path(path), verbosity=0)
        with Path(path).open("rb") as file:
            return {"lines": sum(1 for _ in file), "bytes": Path(path).stat().st_size}

    return export


def _people(campaign: str, count: str) -> Work:
    from benchmarks.study import people_and_answers

    return lambda: people_and_answers(campaign, int(count))


def _sessions(first: str, count: str, role: str = "annotator") -> Work:
    from benchmarks.study import sessions

    return lambda: sessions(int(first), int(count), role)


def _draft(campaign: str, spans: str) -> Work:
    from benchmarks.study import draft_full_of_spans

    return lambda: draft_full_of_spans(campaign, int(spans))


def _many(name: str, items: str, people: str) -> Work:
    from benchmarks.many_items import make

    return lambda: make(name, int(items), int(people))


def _verify_points(campaign: str) -> Work:
    from benchmarks.derivation import verify_points

    return lambda: verify_points(campaign)


def _free(name: str) -> Work:
    from benchmarks.many_items import free

    return lambda: free(name)


def _judged(judge: str) -> Work:
    from django.db.models import Min

    from judging.models import JudgeCall, JudgeRun

    def look() -> dict[str, Any]:
        run = JudgeRun.objects.filter(judge__rater__name=judge).latest("pk")
        calls = JudgeCall.objects.filter(run=run)
        first = calls.aggregate(first=Min("sent_at"))["first"]
        seconds = (run.ended_at - first).total_seconds() if run.ended_at else 0.0
        rejected = calls.filter(http_status=429).count()
        return {
            "calls": calls.count(), "done": run.done, "rejected": rejected, "seconds": seconds
        }  # fmt: skip

    return look


WORKS: dict[str, Callable[..., Work]] = {
    "load": _load,
    "campaign": _campaign,
    "export": _export,
    "people": _people,
    "sessions": _sessions,
    "draft": _draft,
    "judged": _judged,
    "many": _many,
    "free": _free,
    "look": _look,
    "verified": _verify_points,
}


if __name__ == "__main__":
    main(*sys.argv[1:])
