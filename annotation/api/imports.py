"""API endpoint that imports labels: lines of the labels format, all or nothing."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import get_account, managed_campaign
from annotation.api.access import check_blind
from annotation.imports.importer import import_rows
from annotation.imports.index import ImportOptions, name_options
from datasets.access import READERS
from datasets.api.base import (
    Resource,
    Strict,
    describe_endpoint,
    validate,
)
from datasets.api.concurrency import idempotent
from datasets.api.errors import RefusedBodyError, problem
from datasets.api.permissions import MANAGE
from datasets.api.throttling import PerImport
from datasets.option_fields import serializer_fields
from tandem.files.rows import InputError
from tandem.options import options_of, values_of
from tandem.verbs import verb_of

A_LINE = {
    "item": "r1",
    "unit": "q1:1",
    "variable": "answerable",
    "value": "yes",
    "rater": "crowd-7",
    "spans": [{"field": "report", "text": "opened in 1901"}],
}
FORMATS = ("labels", "label-studio")
AN_IMPORT = {"labels": {"crowd-7": 1}, "missing": 0, "unchanged": 0, "warnings": [], "skipped": {}}


class NewLabelsSerializer(Strict):
    labels = serializers.ListField(
        child=serializers.DictField(),
        min_length=1,
        help_text="lines of the labels format, or objects of another `format`, such as Label "
        "Studio's tasks, at most 2.5 MB; errors number them from 1",
    )
    rater = serializers.CharField(
        required=False, max_length=150, help_text="the rater of lines that name none"
    )
    format = serializers.ChoiceField(
        FORMATS, default="labels", help_text="the format of the objects under `labels`"
    )

    def get_fields(self) -> dict[str, Any]:
        return {**super().get_fields(), **serializer_fields(options_of(ImportOptions))}


class ImportSerializer(serializers.Serializer[Any]):
    labels = serializers.DictField(
        child=serializers.IntegerField(), help_text="number of imported labels by rater"
    )
    missing = serializers.IntegerField(help_text="imported missing labels")
    unchanged = serializers.IntegerField(help_text="labels that were stored before")
    warnings = serializers.ListField(child=serializers.CharField())
    skipped = serializers.DictField(child=serializers.IntegerField())


class Imports(Resource):
    roles = {"POST": READERS}
    scopes = {"POST": (MANAGE,)}

    def get_throttles(self) -> list[Any]:
        own = [PerImport()] if self.request.method == "POST" else []
        return [*super().get_throttles(), *own]

    @describe_endpoint(
        "Import labels",
        f"Imports labels as `{verb_of('import_labels')}` does, all or nothing, with the same "
        "warnings. New raters are created. Importing the same labels again changes nothing. 422 "
        "with the line if a rater is a person or judge who answers on this site. At most sixty "
        "times an hour; for more than 2.5 MB, use the command.",
        {200: ImportSerializer},
        tag="studies",
        request=NewLabelsSerializer,
        sent={"labels": [A_LINE]},
        example=AN_IMPORT,
        refuses=(422,),
        operation_id="labels_load",
    )
    @idempotent
    def post(self, request: Request, pk: int) -> Response:
        campaign = managed_campaign(request, pk)
        check_blind(get_account(request), campaign)
        body = validate(NewLabelsSerializer, request.data)
        try:
            report = import_rows(
                body["labels"],
                campaign,
                body.get("rater"),
                body["format"],
                ImportOptions(**values_of(options_of(ImportOptions), body)),
            )
        except InputError as error:
            found = problem(
                name_options(str(error), "api"), f"labels.{(error.place.line or 1) - 1}"
            )
            raise RefusedBodyError("no label was imported", [found]) from error
        return Response(ImportSerializer(asdict(report)).data)
