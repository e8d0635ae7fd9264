"""Accounts and invitations by the API."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.people_shapes import (
    A_PERSON,
    AN_INVITATION,
    ForgetShape,
    ForgottenShape,
    InvitationShape,
    MadeInvitationShape,
    NewInvitationShape,
    PersonChangeShape,
    PersonShape,
)
from annotation.api.visible import person, visible_studies
from annotation.models import User
from annotation.people import accounts
from annotation.people.errors import PeopleError
from annotation.people.invitations import invite, revoke
from annotation.people.overview import invitations_of
from datasets.api.base import (
    ADMIN,
    READERS,
    ErrorShape,
    List,
    PageParameters,
    Resource,
    checked,
    described,
    page_shape,
    rendered,
)
from datasets.api.concurrency import IF_MATCH, check_seen, done_once, etag_of, keyed, once
from datasets.api.errors import RefusedBodyError, TooOftenHereError, problem
from datasets.api.permissions import PEOPLE
from datasets.api.throttling import seconds_to_wait

OWN = "this is your own account; let another admin do it"


def visible_accounts(user: User) -> QuerySet[User]:
    """All accounts and guests, for an admin."""
    if user.role != User.Role.ADMIN:
        return User.objects.none()
    return User.objects.select_related("rater").order_by("username")


class People(List):
    roles = {"GET": (ADMIN,)}
    scopes = {"GET": (PEOPLE,)}

    @described(
        "List people",
        "Accounts and guests with the pseudonyms that their labels stand under; for admins.",
        {200: page_shape(PersonShape)},
        tag="people",
        example={"count": 1, "next": None, "previous": None, "results": [A_PERSON]},
        parameters=[PageParameters],
        operation_id="people_list",
    )
    def get(self, request: Request) -> Response:
        rows = visible_accounts(person(request))
        return self.page(rows, lambda found: rendered(PersonShape, found))


class ChangedPersonShape(ErrorShape):
    current = PersonShape(help_text="as it stands")


class OnePerson(Resource):
    roles = {"GET": (ADMIN,), "PUT": (ADMIN,)}
    scopes = {"GET": (PEOPLE,), "PUT": (PEOPLE,)}

    @described(
        "Read a person",
        "One account.",
        {200: PersonShape},
        tag="people",
        example=A_PERSON,
        operation_id="people_read",
    )
    def get(self, request: Request, pk: int) -> Response:
        return _told(get_object_or_404(visible_accounts(person(request)), pk=pk))

    @described(
        "Change a person",
        "Another role, switched off or on, or another pseudonym. Log-ins and tokens of the account "
        "end with its role, or when it is switched off; labels stay.",
        {200: PersonShape, 409: ChangedPersonShape},
        tag="people",
        request=PersonChangeShape,
        sent={"is_active": False},
        example={**A_PERSON, "is_active": False},
        refuses=(422,),
        parameters=[IF_MATCH],
        operation_id="people_change",
    )
    def put(self, request: Request, pk: int) -> Response:
        me, wanted = person(request), checked(PersonChangeShape, request.data)
        with transaction.atomic():
            rows = visible_accounts(me).select_related(None).select_for_update()
            found = get_object_or_404(rows, pk=pk)
            check_seen(request, _tag(found), lambda: PersonShape(found).data)
            try:
                _change(me, found, wanted)
            except PeopleError as error:
                raise refused(error) from error
        return _told(visible_accounts(me).get(pk=pk))


class Forgotten(Resource):
    roles = {"POST": (ADMIN,)}
    scopes = {"POST": (PEOPLE,)}

    @described(
        "Delete an account",
        "With all that tells who the person was. Answers stay, under the pseudonym.",
        {200: ForgottenShape},
        tag="people",
        request=ForgetShape,
        sent={"name": "ada"},
        example={"pseudonym": "person-7kq2mx"},
        refuses=(422,),
        operation_id="people_forget",
    )
    @once
    def post(self, request: Request, pk: int) -> Response:
        me = person(request)
        found = get_object_or_404(visible_accounts(me), pk=pk)
        wanted = checked(ForgetShape, request.data)
        if wanted["name"] != found.username:
            wrong = [problem("is not the name of this account", "name")]
            raise RefusedBodyError("nobody is deleted", wrong)
        try:
            if found == me:
                raise PeopleError(OWN)
            return Response({"pseudonym": accounts.forget(found)})
        except PeopleError as error:
            raise refused(error) from error


def _told(found: User) -> Response:
    return Response(PersonShape(found).data, headers={"ETag": _tag(found)})


def _tag(found: User) -> str:
    rater = getattr(found, "rater", None)
    return etag_of(found.pk, found.role, found.is_active, rater and rater.name)


def _change(me: User, found: User, wanted: dict[str, Any]) -> None:
    if found == me and wanted.keys() & {"role", "is_active"}:
        raise PeopleError(OWN)
    if "role" in wanted:
        accounts.change_role(found, wanted["role"])
    if wanted.get("is_active") is True:
        accounts.switch_on(found)
    elif wanted.get("is_active") is False:
        accounts.switch_off(found)
    if "pseudonym" in wanted:
        accounts.rename(found, wanted["pseudonym"])


class Invitations(List):
    roles = {"GET": READERS, "POST": READERS}
    scopes = {"GET": (PEOPLE,), "POST": (PEOPLE,)}

    @described(
        "List invitations",
        "The newest first: all for an admin, those to one's campaigns for a researcher.",
        {200: page_shape(InvitationShape)},
        tag="people",
        example={"count": 1, "next": None, "previous": None, "results": [AN_INVITATION]},
        parameters=[PageParameters],
        operation_id="invitations_list",
    )
    def get(self, request: Request) -> Response:
        rows = invitations_of(person(request))
        return self.page(rows, lambda found: rendered(InvitationShape, found))

    @described(
        "Invite somebody",
        "Makes a link that works once, for seven days. A researcher invites annotators to a "
        "campaign of theirs, an admin whomever. The link is told once: in an answer that is "
        "repeated for an Idempotency-Key it is null.",
        {201: MadeInvitationShape},
        tag="people",
        request=NewInvitationShape,
        sent={"campaign": 1, "note": "Ada"},
        example={**AN_INVITATION, "link": "https://tandem.example/join/?key=…"},
        status=201,
        refuses=(422,),
        operation_id="invitations_create",
    )
    @keyed
    def post(self, request: Request) -> Response:
        wanted = checked(NewInvitationShape, request.data)
        return done_once(request, lambda: _invited(request, wanted), hidden=("link",))


def _invited(request: Request, wanted: dict[str, Any]) -> Response:
    me = person(request)
    if pk := wanted.pop("campaign", None):
        wanted["campaign"] = visible_studies(me).filter(pk=pk).first()
        if wanted["campaign"] is None:
            wrong = [problem("names no campaign of yours", "campaign")]
            raise RefusedBodyError("nobody is invited", wrong)
    wait = seconds_to_wait("invite", me.pk)
    if wait is not None:
        raise TooOftenHereError("sixty invitations an hour are the most", wait)
    try:
        made = invite(by=me, **wanted)
    except PeopleError as error:
        raise refused(error) from error
    address = request.build_absolute_uri(f"{reverse('join')}?key={made.key}")
    shown = {**InvitationShape(made.invitation).data, "link": address}
    return Response(shown, status=201)


class TakeBack(Resource):
    roles = {"POST": READERS}
    scopes = {"POST": (PEOPLE,)}

    @described(
        "Take an invitation back",
        "Nobody can use the link from then on. One that is used or expired stays as it is.",
        {200: InvitationShape},
        tag="people",
        example={**AN_INVITATION, "state": "revoked"},
        operation_id="invitations_revoke",
    )
    @once
    def post(self, request: Request, pk: int) -> Response:
        found = get_object_or_404(invitations_of(person(request)), pk=pk)
        revoke(found)
        found.refresh_from_db()
        return Response(InvitationShape(found).data)


def refused(error: PeopleError) -> RefusedBodyError:
    return RefusedBodyError(str(error))
