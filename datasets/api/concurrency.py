"""What guards repeated requests: `If-Match`, `Idempotency-Key`, and rate limits by account.

A request's change and its answer are stored in one transaction. So the second of two equal requests
waits for the first, and a process that dies leaves neither change nor answer.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.core.cache import cache
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpResponse
from django.utils import timezone
from rest_framework.exceptions import ParseError
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.settings import api_settings
from rest_framework.throttling import BaseThrottle

from datasets.api.base import RefusedBodyError, StateConflictError, header, problem
from datasets.models import KeptAnswer

TAG = re.compile(r'(?:W/)?"([!#-~]{1,80})"')
IF_MATCH = header(
    "If-Match",
    "The ETag that the client read: 409 if it has changed since. Without it the last write wins.",
)


def etag_of(*facts: Any) -> str:
    """Return an ETag of facts, each of which is a value for JSON or a time."""
    text = json.dumps(facts, sort_keys=True, default=str)
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:20]}"'


def check_etag(request: Request, etag: str, current: Callable[[], Any]) -> None:
    """Raise StateConflictError with the current state if the client read another one."""
    sent = request.headers.get("If-Match")
    if sent is None or sent.strip() == "*":
        return
    matches = [TAG.fullmatch(each.strip()) for each in sent.split(",")]
    tags = [match[1] if match else None for match in matches]
    if None in tags:
        raise ParseError('If-Match is not an ETag such as "3f2a…", with its quotes; correct it')
    if etag.strip('"') not in tags:
        raise StateConflictError(
            "it has changed since you read it; look at `current`, and send again with its ETag",
            more={"current": current()},
        )


HEADER = "Idempotency-Key"
KEY = re.compile(r"[!-~]{1,64}")
KEY_LIFETIME = timedelta(hours=24)
REUSED = "this Idempotency-Key was used for another request; use a new key for each write"


def run_once(
    request: Request, respond: Callable[[], Response], hidden: tuple[str, ...] = ()
) -> Response:
    """Call `respond` and store its answer, or return the answer stored for the request's key.

    Errors are not stored, and the fields in `hidden` are stored as null, so that a secret is sent
    only once. Raises ParseError for an invalid key, and RefusedBodyError if the key was used for
    another request.
    """
    key = key_of(request)
    if key is None:
        return respond()
    user: Any = request.user
    own = visible_answers(user)
    own.filter(created_at__lt=timezone.now() - KEY_LIFETIME).delete()
    digest = digest_of(request)
    with transaction.atomic():
        row, is_new = own.get_or_create(key=key, defaults={"user": user, "asked": digest})
        if not is_new:
            return _stored_response(row, digest)
        response = respond()
        _store(row, response, hidden)
    return response


def key_of(request: Request) -> str | None:
    """Return the key of a request, if it has one. Raises ParseError for an invalid key."""
    key = request.headers.get(HEADER)
    if key is not None and not KEY.fullmatch(key):
        raise ParseError(f"{HEADER} is not 1 to 64 printable ASCII characters; correct it")
    return key


def has_stored_answer(request: Request) -> bool:
    """Return whether a write with the request's key has been answered."""
    key = key_of(request)
    return key is not None and visible_answers(request.user).filter(key=key).exists()


def visible_answers(user: Any) -> QuerySet[KeptAnswer]:
    return KeptAnswer.objects.filter(user=user)


def _stored_response(row: KeptAnswer, digest: str) -> Response:
    if row.asked != digest:
        raise RefusedBodyError(REUSED, [problem(REUSED, HEADER)])
    data = json.loads(row.body) if row.body else None
    return Response(data, status=row.status, headers={"ETag": row.etag} if row.etag else None)


def _store(row: KeptAnswer, response: Response, hidden: tuple[str, ...]) -> None:
    data = response.data
    if hidden:
        data = {**data, **dict.fromkeys(hidden)}
    row.status = response.status_code
    row.body = "" if data is None else JSONRenderer().render(data).decode()
    row.etag = response.headers.get("ETag", "")
    row.save()


def digest_of(request: Request) -> str:
    """Return a digest of the address and the body, whatever the layout of its JSON."""
    digest = hashlib.sha256()
    for part in (f"{request.method} {request.get_full_path()}".encode(), *_parts(request.data)):
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def _parts(data: Any) -> Iterator[bytes]:
    if not hasattr(data, "lists"):
        yield json.dumps(data, sort_keys=True).encode()
        return
    for name, values in sorted(data.lists()):
        for value in values:
            yield name.encode()
            yield from _file(value) if isinstance(value, UploadedFile) else (str(value).encode(),)


def _file(file: UploadedFile) -> Iterator[bytes]:
    yield (file.name or "").encode()
    content = hashlib.sha256()
    for chunk in file.chunks():
        content.update(chunk)
    file.seek(0)
    yield content.digest()


if TYPE_CHECKING:
    # DRF's views import this module while they are being loaded.
    from rest_framework.views import APIView

SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86400}


class PerUser(BaseThrottle):
    """Limits the requests of an account in each window of time.

    Counting is one atomic step of the cache, so simultaneous requests cannot slip through together.
    Processes without a shared cache count separately.
    """

    scope = "user"

    def allow_request(self, request: Request, view: APIView) -> bool:
        limit = _limit(self.scope)
        if limit is None:
            return True
        most, self.window = limit
        return _count(self.key(request, view), self.window) <= most

    def key(self, request: Request, view: APIView) -> str:
        return f"limit:{self.scope}:{request.user.pk}:{_now() // self.window}"

    def wait(self) -> float:
        return self.window - _now() % self.window


class PerExport(PerUser):
    """Limits streamed exports of one campaign. Fetching the result of a job is not counted."""

    scope = "export"

    def allow_request(self, request: Request, view: APIView) -> bool:
        return "job" in request.query_params or super().allow_request(request, view)

    def key(self, request: Request, view: APIView) -> str:
        return f"{super().key(request, view)}:{view.kwargs.get('pk')}"


class PerReport(PerUser):
    """Limits reports, each of which takes seconds of processor time."""

    scope = "report"


class PerImport(PerUser):
    """Limits imports of labels, since one request holds thousands."""

    scope = "import"


def seconds_to_wait(scope: str, who: object, *of: object) -> int | None:
    """Count a request from a page, together with the API's; return None if it is allowed.

    `who` is an account's number, or a network address without an account.
    """
    limit = _limit(scope)
    if limit is None:
        return None
    most, window = limit
    key = ":".join(map(str, (f"limit:{scope}:{who}:{_now() // window}", *of)))
    return None if _count(key, window) <= most else window - _now() % window


def try_again_after(seconds: int, refused: HttpResponse) -> HttpResponse:
    """Return the page of a refusal with the header that says when to try again."""
    refused["Retry-After"] = str(seconds)
    return refused


def _limit(scope: str) -> tuple[int, int] | None:
    """Return the number of requests of a kind that are allowed, and in how many seconds."""
    rates: Mapping[str, Any] = api_settings.DEFAULT_THROTTLE_RATES
    most, _, per = str(rates.get(scope) or "").partition("/")
    return (int(most), SECONDS[per]) if most else None


def _count(key: str, seconds: int) -> int:
    cache.add(key, 0, timeout=2 * seconds)
    try:
        return cache.incr(key)
    except ValueError:
        # The cache evicted the key in the meantime.
        cache.set(key, 1, timeout=2 * seconds)
        return 1


def _now() -> int:
    return int(time.time())
