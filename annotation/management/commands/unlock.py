"""`unlock`: opens log-in after wrong passwords and codes, of accounts or of everybody."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from annotation.models import User
from annotation.people import login_limits
from datasets.console import Command as BaseCommand
from tandem.document import count


class Command(BaseCommand):
    help = "Open log-in again after wrong passwords and codes: of accounts, or of everybody."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "username",
            nargs="*",
            metavar="NAME",
            help="accounts; without any, all accounts and addresses",
        )

    def run(self, **options: Any) -> None:
        users = User.objects.filter(username__in=options["username"])
        if options["username"]:
            counts = sum(map(login_limits.unlock, users))
        else:
            counts = login_limits.unlock_all()
        self.say(f"{count(counts, 'attempt')} removed." if counts else "No attempts found.")
