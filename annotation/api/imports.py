"""API endpoint that imports labels: lines of the labels format, all or nothing."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import get_account, readable_campaign
from annotation.api.access import check_blind
from annotation.imports.importer import import_rows
from datasets.access import READERS
from datasets.api.base import (
    Resource,
    Strict,
    checked,
    described,
)
from datasets.api.concurrency import once
from datasets.api.errors import RefusedBodyError, problem
from datasets.api.permissions import MANAGE
from datasets.api.throttling import PerImport
from datasets.rows import InputError

A_LINE = {
    "item": "r1",
    "unit": "q1:1",
    "variable": "answerable",
    "value": "yes",
    "rater": "crowd-7",
    "spans": [{"field": "report", "text": "opened in 1901"}],
}
AN_IMPORT = {"labels": {"crowd-7": 1}, "missing": 0, "unchanged": 0, "warnings": [], "skipped": {}}


class NewLabelsSerializer(Strict):
    labels = serializers.ListField(
        child=serializers.DictField(),
        min_length=1,
        help_text="lines of the labels format, 2.5 MB at most; errors name them from 1",
    )
    rater = serializers.CharField(
        required=False, max_length=150, help_text="who labelled, where a line does not say"
    )


class ImportSerializer(serializers.Serializer[Any]):
    labels = serializers.DictField(
        child=serializers.IntegerField(), help_text="how many were taken, by rater"
    )
    missing = serializers.IntegerField(help_text="missing labels that were taken")
    unchanged = serializers.IntegerField(help_text="labels that were there already")
    warnings = serializers.ListField(child=serializers.CharField())
    skipped = serializers.DictField(child=serializers.IntegerField())


class Imports(Resource):
    roles = {"POST": READERS}
    scopes = {"POST": (MANAGE,)}

    def get_throttles(self) -> list[Any]:
        own = [PerImport()] if self.request.method == "POST" else []
        return [*super().get_throttles(), *own]

    @described(
        "Load labels made elsewhere",
        "What `import_labels` does, all or nothing, with the same warnings; the raters that are "
        "named are made. The same labels again change nothing. Nobody who answers on this site can "
        "be named: 422 with the line. More than 2.5 MB is for the command. Sixty times an hour.",
        {200: ImportSerializer},
        tag="studies",
        request=NewLabelsSerializer,
        sent={"labels": [A_LINE]},
        example=AN_IMPORT,
        refuses=(422,),
        operation_id="labels_load",
    )
    @once
    def post(self, request: Request, pk: int) -> Response:
        campaign = readable_campaign(request, pk)
        check_blind(get_account(request), campaign)
        wanted = checked(NewLabelsSerializer, request.data)
        try:
            report = import_rows(wanted["labels"], campaign, wanted.get("rater"))
        except InputError as error:
            found = problem(str(error), f"labels.{(error.place.line or 1) - 1}")
            raise RefusedBodyError("no label was taken", [found]) from error
        return Response(ImportSerializer(asdict(report)).data)
