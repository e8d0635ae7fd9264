"""API endpoint of the papers' tables of a study: the same JSON as the command's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request

from analysis.evaluation.selection import read_pairs
from analysis.models import Study
from analysis.papers.base import Paper
from analysis.papers.options import OPTION, options_over_the_web
from analysis.papers.stored import paper_called, readable_study
from analysis.papers.tables_job import TABLES, question
from annotation.access import get_account
from annotation.api.access import check_blind
from audit.recording import record_export
from datasets.api.base import Shape
from datasets.api.concurrency import PerReport
from datasets.api.routes import JobKey, Routes, given, result_of
from datasets.option_fields import OptionFields

api = Routes("studies")


class PaperParameters(JobKey, OptionFields):
    """The options of the tables, and optionally the job whose result is requested."""

    options = (OPTION,)


class PaperTablesSerializer(Shape):
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
    interim = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text="the campaigns with fewer queries labelled than registered, if there are any",
    )
    tables = serializers.ListField(
        child=serializers.DictField(), help_text="each with its grids of columns and rows"
    )
    notes = serializers.ListField(child=serializers.CharField())
    not_filled = serializers.CharField(help_text="what labels cannot fill")


@api.get(
    "studies/<int:pk>/papers/<slug:paper>/",
    "Read a paper's tables of a study",
    "The tables of `crux`, `long2rag`, `garage` or `clapnq`, filled from all campaigns of the "
    "study: the same object as `paper PAPER --study NAME --format json`. A cell is an "
    "estimate, a text or a count; one that cannot be filled has a null `value` and a `reason`. "
    "202 with a job if filling them takes more than 20 seconds, as for the report.",
    PaperTablesSerializer,
    name="paper",
    takes=PaperParameters,
    job=True,
    refuses=(422,),
    throttles=(PerReport,),
)
def paper_read(request: Request, pk: int, paper: str) -> Any:
    user = get_account(request)
    study, campaigns = readable_study(user, pk)
    chosen = paper_called(paper)
    for campaign in campaigns:
        check_blind(user, campaign)
    asked = question(chosen, study, _given(chosen, study, given(request)))
    found = result_of(request, TABLES, asked, given(request).get("job"))
    for campaign in campaigns:
        record_export(request, campaign.pk, "paper", "json")
    return found


def _given(paper: Paper, study: Study, parameters: Mapping[str, Any]) -> dict[str, str]:
    """Return the options as text. Raises ValidationError for an invalid one."""
    try:
        chosen = read_pairs(parameters.get("option") or ())
        options_over_the_web(paper, study, chosen)
    except ValueError as error:
        raise serializers.ValidationError({"option": str(error)}) from error
    return chosen
