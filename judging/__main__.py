"""`python -m judging RUN LEASE`: the process that works on one run, and on those that follow it.

The web server starts it where there is no worker (`judging.launcher`). TERM ends it in order: its
run is left to the next process.
"""

from __future__ import annotations

import os
import signal
import sys
import uuid

import django


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from datasets.priority import give_way
    from judging.engine import Control
    from judging.engine.worker import await_rest, work
    from judging.models import JudgeRun
    from judging.runs import lifecycle

    control = Control()
    signal.signal(signal.SIGTERM, lambda *_: control.stop())
    give_way()
    key, token = sys.argv[1:]
    run: JudgeRun | None = JudgeRun.objects.select_related("campaign", "judge__rater").get(pk=key)
    lease: uuid.UUID | None = uuid.UUID(token)
    while run is not None and lease is not None:
        ending = work(run, lease, control)
        if ending.how in ("stopped", "lost"):
            return
        resting = run if ending.how == "rest" else None
        run = lifecycle.next_run(run)
        if run is None and resting is not None:
            run, lease = resting, await_rest(resting, control)
            continue
        lease = lifecycle.lease_run(run) if run else None


if __name__ == "__main__":
    main()
