"""API endpoint of the papers' measures: the same JSON as the command's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request

from analysis.api.reports import ComputedSerializer
from analysis.evaluation.display import DISPLAY_OPTIONS, DisplayOptions, select_shown
from analysis.evaluation.measures_job import MEASURES, question
from analysis.evaluation.selection import (
    MEASURES_OPTIONS,
    MeasuresOptionError,
    MeasuresOptions,
    ResolvedOptions,
    read_pairs,
    resolve_options,
)
from annotation.access import get_account
from annotation.api.access import readable_unless_blind
from annotation.models import Campaign, User
from audit.recording import record_export
from datasets.api.concurrency import PerReport
from datasets.api.routes import JobKey, Routes, given, result_of
from datasets.option_fields import OptionFields
from tandem.options import values_of

api = Routes("studies")


class MeasuresParameters(JobKey, OptionFields):
    """The options of the measures, and optionally the job whose result is requested."""

    options = (*MEASURES_OPTIONS, *DISPLAY_OPTIONS)


class MeasuresSerializer(ComputedSerializer):
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


@api.get(
    "campaigns/<int:pk>/measures/",
    "Read the papers' measures of a campaign",
    "The measures of CRUX, Long2RAG, GaRAGe and CLAPnq for each system, by people, by each "
    "judge and by both together, with system rankings: the same object as `measures "
    "--campaign`. Every estimate is `{value, low, high, n, method}` with a 95 % interval, or a "
    "null `value` with a `reason`. The parameters are the options in the address of the page. "
    "202 with a job if computing them takes more than 20 seconds, as for the report.",
    MeasuresSerializer,
    name="measures",
    takes=MeasuresParameters,
    job=True,
    refuses=(422,),
    throttles=(PerReport,),
)
def measures_read(request: Request, pk: int) -> Any:
    campaign, sent = readable_unless_blind(request, pk), given(request)
    asked = question(campaign, _options(get_account(request), campaign, sent))
    found = result_of(request, MEASURES, asked, sent.get("job"))
    try:
        shown = select_shown(found, DisplayOptions(**values_of(DISPLAY_OPTIONS, sent)))
    except ValueError as error:
        raise serializers.ValidationError({"measure": str(error)}) from error
    record_export(request, pk, "measures", "json")
    return shown


def _options(user: User, campaign: Campaign, parameters: Mapping[str, Any]) -> ResolvedOptions:
    """Return the options. Raises ValidationError if one is invalid or names another campaign."""
    options = MeasuresOptions(**values_of(MEASURES_OPTIONS, parameters))
    try:
        return resolve_options(user, campaign, options, read_pairs(options.option))
    except MeasuresOptionError as error:
        raise serializers.ValidationError({error.name: str(error)}) from error
    except ValueError as error:
        raise serializers.ValidationError({"option": str(error)}) from error
