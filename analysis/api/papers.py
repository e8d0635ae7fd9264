"""API endpoint of the papers' tables of a study: the same JSON as the command's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from analysis.evaluation.selection import read_pairs
from analysis.models import Study
from analysis.papers.access import paper_called, readable_study
from analysis.papers.base import Paper
from analysis.papers.jobs import TABLES, question
from analysis.papers.options import OPTION, options_over_the_web
from annotation.access import get_account
from annotation.api.access import check_blind
from audit.recording import record_export
from datasets.access import READERS
from datasets.api.base import Resource, describe_endpoint
from datasets.api.jobs import JobKey, JobSerializer, accepted_response, current_job
from datasets.api.permissions import READ
from datasets.api.throttling import PerReport
from datasets.jobs import results
from datasets.option_fields import serializer_fields


class PaperParameters(JobKey):
    """The options of the tables, and optionally the job whose result is requested."""

    def get_fields(self) -> dict[str, Any]:
        return {**super().get_fields(), **serializer_fields((OPTION,))}


class PaperTablesSerializer(serializers.Serializer[Any]):
    paper = serializers.CharField()
    title = serializers.CharField()
    citation = serializers.CharField()
    study = serializers.CharField()
    generated_at = serializers.DateTimeField()
    version = serializers.CharField()
    seed = serializers.IntegerField()
    resamples = serializers.IntegerField(allow_null=True)
    published = serializers.BooleanField(help_text="whether printed figures stand beside ours")
    options = serializers.DictField(help_text="by name: the value, and the reason for the default")
    changed = serializers.DictField(help_text="the options that are not the paper's")
    campaigns = serializers.ListField(child=serializers.CharField())
    tables = serializers.ListField(
        child=serializers.DictField(), help_text="each with its grids of columns and rows"
    )
    notes = serializers.ListField(child=serializers.CharField())
    not_filled = serializers.CharField(help_text="what labels cannot fill")


class StudyPaper(Resource):
    roles = {"GET": READERS}
    scopes = {"GET": (READ,)}
    takes = PaperParameters

    def get_throttles(self) -> list[Any]:
        return [*super().get_throttles(), PerReport()]

    @describe_endpoint(
        "Read a paper's tables of a study",
        "The tables of `crux`, `long2rag`, `garage` or `clapnq`, filled from all campaigns of the "
        "study: the same object as `paper PAPER --study NAME --format json`. A cell is an "
        "estimate, a text or a count; one that cannot be filled has a null `value` and a `reason`. "
        "202 with a job if filling them takes more than 20 seconds, as for the report.",
        {200: PaperTablesSerializer, 202: JobSerializer},
        tag="studies",
        example={
            "paper": "crux",
            "title": "CRUX",
            "citation": "Ju and others 2025",
            "study": "pilot",
            "generated_at": "2026-11-20T09:40:00+00:00",
            "version": "0.5",
            "seed": 0,
            "resamples": None,
            "published": False,
            "options": {"eta": {"value": 5.0, "reason": "The rating from which a text answers."}},
            "changed": {"eta": "5"},
            "campaigns": ["pilot-passages", "pilot-coverage"],
            "tables": [],
            "notes": [],
            "not_filled": "Labels cannot fill the paper's generation settings.",
        },
        refuses=(422,),
        parameters=[PaperParameters],
        operation_id="paper_read",
    )
    def get(self, request: Request, pk: int, paper: str) -> Response:
        user = get_account(request)
        study, campaigns = readable_study(user, pk)
        chosen = paper_called(paper)
        for campaign in campaigns:
            check_blind(user, campaign)
        asked = question(chosen, study, _given(chosen, study, self.parameters))
        job = current_job(request, TABLES, asked, self.parameters.get("job"))
        if job is None:
            return accepted_response(request)
        for campaign in campaigns:
            record_export(request, campaign.pk, "paper", "json")
        return Response(results.value(job))


def _given(paper: Paper, study: Study, parameters: Mapping[str, Any]) -> dict[str, str]:
    """Return the options as text. Raises ValidationError for an invalid one."""
    try:
        given = read_pairs(parameters.get("option") or ())
        options_over_the_web(paper, study, given)
    except ValueError as error:
        raise serializers.ValidationError({"option": str(error)}) from error
    return given
