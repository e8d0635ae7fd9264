"""API endpoint of dry runs: who would get what in a campaign, and how wide intervals would be."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import get_account
from annotation.api.access import batch_named
from annotation.api.campaign_serializers import (
    NEW,
    NOT_CREATED,
    NewCampaignSerializer,
    design_from,
    design_problem,
    settings_from,
)
from annotation.campaign_setup.dry_run import MOST_PEOPLE
from annotation.campaign_setup.expected_widths import Assumptions
from annotation.campaign_setup.jobs import MOST_ITEMS, PREVIEW, dry_run_of, question
from annotation.campaigns.design import DesignError
from datasets.access import READERS
from datasets.api.base import (
    Number,
    Resource,
    Strict,
    describe_endpoint,
    validate,
)
from datasets.api.errors import RefusedBodyError, problem
from datasets.api.jobs import JobSerializer, accepted_response, current_job
from datasets.api.permissions import MANAGE, READ
from datasets.api.throttling import PerReport
from datasets.jobs import results
from datasets.teams import TeamError, team_for


class AssumptionsSerializer(Strict):
    """Assumptions about quantities that are unknown before the study."""

    kappa = Number(required=False, min_value=0, max_value=1, help_text="true agreement")
    prevalence = Number(required=False, min_value=0, max_value=1, help_text="share of yes")
    icc = Number(required=False, min_value=0, max_value=1, help_text="correlation within a query")
    correlation = Number(
        required=False,
        min_value=0,
        max_value=1,
        help_text="correlation of judge and people over queries",
    )


class NewDryRunSerializer(NewCampaignSerializer):
    """A new campaign, the number of people expected, and assumptions."""

    people = serializers.IntegerField(required=False, min_value=1, max_value=MOST_PEOPLE)
    assumptions = AssumptionsSerializer(required=False)


class ExpectedSerializer(serializers.Serializer[Any]):
    width = serializers.FloatField(allow_null=True, help_text="width of the 95 % interval")
    units = serializers.IntegerField()
    queries = serializers.IntegerField()
    effective = serializers.FloatField(
        help_text="number of independent units that would give as much information"
    )
    reason = serializers.CharField(allow_null=True, help_text="why there is no interval")


class ShareSerializer(serializers.Serializer[Any]):
    items = serializers.IntegerField()
    units = serializers.IntegerField()


class DryRunSerializer(serializers.Serializer[Any]):
    queries = serializers.IntegerField()
    asked_queries = serializers.IntegerField(help_text="queries that people are asked")
    judge_only = serializers.IntegerField(help_text="queries for judges alone")
    roles = serializers.DictField(child=serializers.IntegerField(), help_text="queries by role")
    items = serializers.IntegerField()
    units = serializers.IntegerField()
    places = serializers.IntegerField(help_text="people's answers that the design asks for")
    carried = serializers.IntegerField(
        help_text="of these, answers carried over from the continued campaign"
    )
    several = serializers.IntegerField(help_text="items with several people")
    people = serializers.IntegerField()
    unfilled = serializers.IntegerField(
        help_text="slots that remain free with this number of people"
    )
    shares = ShareSerializer(
        many=True, help_text="what each person gets if all work at the same pace"
    )
    common = serializers.ListField(
        child=serializers.IntegerField(),
        allow_null=True,
        help_text="smallest and largest number of units that two people share",
    )
    kappa = ExpectedSerializer()
    share = ExpectedSerializer(help_text="a share such as coverage, estimated from people alone")
    powered = ExpectedSerializer(
        allow_null=True, help_text="the same share, with a judge on all queries"
    )
    assumptions = serializers.DictField(child=serializers.FloatField())


AN_EXPECTED = {"width": 0.31, "units": 300, "queries": 20, "effective": 78.9, "reason": None}
A_DRY_RUN: dict[str, Any] = {
    "queries": 20,
    "asked_queries": 20,
    "judge_only": 0,
    "roles": {"evaluation": 20},
    "items": 60,
    "units": 300,
    "places": 120,
    "carried": 0,
    "several": 60,
    "people": 3,
    "unfilled": 0,
    "shares": [{"items": 40, "units": 200}],
    "common": [100, 100],
    "kappa": AN_EXPECTED,
    "share": AN_EXPECTED,
    "powered": None,
    "assumptions": asdict(Assumptions()),
}


class DryRuns(Resource):
    roles = {"POST": READERS}
    scopes = {"POST": (READ, MANAGE)}

    def get_throttles(self) -> list[Any]:
        return [*super().get_throttles(), PerReport()]

    @describe_endpoint(
        "Carry out a dry run of a campaign's design",
        "A dry run of `POST /campaigns/`, with the same checks: who would get what, and how wide "
        "the intervals of kappa and of a share such as coverage are to be expected. Nothing is "
        f"stored. A design of more than {MOST_ITEMS} items is for the command. A job carries it "
        "out: 202 with the job if that takes more than 20 seconds; repeat the request until it is "
        "answered by 200.",
        {200: DryRunSerializer, 202: JobSerializer},
        tag="campaigns",
        request=NewDryRunSerializer,
        sent={**NEW, "people": 3},
        example=A_DRY_RUN,
        refuses=(422,),
        operation_id="campaigns_rehearse",
    )
    def post(self, request: Request) -> Response:
        body = validate(NewDryRunSerializer, request.data)
        batch = batch_named(get_account(request), body["batch"])
        try:
            given = Assumptions(**body.get("assumptions", {}))
            asked = question(
                body["name"],
                body["protocol"],
                batch,
                design_from(body),
                settings_from(body),
                body.get("people"),
                given,
                get_account(request),
                team_for(get_account(request), body.get("team"), batch.team),
                body["continues"],
            )
            job = current_job(request, PREVIEW, asked)
            if job is None:
                return accepted_response(request)
            found = dry_run_of(results.value(job))
        except TeamError as error:
            raise RefusedBodyError(NOT_CREATED, [problem(str(error), "team")]) from error
        except DesignError as error:
            raise RefusedBodyError(NOT_CREATED, [design_problem(error)]) from error
        shares = [share._asdict() for share in found.shares]
        return Response(DryRunSerializer({**asdict(found), "shares": shares}).data)
