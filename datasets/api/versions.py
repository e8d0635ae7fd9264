"""Changes of what somebody has seen: `If-Match` with the ETag, and 409 where it is no more so."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from typing import Any

from rest_framework.exceptions import ParseError
from rest_framework.request import Request

from datasets.api.describing import header
from datasets.api.errors import StandingError

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
