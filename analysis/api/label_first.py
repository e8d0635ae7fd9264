"""API endpoint that creates a campaign over the units that people should label first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from analysis.campaigns.jobs import REPORT, question, report_in
from analysis.results.label_first import chosen_items_of, list_of
from annotation.access import get_account, managed_campaign
from annotation.api.access import check_blind
from annotation.campaign_setup.chosen_items import create_chosen
from annotation.campaigns.design import DesignError
from annotation.models import Campaign, User
from datasets.access import READERS
from datasets.api.base import Resource, Strict, describe_endpoint, validate
from datasets.api.concurrency import has_stored_answer, mark_idempotent, run_once
from datasets.api.errors import RefusedBodyError, problem
from datasets.api.jobs import JobSerializer, accepted_response, current_job
from datasets.api.permissions import MANAGE
from tandem.labels.selection import ReportOptions
from tandem.types import JSON


class LabelFirstSerializer(Strict):
    name = serializers.CharField(
        max_length=200, trim_whitespace=False, help_text="the name of the campaign to create"
    )
    variable = serializers.CharField(
        required=False,
        default="",
        help_text="the variable on which judges differ; by default the first with a list",
    )
    units = serializers.IntegerField(
        required=False,
        default=None,
        allow_null=True,
        min_value=1,
        help_text="how many units of the list are taken, the most urgent first; by default all",
    )
    raters_per_item = serializers.IntegerField(
        required=False,
        default=None,
        allow_null=True,
        min_value=1,
        max_value=1000,
        help_text="people per item, by default as many as in the campaign with the judges",
    )
    dry_run = serializers.BooleanField(
        default=False, help_text="only return how many units and items it would have"
    )


class ChosenSerializer(serializers.Serializer[Any]):
    campaign = serializers.IntegerField(
        allow_null=True, help_text="the id of the campaign; null in a dry run"
    )
    variable = serializers.CharField()
    items = serializers.ListField(
        child=serializers.CharField(), help_text="the items by priority, by their keys"
    )
    units = serializers.IntegerField(help_text="units of the list in these items")
    units_asked = serializers.IntegerField(
        help_text="all units that people are asked, since items are labelled whole"
    )
    carried = serializers.IntegerField(help_text="answers that were carried over")


class CampaignLabelFirst(Resource):
    roles = {"POST": READERS}
    scopes = {"POST": (MANAGE,)}

    @describe_endpoint(
        "Create a campaign of the units to label first",
        "Creates a campaign over the items of the units that people should label first, in the "
        "report's order (`between_judges.label_first`), with the batch, protocol, design and "
        "settings of this one; judges' answers are carried over. The items are not a random "
        "sample, and the new campaign's report says so. The same request again changes nothing "
        "(200). 202 with a job if the report takes more than 20 seconds: then repeat the request. "
        "422 if there is no such list.",
        {201: ChosenSerializer, 200: ChosenSerializer, 202: JobSerializer},
        tag="campaigns",
        request=LabelFirstSerializer,
        sent={"name": "pilot-first", "units": 20},
        example={
            "campaign": 2,
            "variable": "answerable",
            "items": ["q1:oracle", "q4:bm25"],
            "units": 3,
            "units_asked": 30,
            "carried": 4,
        },
        status=201,
        refuses=(422,),
        operation_id="campaigns_label_first",
    )
    @mark_idempotent
    def post(self, request: Request, pk: int) -> Response:
        if has_stored_answer(request):
            return run_once(request, lambda: Response())
        campaign, user = managed_campaign(request, pk), get_account(request)
        check_blind(user, campaign)
        body = validate(LabelFirstSerializer, request.data)
        # Outside the transaction of `run_once`, in which no worker would see the job.
        job = current_job(request, REPORT, question(campaign, ReportOptions()), address="")
        if job is None:
            return accepted_response(request, address="")
        report = report_in(job)
        return run_once(request, lambda: _created(campaign, report, body, user))


def _created(campaign: Campaign, report: JSON, body: Mapping[str, Any], user: User) -> Response:
    """Create the campaign, or return its size. Raises RefusedBodyError."""
    status, made, carried = 200, None, 0
    try:
        listed = list_of(report, body["variable"], body["units"])
        chosen = chosen_items_of(campaign, listed)
        if not body["dry_run"]:
            created = create_chosen(chosen, body["name"], body["raters_per_item"], user)
            made, carried = created.campaign.pk, created.carried
            status = 200 if created.unchanged else 201
    except DesignError as error:
        raise RefusedBodyError("nothing was created", [problem(str(error), error.field)]) from error
    answer = {
        "campaign": made,
        "variable": listed.variable,
        "items": chosen.items,
        "units": chosen.units,
        "units_asked": chosen.asked,
        "carried": carried,
    }
    return Response(ChosenSerializer(answer).data, status=status)
