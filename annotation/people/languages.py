"""The language of annotators' pages: an account's choice, else that of the browser.

Researchers' pages are in English, whatever somebody's browser prefers.
"""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import translation

from annotation.models import User

ENGLISH = "en"


def languages(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[..., HttpResponse]:
    """Answer each request in its reader's language."""

    def middleware(request: HttpRequest) -> HttpResponse:
        with translation.override(language_of(request)):
            response = get_response(request)
            response.headers.setdefault("Content-Language", translation.get_language())
        return response

    return middleware


def language_of(request: HttpRequest) -> str:
    """Return the language of a request's reader."""
    user = request.user
    if isinstance(user, User):
        if user.role != User.Role.ANNOTATOR:
            return ENGLISH
        if user.language in dict(settings.LANGUAGES):
            return user.language
    return translation.get_language_from_request(request)


def set_language(user: User, language: str) -> bool:
    """Store an account's choice; empty follows the browser. Returns False for an unknown one."""
    if language and language not in dict(settings.LANGUAGES):
        return False
    user.language = language
    user.save(update_fields=["language"])
    return True
