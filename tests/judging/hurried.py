"""Tandem's commands and workers with short leases, so that a dead process is noticed in seconds.

`python -m tests.judging.hurried run_judge …` is `manage.py run_judge …`, and the same with `celery
worker …`. TANDEM_TEST_LEASE is how long a lease lasts, in seconds. With TANDEM_TEST_POISON judges
answer without a server, and the process dies at the unit with that name.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from datetime import timedelta

import django
from django.conf import settings

from judging.backends.base import Request


def hurry(seconds: float) -> None:
    from judging import engine
    from judging.runs import grants, shards

    shards.LEASE = timedelta(seconds=seconds)
    engine.loop.RENEW_SECONDS = seconds / 4
    grants.SENDS = timedelta(seconds=seconds)
    renew = grants.renew
    # As if a call's deadline were as short as a lease, so that a dead worker's grant is soon free.
    grants.renew = lambda lane, run, holder, use: renew(
        lane, run, holder, replace(use, deadline=seconds)
    )
    settings.CELERY_BEAT_SCHEDULE["sweep"]["schedule"] = seconds / 2


def poison(name: str) -> None:
    from judging.backends.scripted import Scripted
    from judging.engine import worker as work
    from tests.judging.cast import yes

    def answer(request: Request) -> str:
        if any(unit.name == name for unit in request.facts.units):
            os._exit(9)
        return yes(request)

    work.build_backend = lambda judge: Scripted(answer, seconds=0.002)


def main(arguments: list[str]) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    hurry(float(os.environ.get("TANDEM_TEST_LEASE", "2")))
    if name := os.environ.get("TANDEM_TEST_POISON"):
        poison(name)
    if arguments[0] == "celery":
        from config.celery import app

        app.start(["-A", "config", *arguments[1:]])
    else:
        from django.core.management import execute_from_command_line

        execute_from_command_line(["manage.py", *arguments])


if __name__ == "__main__":
    main(sys.argv[1:])
