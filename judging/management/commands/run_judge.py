"""Runs or resumes a judge."""

from __future__ import annotations

import signal
import threading
import time
import uuid
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.base import CommandError
from django.db import transaction

from annotation.management.campaigns import campaign_called
from annotation.models import Campaign
from datasets.console import Command as BaseCommand
from judging import ledger, planning, runs
from judging.backends.base import SetupError
from judging.engine import Control
from judging.models import Judge, JudgeRun
from judging.summary import standing_line, summary
from judging.tasks import ring
from judging.work import work

PATIENCE_SECONDS = 30
LOOK_SECONDS = 0.5


class Command(BaseCommand):
    help = "Runs a judge over a campaign, or goes on where it was interrupted."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--campaign", required=True, metavar="C")
        parser.add_argument("--judge", required=True, metavar="J")
        parser.add_argument(
            "--limit", type=int, metavar="N", help="at most so many requests in this call"
        )
        parser.add_argument("--queue", action="store_true", help="leave it to the workers")

    def run(self, **options: Any) -> None:
        if options["limit"] is not None and options["limit"] < 1:
            raise CommandError("--limit is not above 0; give a number of requests.")
        campaign = campaign_called(options["campaign"])
        judge = judge_called(options["judge"])
        try:
            planning.plan(campaign, judge)
            if not ledger.waiting(campaign, judge):
                self.say_nothing_to_do(campaign, judge)
            elif options["queue"]:
                self.queue(campaign, judge, options["limit"])
            else:
                self.foreground(campaign, judge, options["limit"])
        except (runs.ChangedPromptError, runs.HeldError, SetupError) as error:
            raise CommandError(f"Judge {judge}: {error}.") from error

    def say_nothing_to_do(self, campaign: Campaign, judge: Judge) -> None:
        done = ledger.standing(campaign, judge).get("done", 0)
        stands = standing_line(done, ledger.reasons(campaign, judge))
        self.say(f"Nothing to do: judge {judge} over {campaign} has {stands}.")

    def queue(self, campaign: Campaign, judge: Judge, limit: int | None) -> None:
        try:
            run = runs.start(campaign, judge, limit, queued=True)
        except runs.HeldError:
            run = runs.queue_active(campaign, judge)
        transaction.on_commit(lambda: ring(run.pk))
        self.say(
            f"Queued: {run} of judge {judge} over {campaign}. The workers take it up "
            "(celery -A config worker); run_judge without --queue says how far it is."
        )

    def foreground(self, campaign: Campaign, judge: Judge, limit: int | None) -> None:
        run, lease = self.begin(campaign, judge, limit)
        waiting = ledger.waiting(campaign, judge)
        total = min(waiting, limit) if limit else waiting
        with self.progress("judged", total) as tick:
            control = Control(progress=tick)
            with stopped_by_signals(control):
                ending = work(run, lease, control)
        line = f"{str(run).capitalize()} of judge {judge} over {campaign}: {summary(run)}"
        if ending.how == "finished":
            self.say(line)
            return
        why = ending.error or {"lost": "another process took it over"}.get(ending.how, "stopped")
        mend = "mend that and " if ending.how == "fatal" else ""
        raise CommandError(f"{line} Not ended: {why}; {mend}run it again to go on.")

    def begin(
        self, campaign: Campaign, judge: Judge, limit: int | None
    ) -> tuple[JudgeRun, uuid.UUID]:
        """A run under our lease, once any other lease has ended."""
        deadline, said = time.monotonic() + PATIENCE_SECONDS, False
        while True:
            try:
                run = runs.start(campaign, judge, limit)
                if lease := runs.take(run):
                    return run, lease
            except runs.HeldError as error:
                if time.monotonic() > deadline:
                    raise
                if not said:
                    self.say(f"Waiting (at most {PATIENCE_SECONDS} s): {error}, or died there.")
                said = True
            time.sleep(LOOK_SECONDS)


def judge_called(name: str) -> Judge:
    judge = Judge.objects.select_related("rater").filter(rater__name=name).first()
    if judge is None:
        raise CommandError(f"There is no judge {name!r}; make it with create_judge.")
    return judge


@contextmanager
def stopped_by_signals(control: Control) -> Iterator[None]:
    """Ctrl+C and TERM end the run in order; a second one ends it at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {s: signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM)}

    def stop(signum: int, frame: object) -> None:
        signal.signal(signum, signal.SIG_DFL)
        control.stop()

    for each in before:
        signal.signal(each, stop)
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
