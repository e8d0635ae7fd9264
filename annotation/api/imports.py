"""API endpoint that imports labels: lines of the labels format, all or nothing."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request

from annotation.api.access import managed_unless_blind
from annotation.imports.importer import ImportReport, import_rows
from annotation.imports.index import ImportOptions, name_options
from datasets.api.base import RefusedBodyError, problem
from datasets.api.concurrency import PerImport
from datasets.api.routes import Routes, given
from datasets.api.typed import serializer_of
from datasets.option_fields import OptionFields
from tandem.files.rows import InputError
from tandem.options import options_of, values_of
from tandem.verbs import verb_of

api = Routes("studies")

FORMATS = ("labels", "label-studio")


class NewLabelsSerializer(OptionFields):
    options = options_of(ImportOptions)
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


ImportSerializer = serializer_of(ImportReport, "Import")


def _not_imported(error: InputError) -> RefusedBodyError:
    field = f"labels.{(error.place.line or 1) - 1}"
    wrong = problem(name_options(str(error), "api"), field)
    return RefusedBodyError("no label was imported", [wrong])


@api.post(
    "campaigns/<int:pk>/imports/",
    "Import labels",
    f"Imports labels as `{verb_of('import_labels')}` does, all or nothing, with the same "
    "warnings. New raters are created. Importing the same labels again changes nothing. 422 "
    "with the line if a rater is a person or judge who answers on this site. At most sixty "
    "times an hour; for more than 2.5 MB, use the command.",
    ImportSerializer,
    name="imports",
    body=NewLabelsSerializer,
    raises={InputError: _not_imported},
    refuses=(422,),
    once=True,
    throttles=(PerImport,),
)
def labels_load(request: Request, pk: int) -> Any:
    campaign, body = managed_unless_blind(request, pk), given(request)
    options = ImportOptions(**values_of(options_of(ImportOptions), body))
    return import_rows(body["labels"], campaign, body.get("rater"), body["format"], options)
