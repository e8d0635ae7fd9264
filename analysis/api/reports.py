"""API endpoints of reports: the live one, and frozen ones to create, list and read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from analysis.campaigns.frames import available_options, campaign_strata
from analysis.campaigns.jobs import REPORT, question
from analysis.frozen.jobs import SNAPSHOT
from analysis.frozen.jobs import question as snapshot_question
from analysis.frozen.store import saw_snapshot
from analysis.models import FrozenReport
from annotation.access import check_managed_campaign, get_account, readable_campaign
from annotation.api.access import campaign_named, check_blind
from annotation.models import Campaign, User
from annotation.people.membership import readable
from audit.recording import record_export
from datasets.access import READERS
from datasets.api.base import (
    List,
    PageParameters,
    Resource,
    Strict,
    describe_endpoint,
    page_example,
    page_serializer,
    serialize,
    validate,
)
from datasets.api.concurrency import has_stored_answer, mark_idempotent, run_once
from datasets.api.errors import StateConflictError
from datasets.api.jobs import JobKey, JobSerializer, accepted_response, current_job
from datasets.api.permissions import MANAGE, READ
from datasets.api.throttling import PerReport
from datasets.jobs import results
from datasets.option_fields import LARGEST, serializer_fields
from tandem.labels.selection import ReportOptions, UnknownOptionError
from tandem.options import options_of, values_of

OPTIONS = options_of(ReportOptions)


class ReportParameters(Strict):
    """The options of a report."""

    def get_fields(self) -> dict[str, Any]:
        return {**super().get_fields(), **serializer_fields(OPTIONS)}


class ReportQuery(JobKey, ReportParameters):
    """The options of a report, and optionally the job whose result is requested."""


class RaterSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    kind = serializers.ChoiceField(("human", "judge", "reference"))
    responses = serializers.IntegerField()
    labels = serializers.IntegerField()
    excluded = serializers.CharField(allow_null=True)


class ReportSerializer(serializers.Serializer[Any]):
    campaign = serializers.CharField()
    protocol = serializers.CharField()
    batch = serializers.CharField()
    generated_at = serializers.DateTimeField()
    version = serializers.CharField()
    seed = serializers.IntegerField()
    resamples = serializers.IntegerField()
    choices = serializers.DictField(help_text="the options, such as epsilon and the labels counted")
    inputs = serializers.DictField(help_text="the number of labels, and their digest")
    queries = serializers.IntegerField()
    assisted_labels = serializers.IntegerField()
    assisted = serializers.DictField(
        help_text="labels from people who saw a judge's label, compared with it"
    )
    exposed = serializers.DictField(
        help_text="labels from people who could see others' labels of the units, by person"
    )
    raters = RaterSerializer(many=True)
    warnings = serializers.ListField(
        child=serializers.DictField(), help_text="reasons to read numbers with care"
    )
    variables = serializers.DictField(
        child=serializers.DictField(),
        help_text="by variable: agreement among people, each judge against them, and strata",
    )
    scores = serializers.DictField(
        child=serializers.DictField(), help_text="scores per report, such as coverage"
    )


class CampaignReport(Resource):
    roles = {"GET": READERS}
    scopes = {"GET": (READ,)}
    takes = ReportQuery

    def get_throttles(self) -> list[Any]:
        return [*super().get_throttles(), PerReport()]

    @describe_endpoint(
        "Read the report of a campaign",
        "Agreement among people, judges compared with people, and scores of systems: the same "
        "object as `report --campaign`. Every estimate is `{value, low, high, n, method}` with a "
        "95 % interval, or a null `value` with a `reason`. A report that is not up to date is "
        "computed by a job: 200 if it is ready within 20 seconds, else 202 with the job, at whose "
        "`address` to ask for the result; repeating the request does as well. "
        "The parameters are the options in the address of the report's page.",
        {200: ReportSerializer, 202: JobSerializer},
        tag="studies",
        example={
            "campaign": "pilot-coverage",
            "protocol": "report-coverage",
            "batch": "pilot",
            "generated_at": "2026-11-20T09:40:00+00:00",
            "version": "0.3",
            "seed": 0,
            "resamples": 10000,
            "choices": {
                "epsilon": 0.2,
                "margin": 0.1,
                "width": 0.1,
                "threshold": None,
                "variables": [],
                "raters": [],
                "judges": [],
                "strata": {},
                "reference": "majority",
            },
            "inputs": {"labels": 435, "missing": 0, "sha256": "9b74c9897bac770ffc029102a200c5de…"},
            "queries": 10,
            "assisted_labels": 0,
            "assisted": {
                "labels": 0,
                "confirmed": 0,
                "corrected": 0,
                "unmatched": 0,
                "included": False,
                "by": {},
            },
            "exposed": {
                "labels": 15,
                "answers": 1,
                "unknown": 0,
                "included": False,
                "people": {"ada": {"labels": 15, "answers": 1}},
            },
            "raters": [
                {"name": "ada", "kind": "human", "responses": 30, "labels": 435, "excluded": None}
            ],
            "warnings": [],
            "variables": {},
            "scores": {},
        },
        refuses=(422,),
        parameters=[ReportQuery],
        operation_id="reports_read",
    )
    def get(self, request: Request, pk: int) -> Response:
        campaign = readable_campaign(request, pk)
        check_blind(get_account(request), campaign)
        options = _options(self.parameters)
        check_available(campaign, options)
        asked = question(campaign, options)
        job = current_job(request, REPORT, asked, self.parameters.get("job"))
        if job is None:
            return accepted_response(request)
        record_export(request, pk, "report", "json")
        return Response(results.value(job)["report"])


def check_available(campaign: Campaign, options: ReportOptions) -> None:
    """Raise ValidationError if an option names something that the campaign does not have."""
    try:
        available_options(campaign, campaign_strata(campaign)).check(options)
    except UnknownOptionError as error:
        raise serializers.ValidationError(dict(error.problems)) from error


def _options(parameters: Mapping[str, Any]) -> ReportOptions:
    return ReportOptions.of_values(values_of(OPTIONS, parameters))


CHANGED = "the labels have changed since you read this report; read it again before the snapshot"
KEY = OpenApiParameter("key", str, OpenApiParameter.PATH)
A_FROZEN: dict[str, Any] = {
    "key": "9b74c9897bac770f",
    "campaign": 1,
    "sha256": "9b74c9897bac770ffc029102a200c5de…",
    "inputs": "5d41402abc4b2a76b9719d911017c592…",
    "choices": "epsilon=0.15",
    "version": "0.3",
    "by": "rita",
    "created_at": "2026-11-20T09:40:00Z",
}


class FrozenParameters(PageParameters):
    campaign = serializers.IntegerField(
        required=False, min_value=1, max_value=LARGEST, help_text="only snapshots of this campaign"
    )


class FrozenSerializer(serializers.Serializer[FrozenReport]):
    key = serializers.CharField(help_text="the beginning of `sha256`, used in the address")
    campaign = serializers.IntegerField(source="campaign_id")
    sha256 = serializers.CharField(help_text="the digest of the report's JSON as downloaded")
    inputs = serializers.CharField(source="inputs_sha256", help_text="the digest of the labels")
    choices = serializers.CharField(help_text="the options, as in the address of the report's page")
    version = serializers.CharField()
    by = serializers.CharField(source="by_name")
    created_at = serializers.DateTimeField()


class NewFrozenSerializer(ReportParameters):
    campaign = serializers.IntegerField(min_value=1, max_value=LARGEST)
    inputs = serializers.RegexField(
        r"^[0-9a-f]{64}\Z", help_text="`inputs.sha256` of the report that the client read"
    )


def visible_frozen(user: User) -> QuerySet[FrozenReport]:
    """Return the snapshots of campaigns that an account may read."""
    return FrozenReport.objects.filter(campaign__in=readable(user)).select_related("campaign")


class FrozenReports(List):
    roles = {"GET": READERS, "POST": READERS}
    scopes = {"GET": (READ,), "POST": (MANAGE,)}
    takes = FrozenParameters

    def get_throttles(self) -> list[Any]:
        own = [PerReport()] if self.request.method == "POST" else []
        return [*super().get_throttles(), *own]

    @describe_endpoint(
        "List snapshots of reports",
        "Snapshots from campaigns that the account may read, newest first, without their content.",
        {200: page_serializer(FrozenSerializer)},
        tag="studies",
        example=page_example(A_FROZEN),
        parameters=[FrozenParameters],
        operation_id="frozen_list",
    )
    def get(self, request: Request) -> Response:
        rows = visible_frozen(get_account(request)).defer("content").order_by("-pk")
        if "campaign" in self.parameters:
            rows = rows.filter(campaign=self.parameters["campaign"])
        return self.page(rows, partial(serialize, FrozenSerializer))

    @describe_endpoint(
        "Create a snapshot of a report",
        "Stores a report with its options under an address of its own; it never changes. `inputs` "
        "identifies the labels of the report: 409 if they have changed. The same report has only "
        "one snapshot. A job computes and stores it: 202 with the job if that takes more than 20 "
        "seconds; repeat the request until it is answered by 201.",
        {201: FrozenSerializer, 202: JobSerializer},
        tag="studies",
        request=NewFrozenSerializer,
        sent={"campaign": 1, "inputs": "5d" * 32, "epsilon": 0.15},
        example=A_FROZEN,
        status=201,
        refuses=(409, 422),
        operation_id="frozen_create",
    )
    @mark_idempotent
    def post(self, request: Request) -> Response:
        data = validate(NewFrozenSerializer, request.data)
        campaign = campaign_named(
            get_account(request), data.pop("campaign"), "no snapshot is stored"
        )
        check_managed_campaign(get_account(request), campaign)
        check_blind(get_account(request), campaign)
        inputs, options = data.pop("inputs"), _options(data)
        check_available(campaign, options)
        user = get_account(request)
        asked = snapshot_question(campaign, options, inputs, _query(data), user)
        found: dict[str, Any] = {}
        if not has_stored_answer(request):
            # Before the idempotency key's transaction, since this may take seconds.
            job = current_job(request, SNAPSHOT, asked)
            if job is None:
                return accepted_response(request)
            found = results.value(job)
        return run_once(request, lambda: _created(user, found))


class OneFrozenReport(Resource):
    roles = {"GET": READERS}
    scopes = {"GET": (READ,)}

    @describe_endpoint(
        "Read a snapshot of a report",
        "The stored text, whose digest is its `sha256`. Refused while the account has an open item "
        "in the campaign.",
        {200: ReportSerializer},
        tag="studies",
        example={"campaign": "pilot-coverage", "protocol": "report-coverage", "batch": "pilot"},
        parameters=[KEY],
        operation_id="frozen_read",
    )
    def get(self, request: Request, key: str) -> HttpResponse:
        frozen = get_object_or_404(visible_frozen(get_account(request)), key=key)
        check_blind(get_account(request), frozen.campaign)
        saw_snapshot(frozen)
        record_export(request, frozen.campaign_id, "report", "json", ("frozenreport", frozen.key))
        return HttpResponse(frozen.content, content_type="application/json")


def _created(user: User, found: dict[str, Any]) -> Response:
    """Respond with the result of a snapshot's job."""
    if "current" in found:
        raise StateConflictError(CHANGED, more={"current": found["current"]})
    if "unequal" in found:
        raise StateConflictError(found["unequal"])
    frozen = visible_frozen(user).get(key=found["key"])
    return Response(FrozenSerializer(frozen).data, status=201)


def _query(parameters: dict[str, Any]) -> str:
    """Return the options that differ from the defaults, as in the address of the page."""
    defaults = validate(ReportParameters, {})
    query = QueryDict(mutable=True)
    for name, value in parameters.items():
        if value != defaults.get(name):
            values = value if isinstance(value, list) else [json.dumps(value).strip('"')]
            query.setlist(name, values)
    return query.urlencode()
