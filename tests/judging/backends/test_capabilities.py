"""The probe of a server finds its capabilities, warns, or refuses the run."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from judging.backends.base import (
    Facts,
    FatalError,
    FinalError,
    Findings,
    Message,
    Request,
    Setup,
    TransientError,
)
from judging.backends.capabilities import SHORT_QUESTIONS, count_differences
from judging.backends.openai import OpenAICompatible
from tests.fake_openai.server import Behaviour, FakeOpenAI
from tests.judging.backends.test_openai import serving

KEY = "sk-canary-1234"


def probed(server: FakeOpenAI, setup: dict[str, Any] | None = None, **params: Any) -> Findings:
    async def inside() -> Findings:
        async with serving(server) as url:
            given = {"model": "fake-judge", "base_url": url, "api_key_env": "TANDEM_TEST_KEY"}
            definition = Setup(params={"timeout": 5.0} | params, **(given | (setup or {})))
            async with OpenAICompatible(definition) as backend:
                return await backend.probe()

    return asyncio.run(inside())


def test_a_fully_capable_server_gets_no_warning() -> None:
    server = FakeOpenAI(Behaviour(context=8192, prefix_cache=16, system_fingerprint="fp_1"))
    findings = probed(server, logprobs=20)
    assert (findings.warnings, findings.refusal) == ((), "")
    facts = dict(findings.facts)
    assert len(facts.pop("answers")) == len(SHORT_QUESTIONS)
    assert facts == {
        "server": "vllm",
        "version": "0.32.0",
        "max_model_len": 8192,
        "listed": True,
        "model_returned": "fake-judge",
        "system_fingerprint": "fp_1",
        "repeatable": True,
        "usage": True,
        "structured_output": "obeyed",
        "logprobs": "raw",
        "cached_tokens_told": True,
        "metrics": True,
        "prefix_cache": True,
    }


def test_a_probe_takes_at_most_twenty_calls() -> None:
    worst = FakeOpenAI(Behaviour(faults={"400": 1.0}))
    usual = FakeOpenAI(Behaviour(prefix_cache=16))
    probed(worst, logprobs=20)
    probed(usual)
    assert worst.calls <= 3 + 2 * len(SHORT_QUESTIONS)
    assert usual.calls == 3 + 2 * len(SHORT_QUESTIONS)


def test_an_ignored_schema_gives_a_warning() -> None:
    findings = probed(FakeOpenAI(Behaviour(constrained=False)))
    assert findings.facts["structured_output"] == "ignored"
    assert "ignores the schema" in " ".join(findings.warnings)
    assert not findings.refusal


@pytest.mark.parametrize("mode", ["raw", "renormalised"])
def test_the_probe_finds_out_whether_probabilities_hide_the_mass(mode: str) -> None:
    findings = probed(FakeOpenAI(Behaviour(logprobs=mode)), logprobs=10)
    assert findings.facts["logprobs"] == mode


def test_missing_log_probabilities_give_a_warning() -> None:
    server = FakeOpenAI(Behaviour(logprobs="none"))
    assert "there will be no scores" in " ".join(probed(server, logprobs=5).warnings)
    assert not probed(server).warnings


def test_the_prefix_cache_is_detected_from_usage_or_vllms_metrics() -> None:
    facts = probed(FakeOpenAI(Behaviour(prefix_cache=16))).facts
    said = probed(FakeOpenAI(Behaviour(prefix_cache=16, cached_in_usage=False))).facts
    without = probed(FakeOpenAI(Behaviour())).facts
    assert (facts["cached_tokens_told"], facts["prefix_cache"]) == (True, True)
    assert (said["cached_tokens_told"], said["prefix_cache"]) == (False, True)
    assert (without["cached_tokens_told"], without["prefix_cache"]) == (False, False)


def test_the_probe_respects_the_judges_concurrency() -> None:
    server = FakeOpenAI(Behaviour(latency=0.02))
    probed(server, concurrency=1)
    assert server.most == 1


def test_a_server_with_varying_answers_has_no_fingerprint() -> None:
    server = FakeOpenAI(Behaviour(faults={"other-json": 0.5}))
    findings = probed(server)
    assert (findings.facts["answers"], findings.facts["repeatable"]) == (None, False)
    assert count_differences(["a"], None) == 0


def test_the_long_prompt_is_not_sent_to_a_server_with_a_short_context() -> None:
    server = FakeOpenAI(Behaviour(context=500, prefix_cache=16))
    probed(server)
    assert server.outcomes == {"ok": 1 + 2 * len(SHORT_QUESTIONS)}


def test_other_weights_under_the_same_name_give_other_answers() -> None:
    first, same, other = (
        probed(FakeOpenAI(Behaviour(weights=weights))).facts["answers"]
        for weights in ("a", "a", "b")
    )
    assert count_differences(first, same) == 0
    assert count_differences(first, other) == len(SHORT_QUESTIONS)


def test_a_fingerprint_contains_the_version_and_needs_no_completion() -> None:
    server = FakeOpenAI(Behaviour(version="1.2", context=4096))

    async def inside() -> tuple[Any, Any]:
        async with serving(server) as url, OpenAICompatible(Setup("fake-judge", url)) as backend:
            return await backend.fingerprint(), server.calls

    assert asyncio.run(inside()) == (
        {"id": "fake-judge", "max_model_len": 4096, "version": "1.2"},
        0,
    )


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("401", r"does not accept this key \(status 401\); check the key in TANDEM_TEST_KEY"),
        ("403", r"forbids this request with this key \(status 403\)"),
        ("402", r"has no credit left \(status 402\)"),
        ("quota", r"quota of this key is used up \(status 429\)"),
    ],
)
def test_a_refused_key_is_explained(fault: str, words: str) -> None:
    with pytest.raises(FatalError, match=words):
        probed(FakeOpenAI(Behaviour(faults={fault: 1.0})))


def test_an_unknown_model_is_refused_with_the_known_ones() -> None:
    findings = probed(FakeOpenAI(Behaviour(model="qwen")))
    assert "does not know the model 'fake-judge'" in findings.refusal
    assert "it has qwen" in findings.refusal


def test_an_unlisted_model_that_answers_gives_a_warning() -> None:
    findings = probed(FakeOpenAI(Behaviour()), {"model": "alias"})
    assert findings.facts["listed"] is False
    assert "does not list the model 'alias'" in " ".join(findings.warnings)


def test_an_answer_by_another_model_gives_a_warning() -> None:
    findings = probed(FakeOpenAI(Behaviour(faults={"other-model": 1.0})))
    assert findings.facts["model_returned"] == "another-model"
    assert "answers as 'another-model'" in " ".join(findings.warnings)


def test_rejected_parts_of_a_request_are_named() -> None:
    takes_no_schema = FakeOpenAI(Behaviour(refused=("response_format",)))
    takes_no_logprobs = FakeOpenAI(Behaviour(refused=("logprobs",)))
    takes_nothing = FakeOpenAI(Behaviour(faults={"400": 1.0}))
    assert "no JSON schema" in probed(takes_no_schema).refusal
    assert "no log probabilities" in probed(takes_no_logprobs, logprobs=20).refusal
    assert "rejects this judge's requests (status 400)" in probed(takes_nothing).refusal


@pytest.mark.every_case
@pytest.mark.parametrize(
    "fault", ["500", "429", "length", "filtered", "too-long", "half-body", "html"]
)
def test_a_transient_failure_gives_a_warning(fault: str) -> None:
    findings = probed(FakeOpenAI(Behaviour(faults={fault: 1.0})))
    assert not findings.refusal
    assert "unknown whether the server keeps to a schema" in findings.warnings[0]


def test_a_server_that_counts_no_tokens_gives_a_warning() -> None:
    findings = probed(FakeOpenAI(Behaviour(faults={"no-usage": 1.0})))
    assert "costs can only be estimated" in " ".join(findings.warnings)


def test_an_unreachable_server_raises() -> None:
    async def inside(url: str) -> None:
        async with OpenAICompatible(Setup("m", url)) as backend:
            await backend.probe()

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(TransientError) as caught:
            asyncio.run(inside(f"http://127.0.0.1:{taken.getsockname()[1]}"))
    assert caught.value.unreachable


@pytest.mark.every_case
@pytest.mark.parametrize("fault", ["401", "400", "404", "500"])
def test_messages_quote_nothing_from_the_server(
    fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TANDEM_TEST_KEY", KEY)
    try:
        findings = probed(FakeOpenAI(Behaviour(faults={fault: 1.0})))
        said = f"{findings}"
    except FatalError as error:
        said = f"{error} {error.message}"
    for words in (KEY, "Incorrect API key", "not supported", "does not exist", "status 500:"):
        assert words not in said


def test_a_prompt_that_cannot_fit_is_not_sent() -> None:
    server = FakeOpenAI(Behaviour(context=3000))
    request = Request((Message("user", "x " * 24_001),), {}, Facts("", (), (), unit_by_unit=True))

    async def inside() -> None:
        async with serving(server) as url, OpenAICompatible(Setup("fake-judge", url)) as backend:
            await backend.probe()
            before = server.calls
            with pytest.raises(FinalError, match="48,002 characters, the model takes 3,000"):
                await backend.ask(request)
            assert server.calls == before

    asyncio.run(inside())
    assert server.outcomes["too-long"] == 0


def test_a_prompt_that_may_fit_is_sent() -> None:
    server = FakeOpenAI(Behaviour(context=3000))
    request = Request((Message("user", "x " * 12_000),), {}, Facts("", (), (), unit_by_unit=True))

    async def inside() -> None:
        async with serving(server) as url, OpenAICompatible(Setup("fake-judge", url)) as backend:
            await backend.probe()
            with pytest.raises(FinalError) as caught:
                await backend.ask(request)
            assert caught.value.reason == "too-long"

    asyncio.run(inside())
    assert server.outcomes["too-long"] == 1
