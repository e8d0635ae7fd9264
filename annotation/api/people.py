"""API endpoints of accounts, invitations, and the people of a campaign."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.shortcuts import get_object_or_404
from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import (
    get_account,
    managed_campaign,
    readable_campaign,
    visible_accounts,
    visible_raters,
)
from annotation.api.people_serializers import (
    A_CAST,
    A_PAY_TABLE,
    A_PERSON,
    AN_INVITATION,
    SETTINGS,
    AdmissionSerializer,
    CastChangeSerializer,
    CastSerializer,
    ChangedCastSerializer,
    ChangedPersonSerializer,
    ExclusionSerializer,
    ForgetSerializer,
    ForgottenSerializer,
    InvitationSerializer,
    MadeInvitationSerializer,
    MemberChangeSerializer,
    NewInvitationSerializer,
    PayTableSerializer,
    PersonChangeSerializer,
    PersonSerializer,
)
from annotation.gold.scoring import admissible, admit
from annotation.models import Campaign, User
from annotation.people import accounts, membership
from annotation.people.accounts import campaign_raters, invitations_of
from annotation.people.invitations import invite, revoke
from annotation.people.leases import free, set_lease
from annotation.people.membership import PeopleError, find_readable
from annotation.people.pay import pay_table, work_line
from annotation.people.search import account_known
from datasets.access import ADMIN, READERS
from datasets.api.base import (
    List,
    PageParameters,
    Resource,
    describe_endpoint,
    page_example,
    page_serializer,
    serialize,
    validate,
)
from datasets.api.concurrency import (
    IF_MATCH,
    check_etag,
    etag_of,
    idempotent,
    mark_idempotent,
    run_once,
)
from datasets.api.errors import RefusedBodyError, TooManyRequestsError, problem
from datasets.api.permissions import PEOPLE, READ
from datasets.api.throttling import seconds_to_wait
from datasets.teams import managed_teams

OWN = "you cannot change your own account; ask another admin"


class People(List):
    roles = {"GET": (ADMIN,)}
    scopes = {"GET": (PEOPLE,)}

    @describe_endpoint(
        "List people",
        "Accounts and guests with the pseudonyms of their labels, for admins.",
        {200: page_serializer(PersonSerializer)},
        tag="people",
        example=page_example(A_PERSON),
        parameters=[PageParameters],
        operation_id="people_list",
    )
    def get(self, request: Request) -> Response:
        rows = visible_accounts(get_account(request))
        return self.page(rows, lambda found: serialize(PersonSerializer, found))


class OnePerson(Resource):
    roles = {"GET": (ADMIN,), "PUT": (ADMIN,)}
    scopes = {"GET": (PEOPLE,), "PUT": (PEOPLE,)}

    @describe_endpoint(
        "Read a person",
        "One account.",
        {200: PersonSerializer},
        tag="people",
        example=A_PERSON,
        operation_id="people_read",
    )
    def get(self, request: Request, pk: int) -> Response:
        return _account_response(get_object_or_404(visible_accounts(get_account(request)), pk=pk))

    @describe_endpoint(
        "Change a person",
        "Changes the role or the pseudonym of an account, or disables or enables it. A new "
        "role, or being disabled, ends the account's sessions and tokens. Labels stay.",
        {200: PersonSerializer, 409: ChangedPersonSerializer},
        tag="people",
        request=PersonChangeSerializer,
        sent={"is_active": False},
        example={**A_PERSON, "is_active": False},
        refuses=(422,),
        parameters=[IF_MATCH],
        operation_id="people_change",
    )
    def put(self, request: Request, pk: int) -> Response:
        me, body = get_account(request), validate(PersonChangeSerializer, request.data)
        with transaction.atomic():
            rows = visible_accounts(me).select_related(None).select_for_update()
            found = get_object_or_404(rows, pk=pk)
            check_etag(request, _tag(found), lambda: PersonSerializer(found).data)
            try:
                _change(me, found, body)
            except PeopleError as error:
                raise refused_body(error) from error
        return _account_response(visible_accounts(me).get(pk=pk))


class AccountDeletion(Resource):
    roles = {"POST": (ADMIN,)}
    scopes = {"POST": (PEOPLE,)}

    @describe_endpoint(
        "Delete an account",
        "Deletes everything that identifies the person. Answers stay under the pseudonym.",
        {200: ForgottenSerializer},
        tag="people",
        request=ForgetSerializer,
        sent={"name": "ada"},
        example={"pseudonym": "person-7kq2mx"},
        refuses=(422,),
        operation_id="people_forget",
    )
    @idempotent
    def post(self, request: Request, pk: int) -> Response:
        me = get_account(request)
        found = get_object_or_404(visible_accounts(me), pk=pk)
        body = validate(ForgetSerializer, request.data)
        if body["name"] != found.username:
            wrong = [problem("is not the name of this account", "name")]
            raise RefusedBodyError("no account was deleted", wrong)
        try:
            if found == me:
                raise PeopleError(OWN)
            return Response({"pseudonym": accounts.forget(found)})
        except PeopleError as error:
            raise refused_body(error) from error


def _account_response(found: User) -> Response:
    return Response(PersonSerializer(found).data, headers={"ETag": _tag(found)})


def _tag(found: User) -> str:
    rater = getattr(found, "rater", None)
    return etag_of(found.pk, found.role, found.is_active, rater and rater.name)


def _change(me: User, found: User, body: dict[str, Any]) -> None:
    if found == me and body.keys() & {"role", "is_active"}:
        raise PeopleError(OWN)
    if "role" in body:
        accounts.change_role(found, body["role"])
    if body.get("is_active") is True:
        accounts.switch_on(found)
    elif body.get("is_active") is False:
        accounts.switch_off(found)
    if "pseudonym" in body:
        accounts.rename(found, body["pseudonym"])


class Invitations(List):
    roles = {"GET": READERS, "POST": READERS}
    scopes = {"GET": (PEOPLE,), "POST": (PEOPLE,)}

    @describe_endpoint(
        "List invitations",
        "The newest first: all for admins, and for researchers those to campaigns and "
        "teams that they manage.",
        {200: page_serializer(InvitationSerializer)},
        tag="people",
        example=page_example(AN_INVITATION),
        parameters=[PageParameters],
        operation_id="invitations_list",
    )
    def get(self, request: Request) -> Response:
        rows = invitations_of(get_account(request))
        return self.page(rows, lambda found: serialize(InvitationSerializer, found))

    @describe_endpoint(
        "Invite a person",
        "Creates a link that works once, within seven days. Researchers invite annotators to "
        "their campaigns and teams, and admins invite anyone. The link is returned only once: it "
        "is null in a response that is repeated for an Idempotency-Key.",
        {201: MadeInvitationSerializer},
        tag="people",
        request=NewInvitationSerializer,
        sent={"campaign": 1, "note": "Ada"},
        example={**AN_INVITATION, "link": "https://tandem.example/join/?key=…"},
        status=201,
        refuses=(422,),
        operation_id="invitations_create",
    )
    @mark_idempotent
    def post(self, request: Request) -> Response:
        body = validate(NewInvitationSerializer, request.data)
        return run_once(request, lambda: _invite(request, body), hidden=("link",))


def _invite(request: Request, body: dict[str, Any]) -> Response:
    me = get_account(request)
    if pk := body.pop("campaign", None):
        body["campaign"] = find_readable(me, pk)
        if body["campaign"] is None:
            wrong = [problem("is not a campaign that you may read", "campaign")]
            raise RefusedBodyError("no invitation was created", wrong)
    if name := body.pop("team", None):
        body["team"] = managed_teams(me).filter(name=name).first()
        if body["team"] is None:
            wrong = [problem("is not a team that you manage", "team")]
            raise RefusedBodyError("no invitation was created", wrong)
    wait = seconds_to_wait("invite", me.pk)
    if wait is not None:
        raise TooManyRequestsError("the limit is sixty invitations an hour", wait)
    try:
        created = invite(by=me, **body)
    except PeopleError as error:
        raise refused_body(error) from error
    address = request.build_absolute_uri(f"{reverse('join')}?key={created.key}")
    shown = {**InvitationSerializer(created.invitation).data, "link": address}
    return Response(shown, status=201)


class InvitationRevocation(Resource):
    roles = {"POST": READERS}
    scopes = {"POST": (PEOPLE,)}

    @describe_endpoint(
        "Revoke an invitation",
        "The link no longer works. A used or expired invitation does not change.",
        {200: InvitationSerializer},
        tag="people",
        example={**AN_INVITATION, "state": "revoked"},
        operation_id="invitations_revoke",
    )
    @idempotent
    def post(self, request: Request, pk: int) -> Response:
        found = get_object_or_404(invitations_of(get_account(request)), pk=pk)
        revoke(found)
        found.refresh_from_db()
        return Response(InvitationSerializer(found).data)


def refused_body(error: PeopleError) -> RefusedBodyError:
    return RefusedBodyError(str(error))


def account_named(me: User, name: str, campaign: Campaign | None = None) -> User:
    """Return an account by its name, unless `me` may not know whether it exists."""
    found = account_known(me, name, campaign)
    if found is None:
        wrong = [problem("is not an account that you may see; invite the person", "name")]
        raise RefusedBodyError("no role was changed", wrong)
    return found


class CampaignPeople(Resource):
    roles = {"GET": READERS, "PUT": READERS}
    scopes = {"GET": (PEOPLE,), "PUT": (PEOPLE,)}

    @describe_endpoint(
        "Read the people of a campaign",
        "The members by account, and the raters by pseudonym.",
        {200: CastSerializer},
        tag="people",
        example=A_CAST,
        operation_id="campaign_people_read",
    )
    def get(self, request: Request, pk: int) -> Response:
        return _people_response(readable_campaign(request, pk))

    @describe_endpoint(
        "Change who takes part",
        "Changes the pool, how long a slot is reserved, and how many items one person answers.",
        {200: CastSerializer, 409: ChangedCastSerializer},
        tag="people",
        request=CastChangeSerializer,
        sent=SETTINGS,
        example=A_CAST,
        parameters=[IF_MATCH],
        operation_id="campaign_people_change",
    )
    def put(self, request: Request, pk: int) -> Response:
        body = validate(CastChangeSerializer, request.data)
        with transaction.atomic():
            campaign = managed_campaign(request, pk, lock=True)
            check_etag(request, _members_tag(campaign), lambda: _describe(campaign))
            self._change(campaign, body, get_account(request))
        return _people_response(campaign)

    def _change(self, campaign: Campaign, body: dict[str, Any], user: User) -> None:
        with membership.record_change(campaign):
            if "hold_minutes" in body:
                set_lease(campaign, body["hold_minutes"])
            if "pool" in body:
                membership.set_pool(campaign, body["pool"], user)
            if "items_per_person" in body:
                membership.set_most_items(campaign, body["items_per_person"])


class CampaignPay(Resource):
    roles = {"GET": READERS}
    scopes = {"GET": (READ, PEOPLE)}

    @describe_endpoint(
        "Read pay and time",
        "Items, median and total active time, and pay of each person by pseudonym, and of all "
        "together. The rate is a setting of the campaign.",
        {200: PayTableSerializer},
        tag="people",
        example=A_PAY_TABLE,
        operation_id="campaign_pay_read",
    )
    def get(self, request: Request, pk: int) -> Response:
        table = pay_table(readable_campaign(request, pk))
        shown = {
            "rate": str(table.rate) if table.rate else None,
            "people": [work_line(each, table.rate) for each in table.people],
            "everybody": work_line(table.everybody, table.rate),
        }
        return Response(PayTableSerializer(shown).data)


class MemberRole(Resource):
    roles = {"PUT": READERS}
    scopes = {"PUT": (PEOPLE,)}

    @describe_endpoint(
        "Give an account a role in a campaign",
        "Changes the account's role. With null, its membership ends: reserved slots are "
        "released, and answers stay.",
        {200: CastSerializer},
        tag="people",
        request=MemberChangeSerializer,
        sent={"name": "ada", "role": "annotator"},
        example=A_CAST,
        refuses=(422,),
        operation_id="members_change",
    )
    def put(self, request: Request, pk: int) -> Response:
        campaign, me = managed_campaign(request, pk), get_account(request)
        body = validate(MemberChangeSerializer, request.data)
        user = account_named(me, body["name"], campaign)
        try:
            if body["role"] is None:
                membership.end_membership(campaign, user, me)
            else:
                membership.add_member(campaign, user, body["role"], me)
        except PeopleError as error:
            raise refused_body(error) from error
        return _people_response(campaign)


class RaterExclusion(Resource):
    roles = {"PUT": READERS}
    scopes = {"PUT": (PEOPLE,)}

    @describe_endpoint(
        "Exclude or include a rater",
        "The labels stay, but no statistic of the campaign uses them, and the report gives the "
        "reason. With null, the rater is included again.",
        {200: CastSerializer},
        tag="people",
        request=ExclusionSerializer,
        sent={"reason": "answered faster than one can read"},
        example=A_CAST,
        refuses=(422,),
        operation_id="exclusions_change",
    )
    def put(self, request: Request, pk: int, rater: int) -> Response:
        campaign, me = managed_campaign(request, pk), get_account(request)
        found = get_object_or_404(visible_raters(campaign), pk=rater)
        reason = validate(ExclusionSerializer, request.data)["reason"]
        try:
            if reason is None:
                membership.include(campaign, found, me)
            else:
                membership.exclude(campaign, found, reason, me)
        except PeopleError as error:
            raise refused_body(error) from error
        return _people_response(campaign)


class RaterAdmission(Resource):
    roles = {"PUT": READERS}
    scopes = {"PUT": (PEOPLE,)}

    @describe_endpoint(
        "Admit a person",
        "Admits a person who did not pass the campaign's practice. The first reason is kept.",
        {200: CastSerializer},
        tag="people",
        request=AdmissionSerializer,
        sent={"reason": "a slip of the mouse, and the rest was right"},
        example=A_CAST,
        operation_id="admissions_change",
    )
    def put(self, request: Request, pk: int, rater: int) -> Response:
        campaign, me = managed_campaign(request, pk), get_account(request)
        found = get_object_or_404(admissible(campaign), pk=rater)
        admit(campaign, found, validate(AdmissionSerializer, request.data)["reason"], me)
        return _people_response(campaign)


class SlotRelease(Resource):
    roles = {"POST": READERS}
    scopes = {"POST": (PEOPLE,)}

    @describe_endpoint(
        "Release a rater's reserved slots",
        "Other people may take the slots. A late answer from the page is kept as a draft.",
        {200: CastSerializer},
        tag="people",
        example=A_CAST,
        operation_id="places_free",
    )
    @idempotent
    def post(self, request: Request, pk: int, rater: int) -> Response:
        campaign = managed_campaign(request, pk)
        found = get_object_or_404(visible_raters(campaign), pk=rater)
        free(campaign, found.pk)
        return _people_response(campaign)


def _people_response(campaign: Campaign) -> Response:
    return Response(_describe(campaign), headers={"ETag": _members_tag(campaign)})


def _members_tag(campaign: Campaign) -> str:
    """Return the ETag of the settings and members, without the numbers of answers."""
    roles = campaign.memberships.filter(ended_at=None).order_by("user").values_list("user", "role")
    return etag_of(campaign.pk, *(getattr(campaign, name) for name in SETTINGS), *roles)


def _describe(campaign: Campaign) -> Mapping[str, Any]:
    shown = {
        **{name: getattr(campaign, name) for name in SETTINGS},
        "members": campaign.memberships.filter(ended_at=None).select_related("user"),
        "raters": campaign_raters(campaign),
    }
    return CastSerializer(shown).data
