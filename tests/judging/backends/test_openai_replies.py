"""How a server's response is classified by its status, headers and body alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from judging.backends.base import (
    Answer,
    BackendError,
    FatalError,
    FinalError,
    RateError,
    RejectedError,
    TransientError,
)
from judging.backends.openai import ChatCompletions
from judging.backends.transport import KEPT_BODY, read_reply

pytestmark = pytest.mark.every_case


def body(content: Any = "yes", **more: Any) -> dict[str, Any]:
    """A completion; `more` are members of its only choice."""
    choice = {"message": {"content": content}, "finish_reason": "stop"} | more
    return {"choices": [choice], "model": "m", "usage": {"prompt_tokens": 3}}


def read(given: object, status: int = 200, **headers: str) -> Answer:
    raw = given if isinstance(given, bytes) else json.dumps(given).encode()
    sent = {name.replace("_", "-"): text for name, text in headers.items()}
    return read_reply(status, sent, raw, ChatCompletions().read)


def error_of(given: object, status: int = 200, **headers: str) -> BackendError:
    with pytest.raises(BackendError) as caught:
        read(given, status, **headers)
    return caught.value


@pytest.mark.parametrize("status", [200, 201, 299])
def test_a_successful_reply_is_an_answer_with_every_fact(status: int) -> None:
    logprobs = {"content": [{"token": "yes", "logprob": -0.5}]}
    assert read(body(logprobs=logprobs), status) == Answer(
        "yes", "stop", {"prompt_tokens": 3}, "m", status, logprobs
    )


@pytest.mark.parametrize(
    ("status", "kind", "state"),
    [
        (199, RejectedError, "status-199"),
        (300, FatalError, "status-300"),
        (302, FatalError, "status-302"),
        (399, FatalError, "status-399"),
        (400, RejectedError, "status-400"),
        (401, FatalError, "status-401"),
        (402, FatalError, "status-402"),
        (403, FatalError, "status-403"),
        (404, FatalError, "status-404"),
        (405, RejectedError, "status-405"),
        (408, TransientError, "status-408"),
        (409, TransientError, "status-409"),
        (413, FinalError, "too-long"),
        (422, RejectedError, "status-422"),
        (425, TransientError, "status-425"),
        (429, RateError, "rate"),
        (499, RejectedError, "status-499"),
        (500, TransientError, "status-500"),
        (503, TransientError, "status-503"),
        (599, TransientError, "status-599"),
    ],
)
def test_each_status_determines_whether_a_retry_can_help(
    status: int, kind: type[BackendError], state: str
) -> None:
    error = error_of({"error": {"message": "no", "code": "x"}}, status)
    assert (type(error), error.state) == (kind, state)
    assert error.message == f"the server answered {status}: no x"
    assert (error.status, error.body) == (status, '{"error": {"message": "no", "code": "x"}}')


@pytest.mark.parametrize(
    ("status", "headers", "said", "kind", "wait"),
    [
        (429, {"retry_after": "7"}, "slow down", RateError, 7.0),
        (429, {}, "slow down", RateError, None),
        (429, {"retry_after": "7"}, "insufficient_quota", FatalError, None),
        (503, {"retry_after": "8"}, "starting", RateError, 8.0),
        (503, {}, "starting", TransientError, None),
        (500, {"retry_after": "8"}, "broken", TransientError, None),
    ],
)
def test_a_busy_server_is_waited_for_unless_the_quota_is_used_up(
    status: int, headers: dict[str, str], said: str, kind: type[BackendError], wait: float | None
) -> None:
    error = error_of({"error": {"code": said}}, status, **headers)
    assert type(error) is kind
    assert getattr(error, "wait", None) == wait


@pytest.mark.parametrize(
    ("said", "state"),
    [
        ("context_length_exceeded", "too-long"),
        ("This model's Maximum Context is 8", "too-long"),
        ("over the context length", "too-long"),
        ("see max_model_len", "too-long"),
        ("the prompt is TOO LONG", "too-long"),
        ("Content_Filter", "filtered"),
        ("our content management policy", "filtered"),
        ("temperature is not supported", "status-400"),
    ],
)
def test_a_request_refused_for_its_text_fails_only_its_own_assignment(
    said: str, state: str
) -> None:
    error = error_of({"error": {"message": said}}, 400)
    assert error.state == state
    assert isinstance(error, RejectedError if state == "status-400" else FinalError)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"error": {"message": "two\n words", "code": 5}}, ": two words 5"),
        ({"error": {"code": "only"}}, ": only"),
        ({"error": {"message": "only", "code": None}}, ": only"),
        ({"error": "plain  text"}, ": plain text"),
        ({"message": "at the top"}, ": at the top"),
        (["a", 1], ": ['a', 1]"),
        ({"error": {"message": "x" * 400}}, ": " + "x" * 300),
        ({"error": "y" * 400}, ": " + "y" * 300),
        ({"error": {}}, ""),
        (b"no JSON", ""),
        (b"", ""),
        (b"[" * 20_000, ""),
    ],
)
def test_the_servers_message_is_reported_on_one_line(given: object, said: str) -> None:
    assert error_of(given, 400).message == f"the server answered 400{said}"


def test_only_the_beginning_of_a_body_is_kept() -> None:
    assert error_of(b"z" * (KEPT_BODY + 5), 500).body == "z" * KEPT_BODY
    assert error_of(b"\xffz", 500).body == "\ufffdz"


@pytest.mark.parametrize(
    ("raw", "state"),
    [
        (b"", "empty-body"),
        (b" \n ", "empty-body"),
        (b'{"a": "\xff"}', "bad-utf8"),
        (b" \n<html>", "html"),
        (b"x <html>", "not-json"),
        (b'{"a": ', "not-json"),
        (b"[" * 20_000, "not-json"),
        (b"[]", "not-an-object"),
        (b'"text"', "not-an-object"),
        (b"{}", "no-choices"),
        (b'{"choices": {}}', "no-choices"),
        (b'{"choices": []}', "no-choices"),
        (b'{"choices": [null]}', "no-choices"),
        (b'{"choices": [{}]}', "no-message"),
        (b'{"choices": [{"message": "yes"}]}', "no-message"),
    ],
)
def test_a_body_that_is_no_completion_is_worth_another_attempt(raw: bytes, state: str) -> None:
    error = error_of(raw)
    assert (type(error), error.state, error.status) == (TransientError, state, 200)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "the server sent no choices."),
        ({"error": {"message": "out of\nmemory"}}, "the server sent no choices. out of memory"),
        ({"error": "out of memory"}, "the server sent no choices. out of memory"),
        ({"error": {"code": 3}}, "the server sent no choices."),
        ({"error": "x" * 400}, "the server sent no choices. " + "x" * 300),
    ],
)
def test_an_error_under_a_success_status_is_reported(given: object, said: str) -> None:
    assert error_of(given).message == said


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("", ""),
        ([{"text": "a"}, {"text": "b"}], "ab"),
        ([{"text": "a"}, {"text": 1}, {"image": "b"}, "c"], "a"),
        ([{"text": ""}], ""),
    ],
)
def test_content_may_come_in_parts(content: Any, text: str) -> None:
    assert read(body(content)).text == text


@pytest.mark.parametrize("content", [None, 7, {}, [], ["a"], [{"text": None}]])
def test_a_message_without_text_is_unreadable(content: Any) -> None:
    error = error_of(body(content))
    assert isinstance(error, FinalError)
    assert error.reason == "unreadable"
    assert error.answer == Answer("", "stop", {"prompt_tokens": 3}, "m", 200)


def refusal(content: Any, finish: str = "stop") -> dict[str, Any]:
    return body(message={"content": content, "refusal": "I cannot."}, finish_reason=finish)


@pytest.mark.parametrize(
    ("given", "reason", "text"),
    [
        (body("half", finish_reason="content_filter"), "filtered", "half"),
        (refusal(None, "content_filter"), "filtered", "I cannot."),
        (refusal(None), "refused", "I cannot."),
        (refusal("Well."), "refused", "Well."),
        (refusal(None, "length"), "refused", "I cannot."),
        (body("half", finish_reason="length"), "truncated", "half"),
        (body(None, finish_reason="length"), "truncated", ""),
    ],
)
def test_the_models_text_is_kept_beside_the_reason_why_it_cannot_count(
    given: dict[str, Any], reason: str, text: str
) -> None:
    error = error_of(given)
    assert isinstance(error, FinalError)
    assert (error.reason, error.status) == (reason, 200)
    assert error.answer is not None
    assert (error.answer.text, error.answer.usage) == (text, {"prompt_tokens": 3})


def test_members_of_another_type_count_as_absent() -> None:
    given = body(logprobs=None) | {"usage": [1], "model": 7}
    assert read(given) == Answer("yes", "stop", {}, "", 200, None)
    bare = {"choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}]}
    assert read(bare) == Answer("yes", "stop", {}, "", 200)


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("1e999", None), ("-1E+999", None), ("1e100", 1e100), ("1e-999", 0.0), ("-0.5", -0.5),
        ("NaN", None), ("Infinity", None), ("-Infinity", None), ("12e308", None), ("1e308", 1e308),
    ],
)  # fmt: skip
def test_a_number_that_no_database_can_store_is_null(written: str, kept: float | None) -> None:
    raw = json.dumps(body(logprobs="HERE")).replace('"HERE"', written).encode()
    assert read(raw).logprobs == kept
