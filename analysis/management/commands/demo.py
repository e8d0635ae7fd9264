"""`demo`: a whole study from a batch file to an agreement report, and the running site."""

from __future__ import annotations

import os
import socket
import sys
import time
from argparse import ArgumentParser
from contextlib import closing
from io import StringIO
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError

import datasets
from analysis.campaigns.reports import campaign_report
from analysis.data.selection import ReportOptions
from analysis.demo import celery_worker, make_accounts
from analysis.formats.markdown import as_markdown
from analysis.study import FILE_NAME
from annotation.models import Assignment, Campaign
from annotation.protocols import PROTOCOLS
from datasets.console import Command as BaseCommand

FILES = Path(datasets.__file__).parent / "demonstration"
BATCH, CAMPAIGN, JUDGE = "demo", "demo-coverage", "lexical"
STUDY = "demo-crux"
PEOPLE = 2
PATIENCE = 120


class Command(BaseCommand):
    help = "A made-up study: loaded, judged by a real worker, reported, and opened in the browser."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--no-serve", action="store_true", help="end after the report")

    def run(self, **options: Any) -> None:
        self.say("1. The batch and the labels of three people (all made up)")
        self.load()
        self.say("\n2. A judge, run by a Celery worker over the file system broker")
        self.judge()
        self.say("\n3. A whole study from one file, of CRUX's kind (all made up)")
        self.study()
        self.say("\n4. The agreement report\n")
        self.say(as_markdown(campaign_report(Campaign.objects.get(name=CAMPAIGN), ReportOptions())))
        if not options["no_serve"]:
            self.serve(options["port"])

    def load(self) -> None:
        out = self.stdout
        call_command("load_batch", FILES / "batch.jsonl", name=BATCH, stdout=out)
        call_command(
            "create_campaign",
            CAMPAIGN,
            protocol="report-coverage",
            batch=BATCH,
            raters_per_item=PEOPLE,
            stdout=out,
        )
        call_command("import_labels", FILES / "labels.jsonl", campaign=CAMPAIGN, stdout=out)
        others = [name for name in PROTOCOLS if name != "report-coverage"]
        for name in others:
            with StringIO() as unsaid:
                call_command(
                    "create_campaign", f"demo-{name}", protocol=name, batch=BATCH, stdout=unsaid
                )
        self.say(f"And {len(others)} campaigns to try the other protocols in the browser.")

    def judge(self) -> None:
        call_command("create_judge", JUDGE, backend="lexical", stdout=self.stdout)
        with celery_worker() as log:
            call_command(
                "run_judge", campaign=CAMPAIGN, judge=JUDGE, queue=True, stdout=self.stdout
            )
            self.wait(log)

    def study(self) -> None:
        """Apply the preset of CRUX, and let people rate its passages with their nuggets in view."""
        folder = Path(settings.DATA_DIR) / STUDY
        with StringIO() as unsaid:
            if not folder.exists():
                call_command("init_study", folder, preset="crux", stdout=unsaid)
            call_command("apply_study", folder, stdout=unsaid)
            call_command(
                "create_campaign",
                f"{STUDY}-nuggets",
                protocol="rubric-passage",
                batch=f"{STUDY}-reports",
                option=[f"prerequisite={STUDY}-coverage", "passages=relevant"],
                stdout=unsaid,
            )
        call_command("study_status", folder, stdout=self.stdout)
        self.say(f"Its file is {folder / FILE_NAME}.")

    def wait(self, log: Path) -> None:
        items = Campaign.objects.get(name=CAMPAIGN).items.count()
        ended = Assignment.objects.filter(
            item__campaign__name=CAMPAIGN, rater__name=JUDGE, status__in=("done", "failed")
        )
        deadline = time.monotonic() + PATIENCE
        with self.progress("judged", items) as tick:
            while (done := ended.count()) < items:
                if time.monotonic() > deadline:
                    raise CommandError(f"The worker judged {done} of {items}; see {log}.")
                tick(done)
                time.sleep(0.3)
        self.say(f"The worker judged {items} reports; its log is {log}.")

    def serve(self, wanted: int) -> None:
        port = free_port(wanted)
        if port != wanted:
            self.say(f"\nPort {wanted} is used by another program.")
        self.say(f"\n5. The site: open http://127.0.0.1:{port}/ and log in as one of")
        for account in make_accounts():
            self.say(f"   {account.name:<16} {account.password:<18} {account.does}")
        self.say("   Stop it with Ctrl+C; make demo again changes nothing that exists.")
        self.stdout.flush()
        # Judges that are started on a page run, since the workers stay as long as the site.
        env = os.environ | {"BIND": f"127.0.0.1:{port}", "TANDEM_WITH_WORKERS": "1"}
        gunicorn = [sys.executable, "-m", "gunicorn", "-c", "config/gunicorn.py", "config.wsgi"]
        os.chdir(settings.BASE_DIR)
        os.execve(sys.executable, gunicorn, env)


def free_port(wanted: int) -> int:
    """Return the wanted port, or the next free one."""
    for port in range(wanted, wanted + 50):
        with closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port
    raise CommandError(f"No port from {wanted} on is free; name another with --port.")
