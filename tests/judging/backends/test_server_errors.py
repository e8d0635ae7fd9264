"""Errors as servers write them: each has a status, and some a reason of the text alone."""

from __future__ import annotations

from typing import Any

import pytest

from judging.backends.base import (
    BackendError,
    FatalError,
    FinalError,
    RateError,
    RejectedError,
    TransientError,
)
from judging.backends.server_errors import error_of
from tests.fake_openai.server import Behaviour
from tests.judging.backends.test_openai_replies import body
from tests.judging.backends.test_openai_replies import error_of as read_error
from tests.judging.backends.test_wires import WIRES, ask

INNER = [
    (400, RejectedError), (401, FatalError), (402, FatalError), (404, FatalError),
    (408, TransientError), (413, FinalError), (429, RateError), (500, TransientError),
    (502, TransientError), (529, TransientError),
]  # fmt: skip


@pytest.mark.parametrize(("code", "kind"), INNER)
@pytest.mark.parametrize("as_text", [False, True])
def test_an_error_code_within_a_successful_reply_counts_as_that_status(
    code: int, kind: type[BackendError], as_text: bool
) -> None:
    inner = {"error": {"code": str(code) if as_text else code, "message": "no"}}
    for given in (inner, {"choices": [inner]}, body(**inner), body() | inner):
        error = read_error(given)
        assert (type(error), error.status) == (kind, code)
        assert error.message == f"the server answered within a successful reply {code}: no {code}"


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({"error": {"type": "rate_limit_error", "message": "slow"}}, 429),
        ({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}, 529),
        ({"error": {"code": "invalid_api_key", "type": "invalid_request_error"}}, 401),
        ({"error": {"status": "RESOURCE_EXHAUSTED", "message": "quota"}}, 429),
        ([{"error": {"code": 503, "status": "UNAVAILABLE"}}], 503),
        ({"object": "error", "code": 404, "message": "no model"}, 404),
        ({"statusCode": 401, "message": "Access denied due to invalid subscription key"}, 401),
        ({"code": 429, "msg": "slow down", "data": None}, None),
        ({"code": "429", "msg": "slow down"}, 429),
        ({"error": {"__type": "com.amazon#ThrottlingException", "message": "slow"}}, 429),
        ({"success": False, "errors": [{"code": 429, "message": "slow"}], "result": None}, 429),
        ({"error": {"message": '{"error": 1}', "code": True}}, None),
        ({"error": {"code": 200}}, None),
        ({"error": {"code": 10000}}, None),
    ],
)
def test_a_status_is_read_in_every_form_of_an_error(given: Any, status: int | None) -> None:
    error = read_error(given)
    assert error.status == (status or 200)


def test_a_key_that_gemini_rejects_with_400_is_a_problem_of_the_key() -> None:
    gemini = [
        {
            "error": {
                "code": 400,
                "message": "API key not valid. Please pass a valid API key.",
                "status": "INVALID_ARGUMENT",
                "details": [{"reason": "API_KEY_INVALID"}],
            }
        }
    ]
    error = read_error(gemini, 400)
    assert (type(error), error.state, error.status) == (FatalError, "status-401", 400)
    assert "API key not valid" in error.message


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("status", "message", "more"),
    [
        (400, "The input token count (1200293) exceeds the maximum number of tokens allowed "
         "(1048576).", {"status": "INVALID_ARGUMENT"}),
        (400, "the request exceeds the available context size, try increasing it",
         {"type": "exceed_context_size_error", "n_prompt_tokens": 9000, "n_ctx": 4096}),
        (500, "request (9000 tokens) exceeds the available context size (4096 tokens)", {}),
        (400, "This model's maximum prompt length is 131072 but the request contains 537812 "
         "tokens.", {}),
        (400, "prompt is too long: 210000 tokens > 200000 maximum", {}),
        (400, "The input (5000 tokens) is longer than the model's context length (4096).", {}),
        (422, "Input validation error: `inputs` must have less than 1024 tokens.", {}),
        (422, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096.", {}),
        (400, "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 "
         "maximum context length", {}),
        (400, "Please reduce the length of the messages or completion.", {}),
        (400, "Input is too long for requested model.", {}),
        (400, "Range of input length should be [1, 30720]", {}),
        (400, "Provider returned error",
         {"metadata": {"raw": '{"error": {"code": "context_length_exceeded"}}'}}),
        (400, "litellm.ContextWindowExceededError: no", {}),
    ],
)  # fmt: skip
def test_a_prompt_that_is_too_long_has_its_reason_on_every_server(
    status: int, message: str, more: dict[str, Any]
) -> None:
    error = read_error({"error": {"message": message, "code": status, **more}}, status)
    assert (type(error), error.state) == (FinalError, "too-long")


@pytest.mark.parametrize(
    ("status", "error", "reason"),
    [
        (400, {"code": "invalid_prompt", "message": "Invalid prompt: your prompt was flagged as "
               "potentially violating our usage policy."}, "refused"),
        (200, {"code": "invalid_prompt", "message": "Invalid prompt"}, "refused"),
        (403, {"code": 403, "message": "Your chosen model requires moderation and your input was "
               "flagged for \"violence\""}, "filtered"),
        (400, {"code": "data_inspection_failed", "message": "inappropriate"}, "filtered"),
        (400, {"code": "ResponsibleAIPolicyViolation", "message": "no"}, "filtered"),
    ],
)  # fmt: skip
def test_a_refusal_of_one_text_fails_its_own_assignment(
    status: int, error: dict[str, Any], reason: str
) -> None:
    found = read_error({"error": error}, status)
    assert (type(found), found.state) == (FinalError, reason)


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("status", "message"),
    [
        (504, "the upstream took too long to answer"),
        (408, "too long without a byte"),
        (503, "the content filter is not available"),
        (500, "usage policy service failed"),
    ],
)
def test_words_of_a_broken_server_are_no_reason_of_a_text(status: int, message: str) -> None:
    assert isinstance(read_error({"error": {"message": message}}, status), TransientError)


def test_only_what_the_server_says_is_searched() -> None:
    pydantic = {"detail": [{"msg": "field required", "input": "the context length is too long"}]}
    assert error_of(pydantic).reason is None


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("fault", "kind"), [("within-401", FatalError), ("within-words-429", RateError)]
)
def test_every_protocol_reads_an_inner_status(
    wire: str, fault: str, kind: type[BackendError]
) -> None:
    with pytest.raises(kind):
        ask(wire, Behaviour(faults={fault: 1.0}))


@pytest.mark.parametrize(
    ("status", "kind", "raw", "said"),
    [
        (403, "text/html", b"<html><title>Attention Required! | Cloudflare</title></html>",
         "the server answered 403: Attention Required! | Cloudflare"),
        (503, "text/plain", b"no healthy\nupstream",
         "the server answered 503: no healthy upstream"),
        (502, "text/html", b"<html>no title</html>", "the server answered 502"),
    ],
)  # fmt: skip
def test_the_page_or_text_of_a_proxy_is_named(
    status: int, kind: str, raw: bytes, said: str
) -> None:
    assert read_error(raw, status, content_type=kind).message == said


@pytest.mark.parametrize("status", [407, 511])
def test_a_proxy_that_wants_a_login_stops_the_run(status: int) -> None:
    assert isinstance(read_error({}, status), FatalError)
