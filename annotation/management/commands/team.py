"""`team`: lists and creates teams, changes their members, and shares and moves what they own."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from django.core.management.base import CommandError
from django.db.models import Count

from annotation.management.base import any_account_called
from annotation.models import User
from annotation.people import teams
from annotation.people.teams import thing_named
from datasets.access import NotManagedError, TeamError, kinds, team_named, visible_teams
from datasets.console import Command as BaseCommand
from datasets.console import refusing
from datasets.models import Share, Team, TeamMember
from tandem.similar import did_you_mean
from tandem.verbs import verb_of

USAGE = {
    "list": "",
    "create": "NAME [--owner ACCOUNT]",
    "rename": "TEAM NAME",
    "add": "TEAM ACCOUNT [--as ROLE]",
    "remove": "TEAM ACCOUNT",
    "share": "KIND NAME --with TEAM [--right read|manage|none]",
    "move": "KIND NAME --to TEAM",
    "history": "",
}
NUMBER = {"list": 0, "create": 1, "rename": 2, "add": 2, "remove": 2, "share": 2, "move": 2}
ADMINS = ("create", "share", "move", "history")


class Command(BaseCommand):
    help = (
        "Teams: list them, create one, rename it, add or remove an account, share a batch, "
        "campaign, judge or key with another team or move it there, and show which team got what."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", choices=USAGE, metavar="ACTION", help=", ".join(USAGE))
        parser.add_argument("words", metavar="WORD", nargs="*", help="what the action is about")
        parser.add_argument("--owner", metavar="ACCOUNT", help="for create: who owns the team")
        parser.add_argument(
            "--as",
            dest="team_role",
            choices=TeamMember.Role.values,
            default=TeamMember.Role.MEMBER.value,
            help="for add: the role in the team (default: member, who reads)",
        )
        parser.add_argument("--with", dest="with_team", metavar="TEAM", help="for share: with whom")
        parser.add_argument(
            "--right",
            choices=(*Share.Right.values, "none"),
            default=Share.Right.READ.value,
            help="for share: what the other team may do (default: read)",
        )
        parser.add_argument("--to", dest="to_team", metavar="TEAM", help="for move: where to")
        parser.add_argument(
            "--by", metavar="ACCOUNT", help="the account that makes the change, with its rights"
        )

    def run(self, **options: Any) -> None:
        action, words = options["action"], options["words"]
        if len(words) != NUMBER.get(action, 0):
            raise CommandError(f"Write it as: team {action} {USAGE[action]}".rstrip() + ".")
        by = _account(options["by"]) if options["by"] else None
        if by and action in ADMINS and by.role != User.Role.ADMIN:
            raise CommandError(f"Only an admin may {action}; {by.username} is not an admin.")
        act: Callable[..., None] = getattr(self, f"_{action}")
        with refusing(TeamError, NotManagedError):
            act(*words, by=by, options=options)

    def _list(self, by: User | None, options: dict[str, Any]) -> None:
        rows = visible_teams(by) if by else Team.objects.all()
        for team in rows.annotate(number=Count("members")):
            has = [
                f"{count} {kind}{'' if count == 1 else 'es' if kind == 'batch' else 's'}"
                for kind, model in kinds().items()
                if (count := model._default_manager.filter(team=team).count())
            ]
            self.stdout.write(f"{team}: {', '.join(has) or 'nothing yet'}")
            for member in team.members.select_related("user").order_by("-role", "user__username"):
                self.stdout.write(f"  {member.user.username}, {member.role}")

    def _create(self, name: str, by: User | None, options: dict[str, Any]) -> None:
        owner = _account(options["owner"]) if options["owner"] else None
        team = teams.create_team(name, owner)
        self.say(
            f"Created team {team.name!r}" + (f", owned by {owner.username}." if owner else ".")
        )

    def _rename(self, team: str, name: str, by: User | None, options: dict[str, Any]) -> None:
        found = _team(team, by)
        teams.check_lets_in(found, by, TeamMember.Role.OWNER)
        teams.rename_team(found, name)
        self.say(f"Renamed team {team!r} to {found.name!r}.")

    def _add(self, team: str, account: str, by: User | None, options: dict[str, Any]) -> None:
        member = teams.set_role(_team(team, by), _account(account), options["team_role"], by)
        self.say(f"{account} is {member.role} of team {team!r}.")

    def _remove(self, team: str, account: str, by: User | None, options: dict[str, Any]) -> None:
        teams.leave(_team(team, by), _account(account), by)
        self.say(f"{account} is no longer in team {team!r}.")

    def _share(self, kind: str, name: str, by: User | None, options: dict[str, Any]) -> None:
        team, right = _required_team(options["with_team"], "--with"), options["right"]
        teams.share(
            thing_named(kind, name, hints=True), team, None if right == "none" else right, by
        )
        what = f"{kind.capitalize()} {name!r}"
        done = (
            f"no longer shared with {team}"
            if right == "none"
            else f"shared with {team}, to {right}"
        )
        self.say(f"{what} is {done}.")

    def _move(self, kind: str, name: str, by: User | None, options: dict[str, Any]) -> None:
        team = _required_team(options["to_team"], "--to")
        consequences = teams.move(thing_named(kind, name, hints=True), team, by)
        self.say(f"Moved {kind} {name!r} to team {team.name!r}.")
        for sentence in consequences:
            self.say(sentence)

    def _history(self, by: User | None, options: dict[str, Any]) -> None:
        for each in teams.history():
            self.stdout.write(f"{each.event.at:%Y-%m-%d %H:%M}  {each.line}")
        for user in teams.without_a_team():
            self.stdout.write(
                f"{user.username} is in no team: tandem team add TEAM {user.username}"
            )


def _account(name: str) -> User:
    remedy = f"create it with {verb_of('create_account')}"
    return any_account_called(name, remedy, is_guest=False)


def _team(name: str, by: User | None) -> Team:
    if by is None:
        return team_named(name)
    team = visible_teams(by).filter(name=name).first()
    if team is None:
        known = visible_teams(by).values_list("name", flat=True)
        hint = did_you_mean(name, known, "correct the name")
        raise TeamError(f"there is no team {name!r} that {by.username} is in; {hint}")
    return team


def _required_team(name: str | None, option: str) -> Team:
    if not name:
        raise CommandError(f"Say which team; give {option} TEAM.")
    return team_named(name)
