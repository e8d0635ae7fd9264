"""`create_token`: creates, lists or revokes an account's API tokens."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from annotation.management.base import any_account_called
from annotation.models import User
from datasets.api.permissions import SCOPES
from datasets.api_tokens import (
    DAYS,
    MOST_DAYS,
    TokenError,
    make_token,
    revoke,
    revoke_all,
    tokens_of,
)
from datasets.console import Command as BaseCommand
from datasets.console import refusing
from datasets.models import Grant
from tandem.verbs import verb_of


class Command(BaseCommand):
    help = "Create an API token for an account and print it. Only its hash is stored."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("user", metavar="USER", help="the name of the account")
        parser.add_argument(
            "--scope",
            action="append",
            choices=tuple(SCOPES),
            default=[],
            help="what the token may do; by default label for an annotator, and read for others",
        )
        parser.add_argument("--note", default="", metavar="TEXT", help="its purpose or its user")
        what = parser.add_mutually_exclusive_group()
        what.add_argument(
            "--days",
            type=int,
            default=DAYS,
            metavar="N",
            help=f"how many days it lasts, up to {MOST_DAYS} (default: {DAYS})",
        )
        what.add_argument("--list", action="store_true", help="list the account's tokens instead")
        what.add_argument(
            "--revoke",
            nargs="?",
            const="",
            metavar="N",
            help="revoke token N of the list instead, or all tokens of the account without N",
        )

    def run(self, **options: Any) -> None:
        user = any_account_called(options["user"], f"create it with {verb_of('create_account')}")
        if options["list"]:
            for grant in tokens_of(user):
                self.say(_line(grant))
        elif options["revoke"] is not None:
            self._revoke(user, options["revoke"])
        else:
            self.say(_new_token(user, options))

    def _revoke(self, user: User, number: str) -> None:
        if not number:
            self.say(f"Revoked {revoke_all(user)} tokens of {user.username!r}.")
            return
        found = tokens_of(user).filter(pk=int(number)).first() if number.isdecimal() else None
        if found is None:
            raise CommandError(f"{user.username!r} has no token {number}; see --list.")
        revoke(found)
        self.say(f"Revoked token {found.pk} of {user.username!r}.")


def _line(grant: Grant) -> str:
    until = grant.token.expiry
    left = f"until {until:%Y-%m-%d}" if until else "without end"
    note = f", {grant.note}" if grant.note else ""
    return f"{grant.pk}: {grant}, {' '.join(grant.scopes)}, {left}{note}"


def _new_token(user: User, options: dict[str, Any]) -> str:
    with refusing(TokenError):
        return make_token(user, options["scope"], options["days"], options["note"])[1]
