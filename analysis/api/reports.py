"""API endpoints of reports: the live one, and frozen ones to create, list and read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request

from analysis.campaigns.evaluators import judges_named
from analysis.campaigns.frames import available_options, campaign_strata
from analysis.campaigns.report_job import REPORT, question
from analysis.frozen.store import SNAPSHOT, saw_snapshot
from analysis.frozen.store import question as snapshot_question
from analysis.models import FrozenReport
from annotation.access import check_managed_campaign, get_account
from annotation.api.access import campaign_named, check_blind, readable_unless_blind
from annotation.models import Campaign, User
from annotation.people.membership import readable
from audit.recording import record_export
from datasets.api.base import PageParameters, Positive, Shape, StateConflictError, validate
from datasets.api.concurrency import PerReport
from datasets.api.routes import JobKey, Routes, given, given_filters, result_of
from datasets.option_fields import OptionFields
from tandem.labels.selection import ReportOptions, UnknownOptionError
from tandem.options import options_of, values_of

api = Routes("studies")

OPTIONS = options_of(ReportOptions)


class ReportParameters(OptionFields):
    """The options of a report."""

    options = OPTIONS


class ReportQuery(JobKey, ReportParameters):
    """The options of a report, and optionally the job whose result is requested."""


class ComputedSerializer(Shape):
    # What every document says that is computed from a campaign's labels.
    campaign = serializers.CharField()
    protocol = serializers.CharField()
    batch = serializers.CharField()
    generated_at = serializers.DateTimeField()
    version = serializers.CharField()
    seed = serializers.IntegerField()
    resamples = serializers.IntegerField()


class RaterSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    kind = serializers.ChoiceField(("human", "judge", "reference"))
    responses = serializers.IntegerField()
    labels = serializers.IntegerField()
    excluded = serializers.CharField(allow_null=True)


class ReportSerializer(ComputedSerializer):
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


@api.get(
    "campaigns/<int:pk>/report/",
    "Read the report of a campaign",
    "Agreement among people, judges compared with people, and scores of systems: the same "
    "object as `report --campaign`. Every estimate is `{value, low, high, n, method}` with a "
    "95 % interval, or a null `value` with a `reason`. A report that is not up to date is "
    "computed by a job: 200 if it is ready within 20 seconds, else 202 with the job, at whose "
    "`address` to ask for the result; repeating the request does as well. "
    "The parameters are the options in the address of the report's page.",
    ReportSerializer,
    name="report",
    takes=ReportQuery,
    job=True,
    refuses=(422,),
    throttles=(PerReport,),
)
def reports_read(request: Request, pk: int) -> Any:
    campaign, sent = readable_unless_blind(request, pk), given(request)
    options = check_available(campaign, _options(sent))
    found = result_of(request, REPORT, question(campaign, options), sent.get("job"))
    record_export(request, pk, "report", "json")
    return found["report"]


def check_available(campaign: Campaign, options: ReportOptions) -> ReportOptions:
    """Return the options with judges in place of evaluators.

    Raises ValidationError if an option names something that the campaign does not have.
    """
    options = replace(options, judges=(*judges_named(campaign, options.judges),))
    try:
        available_options(campaign, campaign_strata(campaign)).check(options)
    except UnknownOptionError as error:
        raise serializers.ValidationError(dict(error.problems)) from error
    return options


def _options(parameters: Mapping[str, Any]) -> ReportOptions:
    return ReportOptions.of_values(values_of(OPTIONS, parameters))


CHANGED = "the labels have changed since you read this report; read it again before the snapshot"


class FrozenParameters(PageParameters):
    campaign = Positive(required=False, help_text="only snapshots of this campaign")


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
    campaign = Positive()
    inputs = serializers.RegexField(
        r"^[0-9a-f]{64}\Z", help_text="`inputs.sha256` of the report that the client read"
    )


def visible_frozen(user: User) -> QuerySet[FrozenReport]:
    """Return the snapshots of campaigns that an account may read."""
    return FrozenReport.objects.filter(campaign__in=readable(user)).select_related("campaign")


@api.list(
    "reports/",
    "List snapshots of reports",
    "Snapshots from campaigns that the account may read, newest first, without their content.",
    FrozenSerializer,
    name="reports",
    takes=FrozenParameters,
)
def frozen_list(request: Request) -> Any:
    rows = visible_frozen(get_account(request)).defer("content").order_by("-pk")
    return rows.filter(**given_filters(request, "campaign"))


@api.post(
    "reports/",
    "Create a snapshot of a report",
    "Stores a report with its options under an address of its own; it never changes. `inputs` "
    "identifies the labels of the report: 409 if they have changed. The same report has only "
    "one snapshot. A job computes and stores it: 202 with the job if that takes more than 20 "
    "seconds; repeat the request until it is answered by 201.",
    FrozenSerializer,
    body=NewFrozenSerializer,
    status=201,
    job=True,
    refuses=(409, 422),
    once_last=True,
    throttles=(PerReport,),
)
def frozen_create(request: Request) -> Any:
    data, user = given(request), get_account(request)
    campaign = campaign_named(user, data.pop("campaign"), "no snapshot is stored")
    check_managed_campaign(user, campaign)
    check_blind(user, campaign)
    inputs, options = data.pop("inputs"), check_available(campaign, _options(data))
    asked = snapshot_question(campaign, options, inputs, _query(data), user)
    found = result_of(request, SNAPSHOT, asked)
    return lambda: _created(user, found)


@api.get(
    "reports/<slug:key>/",
    "Read a snapshot of a report",
    "The stored text, whose digest is its `sha256`. Refused while the account has an open item "
    "in the campaign.",
    ReportSerializer,
    name="frozen",
)
def frozen_read(request: Request, key: str) -> Any:
    frozen = get_object_or_404(visible_frozen(get_account(request)), key=key)
    check_blind(get_account(request), frozen.campaign)
    saw_snapshot(frozen)
    record_export(request, frozen.campaign_id, "report", "json", ("frozenreport", frozen.key))
    return HttpResponse(frozen.content, content_type="application/json")


def _created(user: User, found: dict[str, Any]) -> FrozenReport:
    """Return the snapshot that a job stored. Raises StateConflictError."""
    if "current" in found:
        raise StateConflictError(CHANGED, more={"current": found["current"]})
    if "unequal" in found:
        raise StateConflictError(found["unequal"])
    return visible_frozen(user).get(key=found["key"])


def _query(parameters: dict[str, Any]) -> str:
    """Return the options that differ from the defaults, as in the address of the page."""
    defaults = validate(ReportParameters, {})
    query = QueryDict(mutable=True)
    for name, value in parameters.items():
        if value != defaults.get(name):
            values = value if isinstance(value, list) else [json.dumps(value).strip('"')]
            query.setlist(name, values)
    return query.urlencode()
