"""`person`: shows an account, changes its role or pseudonym, unlocks, deactivates or erases it."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from typing import Any

from annotation.management.base import any_account_called
from annotation.models import Rater, User
from annotation.people import accounts, identities, login_limits, second_factor
from annotation.people.membership import PeopleError
from datasets.access import there_are_several
from datasets.console import Command as BaseCommand
from datasets.console import refusing
from datasets.models import TeamMember

CHANGES: dict[str, tuple[Callable[[User], object], str, str]] = {
    "off": (accounts.switch_off, "is switched off", "is switched off already"),
    "on": (accounts.switch_on, "is switched on", "is switched on already"),
    "unlink": (
        identities.unlink,
        "has no linked OIDC log-in now",
        "has no linked OIDC log-in",
    ),
    "remove_factors": (
        second_factor.remove_all,
        "has no second factor now",
        "has no second factor",
    ),
}
"""What a flag does, and what is said of the account if that changed something, and if not."""


class Command(BaseCommand):
    help = "Show an account, or change it. Labels are kept in every case."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME", help="the name of the account")
        what = parser.add_mutually_exclusive_group()
        what.add_argument(
            "--role",
            choices=User.Role.values,
            help="another role; sessions and tokens end, and campaign roles are limited to it",
        )
        what.add_argument("--off", action="store_true", help="end sessions, tokens and leases")
        what.add_argument("--on", action="store_true", help="activate the account again")
        what.add_argument("--end-sessions", action="store_true", help="end all sessions and tokens")
        what.add_argument(
            "--email",
            nargs="?",
            const="",
            metavar="ADDRESS",
            help="the address at the identity provider, for log-in by OIDC; none without ADDRESS",
        )
        what.add_argument("--unlink", action="store_true", help="remove the link to an OIDC log-in")
        what.add_argument(
            "--remove-factors",
            action="store_true",
            help="remove all second factors of a person who has lost them, and end all sessions",
        )
        what.add_argument(
            "--unlock",
            action="store_true",
            help="reset the count of wrong passwords, which opens log-in at once",
        )
        what.add_argument(
            "--pseudonym",
            nargs="?",
            const="",
            metavar="NAME",
            help="another name in exports; a random one without NAME",
        )
        what.add_argument(
            "--forget",
            action="store_true",
            help="delete the account for good; submitted answers stay under a pseudonym",
        )

    def run(self, **options: Any) -> None:
        user = any_account_called(options["name"], "see the list of people")
        with refusing(PeopleError):
            for line in self._apply_change(user, options):
                self.say(line)

    def _apply_change(self, user: User, options: dict[str, Any]) -> Iterator[str]:
        name = user.username
        if options["role"]:
            changed = accounts.change_role(user, options["role"])
            yield f"{name} is {user.role} {'now' if changed else 'already'}."
        elif flag := next((flag for flag in CHANGES if options[flag]), None):
            change, done, before = CHANGES[flag]
            yield f"{name} {done if change(user) else before}."
        elif options["end_sessions"]:
            accounts.end_sessions(user)
            yield f"Ended all sessions and tokens of {name}."
        elif options["email"] is not None:
            identities.set_email(user, options["email"])
            address = identities.email_of(user)
            yield f"{name} has {f'the address {address}' if address else 'no address'}."
        elif options["unlock"]:
            found = login_limits.unlock(user)
            yield f"Log-in is open for {name}." if found else f"Log-in was open for {name}."
        elif options["pseudonym"] is not None:
            yield f"{name} labels as {accounts.rename_rater(_rater(user), options['pseudonym'])}."
        elif options["forget"]:
            left = accounts.forget(user)
            yield f"Deleted {name}." + (f" Their answers stay under {left}." if left else "")
        else:
            yield from _facts(user)


def _rater(user: User) -> Rater:
    found = Rater.objects.filter(user=user).first()
    if found is None:
        raise PeopleError(f"{user.username} has no pseudonym until it takes its first item")
    return found


def _facts(user: User) -> Iterator[str]:
    rater = Rater.objects.filter(user=user).first()
    state = "on" if user.is_active else "switched off"
    yield f"{user.username}: {'guest' if user.is_guest else user.role}, {state}"
    if there_are_several():
        roles = TeamMember.objects.filter(user=user).select_related("team").order_by("team__name")
        yield f"teams: {', '.join(f'{each.team.name} ({each.role})' for each in roles) or 'none'}"
    yield f"labels as {rater.name}" if rater else "has taken no item yet"
    if kinds := second_factor.kinds_of([user]).get(user.pk):
        yield f"second factor: {', '.join(kinds)}"
    if address := identities.email_of(user):
        yield f"address for log-in by OIDC: {address}"
    if identities.is_linked(user):
        yield "linked with a log-in by OIDC"
    if found := login_limits.status(user):
        until = f", closed until {found.closed_until:%H:%M} UTC" if found.closed_until else ""
        yield f"wrong passwords and codes within a day: {found.wrong}{until}"
    for each in user.memberships.select_related("campaign"):
        yield f"{each.campaign.name}: {'no longer a member' if each.ended_at else each.role}"
