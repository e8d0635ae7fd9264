"""Makes a token for an account, or takes all of them back."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import CommandError
from django.db import transaction
from knox.models import AuthToken

from annotation.models import User
from audit.recording import record
from datasets.console import Command as BaseCommand

LONGEST = 3650


class Command(BaseCommand):
    help = "Makes an API token for an account and prints it, once: only its hash is kept."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("user", metavar="USER", help="the name of the account")
        what = parser.add_mutually_exclusive_group()
        what.add_argument(
            "--days", type=int, default=365, metavar="N", help="how long it lasts (default: 365)"
        )
        what.add_argument(
            "--revoke", action="store_true", help="take back all tokens of the account instead"
        )

    def run(self, **options: Any) -> None:
        user = User.objects.filter(username=options["user"]).first()
        if user is None:
            name = options["user"]
            raise CommandError(f"There is no account {name!r}; make it with create_account.")
        if options["revoke"]:
            with transaction.atomic():
                count = AuthToken.objects.filter(user=user).delete()[0]
                record("account.sessions", of=("account", user.pk), tokens=count)
            self.say(f"Took back {count} tokens of {user.username!r}.")
        else:
            self.say(_new_token(user, options["days"]))


def _new_token(user: User, days: int) -> str:
    if not 1 <= days <= LONGEST:
        raise CommandError(f"--days is from 1 to {LONGEST}; mend it.")
    if not user.is_active:
        raise CommandError(f"The account {user.username!r} is switched off; no token would serve.")
    with transaction.atomic():
        _, token = AuthToken.objects.create(user, expiry=timedelta(days=days))
        record("token.made", of=("account", user.pk), days=days)
    return str(token)
