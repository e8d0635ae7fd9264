"""Sessions end: half a day after the last request, and a week after the log-in in any case."""

from __future__ import annotations

import time
from collections.abc import Callable

from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponseBase

IDLE, LONGEST = 12 * 3600, 7 * 24 * 3600
NOTED = 600  # seen is written down at most so often, since it costs a write
BEGAN, SEEN = "began", "seen"


def sessions_end(handle: Callable[[HttpRequest], HttpResponseBase]) -> Callable[..., object]:
    def handled(request: HttpRequest) -> HttpResponseBase:
        if request.session.session_key and "_auth_user_id" in request.session:
            _look(request, int(time.time()))
        return handle(request)

    return handled


def _look(request: HttpRequest, now: int) -> None:
    session = request.session
    began, seen = session.get(BEGAN, now), session.get(SEEN, now)
    if now - seen > IDLE or now - began > LONGEST:
        logout(request)
    elif BEGAN not in session or now - seen > NOTED:
        session[BEGAN], session[SEEN] = began, now
