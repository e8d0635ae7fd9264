"""API endpoints: uploading files, their preview, and keeping or discarding them as a batch."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter, extend_schema_field
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from datasets.access import READERS
from datasets.api.base import (
    List,
    PageParameters,
    Resource,
    Strict,
    describe_endpoint,
    page_example,
    page_serializer,
    serialize,
    validate,
)
from datasets.api.concurrency import has_stored_answer, idempotent, mark_idempotent, run_once
from datasets.api.errors import (
    NoSpaceError,
    RefusedBodyError,
    StateConflictError,
    TooManyRequestsError,
)
from datasets.api.permissions import MANAGE, READ
from datasets.models import Batch, Upload
from datasets.readers import READERS as FORMATS
from datasets.teams import check_managed, visible_batches
from datasets.uploads import decisions, quarantine
from datasets.uploads.decisions import batches_with_same_content
from datasets.uploads.receiving import (
    FULL,
    NO_SPACE,
    TooOftenError,
    check_rate,
    into_files,
    receive,
    uploads_of,
)
from tandem.files.rows import InputError
from tandem.verbs import verb_of

LONGEST_NAME = Batch._meta.get_field("name").max_length
A_PREVIEW = {
    "format": "native",
    "digest": "9f2c…",
    "counts": {"queries": 2, "questions": 8, "passages": 4, "reports": 4},
    "warnings": ["pilot.jsonl, line 2: …"],
    "warning_count": 1,
    "skipped": {},
    "first": [{"id": "q1", "text": "How was the bridge built?", "more": {}}],
    "same_as": [],
}
AN_UPLOAD = {
    "key": "6b1f0c5e9d2a4f7788aa33bb44cc55dd",
    "name": "pilot",
    "state": "ready",
    "files": [{"name": "pilot.jsonl", "bytes": 51234}],
    "queries_read": None,
    "extends": None,
    "error": "",
    "preview": A_PREVIEW,
    "batch": None,
    "created_at": "2026-11-20T09:30:00Z",
}


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
        return progress.done if progress and upload.state in decisions.AT_WORK else None

    @extend_schema_field(PreviewSerializer(allow_null=True))
    def get_preview(self, upload: Upload) -> dict[str, Any] | None:
        return dict(PreviewSerializer(upload).data) if upload.digest and upload.found else None


UPLOAD_KEY = OpenApiParameter("key", str, OpenApiParameter.PATH)


class Uploads(List):
    roles = {"GET": READERS, "POST": READERS}
    scopes = {"GET": (READ, MANAGE), "POST": (MANAGE,)}
    parser_classes = [MultiPartParser]

    @describe_endpoint(
        "List your uploads",
        "The files that this account sent within a day, the newest first.",
        {200: page_serializer(UploadSerializer)},
        tag="batches",
        example=page_example(AN_UPLOAD),
        parameters=[PageParameters],
        operation_id="uploads_list",
    )
    def get(self, request: Request) -> Response:
        return self.page(visible_uploads(request.user), partial(serialize, UploadSerializer))

    @describe_endpoint(
        "Send files for a batch",
        f"The files are read and checked in the background, as by `{verb_of('load_batch')}`, and "
        "nothing is loaded yet: read the upload until its `state` is `ready`, look at `preview`, "
        "then keep or discard it. An upload without a decision is deleted after a day. At most six "
        "uploads an hour, three without a decision, and TANDEM_MAX_UPLOAD_MB together.",
        {202: UploadSerializer},
        tag="batches",
        example={**AN_UPLOAD, "state": "reading", "preview": None},
        sent={"files": ["pilot.jsonl"], "name": "pilot", "format": "native"},
        request={"multipart/form-data": NewUpload},
        status=202,
        refuses=(422, 507),
        operation_id="uploads_create",
    )
    @mark_idempotent
    def post(self, request: Request) -> Response:
        self._check_rate(request)
        try:
            data = validate(NewUpload, _parts(request))
            return run_once(request, lambda: _receive(request, data))
        except OSError as error:
            if error.errno not in FULL:
                raise
            raise NoSpaceError(NO_SPACE) from error

    def _check_rate(self, request: Request) -> None:
        """Check the rate before the files are read and streamed to the disk."""
        try:
            if not has_stored_answer(request):
                check_rate(request.user)
        except TooOftenError as error:
            raise TooManyRequestsError(str(error), error.seconds) from error
        plain: HttpRequest = request._request
        into_files(plain)


def _receive(request: Request, data: dict[str, Any]) -> Response:
    try:
        upload = receive(
            request.user,
            data["files"],
            data.get("name", ""),
            data.get("format", ""),
            data.get("team", ""),
            _batch_to_extend(request, data.get("extends")),
        )
    except TooOftenError as error:
        raise TooManyRequestsError(str(error), error.seconds) from error
    except InputError as error:
        raise RefusedBodyError(str(error)) from error
    return Response(UploadSerializer(upload).data, status=202)


def _batch_to_extend(request: Request, pk: int | None) -> Batch | None:
    if pk is None:
        return None
    batch = visible_batches(request.user).filter(pk=pk).first()
    if batch is None:
        raise RefusedBodyError(f"there is no batch {pk}; name one by its id")
    check_managed(request.user, batch)
    return batch


class OneUpload(Resource):
    roles = {"GET": READERS}
    scopes = {"GET": (READ, MANAGE)}

    @describe_endpoint(
        "Read an upload",
        "Its state, and the preview of its files once `state` is `ready`.",
        {200: UploadSerializer},
        tag="batches",
        example=AN_UPLOAD,
        parameters=[UPLOAD_KEY],
        operation_id="uploads_read",
    )
    def get(self, request: Request, key: str) -> Response:
        return Response(UploadSerializer(_upload(request.user, key)).data)


class KeepUpload(Resource):
    roles = {"POST": READERS}
    scopes = {"POST": (MANAGE,)}

    @describe_endpoint(
        "Keep an upload",
        "Loads the upload as a batch, all or nothing, in the background: read the upload until its "
        "`state` is `kept` and `batch` is the batch's id. Keeping it again changes nothing. 409 if "
        "it has changed since its preview, or if another batch has the name.",
        {202: UploadSerializer},
        tag="batches",
        example={**AN_UPLOAD, "state": "keeping"},
        sent={"digest": "9f" * 32, "name": "pilot"},
        request=Decision,
        status=202,
        refuses=(409, 422),
        parameters=[UPLOAD_KEY],
        operation_id="uploads_keep",
    )
    @idempotent
    def post(self, request: Request, key: str) -> Response:
        upload, data = _upload(request.user, key), validate(Decision, request.data)
        try:
            decisions.keep(upload, data["digest"], data.get("name", ""))
        except (decisions.StaleError, decisions.TakenNameError) as error:
            raise StateConflictError(str(error)) from error
        except InputError as error:
            raise RefusedBodyError(str(error)) from error
        return Response(UploadSerializer(_upload(request.user, key)).data, status=202)


class DiscardUpload(Resource):
    roles = {"POST": READERS}
    scopes = {"POST": (MANAGE,)}

    @describe_endpoint(
        "Discard an upload",
        "Deletes its files. 409 if it is being loaded, or has been loaded or refused.",
        {200: UploadSerializer},
        tag="batches",
        example={**AN_UPLOAD, "state": "discarded", "preview": None},
        refuses=(409,),
        parameters=[UPLOAD_KEY],
        operation_id="uploads_discard",
    )
    @idempotent
    def post(self, request: Request, key: str) -> Response:
        try:
            decisions.discard(_upload(request.user, key))
        except decisions.StaleError as error:
            raise StateConflictError(str(error)) from error
        return Response(UploadSerializer(_upload(request.user, key)).data)


def _upload(user: Any, key: str) -> Upload:
    upload: Upload = get_object_or_404(visible_uploads(user), key=key)
    return upload


def _parts(request: Request) -> dict[str, Any]:
    """Return a form's parts: `files` as a list, and one value of each other part."""
    parts: Any = request.data
    if "files" not in parts:
        return dict(parts.items())
    return {**parts.dict(), "files": parts.getlist("files")}
