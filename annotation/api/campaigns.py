"""API endpoints of campaigns: list, create and read them, and change their settings."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.shortcuts import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import get_account, managed_campaign, visible_campaigns
from annotation.api.access import batch_named
from annotation.api.campaign_serializers import (
    A_CAMPAIGN,
    A_STUDY,
    NEW,
    NOT_CREATED,
    CampaignParameters,
    CampaignSerializer,
    ChangedSerializer,
    ChangedSettingsSerializer,
    NewCampaignSerializer,
    design_from,
    design_problem,
    settings_from,
)
from annotation.campaign_setup.creation import CreatedCampaign, create_once
from annotation.campaigns.design import DesignError
from annotation.campaigns.settings import change
from annotation.models import Campaign, User
from annotation.people.shares import current_shares
from annotation.progress.person import progress_of
from annotation.provenance import guideline_digest
from annotation.registry import get_protocol
from datasets.access import EVERYBODY, READERS, WORKERS
from datasets.api.base import (
    List,
    Resource,
    describe_endpoint,
    page_example,
    page_serializer,
    serialize,
    validate,
)
from datasets.api.concurrency import IF_MATCH, check_etag, etag_of, idempotent
from datasets.api.errors import RefusedBodyError, problem
from datasets.api.permissions import ANY, MANAGE
from datasets.teams import TeamError, team_for
from tandem.verbs import verb_of


def as_campaigns(user: User, campaigns: list[Campaign]) -> list[Any]:
    """Return campaigns with the user's own progress, and their design if the user may read it."""
    works, reads = user.role in WORKERS, user.role in READERS
    mine = progress_of(user, campaigns) if works else {}
    rows = [
        {
            "id": campaign.pk,
            "name": campaign.name,
            "protocol": campaign.protocol,
            "title": get_protocol(campaign).title,
            "is_open": campaign.is_open,
            "is_archived": campaign.is_archived,
            "deadline": campaign.deadline,
            "takes_answers": campaign.takes_answers,
            "language": campaign.language,
            "text_view": campaign.text_view,
            "work": mine.get(campaign.pk),
            "study": campaign if reads else None,
        }
        for campaign in campaigns
    ]
    return serialize(CampaignSerializer, rows)


def settings_tag(campaign: Campaign) -> str:
    """Return the ETag of a campaign's settings."""
    guideline = guideline_digest(campaign.guideline) if campaign.guideline else ""
    return etag_of(
        campaign.pk,
        campaign.deadline,
        campaign.language,
        campaign.text_view,
        guideline,
        campaign.gold_every,
        campaign.practice_of_id,
        campaign.qualify,
        campaign.consent_version,
        campaign.revoked,
        campaign.background,
        campaign.pay,
        campaign.trims_guideline,
        current_shares(campaign),
        campaign.is_open,
        campaign.is_archived,
    )


class Campaigns(List):
    roles = {"GET": EVERYBODY, "POST": READERS}
    scopes = {"GET": ANY, "POST": (MANAGE,)}
    takes = CampaignParameters

    @describe_endpoint(
        "List campaigns",
        "For annotators, the campaigns in which they have an item or may take one. For "
        "researchers, the campaigns that they may read, and for admins all, with designs and "
        "counts.",
        {200: page_serializer(CampaignSerializer)},
        tag="campaigns",
        example=page_example(A_CAMPAIGN),
        parameters=[CampaignParameters],
        operation_id="campaigns_list",
    )
    def get(self, request: Request) -> Response:
        user = get_account(request)
        asked = ("name", "is_open", "is_archived")
        exact = {name: self.parameters[name] for name in asked if name in self.parameters}
        rows = visible_campaigns(user).filter(**exact)
        return self.page(rows, lambda campaigns: as_campaigns(user, campaigns))

    @describe_endpoint(
        "Create a campaign",
        "Creates a campaign and its items from a batch, all or nothing, with the checks of "
        f"`{verb_of('create_campaign')}`. Creating the same campaign again changes nothing (200). "
        "Another design under an existing name is refused (422).",
        {201: CampaignSerializer, 200: CampaignSerializer},
        tag="campaigns",
        request=NewCampaignSerializer,
        sent=NEW,
        example={**A_CAMPAIGN, "study": A_STUDY},
        status=201,
        refuses=(422,),
        operation_id="campaigns_create",
    )
    @idempotent
    def post(self, request: Request) -> Response:
        user = get_account(request)
        created = _create(user, validate(NewCampaignSerializer, request.data))
        campaign = visible_campaigns(user).get(pk=created.campaign.pk)
        return Response(as_campaigns(user, [campaign])[0], status=200 if created.unchanged else 201)


class OneCampaign(Resource):
    roles = {"GET": EVERYBODY}
    scopes = {"GET": ANY}

    @describe_endpoint(
        "Read a campaign",
        "One campaign, as in the list. For accounts that may change it, the ETag is that of "
        "its settings.",
        {200: CampaignSerializer},
        tag="campaigns",
        example={**A_CAMPAIGN, "study": A_STUDY},
        operation_id="campaigns_read",
    )
    def get(self, request: Request, pk: int) -> Response:
        user = get_account(request)
        campaign = get_object_or_404(visible_campaigns(user), pk=pk)
        tag = {"ETag": settings_tag(campaign)} if user.role in READERS else None
        return Response(as_campaigns(user, [campaign])[0], headers=tag)


def _create(user: User, body: dict[str, Any]) -> CreatedCampaign:
    batch = batch_named(user, body["batch"])
    try:
        return create_once(
            body["name"],
            body["protocol"],
            batch,
            design_from(body),
            settings_from(body),
            user,
            team_for(user, body.get("team"), batch.team),
            body["continues"],
            body.get("pool"),
        )
    except TeamError as error:
        raise RefusedBodyError(NOT_CREATED, [problem(str(error), "team")]) from error
    except DesignError as error:
        raise RefusedBodyError(NOT_CREATED, [design_problem(error)]) from error


class ChangedSettings(Resource):
    roles = {"POST": READERS}
    scopes = {"POST": (MANAGE,)}

    @describe_endpoint(
        "Change, close, open or archive a campaign",
        "Changes settings: deadline, language, guideline (each change is a new version), gold, "
        "practice, consent, background questions, and whether the campaign is open or archived. "
        "Fields that "
        "are left out stay unchanged.",
        {200: CampaignSerializer, 409: ChangedSerializer},
        tag="campaigns",
        request=ChangedSettingsSerializer,
        sent={"deadline": "2026-12-31", "is_open": True},
        example={**A_CAMPAIGN, "study": A_STUDY},
        refuses=(422,),
        parameters=[IF_MATCH],
        operation_id="campaigns_change",
    )
    @idempotent
    def post(self, request: Request, pk: int) -> Response:
        user, body = get_account(request), validate(ChangedSettingsSerializer, request.data)
        with transaction.atomic():
            campaign = lock_unchanged(request, pk)
            try:
                state = body.get("is_open"), user, body.get("is_archived")
                change(campaign, settings_from(body), *state)
            except DesignError as error:
                sentence = "the campaign was not changed"
                raise RefusedBodyError(sentence, [design_problem(error)]) from error
        return Response(_visible_campaign(user, pk), headers={"ETag": settings_tag(campaign)})


def lock_unchanged(request: Request, pk: int) -> Campaign:
    """Lock a campaign. Raises StateConflictError if its settings have changed."""
    user = get_account(request)
    campaign = managed_campaign(request, pk, lock=True)
    check_etag(request, settings_tag(campaign), lambda: _visible_campaign(user, pk))
    return campaign


def _visible_campaign(user: User, pk: int) -> Any:
    return as_campaigns(user, [visible_campaigns(user).get(pk=pk)])[0]
