"""The openai backend sends correct requests, and classifies each fault of a server."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from judging.backends.base import (
    Answer,
    BackendError,
    Facts,
    FatalError,
    FinalError,
    Message,
    RateError,
    RejectedError,
    Request,
    Setup,
    SetupError,
    TransientError,
)
from judging.backends.openai import OpenAICompatible
from tests.fake_openai.server import Behaviour, FakeOpenAI

KEY = "sk-canary-1234"
SCHEMA = {
    "type": "object",
    "properties": {"answerable": {"type": "string", "enum": ["yes", "no"]}},
    "required": ["answerable"],
    "additionalProperties": False,
}
REQUEST = Request(
    (Message("system", "Judge."), Message("user", "Is it {query}? 🌉 قديم")),
    SCHEMA,
    Facts("", (), (), unit_by_unit=True),
)


@asynccontextmanager
async def serving(server: FakeOpenAI) -> AsyncIterator[str]:
    runner = web.AppRunner(server.app(), access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def ask(server: FakeOpenAI, suffix: str = "", **params: Any) -> Answer:
    async def inside() -> Answer:
        async with serving(server) as url:
            setup = Setup("fake-judge", url + suffix, "TANDEM_TEST_KEY", {"timeout": 5.0} | params)
            async with OpenAICompatible(setup) as backend:
                return await backend.ask(REQUEST)

    return asyncio.run(inside())


def failing(fault: str, **behaviour: Any) -> FakeOpenAI:
    return FakeOpenAI(Behaviour(faults={fault: 1.0}, **behaviour))


def error_of(fault: str, **params: Any) -> BackendError:
    with pytest.raises(BackendError) as caught:
        ask(failing(fault), **params)
    return caught.value


def test_an_answer_has_text_usage_and_model() -> None:
    answer = ask(FakeOpenAI(Behaviour()))
    assert (json.loads(answer.text), answer.finish_reason) == ({"answerable": "yes"}, "stop")
    assert (answer.model, answer.status) == ("fake-judge", 200)
    assert answer.usage["total_tokens"] > 0


def test_temperature_seed_and_a_strict_schema_are_always_sent() -> None:
    server = FakeOpenAI(Behaviour())
    ask(server)
    assert server.last == {
        "model": "fake-judge",
        "messages": [
            {"role": "system", "content": "Judge."},
            {"role": "user", "content": "Is it {query}? 🌉 قديم"},
        ],
        "temperature": 0.0,
        "seed": 0,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA},
        },
    }


def test_parameters_are_sent_under_their_names_and_our_own_are_not() -> None:
    server = FakeOpenAI(Behaviour())
    ask(server, temperature=0.7, seed=3, top_p=0.9, max_tokens=50, logprobs=5, concurrency=4)
    sent = {k: v for k, v in server.last.items() if k not in ("messages", "response_format")}
    assert sent == {
        "model": "fake-judge",
        "temperature": 0.7,
        "seed": 3,
        "top_p": 0.9,
        "max_tokens": 50,
        "logprobs": True,
        "top_logprobs": 5,
    }


@pytest.mark.every_case
@pytest.mark.parametrize("suffix", ["", "/", "/v1", "/v1/", "/v1/chat/completions"])
def test_the_address_works_with_and_without_the_api_version(suffix: str) -> None:
    assert ask(FakeOpenAI(Behaviour()), suffix).status == 200


def test_the_key_is_read_when_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANDEM_TEST_KEY", f" {KEY}\n")
    assert ask(FakeOpenAI(Behaviour(key=KEY))).status == 200


def test_a_key_of_several_lines_is_refused_without_quoting_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TANDEM_TEST_KEY", f"{KEY}\n{KEY}")
    with pytest.raises(
        FatalError, match="the key in TANDEM_TEST_KEY contains a line break"
    ) as caught:
        ask(FakeOpenAI(Behaviour()))
    assert KEY not in str(caught.value)


def test_a_key_repeated_by_the_server_is_removed_before_storing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TANDEM_TEST_KEY", KEY)
    error = error_of("401")
    assert isinstance(error, FatalError)
    assert "Incorrect API key provided: Bearer [key]" in error.message
    assert KEY not in f"{error} {error.body} {error.args}"


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("fault", "kind", "state"),
    [
        ("500", TransientError, "status-500"),
        ("502", TransientError, "status-502"),
        ("503", TransientError, "status-503"),
        ("529", TransientError, "status-529"),
        ("408", TransientError, "status-408"),
        ("reset", TransientError, "reset"),
        ("half-body", TransientError, "broken-body"),
        ("empty", TransientError, "empty-body"),
        ("html", TransientError, "html"),
        ("bad-utf8", TransientError, "bad-utf8"),
        ("truncated-json", TransientError, "not-json"),
        ("string", TransientError, "not-an-object"),
        ("no-choices", TransientError, "no-choices"),
        ("empty-choices", TransientError, "no-choices"),
        ("null-choice", TransientError, "no-choices"),
        ("packed", RejectedError, "too-large"),
        ("brotli", RejectedError, "encoding"),
        ("latin-1-unnamed", TransientError, "bad-utf8"),
        ("cut-stream", TransientError, "broken-body"),
        ("broken-off", TransientError, "status-502"),
        ("400", RejectedError, "status-400"),
        ("huge", RejectedError, "too-large"),
        ("429", RateError, "rate"),
        ("quota", FatalError, "status-429"),
        ("401", FatalError, "status-401"),
        ("402", FatalError, "status-402"),
        ("403", FatalError, "status-403"),
        ("404", FatalError, "status-404"),
        ("redirect", FatalError, "status-302"),
        ("too-long", FinalError, "too-long"),
        ("filtered", FinalError, "filtered"),
        ("refusal", FinalError, "refused"),
        ("length", FinalError, "truncated"),
        ("null-content", FinalError, "unreadable"),
    ],
)
def test_each_fault_has_its_own_state(fault: str, kind: type[BackendError], state: str) -> None:
    error = error_of(fault)
    assert (type(error), error.state) == (kind, state)
    assert error.message
    assert "\n" not in error.message


@pytest.mark.parametrize("fault", ["hang", "trickle"])
def test_the_deadline_ends_a_hanging_call(fault: str) -> None:
    error = error_of(fault, timeout=0.5)
    assert isinstance(error, TransientError)
    assert error.state == "deadline"


@pytest.mark.every_case
@pytest.mark.parametrize(
    "fault", ["parts", "no-usage", "other-model", "prose", "nan", "infinite", "other-json"]
)
def test_odd_but_readable_replies_are_answers(fault: str) -> None:
    answer = ask(failing(fault))
    assert answer.text
    assert (answer.model == "another-model") == (fault == "other-model")
    json.dumps(answer.logprobs, allow_nan=False)


def test_a_final_failure_keeps_what_the_model_wrote() -> None:
    refused, cut = error_of("refusal"), error_of("length")
    assert isinstance(refused, FinalError)
    assert isinstance(cut, FinalError)
    assert refused.answer
    assert refused.answer.text == "I cannot help with that."
    assert cut.answer
    assert cut.answer.usage


def test_the_beginning_of_a_broken_body_is_kept() -> None:
    assert error_of("html").body.startswith("<html>")
    assert len(error_of("huge").body) == 64 * 1024


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("said", "wait"),
    [("7", 7.0), ("1m30s", 90.0), (None, None), ("1000000000", None), ("-5", None), ("soon", None)],
)
def test_a_busy_server_says_how_long_to_wait(said: str | None, wait: float | None) -> None:
    with pytest.raises(RateError) as caught:
        ask(failing("429", retry_after=said))
    assert caught.value.wait == wait


def unreachable(url: str) -> TransientError:
    async def inside() -> None:
        async with OpenAICompatible(Setup("m", url)) as backend:
            await backend.ask(REQUEST)

    with pytest.raises(TransientError) as caught:
        asyncio.run(inside())
    assert caught.value.unreachable
    return caught.value


def test_a_refused_connection_is_distinguished_from_a_broken_answer() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        error = unreachable(f"http://127.0.0.1:{taken.getsockname()[1]}")
    assert error.state == "refused-connection"


def test_an_unknown_host_is_unreachable() -> None:
    assert unreachable("http://host.invalid").state == "dns"


def test_a_plain_http_server_at_an_https_address_is_unreachable() -> None:
    async def inside() -> TransientError:
        async with serving(FakeOpenAI(Behaviour())) as url:
            return await asyncio.to_thread(unreachable, url.replace("http:", "https:"))

    assert asyncio.run(inside()).state == "tls"


def test_the_openai_backend_needs_a_model() -> None:
    with pytest.raises(SetupError, match="give --model"):
        OpenAICompatible(Setup())


def test_a_requests_hash_excludes_key_timeout_and_concurrency() -> None:
    plain = OpenAICompatible(Setup("m", "http://h"))
    tuned = OpenAICompatible(Setup("m", "http://h", "KEY", {"concurrency": 4, "timeout": 9}))
    warm = OpenAICompatible(Setup("m", "http://h", "", {"temperature": 1}))
    assert plain.identity(REQUEST) == tuned.identity(REQUEST)
    assert plain.identity(REQUEST) != warm.identity(REQUEST)


def test_a_later_worker_does_not_send_a_prompt_that_cannot_fit_either() -> None:
    backend = OpenAICompatible(Setup("m", "http://127.0.0.1:9", "", {}))
    backend.recall({"max_model_len": 1})

    async def inside() -> None:
        async with backend:
            await backend.ask(REQUEST)

    with pytest.raises(FinalError, match="the model takes 1 tokens") as caught:
        asyncio.run(inside())
    assert caught.value.reason == "too-long"
