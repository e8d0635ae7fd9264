"""`log_in_link`: prints a link that logs one account in, once, within ten minutes."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.urls import reverse

from annotation.management.base import any_account_called
from annotation.people.identities import log_in_key
from annotation.people.membership import PeopleError
from datasets.console import Command as BaseCommand
from datasets.console import refusing


class Command(BaseCommand):
    help = (
        "Print a link that logs an account in without a password, once, within ten minutes. It "
        "still asks for the second factor."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME", help="the name of the account")
        parser.add_argument(
            "--site",
            default="",
            metavar="URL",
            help="the site's address, such as https://tandem.example, to print the whole link",
        )

    def run(self, **options: Any) -> None:
        user = any_account_called(options["name"], "see the list of people")
        with refusing(PeopleError):
            key = log_in_key(user)
        self.say(f"{options['site'].rstrip('/')}{reverse('log-in-link')}?key={key}")
