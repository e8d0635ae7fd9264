"""What stands around every request besides Django's own guards: headers, and limits of bodies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import render

from datasets.access import wants_data

Handler = Callable[[HttpRequest], HttpResponseBase]
MEGABYTE = 1024 * 1024
HOUR = 3600
UTF_8 = ("utf-8", "utf8")
PAGE = "<!doctype html><html lang=en><title>Refused</title><p>{}.</p></html>"

# No page of ours needs any of these, so no text that gets into one can ask for it.
HEADERS = {
    "Permissions-Policy": ", ".join(
        f"{feature}=()"
        for feature in (
            "accelerometer", "browsing-topics", "camera", "display-capture", "geolocation",
            "gyroscope", "hid", "magnetometer", "microphone", "midi", "payment",
            "publickey-credentials-get", "serial", "usb", "xr-spatial-tracking",
        )
    ),
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Permitted-Cross-Domain-Policies": "none",
}  # fmt: skip


def headers(handle: Handler) -> Handler:
    """Adds what the browser should know, and keeps every page out of its store.

    Whoever comes to a shared computer next could go back to a stored page after a log-out.
    """

    def handled(request: HttpRequest) -> HttpResponseBase:
        response = handle(request)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        if "no-store" not in response.headers.get("Cache-Control", ""):
            response.headers["Cache-Control"] = "private, no-store"
        return response

    return handled


class BodyGuard:
    """Refuses a body by what is announced of it, before a byte of it is read.

    Django looks only at forms, and only while it reads them: JSON for the API and files would come
    in whole. A view that takes files says so (`datasets.access.takes_files`).
    """

    def __init__(self, handle: Handler) -> None:
        self.handle = handle

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.handle(request)

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], *_: object
    ) -> HttpResponseBase | None:
        if "chunked" in request.META.get("HTTP_TRANSFER_ENCODING", "").lower():
            return refused(request, 411, "send the body's length with it (Content-Length)")
        # Django would read by whatever codec it is told, some of which give no text at all.
        if (request.content_params or {}).get("charset", "utf-8").lower() not in UTF_8:
            return refused(request, 415, "send the body in UTF-8")
        limit = _limit(request, view)
        if _length(request) > limit:
            return refused(request, 413, f"this is more than {limit / MEGABYTE:g} MB; send less")
        return None


def _limit(request: HttpRequest, view: Callable[..., Any]) -> int:
    """Forms may be longer than JSON: a letter of another script takes nine in them."""
    files = int(settings.TANDEM_MAX_UPLOAD_MB) * MEGABYTE
    if getattr(view, "takes_files", False):
        return files
    is_json = request.content_type == "application/json"
    plain = settings.LONGEST_JSON if is_json else settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    return min(files, int(plain))


def _length(request: HttpRequest) -> int:
    length = request.META.get("CONTENT_LENGTH") or "0"
    return int(length) if length.isascii() and length.isdigit() else 0


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponseBase:
    """Something that no browser and no sound script sends; the reason stays in the log."""
    return refused(request, 400, "this request cannot be read; send it again in a plainer form")


def locked(
    request: HttpRequest, response: HttpResponseBase | None = None, credentials: Any = None
) -> HttpResponseBase:
    """After too many wrong passwords: the same whether there is such an account or not."""
    page = render(request, "accounts/locked.html", status=429)
    page["Retry-After"] = str(HOUR)
    return page


def refused(request: HttpRequest, status: int, reason: str) -> HttpResponseBase:
    """A sentence for whoever sent it: as data for a script, as a page for a person."""
    if wants_data(request):
        return JsonResponse({"error": reason, "problems": []}, status=status)
    # No template that looks for the account: the request may be one that cannot be read at all.
    return HttpResponse(PAGE.format(reason[0].upper() + reason[1:]), status=status)
