"""The headers `If-Match` (change only what you have seen) and `Idempotency-Key` (write only once).

The object that a request creates and the answer to the request are stored in one transaction. So
the second of two equal requests waits for the first, and a process that dies leaves neither.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import wraps
from typing import Any, TypeVar

from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from rest_framework.exceptions import ParseError
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from datasets.api.base import header
from datasets.api.errors import RefusedBodyError, StandingError, problem
from datasets.models import KeptAnswer

TAG = re.compile(r'(?:W/)?"([!#-~]{1,80})"')
IF_MATCH = header(
    "If-Match",
    "The ETag of what one had seen: 409 where it has changed since. Without it the last one holds.",
)


def etag_of(*facts: Any) -> str:
    """The same for the same facts, which are what JSON can say, moments and None."""
    told = json.dumps(facts, sort_keys=True, default=str)
    return f'"{hashlib.sha256(told.encode()).hexdigest()[:20]}"'


def check_seen(request: Request, etag: str, current: Callable[[], Any]) -> None:
    """Raises StandingError with what stands, where the client had seen something else."""
    sent = request.headers.get("If-Match")
    if sent is None or sent.strip() == "*":
        return
    tags = [TAG.fullmatch(each.strip()) for each in sent.split(",")]
    if not all(tags):
        raise ParseError('If-Match holds no ETag, such as "3f2a…" in its quotes; mend it')
    if etag.strip('"') not in {each[1] for each in tags if each}:
        raise StandingError(
            "it has changed since you read it; look at `current`, and send again with its ETag",
            more={"current": current()},
        )


HEADER = "Idempotency-Key"
KEY = re.compile(r"[!-~]{1,64}")
LASTS = timedelta(hours=24)
REUSED = "this Idempotency-Key came with another request before; make a new key for each write"
Method = TypeVar("Method", bound=Callable[..., Any])


def keyed(method: Method) -> Method:
    """Marks a method that heeds the key, for the description."""
    method.keyed = True  # type: ignore[attr-defined]
    return method


def once(method: Callable[..., Response]) -> Callable[..., Response]:
    """A method whose whole work is stored with its answer; it has to end soon, and in one go."""

    @wraps(method)
    def kept(self: Any, request: Request, *args: Any, **kwargs: Any) -> Response:
        return done_once(request, lambda: method(self, request, *args, **kwargs))

    return keyed(kept)


def done_once(
    request: Request, make: Callable[[], Response], hidden: tuple[str, ...] = ()
) -> Response:
    """What `make` answers, or what it answered to this key before. What is refused is not kept.

    Of the answer that is kept, the fields in `hidden` are null: a secret is told once. Raises
    ParseError for a key of another form, RefusedBodyError where it came with another request.
    """
    key = key_of(request)
    if key is None:
        return make()
    user: Any = request.user
    mine = visible_kept(user)
    mine.filter(created_at__lt=timezone.now() - LASTS).delete()
    asked = digest_of(request)
    with transaction.atomic():
        row, is_new = mine.get_or_create(key=key, defaults={"user": user, "asked": asked})
        if not is_new:
            return _again(row, asked)
        response = make()
        _keep(row, response, hidden)
    return response


def key_of(request: Request) -> str | None:
    """The key of a request, if it has one. Raises ParseError."""
    key = request.headers.get(HEADER)
    if key is not None and not KEY.fullmatch(key):
        raise ParseError(f"{HEADER} is not 1 to 64 printable ASCII characters; mend it")
    return key


def came_before(request: Request) -> bool:
    """Whether a write with this key was answered already."""
    key = key_of(request)
    return key is not None and visible_kept(request.user).filter(key=key).exists()


def visible_kept(user: Any) -> QuerySet[KeptAnswer]:
    return KeptAnswer.objects.filter(user=user)


def _again(row: KeptAnswer, asked: str) -> Response:
    if row.asked != asked:
        raise RefusedBodyError(REUSED, [problem(REUSED, HEADER)])
    data = json.loads(row.body) if row.body else None
    return Response(data, status=row.status, headers={"ETag": row.etag} if row.etag else None)


def _keep(row: KeptAnswer, response: Response, hidden: tuple[str, ...]) -> None:
    data = response.data
    if hidden:
        data = {**data, **dict.fromkeys(hidden)}
    row.status = response.status_code
    row.body = "" if data is None else JSONRenderer().render(data).decode()
    row.etag = response.headers.get("ETag", "")
    row.save()


def digest_of(request: Request) -> str:
    """Of the address and all that was sent, however JSON was set out."""
    found = hashlib.sha256()
    for part in (f"{request.method} {request.get_full_path()}".encode(), *_parts(request.data)):
        found.update(len(part).to_bytes(8, "big") + part)
    return found.hexdigest()


def _parts(data: Any) -> Iterator[bytes]:
    if not hasattr(data, "lists"):
        yield json.dumps(data, sort_keys=True).encode()
        return
    for name, values in sorted(data.lists()):
        for value in values:
            yield name.encode()
            yield from _pieces(value) if isinstance(value, UploadedFile) else (str(value).encode(),)


def _pieces(file: UploadedFile) -> Iterator[bytes]:
    yield (file.name or "").encode()
    content = hashlib.sha256()
    for chunk in file.chunks():
        content.update(chunk)
    file.seek(0)
    yield content.digest()
