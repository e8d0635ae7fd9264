"""Teams: who is in them, and what an admin shares with another team or moves there.

The rules of access are in `datasets.access`. Owners and managers add and remove accounts, only
owners and admins appoint an owner, and a team that has an owner keeps one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet

from annotation.models import Campaign, User
from annotation.people.leases import Ended, release_all, release_others
from annotation.people.membership import WORKING
from audit.models import Event
from audit.recording import record
from datasets.access import (
    NotManagedError,
    TeamError,
    kinds,
    managed_teams,
    shares_of,
    visible_to_team,
)
from datasets.models import Batch, Owned, Share, Team, TeamMember
from tandem.names import why_no_name
from tandem.similar import did_you_mean

OWNERS = "0009_owners"
"""The migration that gave existing data to teams."""
Role = TeamMember.Role
LONGEST = Team._meta.get_field("name").max_length or 0


def create_team(name: str, owner: User | None = None) -> Team:
    """Create a team. Raises TeamError."""
    name = _checked_name(name)
    with transaction.atomic():
        team = Team.objects.create(name=name)
        record("team.made", of=team)
        if owner is not None:
            set_role(team, owner, Role.OWNER)
    return team


def rename_team(team: Team, name: str) -> None:
    """Give a team another name. Raises TeamError."""
    name = _checked_name(name, team)
    with transaction.atomic():
        record("team.renamed", of=team, before=team.name, after=name)
        Team.objects.filter(pk=team.pk).update(name=name)
    team.name = name


def _checked_name(name: str, but: Team | None = None) -> str:
    if why_no_name(name.strip(), LONGEST):
        raise TeamError(f"a team's name is one line of 1 to {LONGEST} characters; choose another")
    name = " ".join(name.split())
    others = Team.objects.filter(name=name)
    if (others.exclude(pk=but.pk) if but else others).exists():
        raise TeamError(f"a team {name!r} exists; choose another name")
    return name


def check_lets_in(team: Team, by: User | None, role: str = Role.MEMBER) -> None:
    """Raise TeamError if an account may not give a role in a team. `by` is None for a command."""
    if by is None or by.role == User.Role.ADMIN:
        return
    if not managed_teams(by).filter(pk=team.pk).exists():
        raise NotManagedError
    own = TeamMember.objects.get(team=team, user=by).role
    if role == Role.OWNER and own != Role.OWNER:
        raise TeamError("only an owner or an admin makes somebody an owner; ask one of them")


def set_role(team: Team, user: User, role: str, by: User | None = None) -> TeamMember:
    """Let an account into a team, or change its role there. Raises TeamError or NotManagedError."""
    check_lets_in(team, by, role)
    if role not in Role.values:
        raise TeamError(f"a role in a team is one of {', '.join(Role.values)}; correct it")
    if user.is_guest:
        raise TeamError("a guest takes part in one campaign only; invite the person instead")
    if not user.is_active:
        raise TeamError(f"account {user.username} is disabled; enable it first")
    if user.role == User.Role.ANNOTATOR and role != Role.MEMBER:
        raise TeamError(
            f"account {user.username} labels only, and can be member; change its role first"
        )
    with transaction.atomic():
        before = _locked(team).filter(user=user).values_list("role", flat=True).first()
        if before == Role.OWNER != role:
            _check_owner_remains(team, user, by)
        member, _ = TeamMember.objects.update_or_create(
            team=team, user=user, defaults={"role": role}
        )
        if before != role:
            of, now = ("account", user.pk), str(role)
            record("team.member", None, of, before, role, team=team.pk, was=before, now=now)
    return member


def leave(team: Team, user: User, by: User | None = None) -> None:
    """End an account's part in a team. Its reserved items are released; answers stay.

    An account may remove itself. Raises TeamError or NotManagedError.
    """
    if by != user:
        check_lets_in(team, by)
    with transaction.atomic():
        before = _locked(team).filter(user=user).values_list("role", flat=True).first()
        if before is None:
            raise TeamError(f"account {user.username} is not in team {team}; see its members")
        if before == Role.OWNER:
            _check_owner_remains(team, user, by)
        TeamMember.objects.filter(team=team, user=user).delete()
        pools = Campaign.objects.filter(team=team, pool=Campaign.Pool.OPEN)
        for campaign in pools.exclude(memberships__user=user):
            release_all(user, Ended.FREED, campaign)
        record("team.left", None, ("account", user.pk), team=team.pk, was=before)


def hand_over(team: Team, to: User, by: User) -> None:
    """Make another account the owner, and the previous owner a manager. Raises TeamError."""
    with transaction.atomic():
        set_role(team, to, Role.OWNER, by)
        if TeamMember.objects.filter(team=team, user=by, role=Role.OWNER).exists() and to != by:
            set_role(team, by, Role.MANAGER, by)


def _locked(team: Team) -> QuerySet[TeamMember]:
    """Lock a team, so that no two owners leave at the same moment."""
    list(Team.objects.select_for_update().filter(pk=team.pk))
    return TeamMember.objects.filter(team=team)


def _check_owner_remains(team: Team, user: User, by: User | None) -> None:
    own = TeamMember.objects.filter(team=team, user=by).values_list("role", flat=True).first()
    if by is not None and by.role != User.Role.ADMIN and own != Role.OWNER:
        raise TeamError("only an owner or an admin changes an owner's role; ask one of them")
    others = TeamMember.objects.filter(team=team, role=Role.OWNER, user__is_active=True)
    if not others.exclude(user=user).exists():
        raise TeamError(
            f"the only owner of {team} is {user.username}; make another account its owner first"
        )


def trim_roles(user: User) -> None:
    """Reduce an annotator's roles to plain membership in each team."""
    if user.role == User.Role.ANNOTATOR:
        TeamMember.objects.filter(user=user).update(role=Role.MEMBER)


def thing_named(kind: str, name: str, hints: bool = False) -> Owned:
    """Return a batch, campaign, judge or key by its name. Raises TeamError.

    With `hints`, the error names the most similar one of any team, which only a command may do.
    """
    known = kinds()
    if kind not in known:
        raise TeamError(f"{kind!r} is not one of {', '.join(sorted(known))}; correct it")
    there, own = known[kind]._default_manager, known[kind].NAME
    found: Owned | None = there.filter(**{own: name}).first()
    if found is None:
        names = there.values_list(own, flat=True) if hints else ()
        hint = did_you_mean(name, names, "correct the name")
        raise TeamError(f"there is no {kind} {name!r}; {hint}")
    return found


def share(thing: Owned, team: Team, right: str | None, by: User | None = None) -> None:
    """Let another team read or manage something, or end that with None. Raises TeamError."""
    if thing.team_id == team.pk:
        raise TeamError(f"it belongs to {team} already; name another team")
    if right is not None and right not in Share.Right.values:
        raise TeamError(f"a right is one of {', '.join(Share.Right.values)}; correct it")
    shares = shares_of(type(thing)).objects.filter(of=thing, team=team)
    with transaction.atomic():
        if right is None:
            if not shares.delete()[0]:
                raise TeamError(f"it is not shared with {team}; nothing was changed")
            _record("team.unshared", thing, team=team.pk)
            return
        shares_of(type(thing)).objects.update_or_create(
            of=thing, team=team, defaults={"right": right, "by": by}
        )
        _record("team.shared", thing, team=team.pk, right=right)


def move(thing: Owned, team: Team, by: User | None = None) -> list[str]:
    """Give something to another team; return the other consequences as sentences.

    A campaign's batch is shared with its new team. A person who may no longer take its items loses
    the reserved ones. Raises TeamError.
    """
    if thing.team_id == team.pk:
        raise TeamError(f"it belongs to {team} already; name another team")
    model, was = type(thing), thing.team_id
    consequences: list[str] = []
    with transaction.atomic():
        rows = model._default_manager.filter(pk=thing.pk)
        if model._meta.model_name == "judge":
            rows = model._default_manager.filter(Q(pk=thing.pk) | Q(base=thing.pk))
        rows.update(team=team)
        shares_of(model).objects.filter(of=thing, team=team).delete()
        thing.team = team
        _record("team.moved", thing, team=team.pk, was=was)
        if isinstance(thing, Campaign):
            consequences += _after_moving(thing, by)
    return consequences


def _after_moving(campaign: Campaign, by: User | None) -> Iterator[str]:
    batch = campaign.batch
    if not Batch.objects.filter(visible_to_team(Batch, campaign.team), pk=batch.pk).exists():
        share(batch, campaign.team, Share.Right.READ, by)
        yield f"Batch {batch.name!r} is shared with {campaign.team}, to read."
    member = Q(memberships__campaign=campaign)
    working = member & Q(memberships__ended_at=None, memberships__role__in=WORKING)
    stays = User.objects.filter(working)
    if campaign.pool == Campaign.Pool.OPEN:
        stays |= User.objects.filter(teams__team=campaign.team)
    if freed := release_others(stays.distinct(), campaign):
        held = "1 reserved slot" if freed == 1 else f"{freed} reserved slots"
        yield f"Released {held} from people outside {campaign.team}."


def _record(event: str, thing: Owned, **facts: Any) -> None:
    record(event, thing.pk if isinstance(thing, Campaign) else None, thing, **facts)


@dataclass(frozen=True)
class Passage:
    """Something that was given to a team, at the upgrade or later, as a line of text."""

    event: Event
    line: str


WORDS = {
    "team.given": "given to {team} at the upgrade, {why}",
    "team.shared": "shared with {team}, to {right}",
    "team.unshared": "no longer shared with {team}",
    "team.moved": "moved to {team}",
}


def history() -> Iterator[Passage]:
    """Yield what was given to which team according to the audit trail, oldest first."""
    teams = dict(Team.objects.values_list("pk", "name"))
    people = dict(User.objects.values_list("pk", "username"))
    names = _names()
    for event in Event.objects.filter(event__in=WORDS).order_by("pk"):
        kind, facts = event.object_kind, event.facts
        name = names.get((kind, event.object_id), f"number {event.object_id}")
        maker = people.get(facts.get("maker") or 0)
        why = f"as {maker} created it" if maker else "as nobody is named as its creator"
        team = teams.get(facts.get("team") or 0, "a team that is gone")
        words = WORDS[event.event].format(team=team, why=why, right=facts.get("right", ""))
        yield Passage(event, f"{kind} {name}: {words}")


def _names() -> dict[tuple[str, str], str]:
    found: dict[tuple[str, str], str] = {}
    for kind, model in kinds().items():
        for pk, name in model._default_manager.values_list("pk", model.NAME):
            found[kind, str(pk)] = name
    return found


def tell_after_upgrade(plan: Any = None, verbosity: int = 1, **more: Any) -> None:
    """Handle `post_migrate`: print a line if the upgrade gave existing data to teams."""
    applied = any(not back and each.name == OWNERS for each, back in plan or ())
    given = Event.objects.filter(event="team.given") if applied and verbosity else None
    if given and (number := given.count()):
        teams = len({event.facts.get("team") for event in given})
        out = more.get("stdout") or sys.stdout
        out.write(
            f"Teams: {number} batches, campaigns and judges were given to "
            f"{teams} team{'' if teams == 1 else 's'}; tandem team history lists them.\n"
        )


def without_a_team() -> QuerySet[User]:
    """Return the active accounts that are in no team, and so can do nothing."""
    people = User.objects.filter(is_active=True, is_guest=False, teams=None)
    return people.exclude(role=User.Role.ADMIN).order_by("username")
