"""`axes_reset`: opens log-in for all accounts and addresses.

It has the name of the same command of django-axes, by which Tandem limited log-ins earlier.
"""

from __future__ import annotations

from typing import Any

from annotation.people import login_limits
from datasets.console import Command as BaseCommand


class Command(BaseCommand):
    help = "Reset the counts of wrong passwords and codes, of all accounts and addresses."

    def run(self, **options: Any) -> None:
        self.say_removed(login_limits.unlock_all())

    def say_removed(self, counts: int) -> None:
        self.say(f"{counts} attempts removed." if counts else "No attempts found.")
