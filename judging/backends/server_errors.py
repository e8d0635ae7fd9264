"""What a server's error says: its words on one line, its status, and what it is about.

Servers write errors in many forms, and some send them with the status 200. Texts that servers
quote from a request are not searched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from judging.backends.base import JSON
from tandem.labels.file.rows import Reason

SHOWN, SEARCHED = 300, 4000
_STATUS_KEYS = (
    "code", "status", "status_code", "statusCode", "http_status", "http_code", "httpCode",
)  # fmt: skip
_WORD_KEYS = ("code", "status", "type", "error_type", "__type")
_MESSAGES = ("message", "msg", "detail", "error_description", "error_msg", "title")
_ANSWERS = ("choices", "output", "content", "answers", "data", "response")
# The statuses for which servers have words, in letters alone.
_STATUSES: Mapping[int, tuple[str, ...]] = {
    400: (
        "invalidrequesterror", "invalidrequest", "invalidargument", "badrequest", "badrequesterror",
        "invalidprompt", "contextlengthexceeded", "exceedcontextsizeerror", "contentfilter",
        "failedprecondition", "validationerror", "unprocessableentity",
    ),
    401: (
        "authenticationerror", "invalidapikey", "invalidauthentication", "unauthenticated",
        "unauthorized", "apikeyinvalid", "accessdeniedinvalidkey", "expiredapikey",
    ),
    402: ("billingerror", "paymentrequired", "insufficientbalance", "insufficientcredits"),
    403: ("permissionerror", "permissiondenied", "forbidden", "accessdenied"),
    404: ("notfounderror", "notfound", "modelnotfound", "modelnotfounderror"),
    413: ("requesttoolarge",),
    429: (
        "ratelimiterror", "ratelimitexceeded", "ratelimit", "toomanyrequests", "resourceexhausted",
        "throttlingexception", "throttling", "insufficientquota",
    ),
    500: ("servererror", "internalservererror", "internalerror", "internal", "apierror"),
    502: ("badgateway", "upstreamerror", "providererror"),
    503: ("unavailable", "serviceunavailable", "serviceunavailableerror", "overloaded"),
    504: ("timeouterror", "deadlineexceeded", "gatewaytimeout"),
    529: ("overloadederror",),
}  # fmt: skip
_STATUS_OF = {word: status for status, words in _STATUSES.items() for word in words}
_BAD_KEY = (
    "api key not valid", "api_key_invalid", "invalid api key", "invalid_api_key", "api key expired",
    "api key is invalid", "api key is not valid", "incorrect api key", "valid api key",
    "missing api key", "invalid access token", "invalid token provided", "api key not found",
)  # fmt: skip
_CONTEXT = (
    "context_length", "context length", "context window", "contextwindow", "context size",
    "context_size", "context limit", "maximum context", "maximum model length",
)  # fmt: skip
_TOO_LONG = (
    *_CONTEXT, "max_model_len", "maximum prompt length", "maximum input length",
    "max input length", "too long",
    "maximum number of tokens", "reduce the length", "too many input tokens",
    "exceeded model token limit", "range of input length", "`inputs` must have less than",
    "`max_new_tokens` must be <=", "max_tokens must be at least 1, got -", "prompt is too large",
    "too large for model with", "prompt contains too many tokens", "exceeds max input tokens",
    "too many tokens: total", "exceeds the model's maximum",
)  # fmt: skip
# OpenAI's words for a prompt that it will not answer.
_REFUSED = ("invalid_prompt", "invalid prompt: your prompt was flagged")
_FILTERED = (
    "content_filter", "content filter", "content management policy",
    "content_policy", "content policy", "responsibleaipolicyviolation", "data_inspection_failed",
    "usage policy", "usage policies", "input was flagged", "flagged for", "prohibited_content",
    "safety_check", "moderation_blocked",
)  # fmt: skip


@dataclass(frozen=True)
class ServerError:
    """An error in a body: its words on one line, and the status that it names, if any.

    `searched` is what the server itself says about the request, in lower case.
    """

    words: str = ""
    status: int | None = None
    searched: str = ""

    @property
    def is_of_key(self) -> bool:
        return self._says(_BAD_KEY)

    @property
    def reason(self) -> Reason | None:
        """The missing reason of a request that is refused for its text."""
        kinds: Mapping[Reason, tuple[str, ...]] = {
            "refused": _REFUSED, "filtered": _FILTERED, "too-long": _TOO_LONG,
        }  # fmt: skip
        found = (reason for reason, every in kinds.items() if self._says(every))
        return next(found, None)

    @property
    def exceeds_context(self) -> bool:
        """Whether the prompt does not fit, in words that no broken server uses."""
        return self._says(_CONTEXT)

    def _says(self, every: tuple[str, ...]) -> bool:
        return any(words in self.searched for words in every)


NO_ERROR = ServerError()


def error_of(body: Any) -> ServerError:
    """Return the error of a body that is known to be one."""
    found = _found(body)
    if not isinstance(found, dict):
        text = " ".join(str(found).split()) if found is not None else ""
        return ServerError(text[:SHOWN], searched=text[:SEARCHED].lower())
    text = " ".join(" ".join(_words(found)).split())
    kinds = " ".join(str(found[key]) for key in _WORD_KEYS if isinstance(found.get(key), str))
    return ServerError(text[:SHOWN], _status(found), f"{text} {kinds}"[:SEARCHED].lower())


def error_within(body: JSON) -> ServerError:
    """Return the error in a body with a good status, `NO_ERROR` if it names no status."""
    choices = body.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    if body.get("error"):
        error = error_of(body)
    elif isinstance(first, dict) and first.get("error"):
        error = error_of(first)
    elif not any(name in body for name in _ANSWERS) or body.get("success") is False:
        error = error_of(body)
    else:
        return NO_ERROR
    return error if error.status else NO_ERROR


def _found(body: Any) -> Any:
    """Return the innermost error: of `error`, or the first of a list of errors."""
    for _ in range(4):
        if isinstance(body, list) and len(body) == 1:
            body = body[0]
        elif isinstance(body, dict) and body.get("error"):
            body = body["error"]
        elif isinstance(body, dict) and (listed := _listed(body)):
            body = listed[0]
        else:
            break
    return {} if isinstance(body, dict) and body.get("error", body) in (None, {}) else body


def _listed(body: JSON) -> list[Any]:
    every = (body.get(name) for name in ("errors", "detail"))
    return next((each for each in every if isinstance(each, list)), [])


def _words(error: JSON) -> Iterator[str]:
    message = next((error[key] for key in _MESSAGES if error.get(key) is not None), None)
    if message is not None:
        yield str(message)
    if error.get("code") is not None:
        yield str(error["code"])
    # A router repeats the words of the provider behind it.
    metadata = error.get("metadata")
    if isinstance(metadata, dict) and isinstance(metadata.get("raw"), str):
        yield metadata["raw"]


def _status(error: JSON) -> int | None:
    values = [error[key] for key in _STATUS_KEYS if key in error]
    numbers = [_number(value) for value in values]
    if numbers := [number for number in numbers if number]:
        return numbers[0]
    words = [error[key] for key in _WORD_KEYS if isinstance(error.get(key), str)]
    letters = (re.sub("[^a-z]", "", word.rpartition("#")[2].lower()) for word in words)
    return next((_STATUS_OF[word] for word in letters if word in _STATUS_OF), None)


def _number(value: Any) -> int | None:
    """Return the status in a number or its digits. None if it is none of a failure."""
    if isinstance(value, str) and re.fullmatch("[45][0-9][0-9]", value.strip()):
        return int(value)
    is_status = isinstance(value, int) and not isinstance(value, bool) and 400 <= value < 600
    return int(value) if is_status else None
