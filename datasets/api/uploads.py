"""API endpoints: uploading files, their preview, and keeping or discarding them as a batch."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from datasets.access import check_managed, visible_batches
from datasets.api.base import ApiError, NoSpaceError, RefusedBodyError, Strict, TooManyRequestsError
from datasets.api.concurrency import has_stored_answer, run_once
from datasets.api.permissions import MANAGE, READ
from datasets.api.routes import Routes, given
from datasets.models import Batch, Upload
from datasets.readers import READERS as FORMATS
from datasets.uploads import quarantine, receiving
from datasets.uploads.receiving import (
    FULL,
    NO_SPACE,
    StaleError,
    TakenNameError,
    TooOftenError,
    batches_with_same_content,
    check_rate,
    into_files,
    receive,
    uploads_of,
)
from tandem.files.rows import InputError
from tandem.verbs import verb_of

api = Routes("batches", reads=(READ, MANAGE))
LONGEST_NAME = Batch._meta.get_field("name").max_length


def visible_uploads(user: Any) -> Any:
    return uploads_of(user).order_by("-created_at", "-pk")


class NewUpload(Strict):
    files = serializers.ListField(
        child=serializers.FileField(allow_empty_file=True),
        help_text="one part named `files` for each file; together they form one batch",
    )
    name = serializers.CharField(
        required=False, allow_blank=True, max_length=LONGEST_NAME, help_text="the batch's name"
    )
    format = serializers.ChoiceField(
        tuple(FORMATS), required=False, help_text="recognised automatically if left out"
    )
    team = serializers.CharField(
        required=False,
        help_text="the team that the batch is for; needed only if you manage several",
    )
    extends = serializers.IntegerField(
        required=False,
        help_text="the id of a batch to whose queries the files add reports, rankings or passages; "
        "the result is a new batch",
    )


class Decision(Strict):
    digest = serializers.RegexField(
        r"^[0-9a-f]{64}\Z",
        help_text="`preview.digest`, so that only what was previewed is kept",
    )
    name = serializers.CharField(
        required=False, max_length=LONGEST_NAME, help_text="a name instead of the upload's"
    )


class FileSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    bytes = serializers.IntegerField()


class PreviewSerializer(serializers.Serializer[Upload]):
    """The content of the files, before anything is loaded."""

    format = serializers.CharField(source="found.format")
    digest = serializers.CharField(help_text="a digest of the content, whatever its files")
    counts = serializers.DictField(child=serializers.IntegerField(), source="found.counts")
    warnings = serializers.ListField(
        child=serializers.CharField(), source="found.warnings", help_text="the first 500 of them"
    )
    warning_count = serializers.IntegerField(source="found.warning_count")
    skipped = serializers.DictField(child=serializers.IntegerField(), source="found.skipped")
    first = serializers.ListField(
        child=serializers.DictField(),
        source="found.first",
        help_text="the first queries with shortened texts and lists; `more` counts what is missing",
    )
    same_as = serializers.SerializerMethodField(
        help_text="the loaded batches that hold the same content"
    )

    def get_same_as(self, upload: Upload) -> list[str]:
        return [batch.name for batch in batches_with_same_content(upload)]


class UploadSerializer(serializers.Serializer[Upload]):
    key = serializers.CharField()
    name = serializers.CharField(help_text="the name of the batch that is or would be loaded")
    state = serializers.ChoiceField(Upload.State.values)
    files = FileSerializer(many=True)
    queries_read = serializers.SerializerMethodField(
        help_text="the number of queries read so far; null unless files are being read or loaded"
    )
    extends = serializers.IntegerField(
        source="extends_id", allow_null=True, help_text="the batch to whose queries the files add"
    )
    error = serializers.CharField(help_text="why it was refused, in the words of the command")
    preview = serializers.SerializerMethodField()
    batch = serializers.IntegerField(source="batch_id", allow_null=True)
    created_at = serializers.DateTimeField()

    def get_queries_read(self, upload: Upload) -> int | None:
        progress = quarantine.progress(upload.key)
        return progress.done if progress and upload.state in receiving.AT_WORK else None

    @extend_schema_field(PreviewSerializer(allow_null=True))
    def get_preview(self, upload: Upload) -> dict[str, Any] | None:
        return dict(PreviewSerializer(upload).data) if upload.digest and upload.found else None


@api.list(
    "uploads/",
    "List your uploads",
    "The files that this account sent within a day, the newest first.",
    UploadSerializer,
    name="uploads",
    view={"parser_classes": [MultiPartParser], "takes_files": True},
)
def uploads_list(request: Request) -> Any:
    return visible_uploads(request.user)


def _too_often(error: TooOftenError) -> ApiError:
    return TooManyRequestsError(str(error), error.seconds)


def _no_space(error: OSError) -> ApiError:
    if error.errno not in FULL:
        raise error
    return NoSpaceError(NO_SPACE)


@api.post(
    "uploads/",
    "Send files for a batch",
    f"The files are read and checked in the background, as by `{verb_of('load_batch')}`, and "
    "nothing is loaded yet: read the upload until its `state` is `ready`, look at `preview`, "
    "then keep or discard it. An upload without a decision is deleted after a day. At most six "
    "uploads an hour, three without a decision, and TANDEM_MAX_UPLOAD_MB together.",
    UploadSerializer,
    body=NewUpload,
    media_type="multipart/form-data",
    status=202,
    raises={TooOftenError: _too_often, OSError: _no_space, InputError: 422},
    refuses=(507,),
    keyed=True,
)
def uploads_create(request: Request) -> Response:
    if not has_stored_answer(request):
        check_rate(request.user)
    # Before the body is read, so that files are streamed to the disk.
    into_files(request._request)
    data = given(request)
    return run_once(request, lambda: _receive(request, data))


def _receive(request: Request, data: dict[str, Any]) -> Response:
    upload = receive(
        request.user,
        data["files"],
        data.get("name", ""),
        data.get("format", ""),
        data.get("team", ""),
        _batch_to_extend(request, data.get("extends")),
    )
    return Response(UploadSerializer(upload).data, status=202)


def _batch_to_extend(request: Request, pk: int | None) -> Batch | None:
    if pk is None:
        return None
    batch = visible_batches(request.user).filter(pk=pk).first()
    if batch is None:
        raise RefusedBodyError(f"there is no batch {pk}; name one by its id")
    check_managed(request.user, batch)
    return batch


@api.get(
    "uploads/<slug:key>/",
    "Read an upload",
    "Its state, and the preview of its files once `state` is `ready`.",
    UploadSerializer,
    name="upload",
)
def uploads_read(request: Request, key: str) -> Upload:
    upload: Upload = get_object_or_404(visible_uploads(request.user), key=key)
    return upload


@api.post(
    "uploads/<slug:key>/keep/",
    "Keep an upload",
    "Loads the upload as a batch, all or nothing, in the background: read the upload until its "
    "`state` is `kept` and `batch` is the batch's id. Keeping it again changes nothing. 409 if "
    "it has changed since its preview, or if another batch has the name.",
    UploadSerializer,
    name="upload-keep",
    body=Decision,
    status=202,
    raises={StaleError: 409, TakenNameError: 409, InputError: 422},
    once=True,
)
def uploads_keep(request: Request, key: str) -> Upload:
    upload, data = uploads_read(request, key), given(request)
    receiving.keep(upload, data["digest"], data.get("name", ""))
    return uploads_read(request, key)


@api.post(
    "uploads/<slug:key>/discard/",
    "Discard an upload",
    "Deletes its files. 409 if it is being loaded, or has been loaded or refused.",
    UploadSerializer,
    name="upload-discard",
    raises={StaleError: 409},
    once=True,
)
def uploads_discard(request: Request, key: str) -> Upload:
    receiving.discard(uploads_read(request, key))
    return uploads_read(request, key)
