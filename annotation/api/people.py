"""API endpoints of accounts, invitations, and the people of a campaign."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.shortcuts import get_object_or_404
from django.urls import reverse
from rest_framework.request import Request

from annotation.access import (
    get_account,
    managed_campaign,
    readable_campaign,
    visible_accounts,
    visible_raters,
)
from annotation.api.people_serializers import (
    SETTINGS,
    AdmissionSerializer,
    CastChangeSerializer,
    CastSerializer,
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
from annotation.people.accounts import account_known, campaign_raters, invitations_of
from annotation.people.invitations import invite, revoke
from annotation.people.leases import free, set_lease
from annotation.people.membership import PeopleError, find_readable
from annotation.people.pay import pay_table, work_line
from datasets.access import ADMIN, managed_teams
from datasets.api.base import RefusedBodyError, TooManyRequestsError, conflict_serializer, problem
from datasets.api.concurrency import IF_MATCH, check_etag, etag_of, seconds_to_wait
from datasets.api.permissions import PEOPLE, READ
from datasets.api.routes import Reply, Routes, given

api = Routes("people", reads=(PEOPLE,), writes=(PEOPLE,))

OWN = "you cannot change your own account; ask another admin"


@api.list(
    "people/",
    "List people",
    "Accounts and guests with the pseudonyms of their labels, for admins.",
    PersonSerializer,
    name="people",
    roles=(ADMIN,),
)
def people_list(request: Request) -> Any:
    return visible_accounts(get_account(request))


@api.get(
    "people/<int:pk>/",
    "Read a person",
    "One account.",
    PersonSerializer,
    name="person",
    roles=(ADMIN,),
)
def people_read(request: Request, pk: int) -> Any:
    return _with_tag(get_object_or_404(visible_accounts(get_account(request)), pk=pk))


@api.put(
    "people/<int:pk>/",
    "Change a person",
    "Changes the role or the pseudonym of an account, or disables or enables it. A new "
    "role, or being disabled, ends the account's sessions and tokens. Labels stay.",
    PersonSerializer,
    roles=(ADMIN,),
    body=PersonChangeSerializer,
    conflict=conflict_serializer(
        "ChangedPerson", current=PersonSerializer(help_text="the current state")
    ),
    raises={PeopleError: 422},
    parameters=[IF_MATCH],
)
def people_change(request: Request, pk: int) -> Any:
    me, body = get_account(request), given(request)
    with transaction.atomic():
        rows = visible_accounts(me).select_related(None).select_for_update()
        found = get_object_or_404(rows, pk=pk)
        check_etag(request, _tag(found), lambda: PersonSerializer(found).data)
        _change(me, found, body)
    return _with_tag(visible_accounts(me).get(pk=pk))


@api.post(
    "people/<int:pk>/forget/",
    "Delete an account",
    "Deletes everything that identifies the person. Answers stay under the pseudonym.",
    ForgottenSerializer,
    name="forget",
    roles=(ADMIN,),
    body=ForgetSerializer,
    raises={PeopleError: 422},
    once=True,
)
def people_forget(request: Request, pk: int) -> Any:
    me = get_account(request)
    found = get_object_or_404(visible_accounts(me), pk=pk)
    body = given(request)
    if body["name"] != found.username:
        wrong = [problem("is not the name of this account", "name")]
        raise RefusedBodyError("no account was deleted", wrong)
    if found == me:
        raise PeopleError(OWN)
    return {"pseudonym": accounts.forget(found)}


def _with_tag(found: User) -> Reply:
    return Reply(found, headers={"ETag": _tag(found)})


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


@api.list(
    "invitations/",
    "List invitations",
    "The newest first: all for admins, and for researchers those to campaigns and "
    "teams that they manage.",
    InvitationSerializer,
    name="invitations",
)
def invitations_list(request: Request) -> Any:
    return invitations_of(get_account(request))


@api.post(
    "invitations/",
    "Invite a person",
    "Creates a link that works once, within seven days. Researchers invite annotators to "
    "their campaigns and teams, and admins invite anyone. The link is returned only once: it "
    "is null in a response that is repeated for an Idempotency-Key.",
    MadeInvitationSerializer,
    body=NewInvitationSerializer,
    status=201,
    raises={PeopleError: 422},
    once=True,
    hidden=("link",),
)
def invitations_create(request: Request) -> Any:
    me, body = get_account(request), given(request)
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
    created = invite(by=me, **body)
    shown: Any = created.invitation
    shown.address = request.build_absolute_uri(f"{reverse('join')}?key={created.key}")
    return shown


@api.post(
    "invitations/<int:pk>/revoke/",
    "Revoke an invitation",
    "The link no longer works. A used or expired invitation does not change.",
    InvitationSerializer,
    name="revoke",
    once=True,
)
def invitations_revoke(request: Request, pk: int) -> Any:
    found = get_object_or_404(invitations_of(get_account(request)), pk=pk)
    revoke(found)
    found.refresh_from_db()
    return found


def account_named(me: User, name: str, campaign: Campaign | None = None) -> User:
    """Return an account by its name, unless `me` may not know whether it exists."""
    found = account_known(me, name, campaign)
    if found is None:
        wrong = [problem("is not an account that you may see; invite the person", "name")]
        raise RefusedBodyError("no role was changed", wrong)
    return found


@api.get(
    "campaigns/<int:pk>/people/",
    "Read the people of a campaign",
    "The members by account, and the raters by pseudonym.",
    CastSerializer,
    name="campaign-people",
)
def campaign_people_read(request: Request, pk: int) -> Any:
    return _cast(readable_campaign(request, pk))


@api.put(
    "campaigns/<int:pk>/people/",
    "Change who takes part",
    "Changes the pool, how long a slot is reserved, and how many items one person answers.",
    CastSerializer,
    body=CastChangeSerializer,
    conflict=conflict_serializer(
        "ChangedCast", current=CastSerializer(help_text="the current state")
    ),
    parameters=[IF_MATCH],
)
def campaign_people_change(request: Request, pk: int) -> Any:
    body = given(request)
    with transaction.atomic():
        campaign = managed_campaign(request, pk, lock=True)
        check_etag(request, _members_tag(campaign), lambda: CastSerializer(_members(campaign)).data)
        with membership.record_change(campaign):
            if "hold_minutes" in body:
                set_lease(campaign, body["hold_minutes"])
            if "pool" in body:
                membership.set_pool(campaign, body["pool"], get_account(request))
            if "items_per_person" in body:
                membership.set_most_items(campaign, body["items_per_person"])
    return _cast(campaign)


@api.get(
    "campaigns/<int:pk>/pay/",
    "Read pay and time",
    "Items, median and total active time, and pay of each person by pseudonym, and of all "
    "together. The rate is a setting of the campaign.",
    PayTableSerializer,
    name="pay",
    scopes=(READ, PEOPLE),
)
def campaign_pay_read(request: Request, pk: int) -> Any:
    table = pay_table(readable_campaign(request, pk))
    return {
        "rate": str(table.rate) if table.rate else None,
        "people": [work_line(each, table.rate) for each in table.people],
        "everybody": work_line(table.everybody, table.rate),
    }


@api.put(
    "campaigns/<int:pk>/members/",
    "Give an account a role in a campaign",
    "Changes the account's role. With null, its membership ends: reserved slots are "
    "released, and answers stay.",
    CastSerializer,
    name="members",
    body=MemberChangeSerializer,
    raises={PeopleError: 422},
)
def members_change(request: Request, pk: int) -> Any:
    campaign, me = managed_campaign(request, pk), get_account(request)
    body = given(request)
    user = account_named(me, body["name"], campaign)
    if body["role"] is None:
        membership.end_membership(campaign, user, me)
    else:
        membership.add_member(campaign, user, body["role"], me)
    return _cast(campaign)


@api.put(
    "campaigns/<int:pk>/raters/<int:rater>/exclusion/",
    "Exclude or include a rater",
    "The labels stay, but no statistic of the campaign uses them, and the report gives the "
    "reason. With null, the rater is included again.",
    CastSerializer,
    name="exclusion",
    body=ExclusionSerializer,
    raises={PeopleError: 422},
)
def exclusions_change(request: Request, pk: int, rater: int) -> Any:
    campaign, me = managed_campaign(request, pk), get_account(request)
    found = get_object_or_404(visible_raters(campaign), pk=rater)
    reason = given(request)["reason"]
    if reason is None:
        membership.include(campaign, found, me)
    else:
        membership.exclude(campaign, found, reason, me)
    return _cast(campaign)


@api.put(
    "campaigns/<int:pk>/raters/<int:rater>/admission/",
    "Admit a person",
    "Admits a person who did not pass the campaign's practice. The first reason is kept.",
    CastSerializer,
    name="admission",
    body=AdmissionSerializer,
)
def admissions_change(request: Request, pk: int, rater: int) -> Any:
    campaign, me = managed_campaign(request, pk), get_account(request)
    found = get_object_or_404(admissible(campaign), pk=rater)
    admit(campaign, found, given(request)["reason"], me)
    return _cast(campaign)


@api.post(
    "campaigns/<int:pk>/raters/<int:rater>/free/",
    "Release a rater's reserved slots",
    "Other people may take the slots. A late answer from the page is kept as a draft.",
    CastSerializer,
    name="free",
    once=True,
)
def places_free(request: Request, pk: int, rater: int) -> Any:
    campaign = managed_campaign(request, pk)
    found = get_object_or_404(visible_raters(campaign), pk=rater)
    free(campaign, found.pk)
    return _cast(campaign)


def _cast(campaign: Campaign) -> Reply:
    return Reply(_members(campaign), headers={"ETag": _members_tag(campaign)})


def _members_tag(campaign: Campaign) -> str:
    """Return the ETag of the settings and members, without the numbers of answers."""
    roles = campaign.memberships.filter(ended_at=None).order_by("user").values_list("user", "role")
    return etag_of(campaign.pk, *(getattr(campaign, name) for name in SETTINGS), *roles)


def _members(campaign: Campaign) -> dict[str, Any]:
    return {
        **{name: getattr(campaign, name) for name in SETTINGS},
        "members": campaign.memberships.filter(ended_at=None).select_related("user"),
        "raters": campaign_raters(campaign),
    }
