"""API endpoints of teams: the list, their members, and what is shared with them or moved there."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request

from annotation.access import get_account
from annotation.api.people import account_named
from annotation.people import teams as service
from datasets.access import ADMIN, TeamError, visible_teams
from datasets.api.base import Computed, Strict
from datasets.api.permissions import PEOPLE, READ
from datasets.api.routes import Routes, given
from datasets.models import Share, Team, TeamMember

api = Routes("people", reads=(READ, PEOPLE), writes=(PEOPLE,))


def members_of(team: Team) -> list[dict[str, str]]:
    rows = sorted(team.members.all(), key=lambda member: member.user.username)
    return [{"name": member.user.username, "role": member.role} for member in rows]


class TeamSerializer(serializers.Serializer[Team]):
    id = serializers.IntegerField()
    name = serializers.CharField()
    created_at = serializers.DateTimeField()
    members = Computed(members_of, list[dict[str, str]])


class NewTeamSerializer(Strict):
    name = serializers.CharField(max_length=service.LONGEST)


class TeamMemberChangeSerializer(Strict):
    name = serializers.CharField(max_length=150, help_text="the account's name")
    role = serializers.ChoiceField(
        TeamMember.Role.values, allow_null=True, help_text="null: the account leaves the team"
    )


class TeamShareSerializer(Strict):
    kind = serializers.ChoiceField(sorted(["batch", "campaign", "judge", "key"]))
    name = serializers.CharField(max_length=200, help_text="its name")
    right = serializers.ChoiceField(
        Share.Right.values, allow_null=True, help_text="null ends the sharing"
    )


class TeamMoveSerializer(Strict):
    kind = serializers.ChoiceField(sorted(["batch", "campaign", "judge", "key"]))
    name = serializers.CharField(max_length=200, help_text="its name")


class TeamMovedSerializer(serializers.Serializer[Any]):
    team = TeamSerializer()
    consequences = serializers.ListField(
        child=serializers.CharField(), help_text="further consequences, as sentences"
    )


def visible_with_members(user: Any) -> QuerySet[Team]:
    return visible_teams(user).prefetch_related("members__user")


@api.list(
    "teams/",
    "List teams",
    "The teams that the account is in, and for admins all, by name.",
    TeamSerializer,
    name="teams",
)
def teams_list(request: Request) -> Any:
    return visible_with_members(get_account(request))


@api.post(
    "teams/",
    "Create a team",
    "Creates a team with nobody in it, which admins manage until it has an owner.",
    TeamSerializer,
    roles=(ADMIN,),
    body=NewTeamSerializer,
    status=201,
    raises={TeamError: 422},
    once=True,
)
def teams_create(request: Request) -> Any:
    return service.create_team(given(request)["name"])


@api.get(
    "teams/<int:pk>/",
    "Read a team",
    "A team with its members.",
    TeamSerializer,
    name="team",
)
def teams_read(request: Request, pk: int) -> Any:
    return _team(request, pk)


@api.put(
    "teams/<int:pk>/members/",
    "Give an account a role in a team",
    "Adds the account or changes its role. Owners, managers and admins may do this, and only "
    "owners and admins give the role of owner. Null removes the account. Everybody may remove "
    "themselves, but a team that has an owner keeps one.",
    TeamSerializer,
    name="team-members",
    body=TeamMemberChangeSerializer,
    raises={TeamError: 422},
)
def team_members_change(request: Request, pk: int) -> Any:
    me, team = get_account(request), _team(request, pk)
    body = given(request)
    if body["name"] != me.username:
        service.check_lets_in(team, me)
    user = account_named(me, body["name"])
    if body["role"] is None:
        service.leave(team, user, me)
    else:
        service.set_role(team, user, body["role"], me)
    # The members were read before the change, since people who have left can no longer find the
    # team.
    team.refresh_from_db()
    return team


@api.put(
    "teams/<int:pk>/shares/",
    "Share something with a team",
    "Lets the team read or manage a batch, campaign, judge or key of another team. Null ends that.",
    TeamSerializer,
    name="team-shares",
    roles=(ADMIN,),
    body=TeamShareSerializer,
    raises={TeamError: 422},
)
def team_shares_change(request: Request, pk: int) -> Any:
    me, team = get_account(request), _team(request, pk)
    body = given(request)
    service.share(service.thing_named(body["kind"], body["name"]), team, body["right"], me)
    return team


@api.post(
    "teams/<int:pk>/moves/",
    "Move something to a team",
    "Gives a batch, campaign, judge or key to this team. The batch of a campaign is shared "
    "with it, and people outside it lose the slots that they have reserved.",
    TeamMovedSerializer,
    name="team-moves",
    roles=(ADMIN,),
    body=TeamMoveSerializer,
    raises={TeamError: 422},
    once=True,
)
def team_moves(request: Request, pk: int) -> Any:
    me, team = get_account(request), _team(request, pk)
    body = given(request)
    consequences = service.move(service.thing_named(body["kind"], body["name"]), team, me)
    return {"team": team, "consequences": consequences}


def _team(request: Request, pk: int) -> Team:
    return get_object_or_404(visible_with_members(get_account(request)), pk=pk)
