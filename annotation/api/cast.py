"""Who takes part and who counts in a campaign, by the API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.people import refused
from annotation.api.people_shapes import (
    A_CAST,
    SETTINGS,
    AdmissionShape,
    CastChangeShape,
    CastShape,
    ExclusionShape,
    MemberChangeShape,
)
from annotation.api.visible import person, visible_studies
from annotation.gold.admitting import admissible, admit
from annotation.models import Campaign, Rater, User
from annotation.people import exclusions, members
from annotation.people.errors import PeopleError
from annotation.people.leases import free, set_hold
from annotation.people.overview import answering
from datasets.api.base import READERS, ErrorShape, Resource, checked, described
from datasets.api.concurrency import IF_MATCH, check_seen, etag_of, once
from datasets.api.errors import RefusedBodyError, problem
from datasets.api.permissions import PEOPLE


def visible_raters(user: User, campaign: Campaign) -> QuerySet[Rater]:
    """Those who were asked anything in a campaign that the account may read."""
    rows = Rater.objects.exclude(kind=Rater.Kind.TRIAL)
    return rows.filter(assignments__item__campaign=campaign).distinct()


def visible_beginners(user: User, campaign: Campaign) -> QuerySet[Rater]:
    """Those whom a reader of the campaign may let in."""
    return admissible(campaign)


def visible_named(user: User, name: str) -> QuerySet[User]:
    """The account of exactly this name: who gives a role has to know it."""
    if user.role not in READERS:
        return User.objects.none()
    return User.objects.filter(username=name, is_guest=False)


def _named(me: User, name: str) -> User:
    found = visible_named(me, name).first()
    if found is None:
        wrong = [problem("names no account; invite the person", "name")]
        raise RefusedBodyError("nobody is given a role", wrong)
    return found


class ChangedCastShape(ErrorShape):
    current = CastShape(help_text="as it stands")


class Cast(Resource):
    roles = {"GET": READERS, "PUT": READERS}
    scopes = {"GET": (PEOPLE,), "PUT": (PEOPLE,)}

    @described(
        "Read the people of a campaign",
        "Who may take part, by account, and who answers, by pseudonym.",
        {200: CastShape},
        tag="people",
        example=A_CAST,
        operation_id="campaign_people_read",
    )
    def get(self, request: Request, pk: int) -> Response:
        return _cast(_study(request, pk))

    @described(
        "Set who takes part",
        "The pool, how long a place is held, and how many items one person answers.",
        {200: CastShape, 409: ChangedCastShape},
        tag="people",
        request=CastChangeShape,
        sent=SETTINGS,
        example=A_CAST,
        parameters=[IF_MATCH],
        operation_id="campaign_people_change",
    )
    def put(self, request: Request, pk: int) -> Response:
        wanted = checked(CastChangeShape, request.data)
        with transaction.atomic():
            rows = visible_studies(person(request)).select_related(None).select_for_update()
            campaign = get_object_or_404(rows, pk=pk)
            check_seen(request, _tag(campaign), lambda: _shown(campaign))
            self._change(campaign, wanted, person(request))
        return _cast(campaign)

    def _change(self, campaign: Campaign, wanted: dict[str, Any], user: User) -> None:
        with members.arranging(campaign):
            if "hold_minutes" in wanted:
                set_hold(campaign, wanted["hold_minutes"])
            if "pool" in wanted:
                members.set_pool(campaign, wanted["pool"], user)
            if "items_per_person" in wanted:
                members.set_most_items(campaign, wanted["items_per_person"])


class Member(Resource):
    roles = {"PUT": READERS}
    scopes = {"PUT": (PEOPLE,)}

    @described(
        "Give an account a role in a campaign",
        "Or, with null, put it out: places go back and answers stay.",
        {200: CastShape},
        tag="people",
        request=MemberChangeShape,
        sent={"name": "ada", "role": "annotator"},
        example=A_CAST,
        refuses=(422,),
        operation_id="members_change",
    )
    def put(self, request: Request, pk: int) -> Response:
        campaign, me = _study(request, pk), person(request)
        wanted = checked(MemberChangeShape, request.data)
        user = _named(me, wanted["name"])
        try:
            if wanted["role"] is None:
                members.end_membership(campaign, user, me)
            else:
                members.add_member(campaign, user, wanted["role"], me)
        except PeopleError as error:
            raise refused(error) from error
        return _cast(campaign)


class Excluded(Resource):
    roles = {"PUT": READERS}
    scopes = {"PUT": (PEOPLE,)}

    @described(
        "Leave a rater out, or count it again",
        "Its labels stay; no statistic of the campaign counts them, and the report says why.",
        {200: CastShape},
        tag="people",
        request=ExclusionShape,
        sent={"reason": "answered faster than one can read"},
        example=A_CAST,
        refuses=(422,),
        operation_id="exclusions_change",
    )
    def put(self, request: Request, pk: int, rater: int) -> Response:
        campaign, me = _study(request, pk), person(request)
        found = get_object_or_404(visible_raters(me, campaign), pk=rater)
        reason = checked(ExclusionShape, request.data)["reason"]
        try:
            if reason is None:
                exclusions.include(campaign, found, me)
            else:
                exclusions.exclude(campaign, found, reason, me)
        except PeopleError as error:
            raise refused(error) from error
        return _cast(campaign)


class Admitted(Resource):
    roles = {"PUT": READERS}
    scopes = {"PUT": (PEOPLE,)}

    @described(
        "Let somebody in",
        "Who did not pass the practice that the campaign requires may take part all the same. The "
        "first reason stands.",
        {200: CastShape},
        tag="people",
        request=AdmissionShape,
        sent={"reason": "a slip of the mouse, and the rest was right"},
        example=A_CAST,
        operation_id="admissions_change",
    )
    def put(self, request: Request, pk: int, rater: int) -> Response:
        campaign, me = _study(request, pk), person(request)
        found = get_object_or_404(visible_beginners(me, campaign), pk=rater)
        admit(campaign, found, checked(AdmissionShape, request.data)["reason"], me)
        return _cast(campaign)


class Freed(Resource):
    roles = {"POST": READERS}
    scopes = {"POST": (PEOPLE,)}

    @described(
        "Free the places that a rater holds",
        "Others may take them. What comes late from the page is kept as a draft.",
        {200: CastShape},
        tag="people",
        example=A_CAST,
        operation_id="places_free",
    )
    @once
    def post(self, request: Request, pk: int, rater: int) -> Response:
        campaign = _study(request, pk)
        found = get_object_or_404(visible_raters(person(request), campaign), pk=rater)
        free(campaign, found.pk)
        return _cast(campaign)


def _study(request: Request, pk: int) -> Campaign:
    return get_object_or_404(visible_studies(person(request)), pk=pk)


def _cast(campaign: Campaign) -> Response:
    return Response(_shown(campaign), headers={"ETag": _tag(campaign)})


def _tag(campaign: Campaign) -> str:
    """The ETag of what the people's page sets; how far they are is no part of it."""
    roles = campaign.memberships.filter(ended_at=None).order_by("user").values_list("user", "role")
    return etag_of(campaign.pk, *(getattr(campaign, name) for name in SETTINGS), *roles)


def _shown(campaign: Campaign) -> Mapping[str, Any]:
    shown = {
        **{name: getattr(campaign, name) for name in SETTINGS},
        "members": campaign.memberships.filter(ended_at=None).select_related("user"),
        "raters": answering(campaign),
    }
    return CastShape(shown).data
