"""Pages of uploads: sending files, watching them being read, keeping or discarding them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import FileUploadHandler, StopUpload
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from datasets import readers
from datasets.access import (
    READERS,
    check_managed,
    role_required,
    takes_files,
    team_choice,
    visible_batch,
    wants_data,
)
from datasets.api.concurrency import try_again_after
from datasets.models import Batch, Upload
from datasets.uploads import receiving
from datasets.uploads.receiving import (
    FULL,
    NO_SPACE,
    TooOftenError,
    check_rate,
    into_files,
    receive,
    upload_context,
    uploads_of,
)
from tandem.files.rows import InputError

LONGEST_NUMBER = 18
"""Digits of a primary key that the database can compare."""


class _Reject(FileUploadHandler):
    """Stops an upload that is not allowed before its bytes are read."""

    def new_file(self, *_: object, **__: object) -> None:
        raise StopUpload(connection_reset=True)

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes | None:
        return None

    def file_complete(self, file_size: int) -> UploadedFile | None:
        return None


# CSRF protection reads the body, so the upload handler must be set before it runs.
@takes_files
@csrf_exempt
def upload(request: HttpRequest) -> HttpResponseBase:
    """Show the form; on POST, stream the files into the quarantine."""
    if request.method == "POST":
        if _may_send(request):
            into_files(request)
        else:
            request.upload_handlers = [_Reject(request)]
    try:
        return _guarded(request)
    except OSError as error:
        if error.errno not in FULL:
            raise
        return _refusal(request, NO_SPACE, 507)


def _may_send(request: HttpRequest) -> bool:
    if not request.user.is_authenticated or request.user.role not in READERS:
        return False
    try:
        check_rate(request.user)
    except TooOftenError:
        return False
    return True


@csrf_protect
@require_http_methods(["GET", "HEAD", "POST"])
@role_required(*READERS)
def _guarded(request: HttpRequest) -> HttpResponse:
    try:
        check_rate(request.user)
        if request.method != "POST":
            return _form(request)
        files, data = request.FILES.getlist("files"), request.POST
        name, format, team = (data.get(each, "") for each in ("name", "format", "team"))
        created = receive(request.user, files, name, format, team, _batch_to_extend(request))
    except TooOftenError as error:
        status = 429 if request.method == "POST" else 200
        return try_again_after(error.seconds, _refusal(request, str(error), status))
    except InputError as error:
        return _refusal(request, str(error), 422)
    address = reverse("upload", args=[created.key])
    if wants_data(request):
        return JsonResponse({"address": address}, status=201)
    return redirect(address)


def _batch_to_extend(request: HttpRequest) -> Batch | None:
    """Return the batch that the files add to, if they do. Raises Http404 and NotManagedError."""
    given = _given(request).get("extends", "")
    if not given:
        return None
    if not given.isdecimal() or len(given) > LONGEST_NUMBER:
        raise Http404
    batch = visible_batch(request.user, int(given))
    check_managed(request.user, batch)
    return batch


def _refusal(request: HttpRequest, reason: str, status: int) -> HttpResponse:
    if wants_data(request):
        return JsonResponse({"error": reason, "problems": []}, status=status)
    return _form(request, reason, status)


def _given(request: HttpRequest) -> Mapping[str, str]:
    """Return what was entered beside the files: in the form, or for the upload that is repeated."""
    if request.method == "POST":
        return request.POST
    if not (key := request.GET.get("again", "")):
        return request.GET
    earlier = _own_upload(request, key)
    return {
        "name": earlier.name,
        "format": earlier.format,
        "team": earlier.team.name if earlier.team else "",
        "extends": str(earlier.extends_id or ""),
    }


def _form(request: HttpRequest, error: str = "", status: int = 200) -> HttpResponse:
    data = _given(request)
    context = {
        "error": error,
        "too_often": "uploads per hour" in error,
        "name": data.get("name", ""),
        "format": data.get("format", ""),
        "formats": {name: reader.SUMMARY for name, reader in readers.READERS.items()},
        "most_mb": settings.TANDEM_MAX_UPLOAD_MB,
        "extends": _batch_to_extend(request),
        **team_choice(request.user, data.get("team", "")),
    }
    return render(request, "batches/upload.html", context, status=status)


@require_safe
@role_required(*READERS)
def one_upload(request: HttpRequest, key: str) -> HttpResponse:
    return _page(request, _own_upload(request, key))


@require_safe
@role_required(*READERS)
def live(request: HttpRequest, key: str) -> HttpResponse:
    """Render the live part of the page. After the work has ended, htmx reloads the whole page."""
    context = upload_context(_own_upload(request, key))
    response = render(request, "batches/_upload_live.html", context)
    if not context["at_work"] and request.headers.get("HX-Request"):
        response["HX-Refresh"] = "true"
    return response


@require_POST
@role_required(*READERS)
def order(request: HttpRequest, key: str) -> HttpResponse:
    """Keep, discard, read again, or work on the upload beside the web server, as `order` says."""
    found = _own_upload(request, key)
    ordered = ORDERS.get(request.POST.get("order", ""))
    if ordered is None:
        return _page(request, found, "choose whether to keep or discard it", 422)
    try:
        ordered(found, request)
    except (receiving.StaleError, receiving.TakenNameError) as error:
        return _page(request, found, str(error), 409)
    except InputError as error:
        return _page(request, found, str(error), 422)
    return redirect("upload", found.key)


ORDERS: dict[str, Callable[[Upload, HttpRequest], None]] = {
    "keep": lambda found, request: receiving.keep(
        found, request.POST.get("seen", ""), request.POST.get("name", "")
    ),
    "discard": lambda found, request: receiving.discard(found),
    "read": lambda found, request: receiving.restart_reading(found, request.POST.get("format", "")),
    "begin": lambda found, request: receiving.begin_here(found),
}


def _page(
    request: HttpRequest, found: Upload, problem: str = "", status: int = 200
) -> HttpResponse:
    context = upload_context(found) | {"problem": problem, "formats": readers.READERS}
    context["name"] = request.POST.get("name") or found.name
    return render(request, "batches/upload_state.html", context, status=status)


def _own_upload(request: HttpRequest, key: str) -> Upload:
    return get_object_or_404(uploads_of(request.user).select_related("batch", "team"), key=key)
