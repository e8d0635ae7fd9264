"""How the API reports an error: one sentence, and every problem that was found.

The body is `{"error": SENTENCE, "problems": [{"unit", "field", "wrong"}]}`. A conflict also holds
the current state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404
from rest_framework import exceptions

from tandem.verbs import verb_of

Problem = dict[str, str | None]
Body = dict[str, Any]

SENTENCES: Mapping[type[Exception], str] = {
    exceptions.ValidationError: "the request does not match its description; correct what "
    "`problems` names",
    exceptions.NotAuthenticated: "send a token, as in `Authorization: Token tandem_…`; "
    f"create one on the page of tokens or by `{verb_of('create_token')}`",
    exceptions.AuthenticationFailed: "the token is not valid: it is mistyped, has expired or "
    "was revoked, as by a new password or role of its account; create a new one",
    exceptions.PermissionDenied: "your role may not do this; ask an admin of this site",
    PermissionDenied: "your role may not do this; ask an admin of this site",
    exceptions.NotFound: "not found, or not visible to this account; check the address",
    Http404: "not found, or not visible to this account; check the address",
    exceptions.MethodNotAllowed: "this address has other methods; `Allow` lists them",
    exceptions.NotAcceptable: "this address has no such format; accept application/json",
    exceptions.UnsupportedMediaType: "send the body as application/json",
    exceptions.Throttled: "too many requests; try again after the seconds in `Retry-After`",
}


class ApiError(exceptions.APIException):
    """An error with its own sentence and problems; `more` holds further keys of the body."""

    def __init__(
        self, sentence: str, problems: list[Problem] | None = None, more: Body | None = None
    ) -> None:
        super().__init__(sentence)
        self.body: Body = {"error": sentence, "problems": problems or [], **(more or {})}


class RefusedBodyError(ApiError):
    """The request is well-formed, but its content is not valid."""

    status_code = 422


class StateConflictError(ApiError):
    """The state has changed since the client read it."""

    status_code = 409


class BlindError(ApiError):
    """The account may read this only after its own work."""

    status_code = 403


class ScopeError(ApiError):
    """The account may do this, but not with this token."""

    status_code = 403


class TooLargeError(ApiError):
    status_code = 413


class NoSpaceError(ApiError):
    status_code = 507


class TooManyRequestsError(ApiError):
    """More requests of one kind than an account may send; `wait` is the seconds to wait."""

    status_code = 429

    def __init__(self, sentence: str, wait: int) -> None:
        super().__init__(sentence)
        self.wait = wait


def problem(wrong: str, field: str = "", unit: str = "") -> Problem:
    return {"unit": unit or None, "field": field or None, "wrong": wrong}


def refusal(sentence: str = "", field: str = "") -> Callable[[Exception], RefusedBodyError]:
    """Return how an endpoint refuses a body for an error of the domain: see `Endpoint.raises`.

    By default the sentence is the error's own, and so is the field.
    """

    def refused(error: Exception) -> RefusedBodyError:
        wrong = problem(str(error), field or getattr(error, "field", ""))
        return RefusedBodyError(sentence or str(error), [wrong])

    return refused


def body_of(error: Exception) -> Body:
    if isinstance(error, ApiError):
        return error.body
    if isinstance(error, exceptions.ValidationError):
        return {"error": _sentence(error), "problems": list(_problems(error.detail))}
    return {"error": _sentence(error), "problems": []}


def _sentence(error: Exception) -> str:
    return SENTENCES.get(type(error)) or str(error)


def _problems(detail: Any, path: str = "") -> Iterator[Problem]:
    """Yield the leaves of DRF's nested details, each with the path to its field."""
    if isinstance(detail, Mapping):
        for name, inner in detail.items():
            own = "" if name == "non_field_errors" else str(name)
            yield from _problems(inner, ".".join(filter(None, (path, own))))
    elif isinstance(detail, (list, tuple)):
        for inner in detail:
            yield from _problems(inner, path)
    else:
        yield problem(str(detail), path)
