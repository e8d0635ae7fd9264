"""`demo`: a whole study of CRUX's kind from one file, campaigns to try, and the running site."""

from __future__ import annotations

import os
import socket
import sys
from argparse import ArgumentParser
from contextlib import closing
from io import StringIO
from pathlib import Path
from time import monotonic
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

import datasets
from analysis.demo import campaigns_with_results, compute_results, make_accounts
from analysis.example_studies import demonstration
from analysis.models import Study
from analysis.study import FILE_NAME
from annotation.management.base import write_folder
from annotation.models import Campaign
from annotation.protocols import PROTOCOLS
from datasets.console import Command as BaseCommand
from datasets.models import Batch, Team
from datasets.site_lock import SiteInUseError, refuse_second_server

FILES = Path(datasets.__file__).parent / "demonstration"
BATCH, CAMPAIGN, JUDGE = "demo", "demo-coverage", "lexical"
STUDY, PRESET = "demo-crux", "crux"
PEOPLE = 2


class Command(BaseCommand):
    # They import all pages, which only the site needs.
    requires_system_checks = ()
    help = "A made-up study of CRUX's kind, campaigns to try, and the site opened in the browser."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--no-serve", action="store_true", help="end before the site")

    def run(self, **options: Any) -> None:
        if not options["no_serve"]:
            try:
                refuse_second_server(settings.DATA_DIR, settings.DATABASES["default"])
            except SiteInUseError as error:
                raise CommandError(f"{error}.") from error
        prepare_database()
        self.say("1. A whole study from one file, of CRUX's kind (all made up)")
        self.study()
        self.say("\n2. Campaigns to try in the browser (all made up)")
        self.load()
        if not options["no_serve"]:
            self.serve(options["port"])

    def study(self) -> None:
        """Apply a study of CRUX's kind: reports labelled by people and three fake judges."""
        folder = Path(settings.DATA_DIR) / STUDY
        with StringIO() as unsaid:
            if not folder.exists():
                files = demonstration.build(STUDY).items()
                write_folder(folder, ((path, [text.encode()]) for path, text in files))
            call_command("apply_study", folder, team=team_name(), stdout=unsaid)
        call_command("study_status", folder, team=team_name(), stdout=self.stdout)
        self.say(f"Its file is {folder / FILE_NAME}.")

    def load(self) -> None:
        """Create a campaign of each protocol, and one in which nuggets lead to their passages."""
        out, team = self.stdout, team_name()
        call_command("load_batch", FILES / "batch.jsonl", name=BATCH, team=team, stdout=out)
        call_command(
            "create_campaign",
            CAMPAIGN,
            protocol="report-coverage",
            batch=BATCH,
            raters_per_item=PEOPLE,
            pool=Campaign.Pool.OPEN,
            team=team,
            stdout=out,
        )
        others = [name for name in PROTOCOLS if name != "report-coverage"]
        for name in others:
            with StringIO() as unsaid:
                call_command(
                    "create_campaign",
                    f"demo-{name}",
                    protocol=name,
                    batch=BATCH,
                    pool=Campaign.Pool.OPEN,
                    team=team,
                    stdout=unsaid,
                )
        with StringIO() as unsaid:
            call_command(
                "create_campaign",
                "demo-nuggets",
                protocol="rubric-passage",
                batch=BATCH,
                option=[f"prerequisite={CAMPAIGN}"],
                pool=Campaign.Pool.OPEN,
                team=team,
                stdout=unsaid,
            )
        self.say(f"And {len(others) + 1} campaigns to try the other protocols.")

    def compute(self) -> None:
        """Compute what the first pages show, so that nobody waits for it there."""
        self.say("\n3. Results, so that no page waits for them")
        for campaign in campaigns_with_results():
            self.say(f"Computing those of '{campaign.name}' …")
            self.stdout.flush()
            begun = monotonic()
            made = compute_results(campaign)
            self.say(f"  {f'{monotonic() - begun:.1f} s' if made else 'they exist'}")

    def serve(self, first: int) -> None:
        accounts = make_accounts()
        self.compute()
        port = free_port(first)
        if port != first:
            self.say(f"\nPort {first} is used by another program.")
        self.say(f"\n4. The site: open http://127.0.0.1:{port}/ and log in as one of")
        for account in accounts:
            self.say(f"   {account.name:<16} {account.password:<18} {account.does}")
        tables = f"studies/{Study.objects.get(name=STUDY).pk}/tables/{PRESET}/"
        self.say(f"   The study is the researcher's first page; its tables: {tables}")
        self.say("   Stop it with Ctrl+C. Running it again changes nothing that exists.")
        self.stdout.flush()
        # Judges that are started on a page run, since the workers stay as long as the site.
        env = os.environ | {"BIND": f"127.0.0.1:{port}", "TANDEM_WITH_WORKERS": "1"}
        gunicorn = [sys.executable, "-m", "gunicorn", "-c", "config/gunicorn.py", "config.wsgi"]
        os.chdir(settings.BASE_DIR)
        os.execve(sys.executable, gunicorn, env)


def prepare_database() -> None:
    """Bring the database up to date, in this process: a start of Python costs seconds."""
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        call_command("migrate", verbosity=0)


def team_name() -> str | None:
    """Return the team of the demonstration: that of its batch, else the oldest one, if any."""
    batch = Batch.objects.filter(name=BATCH).select_related("team").first()
    team = batch.team if batch else Team.objects.order_by("pk").first()
    return team.name if team else None


def free_port(first: int) -> int:
    """Return the wanted port, or the next free one."""
    for port in range(first, first + 50):
        with closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port
    raise CommandError(f"No port from {first} upwards is free; give another with --port.")
