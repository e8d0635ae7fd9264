"""`run_judge`: runs a judge over a campaign, or resumes it."""

from __future__ import annotations

import signal
import threading
import time
import uuid
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal, InvalidOperation
from functools import partial
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.db import transaction

from annotation.management.base import campaign_called
from annotation.models import Campaign
from datasets.console import FAULTS_FOUND, refusing, row_called
from datasets.console import Command as BaseCommand
from judging.backends.base import Findings, SetupError
from judging.batch_api import offline, results
from judging.batch_api.format import BatchError
from judging.engine import Control, Ending
from judging.engine.early_end import FIRST_RESULTS
from judging.engine.worker import await_rest, status_line, summary, work
from judging.estimate import estimate
from judging.manifest import cut_prompts_warning
from judging.models import ACTIVE, Judge, JudgeRun
from judging.params import MOST_WORKERS
from judging.prompts.template import PromptError
from judging.runs import ledger, lifecycle, prompts
from judging.runs.rests import describe_rest, is_resting
from judging.tasks import call_for_others, leave_to_workers
from tandem.verbs import verb_of

PATIENCE_SECONDS = 30
LOOK_SECONDS = 0.5
TERMS = ("limit", "concurrency", "workers", "most_tokens", "most_cost")
REFUSALS = (
    prompts.ChangedPromptError,
    lifecycle.LeasedRunError,
    lifecycle.BatchOutError,
    SetupError,
    PromptError,
    BatchError,
)
ONLINE = ("concurrency", "workers", "most_tokens", "most_cost")
Terms = dict[str, Any]


class Command(BaseCommand):
    help = "Run a judge over a campaign, or continue where it was interrupted."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--campaign", required=True, metavar="C")
        self.add_terms(parser)

    def add_terms(self, parser: ArgumentParser) -> None:
        """Add the arguments of a run over any campaign."""
        parser.add_argument("--judge", required=True, metavar="J")
        parser.add_argument(
            "--limit", type=int, metavar="N", help="the maximum number of requests in this run"
        )
        parser.add_argument(
            "--concurrency", type=int, metavar="N", help="the maximum number of requests at once"
        )
        parser.add_argument(
            "--workers",
            type=int,
            metavar="N",
            help="the maximum number of worker processes, on any machines (the judge's, or 1)",
        )
        parser.add_argument(
            "--most-tokens", type=int, metavar="N", help="stop after this many tokens"
        )
        parser.add_argument(
            "--most-cost",
            type=us_dollars,
            metavar="USD",
            help=f"stop after this many US dollars, by the prices of {verb_of('create_price')}",
        )
        how = parser.add_mutually_exclusive_group()
        how.add_argument("--queue", action="store_true", help="leave it to the workers")
        how.add_argument(
            "--stop", action="store_true", help="end the active run, which can be resumed"
        )
        how.add_argument(
            "--cancel",
            action="store_true",
            help="end the active run, and close its open assignments",
        )
        how.add_argument(
            "--estimate", action="store_true", help="print what a run would cost, and ask nothing"
        )
        add_files(how)
        parser.add_argument(
            "--reuse",
            choices=JudgeRun.Reuse.values,
            default=JudgeRun.Reuse.NEVER,
            help="reuse answers to equal requests from earlier runs",
        )
        parser.add_argument(
            "--go-on",
            action="store_true",
            help=f"go on even if nearly all of the first {FIRST_RESULTS} results are missing for "
            "the same reason",
        )

    def run(self, **options: Any) -> None:
        terms = {name: options[name] for name in TERMS}
        for name, value in terms.items():
            if value is not None and not value > 0:
                raise CommandError(f"--{name.replace('_', '-')} is not above 0; give a number.")
        if terms["workers"] and terms["workers"] > MOST_WORKERS:
            raise CommandError(f"--workers is above {MOST_WORKERS}; give a smaller number.")
        terms |= {name: options[name] for name in ("reuse", "go_on")}
        campaign = campaign_called(options["campaign"])
        judge = judge_called(options["judge"])
        if options["stop"] or options["cancel"]:
            self.end(campaign, judge, "cancel" if options["cancel"] else "stop")
            return
        with refusing(*REFUSALS, about=f"Judge {judge}"):
            if options["estimate"]:
                self.say_estimate(campaign, judge, terms)
                return
            if path := options["batch_file"] or options["offline"]:
                self.exchange(campaign, judge, path, terms, bool(options["offline"]))
                return
            lifecycle.plan(campaign, judge)
            if not ledger.count_waiting(campaign, judge):
                self.say_nothing_to_do(campaign, judge)
            elif options["queue"]:
                self.queue(campaign, judge, terms)
            else:
                self.foreground(campaign, judge, terms)

    def end(self, campaign: Campaign, judge: Judge, how: str) -> None:
        run = lifecycle.active_runs(campaign, judge).first()
        asked = lifecycle.ask_to_cancel if how == "cancel" else lifecycle.ask_to_stop
        if run is None or not asked(run):
            raise CommandError(f"No run of judge {judge} over {campaign} is in progress.")
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not (ended := lifecycle.has_ended(run)) and time.monotonic() < deadline:
            time.sleep(LOOK_SECONDS)
        run.refresh_from_db()
        stands = f"is {run.state}" if ended else "ends once its calls in progress are finished"
        self.say(f"{str(run).capitalize()} of judge {judge} {stands}.")

    def say_estimate(self, campaign: Campaign, judge: Judge, terms: Terms) -> None:
        options = {name: terms[name] for name in ("limit", "reuse", "concurrency")}
        found = estimate(judge, campaign, **options)
        self.say(found.sentence)
        if found.basis and found.missing:
            self.say(f"Basis: {found.basis}.")
        for note in found.notes:
            self.say(f"Note: {note}.")

    def exchange(
        self, campaign: Campaign, judge: Judge, path: Path, terms: Terms, is_offline: bool
    ) -> None:
        """Write a batch's requests, or load its results."""
        if unused := [name for name in ONLINE if terms[name] is not None]:
            option = f"--{unused[0].replace('_', '-')}"
            files = "--offline" if is_offline else "--batch-file"
            raise CommandError(f"{option} cannot be used with {files}; leave it out.")
        if not (offline.has_requests(path) if is_offline else path.exists()):
            lifecycle.plan(campaign, judge)
            if not ledger.count_waiting(campaign, judge):
                self.say_nothing_to_do(campaign, judge)
                return
        with self.progress("requests") as tick:
            exchange = offline.exchange if is_offline else results.exchange
            line = exchange(campaign, judge, path, terms["limit"], terms["reuse"], tick)
        self.say(line)

    def say_nothing_to_do(self, campaign: Campaign, judge: Judge) -> None:
        done = ledger.count_by_status(campaign, judge).get("done", 0)
        stands = status_line(done, ledger.count_missing_reasons(campaign, judge))
        self.say(f"Nothing to do: judge {judge} over {campaign} has {stands}.")

    def queue(self, campaign: Campaign, judge: Judge, terms: Terms) -> None:
        try:
            run = lifecycle.start(campaign, judge, queued=True, **terms)
        except lifecycle.LeasedRunError:
            run = lifecycle.queue_active(campaign, judge)
        transaction.on_commit(lambda: leave_to_workers(run.pk))
        self.say(
            f"Queued {run} of judge {judge} over {campaign}. The workers take it up "
            f"(celery -A config worker); {verb_of('run_judge')} without --queue says how far it is."
        )

    def foreground(self, campaign: Campaign, judge: Judge, terms: Terms) -> None:
        run, lease = self.begin(campaign, judge, terms)
        waiting, limit = ledger.count_waiting(campaign, judge), terms["limit"]
        total = min(waiting, limit) if limit else waiting
        with self.progress("judged", total) as tick:
            call = partial(call_for_others, run)
            control = Control(progress=tick, trouble=self.say_trouble, begun=call)
            with stop_on_signals(control):
                ending = self.work(run, lease, control)
        line = f"{str(run).capitalize()} of judge {judge} over {campaign}: {summary(run)}"
        if cut := cut_prompts_warning(run):
            self.say(f"Note: {cut}")
        if ending.how == "finished":
            self.say(line)
            return
        if ending.how == "cancelled":
            raise CommandError(f"{line} Cancelled.")
        why = ending.error or {"lost": "another process took it over"}.get(ending.how, ending.how)
        left = f"{line} Not ended: {why}; {how_to_continue(ending)}."
        raise CommandError(left, returncode=FAULTS_FOUND)

    def work(self, run: JudgeRun, lease: uuid.UUID, control: Control) -> Ending:
        """Work on the run to its end, and wait here while it rests."""
        while True:
            ending = work(run, lease, control, on_findings=self.say_findings)
            if ending.how != "rest" or ending.until is None:
                return ending
            self.say_rest(run, ending.until, ending.error)
            if (again := await_rest(run, control)) is None:
                lifecycle.ask_to_stop(run)
                return Ending("stopped", "it was stopped while it rested")
            lease = again

    def say_rest(self, run: JudgeRun, until: datetime, why: str) -> None:
        self.say(f"{str(run).capitalize()} is {describe_rest(until)}, as its server asks: {why}.")

    def say_findings(self, findings: Findings) -> None:
        for warning in findings.warnings:
            self.say(f"Note: {warning}")

    def say_trouble(self, sentence: str) -> None:
        self.say(f"Note: {sentence}")

    def begin(self, campaign: Campaign, judge: Judge, terms: Terms) -> tuple[JudgeRun, uuid.UUID]:
        """Start a run and lease it, after waiting for other runs of its judge and its server."""
        run = self.started(campaign, judge, terms)
        said = False
        try:
            while (lease := lifecycle.lease_run(run)) is None:
                said = self.say_busy(run, said)
                time.sleep(LOOK_SECONDS)
        except KeyboardInterrupt as error:
            lifecycle.ask_to_stop(run)
            raise CommandError(f"{str(run).capitalize()} was stopped while it waited.") from error
        return run, lease

    def started(self, campaign: Campaign, judge: Judge, terms: Terms) -> JudgeRun:
        """Start a run, after waiting for the lease of a dead run of this judge to expire."""
        deadline, said = time.monotonic() + PATIENCE_SECONDS, False
        while True:
            try:
                return lifecycle.start(campaign, judge, **terms)
            except lifecycle.LeasedRunError as error:
                if time.monotonic() > deadline:
                    raise
                if not said:
                    self.say(f"Waiting (at most {PATIENCE_SECONDS} s): {error}, or died there.")
                said = True
            time.sleep(LOOK_SECONDS)

    def say_busy(self, run: JudgeRun, said: bool) -> bool:
        """Say once which run this run waits for. Raises if waiting is futile."""
        run.refresh_from_db()
        if run.state not in ACTIVE:
            raise lifecycle.LeasedRunError(f"{run} was ended or taken over while it waited")
        if run.lane is not None and run.lane.paused:
            why = f"{run.lane} is paused: {run.lane.paused}"
            raise CommandError(f"{why}; correct that and run it again to continue.")
        if run.rests_until is not None and is_resting(run):
            if not said:
                self.say_rest(run, run.rests_until, "an earlier run was refused")
            return True
        raise lifecycle.LeasedRunError(f"{run} was ended or taken over while it waited")


def add_files(parser: Any) -> None:
    """Add the options of a run whose requests are answered elsewhere."""
    parser.add_argument(
        "--batch-file",
        type=Path,
        metavar="F",
        help="write the requests to the file F for a batch service, or load F if it contains "
        "results",
    )
    parser.add_argument(
        "--offline",
        type=Path,
        metavar="FOLDER",
        help="write the requests to a new FOLDER with a program that answers them with vLLM on "
        "another machine, or load what it answered",
    )


def how_to_continue(ending: Ending) -> str:
    if ending.how == "budget" and ending.error.startswith("the budget"):
        bound = "--most-cost" if "USD" in ending.error else "--most-tokens"
        if "is spent" not in ending.error:
            return f"run it again with a higher {bound}, or without"
        return (
            f"run it again with the same {bound} for as much again, with a higher one, or without"
        )
    if ending.how == "fruitless":
        return "give --go-on to go on all the same"
    remedy = "correct that and " if ending.how in ("fatal", "budget") else ""
    return f"{remedy}run it again to continue"


def us_dollars(text: str) -> Decimal:
    """Read an amount of money. Raises ValueError."""
    try:
        amount = Decimal(text)
    except InvalidOperation as error:
        raise ValueError(text) from error
    if not amount.is_finite():
        raise ValueError(text)
    return amount


def judge_called(name: str) -> Judge:
    remedy = f"create it with {verb_of('create_judge')}"
    return row_called(
        Judge.objects.select_related("rater"), name, "judge", remedy, field="rater__name"
    )


@contextmanager
def stop_on_signals(control: Control) -> Iterator[None]:
    """Have Ctrl+C and TERM stop the run in order, and a second signal end it at once."""
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
