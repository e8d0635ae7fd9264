"""How the API reports an error: one sentence, and every problem that was found.

The body is `{"error": SENTENCE, "problems": [{"unit", "field", "wrong"}]}`. A conflict also holds
the current state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404
from rest_framework import exceptions

Problem = dict[str, str | None]
Body = dict[str, Any]

SENTENCES: Mapping[type[Exception], str] = {
    exceptions.ValidationError: "the request is not as described; mend what `problems` names",
    exceptions.NotAuthenticated: "send a token, as in `Authorization: Token tandem_…`; "
    "the page of tokens and `manage.py create_token` make one",
    exceptions.AuthenticationFailed: "the token is unknown or has run out; make a new one",
    exceptions.PermissionDenied: "your role may not do this; ask an admin of this site",
    PermissionDenied: "your role may not do this; ask an admin of this site",
    exceptions.NotFound: "there is no such thing here for you; check the address",
    Http404: "there is no such thing here for you; check the address",
    exceptions.MethodNotAllowed: "this address takes other methods; `Allow` says which",
    exceptions.NotAcceptable: "this address has no such form; accept application/json",
    exceptions.UnsupportedMediaType: "send the body as application/json",
    exceptions.Throttled: "too many requests; come again after the seconds that `Retry-After` says",
}


class TellingError(exceptions.APIException):
    """An error with a sentence of its own, and problems; `more` stands beside them."""

    def __init__(
        self, sentence: str, problems: list[Problem] | None = None, more: Body | None = None
    ) -> None:
        super().__init__(sentence)
        self.body: Body = {"error": sentence, "problems": problems or [], **(more or {})}


class RefusedBodyError(TellingError):
    """The request was understood, and its content cannot be taken."""

    status_code = 422


class StandingError(TellingError):
    """Something newer stands than what the client had seen."""

    status_code = 409


class BlindError(TellingError):
    """The account may read this, but not before its own work."""

    status_code = 403


class ScopeError(TellingError):
    """The account may do this, but not with this token."""

    status_code = 403


class TooLargeError(TellingError):
    status_code = 413


class NoSpaceError(TellingError):
    status_code = 507


class TooOftenHereError(TellingError):
    """More of one kind of request than an account may send; `wait` are the seconds until then."""

    status_code = 429

    def __init__(self, sentence: str, wait: int) -> None:
        super().__init__(sentence)
        self.wait = wait


def problem(wrong: str, field: str = "", unit: str = "") -> Problem:
    return {"unit": unit or None, "field": field or None, "wrong": wrong}


def body_of(error: Exception) -> Body:
    if isinstance(error, TellingError):
        return error.body
    if isinstance(error, exceptions.ValidationError):
        return {"error": _sentence(error), "problems": list(_problems(error.detail))}
    return {"error": _sentence(error), "problems": []}


def _sentence(error: Exception) -> str:
    return SENTENCES.get(type(error)) or str(error)


def _problems(detail: Any, path: str = "") -> Iterator[Problem]:
    """The leaves of DRF's nested details, each with the path to its field."""
    if isinstance(detail, Mapping):
        for name, inner in detail.items():
            own = "" if name == "non_field_errors" else str(name)
            yield from _problems(inner, ".".join(filter(None, (path, own))))
    elif isinstance(detail, (list, tuple)):
        for inner in detail:
            yield from _problems(inner, path)
    else:
        yield problem(str(detail), path)
