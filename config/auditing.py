"""Tells the audit trail on whose behalf things happen."""

from __future__ import annotations

from functools import partial

from django.http import HttpRequest, HttpResponseBase

from audit.asking import Asking, address_class, on_behalf
from config.requests import Handler
from datasets.access import client_address


def requests_told(handle: Handler) -> Handler:
    """Everything that is written down while a request is answered names it and its account."""

    def handled(request: HttpRequest) -> HttpResponseBase:
        address = address_class(client_address(request))
        with on_behalf(Asking(partial(_who, request), getattr(request, "id", ""), address)):
            return handle(request)

    return handled


def _who(request: HttpRequest) -> int | None:
    user = getattr(request, "user", None)
    return user.pk if user is not None and user.is_authenticated else None
