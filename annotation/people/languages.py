"""The language of annotators' pages: the account's choice, or else the browser's.

Researchers' pages are in English, whatever the browser prefers.
"""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import translation
from django.utils.formats import number_format
from django.utils.translation import gettext

from annotation.models import User
from datasets.text import as_sentence
from tandem.messages import Message, Value, Word

ENGLISH = "en"


def languages(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[..., HttpResponse]:
    """Answer each request in its reader's language."""

    def middleware(request: HttpRequest) -> HttpResponse:
        with translation.override(language_of(request)):
            # For an error page that an outer middleware renders.
            request.LANGUAGE_CODE = translation.get_language()
            response = get_response(request)
            response.headers.setdefault("Content-Language", translation.get_language())
        return response

    return middleware


def language_of(request: HttpRequest) -> str:
    """Return the language of a request's reader. A program that calls the API reads English."""
    if request.path_info.startswith("/api/"):
        return ENGLISH
    user = request.user
    if isinstance(user, User):
        if user.role != User.Role.ANNOTATOR:
            return ENGLISH
        if user.language in dict(settings.LANGUAGES):
            return user.language
    return translation.get_language_from_request(request)


def translated(message: str) -> str:
    """Return a message in the reader's language, with words instead of codes.

    Text that is not a message, such as a name, stays as it is.
    """
    if isinstance(message, Word):
        known = message.word
        return translated(known) if isinstance(known, Message) else gettext(known)
    if not isinstance(message, Message):
        return message
    template = gettext(message.template) if message.template else ""
    values = {name: _translated_value(value) for name, value in message.values.items()}
    return template % values if values else template


def _translated_value(value: Value) -> str:
    if isinstance(value, int):
        return number_format(value, force_grouping=True)
    return translated(value) if isinstance(value, str) else ", ".join(map(translated, value))


def sentence(error: Exception) -> str:
    """Return an error's message as a sentence in the reader's language."""
    said = error.args[0] if error.args else ""
    return as_sentence(translated(said if isinstance(said, str) else str(error)))


def set_language(user: User, language: str) -> bool:
    """Store an account's choice; empty follows the browser. Returns False for an unknown one."""
    if language and language not in dict(settings.LANGUAGES):
        return False
    user.language = language
    user.save(update_fields=["language"])
    return True
