"""People of several teams."""

from __future__ import annotations

from typing import Any

from annotation.models import User
from datasets.access import shares_of
from datasets.models import Team, TeamMember


def join_team(user: User, team: Team | None = None, role: str = "member") -> None:
    """Change an account's role in its team, or add it to another team."""
    where = team or TeamMember.objects.filter(user=user).get().team
    TeamMember.objects.update_or_create(team=where, user=user, defaults={"role": role})


def move_to_own_team(user: User, role: str = "owner", name: str = "") -> Team:
    """Move an account to a team of its own."""
    team = Team.objects.create(name=name or f"team of {user.username}")
    TeamMember.objects.filter(user=user).delete()
    join_team(user, team, role)
    return team


def give_away(thing: Any) -> Team:
    """Give an object to a team without members."""
    team = Team.objects.get_or_create(name="others")[0]
    type(thing).objects.filter(pk=thing.pk).update(team=team)
    thing.refresh_from_db()
    return team


def share_with(thing: Any, team: Team, right: str = "read") -> None:
    shares_of(type(thing)).objects.create(of=thing, team=team, right=right)
