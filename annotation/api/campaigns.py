"""Campaigns: those that one may see, and new ones."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.designshapes import NewCampaignShape
from annotation.api.shapes import CampaignParameters, CampaignShape
from annotation.api.visible import person, visible_campaigns
from annotation.basis import guideline_digest
from annotation.campaigns import Made, create_once
from annotation.declared import declared
from annotation.design import Design, DesignError, design_of
from annotation.models import Campaign, User
from annotation.terms import Terms, read_deadline
from annotation.views.mine import progress_of
from datasets.api.base import (
    EVERYBODY,
    READERS,
    WORKERS,
    List,
    Resource,
    checked,
    described,
    page_shape,
    rendered,
)
from datasets.api.batches import visible_batches
from datasets.api.concurrency import etag_of, once
from datasets.api.errors import RefusedBodyError, problem
from datasets.api.permissions import ANY, MANAGE
from datasets.models import Batch

A_CAMPAIGN: dict[str, Any] = {
    "id": 1,
    "name": "pilot-coverage",
    "protocol": "report-coverage",
    "title": "Report coverage",
    "is_open": True,
    "deadline": "2026-12-31T23:59:59Z",
    "takes_answers": True,
    "language": "en",
    "work": {"done": 3, "begun": 1, "left": 9, "waiting": 0},
    "study": None,
}
A_STUDY = {
    "batch": "pilot",
    "protocol_version": "1",
    "raters_per_item": 2,
    "overlap": 1.0,
    "human_share": 1.0,
    "options": {"seed": 0, "passages": "all"},
    "created_at": "2026-11-20T09:30:00Z",
    "items": 20,
    "places": 40,
    "people_done": 3,
    "people": 1,
    "judges": 0,
}
NEW = {
    "name": "pilot-coverage",
    "protocol": "report-coverage",
    "batch": "pilot",
    "raters_per_item": 2,
    "options": {"seed": 7},
}


def as_campaigns(user: User, campaigns: list[Campaign]) -> list[Any]:
    """Campaigns with one's own progress in two queries, and the study for those who may read it."""
    works, reads = user.role in WORKERS, user.role in READERS
    mine = progress_of(user, campaigns) if works else {}
    rows = [
        {
            "id": campaign.pk,
            "name": campaign.name,
            "protocol": campaign.protocol,
            "title": declared(campaign).title,
            "is_open": campaign.is_open,
            "deadline": campaign.deadline,
            "takes_answers": campaign.takes_answers,
            "language": campaign.language,
            "work": mine.get(campaign.pk),
            "study": campaign if reads else None,
        }
        for campaign in campaigns
    ]
    return rendered(CampaignShape, rows)


def terms_tag(campaign: Campaign) -> str:
    """The ETag of what may change while a campaign runs."""
    guideline = guideline_digest(campaign.guideline) if campaign.guideline else ""
    return etag_of(
        campaign.pk, campaign.deadline, campaign.language, guideline, campaign.gold_every,
        campaign.practice_of_id, campaign.qualify, campaign.is_open,
    )  # fmt: skip


class Campaigns(List):
    roles = {"GET": EVERYBODY, "POST": READERS}
    scopes = {"GET": ANY, "POST": (MANAGE,)}
    takes = CampaignParameters

    @described(
        "List campaigns",
        "For an annotator the campaigns with an item of theirs or one that they may take; for "
        "researchers those that they may read and for admins all, with their designs and counts.",
        {200: page_shape(CampaignShape)},
        tag="campaigns",
        example={"count": 1, "next": None, "previous": None, "results": [A_CAMPAIGN]},
        parameters=[CampaignParameters],
        operation_id="campaigns_list",
    )
    def get(self, request: Request) -> Response:
        user = person(request)
        exact = {name: self.chosen[name] for name in ("name", "is_open") if name in self.chosen}
        rows = visible_campaigns(user).filter(**exact)
        return self.page(rows, lambda campaigns: as_campaigns(user, campaigns))

    @described(
        "Create a campaign",
        "Makes a campaign's items from a batch, all or nothing: what `create_campaign` does, with "
        "the same checks. The same campaign again changes nothing (200); another design under a "
        "name that is taken is refused (422).",
        {201: CampaignShape, 200: CampaignShape},
        tag="campaigns",
        request=NewCampaignShape,
        sent=NEW,
        example={**A_CAMPAIGN, "study": A_STUDY},
        status=201,
        refuses=(422,),
        operation_id="campaigns_create",
    )
    @once
    def post(self, request: Request) -> Response:
        user = person(request)
        made = _made(user, checked(NewCampaignShape, request.data))
        campaign = visible_campaigns(user).get(pk=made.campaign.pk)
        return Response(as_campaigns(user, [campaign])[0], status=200 if made.unchanged else 201)


class OneCampaign(Resource):
    roles = {"GET": EVERYBODY}
    scopes = {"GET": ANY}

    @described(
        "Read a campaign",
        "One campaign, as the list shows it. For those who may change it the ETag is that of its "
        "terms.",
        {200: CampaignShape},
        tag="campaigns",
        example={**A_CAMPAIGN, "study": A_STUDY},
        operation_id="campaigns_read",
    )
    def get(self, request: Request, pk: int) -> Response:
        user = person(request)
        campaign = get_object_or_404(visible_campaigns(user), pk=pk)
        tag = {"ETag": terms_tag(campaign)} if user.role in READERS else None
        return Response(as_campaigns(user, [campaign])[0], headers=tag)


def batch_named(user: User, name: str) -> Batch:
    batch = visible_batches(user).filter(name=name).first()
    if batch is None:
        raise ValidationError({"batch": "names no loaded batch; see the list of batches"})
    return batch


def _made(user: User, wanted: dict[str, Any]) -> Made:
    batch = batch_named(user, wanted["batch"])
    try:
        return create_once(
            wanted["name"], wanted["protocol"], batch, design_from(wanted), terms_from(wanted),
            user,
        )  # fmt: skip
    except DesignError as error:
        wrong = problem(str(error))
        raise RefusedBodyError("this campaign cannot be made", [wrong]) from error


def terms_from(wanted: dict[str, Any]) -> Terms:
    """Raises DesignError where the deadline is no moment."""
    names = (
        "language", "guideline", "gold_every", "practice_of", "qualify", "no_deadline",
        "no_qualify",
    )  # fmt: skip
    deadline = wanted.get("deadline")
    return Terms(
        deadline=read_deadline(deadline) if deadline else None,
        **{name: wanted[name] for name in names if name in wanted},
    )


def design_from(wanted: dict[str, Any]) -> Design:
    """The design, by way of the command's own arguments, so that both refuse the same."""
    options = wanted.get("options", {})
    pairs = [f"{k}={','.join(v) if isinstance(v, list) else v}" for k, v in options.items()]
    return design_of(wanted["raters_per_item"], wanted["overlap"], wanted["human_share"], pairs)
