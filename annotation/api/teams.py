"""API endpoints of teams: the list, their members, and what is shared with them or moved there."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import get_account
from annotation.api.people import account_named
from annotation.people import teams as service
from datasets.access import ADMIN, READERS
from datasets.api.base import (
    List,
    PageParameters,
    Resource,
    Strict,
    describe_endpoint,
    page_example,
    page_serializer,
    serialize,
    validate,
)
from datasets.api.concurrency import idempotent
from datasets.api.errors import RefusedBodyError
from datasets.api.permissions import PEOPLE, READ
from datasets.models import Share, Team, TeamMember
from datasets.teams import TeamError, visible_teams

A_TEAM = {
    "id": 1,
    "name": "bridges",
    "created_at": "2026-11-20T09:30:00Z",
    "members": [{"name": "rita", "role": "owner"}],
}


class TeamMemberSerializer(serializers.Serializer[TeamMember]):
    name = serializers.CharField(source="user.username")
    role = serializers.ChoiceField(TeamMember.Role.values)


class TeamSerializer(serializers.Serializer[Team]):
    id = serializers.IntegerField()
    name = serializers.CharField()
    created_at = serializers.DateTimeField()
    members = serializers.SerializerMethodField()

    def get_members(self, team: Team) -> list[dict[str, str]]:
        rows = sorted(team.members.all(), key=lambda member: member.user.username)
        return [{"name": member.user.username, "role": member.role} for member in rows]


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


class Teams(List):
    roles = {"GET": READERS, "POST": (ADMIN,)}
    scopes = {"GET": (READ, PEOPLE), "POST": (PEOPLE,)}

    @describe_endpoint(
        "List teams",
        "The teams that the account is in, and for admins all, by name.",
        {200: page_serializer(TeamSerializer)},
        tag="people",
        example=page_example(A_TEAM),
        parameters=[PageParameters],
        operation_id="teams_list",
    )
    def get(self, request: Request) -> Response:
        rows = visible_with_members(get_account(request))
        return self.page(rows, partial(serialize, TeamSerializer))

    @describe_endpoint(
        "Create a team",
        "Creates a team with nobody in it, which admins manage until it has an owner.",
        {201: TeamSerializer},
        tag="people",
        request=NewTeamSerializer,
        sent={"name": "bridges"},
        example={**A_TEAM, "members": []},
        status=201,
        refuses=(422,),
        operation_id="teams_create",
    )
    @idempotent
    def post(self, request: Request) -> Response:
        name = validate(NewTeamSerializer, request.data)["name"]
        try:
            team = service.create_team(name)
        except TeamError as error:
            raise RefusedBodyError(str(error)) from error
        return Response(TeamSerializer(team).data, status=201)


class OneTeam(Resource):
    roles = {"GET": READERS}
    scopes = {"GET": (READ, PEOPLE)}

    @describe_endpoint(
        "Read a team",
        "A team with its members.",
        {200: TeamSerializer},
        tag="people",
        example=A_TEAM,
        operation_id="teams_read",
    )
    def get(self, request: Request, pk: int) -> Response:
        return _response(request, pk)


class TeamMembers(Resource):
    roles = {"PUT": READERS}
    scopes = {"PUT": (PEOPLE,)}

    @describe_endpoint(
        "Give an account a role in a team",
        "Adds the account or changes its role. Owners, managers and admins may do this, and only "
        "owners and admins give the role of owner. Null removes the account. Everybody may remove "
        "themselves, but a team that has an owner keeps one.",
        {200: TeamSerializer},
        tag="people",
        request=TeamMemberChangeSerializer,
        sent={"name": "ada", "role": "member"},
        example=A_TEAM,
        refuses=(422,),
        operation_id="team_members_change",
    )
    def put(self, request: Request, pk: int) -> Response:
        me, team = get_account(request), _team(request, pk)
        body = validate(TeamMemberChangeSerializer, request.data)
        if body["name"] != me.username:
            service.check_lets_in(team, me)
        user = account_named(me, body["name"])
        try:
            if body["role"] is None:
                service.leave(team, user, me)
            else:
                service.set_role(team, user, body["role"], me)
        except TeamError as error:
            raise RefusedBodyError(str(error)) from error
        # The members were read before the change, since people who have left can no longer find the
        # team.
        team.refresh_from_db()
        return Response(TeamSerializer(team).data)


class TeamShares(Resource):
    roles = {"PUT": (ADMIN,)}
    scopes = {"PUT": (PEOPLE,)}

    @describe_endpoint(
        "Share something with a team",
        "Lets the team read or manage a batch, campaign, judge or key of another team. Null ends "
        "that.",
        {200: TeamSerializer},
        tag="people",
        request=TeamShareSerializer,
        sent={"kind": "batch", "name": "pilot", "right": "read"},
        example=A_TEAM,
        refuses=(422,),
        operation_id="team_shares_change",
    )
    def put(self, request: Request, pk: int) -> Response:
        me, team = get_account(request), _team(request, pk)
        body = validate(TeamShareSerializer, request.data)
        try:
            thing = service.thing_named(body["kind"], body["name"])
            service.share(thing, team, body["right"], me)
        except TeamError as error:
            raise RefusedBodyError(str(error)) from error
        return Response(TeamSerializer(team).data)


class TeamMoves(Resource):
    roles = {"POST": (ADMIN,)}
    scopes = {"POST": (PEOPLE,)}

    @describe_endpoint(
        "Move something to a team",
        "Gives a batch, campaign, judge or key to this team. The batch of a campaign is shared "
        "with it, and people outside it lose the slots that they have reserved.",
        {200: TeamMovedSerializer},
        tag="people",
        request=TeamMoveSerializer,
        sent={"kind": "campaign", "name": "coverage"},
        example={"team": A_TEAM, "consequences": []},
        refuses=(422,),
        operation_id="team_moves",
    )
    @idempotent
    def post(self, request: Request, pk: int) -> Response:
        me, team = get_account(request), _team(request, pk)
        body = validate(TeamMoveSerializer, request.data)
        try:
            consequences = service.move(service.thing_named(body["kind"], body["name"]), team, me)
        except TeamError as error:
            raise RefusedBodyError(str(error)) from error
        return Response(TeamMovedSerializer({"team": team, "consequences": consequences}).data)


def _team(request: Request, pk: int) -> Team:
    return get_object_or_404(visible_with_members(get_account(request)), pk=pk)


def _response(request: Request, pk: int) -> Response:
    return Response(TeamSerializer(_team(request, pk)).data)
