"""What every template may use."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest


def csp_nonce(request: HttpRequest) -> dict[str, object]:
    """The nonce under the name that django-htmx's tags look for."""
    return {"csp_nonce": getattr(request, "csp_nonce", "")}


def product(request: HttpRequest) -> dict[str, object]:
    return {"version": settings.TANDEM_VERSION}
