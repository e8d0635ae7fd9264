"""API endpoints of campaigns: list, create and read them, and change their settings."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.db import transaction
from django.shortcuts import get_object_or_404
from rest_framework.request import Request

from annotation.access import get_account, managed_campaign, visible_campaigns
from annotation.api.access import batch_named
from annotation.api.campaign_serializers import (
    CampaignParameters,
    CampaignSerializer,
    CampaignWithSettingsSerializer,
    ChangedSettingsSerializer,
    NewCampaignSerializer,
    design_from,
    design_problem,
    settings_from,
)
from annotation.api.dry_run import not_created
from annotation.campaign_setup.creation import create_once
from annotation.campaigns.changes import change, current_settings
from annotation.campaigns.design import DesignError
from annotation.campaigns.settings import SETTINGS
from annotation.models import Campaign, User
from annotation.progress.person import progress_of
from annotation.registry import get_protocol
from datasets.access import EVERYBODY, READERS, WORKERS, TeamError, team_for
from datasets.api.base import RefusedBodyError, conflict_serializer
from datasets.api.concurrency import IF_MATCH, check_etag, etag_of
from datasets.api.permissions import ANY
from datasets.api.routes import Reply, Routes, given, given_filters
from tandem.verbs import verb_of

api = Routes("campaigns", roles=EVERYBODY, reads=ANY)


def as_campaigns(user: User, campaigns: list[Campaign]) -> list[Any]:
    """Return campaigns with the user's own progress, and their design if the user may read it."""
    works, reads = user.role in WORKERS, user.role in READERS
    mine = progress_of(user, campaigns) if works else {}
    return [
        {
            "id": campaign.pk,
            "name": campaign.name,
            "protocol": campaign.protocol,
            "title": get_protocol(campaign).title,
            "is_open": campaign.is_open,
            "is_archived": campaign.is_archived,
            "takes_answers": campaign.takes_answers,
            **{each.name: each.current(campaign) for each in SETTINGS if each.public},
            "work": mine.get(campaign.pk),
            "study": campaign if reads else None,
        }
        for campaign in campaigns
    ]


def as_campaign(user: User, campaign: Campaign) -> dict[str, Any]:
    """Return a campaign as in the list, with its settings if the user may read them."""
    reads = user.role in READERS
    settings = {each.name: each.current(campaign) for each in SETTINGS} if reads else None
    return {**as_campaigns(user, [campaign])[0], "settings": settings}


def settings_tag(campaign: Campaign) -> str:
    """Return the ETag of a campaign's settings."""
    history = current_settings(campaign)
    return etag_of(campaign.pk, history, campaign.is_open, campaign.is_archived)


@api.list(
    "campaigns/",
    "List campaigns",
    "For annotators, the campaigns in which they have an item or may take one. For "
    "researchers, the campaigns that they may read, and for admins all, with designs and "
    "counts.",
    CampaignSerializer,
    name="campaigns",
    takes=CampaignParameters,
)
def campaigns_list(request: Request) -> Any:
    user = get_account(request)
    filters = given_filters(request, "name", "is_open", "is_archived")
    return Reply(visible_campaigns(user).filter(**filters), lines=partial(as_campaigns, user))


@api.post(
    "campaigns/",
    "Create a campaign",
    "Creates a campaign and its items from a batch, all or nothing, with the checks of "
    f"`{verb_of('create_campaign')}`. Creating the same campaign again changes nothing (200). "
    "Another design under an existing name is refused (422).",
    CampaignWithSettingsSerializer,
    roles=READERS,
    body=NewCampaignSerializer,
    status=201,
    also=(200,),
    raises={TeamError: not_created, DesignError: not_created},
    refuses=(422,),
    once=True,
)
def campaigns_create(request: Request) -> Any:
    user = get_account(request)
    body = given(request)
    batch = batch_named(user, body["batch"])
    created = create_once(
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
    campaign = visible_campaigns(user).get(pk=created.campaign.pk)
    return Reply(as_campaign(user, campaign), 200 if created.unchanged else 201)


@api.get(
    "campaigns/<int:pk>/",
    "Read a campaign",
    "One campaign, as in the list. For accounts that may change it, the ETag is that of "
    "its settings.",
    CampaignWithSettingsSerializer,
    name="campaign",
)
def campaigns_read(request: Request, pk: int) -> Any:
    user = get_account(request)
    campaign = get_object_or_404(visible_campaigns(user), pk=pk)
    tag = {"ETag": settings_tag(campaign)} if user.role in READERS else None
    return Reply(as_campaign(user, campaign), headers=tag)


@api.post(
    "campaigns/<int:pk>/terms/",
    "Change, close, open or archive a campaign",
    "Changes settings: deadline, language, guideline (each change is a new version), gold, "
    "practice, consent, background questions, and whether the campaign is open or archived. "
    "Fields that "
    "are left out stay unchanged.",
    CampaignWithSettingsSerializer,
    name="terms",
    roles=READERS,
    body=ChangedSettingsSerializer,
    conflict=conflict_serializer(
        "Changed", current=CampaignWithSettingsSerializer(help_text="the current state")
    ),
    refuses=(422,),
    parameters=[IF_MATCH],
    once=True,
)
def campaigns_change(request: Request, pk: int) -> Any:
    user, body = get_account(request), given(request)
    with transaction.atomic():
        campaign = lock_unchanged(request, pk)
        try:
            state = body.get("is_open"), user, body.get("is_archived")
            change(campaign, settings_from(body), *state)
        except DesignError as error:
            sentence = "the campaign was not changed"
            raise RefusedBodyError(sentence, [design_problem(error)]) from error
    return Reply(_visible_campaign(user, pk), headers={"ETag": settings_tag(campaign)})


def lock_unchanged(request: Request, pk: int) -> Campaign:
    """Lock a campaign. Raises StateConflictError if its settings have changed."""
    user = get_account(request)
    campaign = managed_campaign(request, pk, lock=True)
    check_etag(
        request,
        settings_tag(campaign),
        lambda: CampaignWithSettingsSerializer(_visible_campaign(user, pk)).data,
    )
    return campaign


def _visible_campaign(user: User, pk: int) -> Any:
    return as_campaign(user, visible_campaigns(user).get(pk=pk))
