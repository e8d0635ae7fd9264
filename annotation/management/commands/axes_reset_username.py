"""`axes_reset_username`: opens log-in for accounts, as `person --unlock` does for one."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from annotation.management.commands import axes_reset
from annotation.models import User
from annotation.people import login_limits


class Command(axes_reset.Command):
    help = "Reset the counts of wrong passwords and codes of accounts, wherever they came from."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username", nargs="+", metavar="NAME", help="the names of the accounts")

    def run(self, **options: Any) -> None:
        users = User.objects.filter(username__in=options["username"])
        self.say_removed(sum(map(login_limits.unlock, users)))
