"""API endpoint that creates a campaign over the units that people should label first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request

from analysis.campaigns.report_job import REPORT, question, report_in
from analysis.results.label_first import chosen_items_of, list_of
from annotation.access import get_account
from annotation.api.access import managed_unless_blind
from annotation.campaign_setup.chosen_items import create_chosen
from annotation.campaigns.design import DesignError
from annotation.models import Campaign, User
from datasets.api.base import Strict, refusal
from datasets.api.routes import Reply, Routes, finished_job, given
from tandem.labels.selection import ReportOptions
from tandem.types import JSON

api = Routes("campaigns")


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


@api.post(
    "campaigns/<int:pk>/label-first/",
    "Create a campaign of the units to label first",
    "Creates a campaign over the items of the units that people should label first, in the "
    "report's order (`between_judges.label_first`), with the batch, protocol, design and "
    "settings of this one; judges' answers are carried over. The items are not a random "
    "sample, and the new campaign's report says so. The same request again changes nothing "
    "(200). 202 with a job if the report takes more than 20 seconds: then repeat the request. "
    "422 if there is no such list.",
    ChosenSerializer,
    name="label-first",
    body=LabelFirstSerializer,
    status=201,
    also=(200,),
    job=True,
    raises={DesignError: refusal("nothing was created")},
    refuses=(422,),
    once_last=True,
)
def campaigns_label_first(request: Request, pk: int) -> Any:
    campaign, body = managed_unless_blind(request, pk), given(request)
    job = finished_job(request, REPORT, question(campaign, ReportOptions()), address="")
    report = report_in(job)
    return lambda: _created(campaign, report, body, get_account(request))


def _created(campaign: Campaign, report: JSON, body: Mapping[str, Any], user: User) -> Reply:
    """Create the campaign, or return its size. Raises DesignError."""
    status, made, carried = 200, None, 0
    listed = list_of(report, body["variable"], body["units"])
    chosen = chosen_items_of(campaign, listed)
    if not body["dry_run"]:
        created = create_chosen(chosen, body["name"], body["raters_per_item"], user)
        made, carried = created.campaign.pk, created.carried
        status = 200 if created.unchanged else 201
    shown = {
        "campaign": made,
        "variable": listed.variable,
        "items": chosen.items,
        "units": chosen.units,
        "units_asked": chosen.asked,
        "carried": carried,
    }
    return Reply(shown, status)
