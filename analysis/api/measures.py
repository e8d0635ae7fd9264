"""API endpoint of the papers' measures: the same JSON as the command's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from analysis.evaluation.display import DISPLAY_OPTIONS, DisplayOptions, select_shown
from analysis.evaluation.jobs import MEASURES, question
from analysis.evaluation.selection import (
    MEASURES_OPTIONS,
    MeasuresOptionError,
    MeasuresOptions,
    ResolvedOptions,
    read_pairs,
    resolve_options,
)
from annotation.access import get_account, readable_campaign
from annotation.api.access import check_blind
from annotation.models import Campaign, User
from audit.recording import record_export
from datasets.access import READERS
from datasets.api.base import (
    Resource,
    describe_endpoint,
)
from datasets.api.jobs import JobKey, JobSerializer, accepted_response, current_job
from datasets.api.permissions import READ
from datasets.api.throttling import PerReport
from datasets.jobs import results
from datasets.option_fields import serializer_fields
from tandem.options import values_of


class MeasuresParameters(JobKey):
    """The options of the measures, and optionally the job whose result is requested."""

    def get_fields(self) -> dict[str, Any]:
        return {**super().get_fields(), **serializer_fields((*MEASURES_OPTIONS, *DISPLAY_OPTIONS))}


class MeasuresSerializer(serializers.Serializer[Any]):
    campaign = serializers.CharField()
    protocol = serializers.CharField()
    batch = serializers.CharField()
    generated_at = serializers.DateTimeField()
    version = serializers.CharField()
    seed = serializers.IntegerField()
    resamples = serializers.IntegerField()
    preset = serializers.CharField()
    options = serializers.DictField(help_text="by name: the value, and the reason for the default")
    passages = serializers.CharField(allow_null=True)
    points = serializers.CharField(allow_null=True)
    strata = serializers.DictField(help_text="by name: the campaign whose labels give the slices")
    queries = serializers.IntegerField()
    evaluation_queries = serializers.IntegerField()
    raters = serializers.ListField(child=serializers.DictField())
    exposed = serializers.DictField(
        help_text="labels from people who could see others' labels of the units, by person"
    )
    leaderboard = serializers.DictField(help_text="systems by measures, a ranking per evaluator")
    measures = serializers.DictField(
        child=serializers.DictField(), help_text="by name: its definition, and values by each rater"
    )
    thresholds = serializers.DictField()
    metrics = serializers.DictField()
    sampled = serializers.DictField()
    required = serializers.DictField()  # type: ignore[assignment]  # a key of ours, no setting
    key_point_scores = serializers.DictField(allow_null=True)


class CampaignMeasures(Resource):
    roles = {"GET": READERS}
    scopes = {"GET": (READ,)}
    takes = MeasuresParameters

    def get_throttles(self) -> list[Any]:
        return [*super().get_throttles(), PerReport()]

    @describe_endpoint(
        "Read the papers' measures of a campaign",
        "The measures of CRUX, Long2RAG, GaRAGe and CLAPnq for each system, by people, by each "
        "judge and by both together, with system rankings: the same object as `measures "
        "--campaign`. Every estimate is `{value, low, high, n, method}` with a 95 % interval, or a "
        "null `value` with a `reason`. The parameters are the options in the address of the page. "
        "202 with a job if computing them takes more than 20 seconds, as for the report.",
        {200: MeasuresSerializer, 202: JobSerializer},
        tag="studies",
        example={
            "campaign": "pilot-coverage",
            "protocol": "report-coverage",
            "batch": "pilot",
            "generated_at": "2026-11-20T09:40:00+00:00",
            "version": "0.3",
            "seed": 0,
            "resamples": 10000,
            "preset": "crux",
            "options": {"eta": {"value": 3.0, "reason": "The rating from which a text answers."}},
            "passages": None,
            "points": None,
            "strata": {},
            "queries": 10,
            "raters": [{"name": "ada", "kind": "human", "excluded": None}],
            "exposed": {"labels": 0, "answers": 0, "unknown": 0, "included": False, "people": {}},
            "evaluation_queries": 10,
            "leaderboard": {"level": 0.05, "letters": {"oracle": "A", "bm25": "B"}, "boards": []},
            "measures": {},
            "thresholds": {},
            "metrics": {},
            "sampled": {},
            "required": {},
            "key_point_scores": None,
        },
        refuses=(422,),
        parameters=[MeasuresParameters],
        operation_id="measures_read",
    )
    def get(self, request: Request, pk: int) -> Response:
        user = get_account(request)
        campaign = readable_campaign(request, pk)
        check_blind(user, campaign)
        asked = question(campaign, _options(user, campaign, self.parameters))
        job = current_job(request, MEASURES, asked, self.parameters.get("job"))
        if job is None:
            return accepted_response(request)
        try:
            shown = DisplayOptions(**values_of(DISPLAY_OPTIONS, self.parameters))
            report = select_shown(results.value(job), shown)
        except ValueError as error:
            raise serializers.ValidationError({"measure": str(error)}) from error
        record_export(request, pk, "measures", "json")
        return Response(report)


def _options(user: User, campaign: Campaign, parameters: Mapping[str, Any]) -> ResolvedOptions:
    """Return the options. Raises ValidationError if one is invalid or names another campaign."""
    options = MeasuresOptions(**values_of(MEASURES_OPTIONS, parameters))
    try:
        return resolve_options(user, campaign, options, read_pairs(options.option))
    except MeasuresOptionError as error:
        raise serializers.ValidationError({error.name: str(error)}) from error
    except ValueError as error:
        raise serializers.ValidationError({"option": str(error)}) from error
