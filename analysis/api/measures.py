"""API endpoint of the papers' measures: the same JSON as the command's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from analysis.api.reports import LARGEST, LONGEST
from analysis.data.selection import MOST_RESAMPLES, Choices
from analysis.evaluation.selection import (
    Asked,
    Shown,
    computed_measures,
    options_over_the_web,
    passages_called,
    points_called,
    shown_of,
    slices_called,
)
from analysis.measures.base import PRESETS, Options
from annotation.api.access import check_blind, person, visible_studies
from annotation.models import Campaign, User
from audit.recording import record_export
from datasets.api.base import READERS, Resource, Strict, described
from datasets.api.permissions import READ
from datasets.api.throttling import PerReport

SEVERAL = {"measure": "measures", "evaluator": "evaluators", "system": "systems", "cut": "cuts"}


def _several(words: str) -> serializers.ListField:
    return serializers.ListField(
        child=serializers.CharField(max_length=LONGEST), default=list, help_text=words
    )


class MeasuresParameters(Strict):
    preset = serializers.ChoiceField(
        tuple(PRESETS), default="tandem", help_text="what one paper chose"
    )
    option = _several("another choice as K=V, such as eta=5; may be given several times")
    passages = serializers.CharField(
        max_length=LONGEST,
        default="",
        allow_blank=True,
        help_text="RATER@CAMPAIGN: whose ratings of passages say which sub-questions count",
    )
    points = serializers.CharField(
        max_length=LONGEST,
        default="",
        allow_blank=True,
        help_text="for key-point-recall: the campaign of key-point-verification with "
        "points=answers whose labels give KPP and KPF",
    )
    slices = _several(
        "a campaign of question-typing or grounding-relevance over the same batch, by whose labels "
        "the queries are sliced; may be given several times"
    )
    seed = serializers.IntegerField(
        min_value=0, max_value=LARGEST, default=0, help_text="of the resampling"
    )
    resamples = serializers.IntegerField(
        min_value=1,
        max_value=MOST_RESAMPLES,
        default=None,
        help_text="how many; else 10,000 below 30 queries, and 2,000; the command makes more",
    )
    measure = _several("show only this measure; may be given several times, as the next three")
    evaluator = _several("only this leaderboard: people, a rater, texts or people+JUDGE")
    system = _several("only this system; it was compared with all others")
    cut = _several("only this cut of rankings, such as @10, or whole")
    order = serializers.CharField(
        max_length=LONGEST,
        default="",
        allow_blank=True,
        help_text="a measure by which systems stand, the highest first; -NAME for the lowest",
    )


class MeasuresShape(serializers.Serializer[Any]):
    campaign = serializers.CharField()
    protocol = serializers.CharField()
    batch = serializers.CharField()
    generated_at = serializers.DateTimeField()
    version = serializers.CharField()
    seed = serializers.IntegerField()
    resamples = serializers.IntegerField()
    preset = serializers.CharField()
    options = serializers.DictField(help_text="by name the value and the default's reason")
    passages = serializers.CharField(allow_null=True)
    points = serializers.CharField(allow_null=True)
    strata = serializers.DictField(help_text="by name where slices by labels come from")
    queries = serializers.IntegerField()
    evaluation_queries = serializers.IntegerField()
    raters = serializers.ListField(child=serializers.DictField())
    leaderboard = serializers.DictField(help_text="systems by measures, a board an evaluator")
    measures = serializers.DictField(
        child=serializers.DictField(), help_text="by name what it is, and what each rater gives"
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

    @described(
        "Read the papers' measures of a campaign",
        "What CRUX, Long2RAG, GaRAGe and CLAPnq report, of each system by people, by each judge "
        "and by both together, with leaderboards: the same object as `measures --campaign`. Every "
        "estimate is `{value, low, high, n, method}` with a 95 % interval, or a null `value` with "
        "a `reason`. The parameters are the choices in the address of the page.",
        {200: MeasuresShape},
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
            "evaluation_queries": 10,
            "leaderboard": {"level": 0.05, "letters": {"oracle": "A", "bm25": "B"}, "boards": []},
            "measures": {},
            "thresholds": {},
            "metrics": {},
            "sampled": {},
            "required": {},
            "key_point_scores": None,
        },
        parameters=[MeasuresParameters],
        operation_id="measures_read",
    )
    def get(self, request: Request, pk: int) -> Response:
        user = person(request)
        campaign = get_object_or_404(visible_studies(user), pk=pk)
        check_blind(user, campaign)
        several = {to: tuple(self.chosen[name]) for name, to in SEVERAL.items()}
        asked = _asked(user, campaign, self.chosen)
        try:
            shown = Shown(**several, order=self.chosen["order"])
            found = shown_of(computed_measures(campaign, asked), shown)
        except ValueError as error:
            raise serializers.ValidationError({"measure": str(error)}) from error
        record_export(request, pk, "measures", "json")
        return Response(found)


def _asked(user: User, campaign: Campaign, chosen: Mapping[str, Any]) -> Asked:
    """Raises ValidationError for an option, and for campaigns that are not offered."""
    choices = Choices(seed=chosen["seed"], resamples=chosen["resamples"])
    try:
        options = _options(chosen["preset"], chosen["option"])
    except ValueError as error:
        raise serializers.ValidationError({"option": str(error)}) from error
    try:
        passages = passages_called(user, campaign, chosen["passages"])
    except ValueError as error:
        raise serializers.ValidationError({"passages": str(error)}) from error
    try:
        slices = slices_called(user, campaign, chosen["slices"])
    except ValueError as error:
        raise serializers.ValidationError({"slices": str(error)}) from error
    try:
        points = points_called(user, campaign, chosen["points"])
    except ValueError as error:
        raise serializers.ValidationError({"points": str(error)}) from error
    return Asked(chosen["preset"], options, choices, passages, slices, points)


def _options(preset: str, given: list[str]) -> Options:
    pairs = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals:
            raise ValueError(f"{each!r} is not K=V, such as eta=5")
        pairs[name] = value
    return options_over_the_web(preset, pairs)
