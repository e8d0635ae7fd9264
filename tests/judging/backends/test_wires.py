"""Every protocol against the fake server: what is sent, what is read, and how each fails."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from judging.backends.anthropic import Anthropic, Messages, _usage
from judging.backends.base import (
    Answer,
    BackendError,
    Facts,
    FatalError,
    FinalError,
    Findings,
    Message,
    RateError,
    RejectedError,
    Request,
    Setup,
    SetupError,
    TransientError,
)
from judging.backends.openai import OpenAICompatible
from judging.backends.wire import WireBackend
from judging.prompts.request import request_hash
from tests.fake_openai.server import Behaviour, FakeOpenAI
from tests.judging.backends.test_openai import KEY, REQUEST, SCHEMA, serving

WIRES = ("chat", "responses", "messages")
OTHERS = ("responses", "messages")
THOUGHT = "The bridge opened in 1901, so yes."


def backend_of(wire: str, url: str, **params: Any) -> WireBackend:
    setup = Setup("fake-judge", url, "TANDEM_TEST_KEY", {"timeout": 5.0} | params)
    if wire == "messages":
        return Anthropic(setup)
    api = {"api": wire} if wire == "responses" else {}
    return OpenAICompatible(Setup(setup.model, url, setup.api_key_env, {**setup.params, **api}))


def ask(
    wire: str, behaviour: Behaviour, request: Request = REQUEST, **params: Any
) -> tuple[Answer, dict[str, Any]]:
    """The answer to a request, and what was sent."""

    async def inside() -> tuple[Answer, dict[str, Any]]:
        server = FakeOpenAI(behaviour)
        async with serving(server) as url, backend_of(wire, url, **params) as backend:
            return await backend.ask(request), server.last

    return asyncio.run(inside())


def sent(wire: str, **params: Any) -> dict[str, Any]:
    return ask(wire, Behaviour(), **params)[1]


def error_of(wire: str, fault: str, **behaviour: Any) -> BackendError:
    with pytest.raises(BackendError) as caught:
        ask(wire, Behaviour(faults={fault: 1.0}, **behaviour))
    return caught.value


def probed(wire: str, behaviour: Behaviour, **params: Any) -> Findings:
    async def inside() -> Findings:
        server = FakeOpenAI(behaviour)
        async with serving(server) as url, backend_of(wire, url, **params) as backend:
            return await backend.probe()

    return asyncio.run(inside())


@pytest.mark.parametrize("wire", WIRES)
def test_an_answer_has_text_reasoning_usage_and_model_on_every_wire(wire: str) -> None:
    answer, _ = ask(wire, Behaviour(reasoning=THOUGHT, prefix_cache=4))
    assert json.loads(answer.text) == {"answerable": "yes"}
    assert (answer.model, answer.status, answer.reasoning) == ("fake-judge", 200, THOUGHT)
    usage = answer.usage
    assert usage["prompt_tokens"] > 0
    assert usage["completion_tokens"] > 0
    assert usage["prompt_tokens_details"] == {"cached_tokens": 0}


@pytest.mark.parametrize("wire", WIRES)
def test_without_a_schema_the_answer_is_the_models_free_text(wire: str) -> None:
    request = Request(REQUEST.messages, {}, REQUEST.facts)
    answer, body = ask(wire, Behaviour(), request)
    assert answer.text.startswith("I would say ")
    assert not {"response_format", "text", "tools", "tool_choice"} & set(body)


def test_requests_to_the_responses_api_ask_not_to_be_stored() -> None:
    assert sent("responses", max_tokens=50, reasoning_effort="low", logprobs=3) == {
        "model": "fake-judge",
        "input": [
            {"role": "system", "content": "Judge."},
            {"role": "user", "content": "Is it {query}? 🌉 قديم"},
        ],
        "store": False,
        "text": {
            "format": {"type": "json_schema", "name": "answer", "strict": True, "schema": SCHEMA}
        },
        "temperature": 0.0,
        "max_output_tokens": 50,
        "reasoning": {"effort": "low"},
        "include": ["message.output_text.logprobs"],
        "top_logprobs": 3,
    }


def test_requests_to_the_messages_api_have_a_separate_system_text_and_a_tool_as_schema() -> None:
    assert sent("messages", reasoning_effort="low", seed=7) == {
        "model": "fake-judge",
        "messages": [{"role": "user", "content": "Is it {query}? 🌉 قديم"}],
        "max_tokens": 8192,
        "system": "Judge.",
        "tools": [{"name": "answer", "description": "Gives the answer.", "input_schema": SCHEMA}],
        "tool_choice": {"type": "tool", "name": "answer", "disable_parallel_tool_use": True},
        "temperature": 0.0,
        "output_config": {"effort": "low"},
    }


def test_sampling_and_template_settings_are_sent_unchanged() -> None:
    assert sent("messages", top_p=0.5)["top_p"] == 0.5
    assert "top_p" not in sent("messages")
    template = {"enable_thinking": False}
    assert sent("responses", chat_template_kwargs=template)["chat_template_kwargs"] == template


def test_prompt_tokens_include_those_from_a_cache() -> None:
    usage = {"input_tokens": 5, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 2,
             "output_tokens": 4, "output_tokens_details": {"thinking_tokens": 1}}  # fmt: skip
    found = _usage(usage)
    assert (found["prompt_tokens"], found["completion_tokens"]) == (10, 4)
    assert found["prompt_tokens_details"] == {"cached_tokens": 3}
    assert found["completion_tokens_details"] == {"reasoning_tokens": 1}
    assert _usage("many") == {}
    assert "prompt_tokens" not in _usage({"output_tokens": 4, "cache_read_input_tokens": 3})


def test_an_answer_is_read_from_blocks_of_text_and_thoughts_from_those_of_thinking() -> None:
    blocks = [
        {"type": "thinking", "thinking": "It opened in 1901.", "text": "signed"},
        {"type": "text", "text": "yes", "thinking": "none"},
        {"type": "note", "text": "a quota is near", "thinking": "of whom"},
    ]
    body = {"content": blocks, "stop_reason": "end_turn"}
    answer = Messages().read(body, 200)
    assert (answer.text, answer.reasoning) == ("yes", "It opened in 1901.")


def test_a_thinking_model_is_not_forced_to_use_the_tool_and_gets_no_temperature() -> None:
    thinking = {"type": "adaptive"}
    answer, body = ask("messages", Behaviour(), extra_body={"thinking": thinking})
    assert json.loads(answer.text) == {"answerable": "yes"}
    assert body["tool_choice"]["type"] == "auto"
    assert "temperature" not in body
    assert body["thinking"] == thinking
    own = backend_of("messages", "http://h", extra_body={"thinking": thinking})
    assert "temperature" not in own.params, "a run’s record claims no setting that is not sent"


@pytest.mark.parametrize("wire", OTHERS)
def test_bodies_encoded_in_parts_equal_the_whole(wire: str) -> None:
    """One protocol sends the system message separately, and requests may differ only in it."""
    backend = backend_of(wire, "http://h")
    for system in ("Judge.", "Judge well.", "Judge."):
        for text, shared in (("Is it so?", 0), ("Is it not?", 6)):
            messages = (Message("system", system), Message("user", text, shared))
            request = Request(messages, SCHEMA, Facts("", (), (), unit_by_unit=True))
            written = json.dumps(backend.body(request), ensure_ascii=False).encode()
            assert backend.encode(request) == written


def test_log_probabilities_of_the_responses_api_are_read_like_those_of_chat_completions() -> None:
    answers = [ask(wire, Behaviour(), logprobs=5)[0] for wire in ("chat", "responses")]
    assert answers[0].logprobs["content"]
    assert answers[0].logprobs == answers[1].logprobs


@pytest.mark.parametrize("wire", OTHERS)
def test_a_seed_is_not_sent_or_recorded_if_the_api_has_none(wire: str) -> None:
    backend = backend_of(wire, "http://h", seed=7)
    assert "seed" not in backend.params
    samples = [replace(REQUEST, sample=n, written={}) for n in range(3)]
    assert len({request_hash(backend, each) for each in samples}) == 3


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"logprobs": 5}, "gives no log probabilities; leave out logprobs"),
        ({"temperature": 1.5}, "is from 0 to 1"),
        ({"api": "responses"}, "--param api is for the openai backend"),
        ({"chat_template_kwargs": {"a": 1}}, "is for the openai backend"),
        (
            {"temperature": 0.5, "extra_body": {"thinking": {"type": "adaptive"}}},
            "while they think",
        ),
        ({"top_p": 0.5, "extra_body": {"top_p": 0.6}}, "and so does the param top_p; give it once"),
        ({"top_p": 0.5, "omit": ["top_p"]}, "top_p is both given and omitted"),
    ],
)
def test_parameters_that_anthropic_lacks_or_gets_twice_are_refused_with_a_message(
    params: Any, words: str
) -> None:
    with pytest.raises(SetupError, match=words):
        Anthropic(Setup("m", "", "", params))


@pytest.mark.parametrize("wire", WIRES)
def test_the_key_is_sent_as_each_api_requires(wire: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANDEM_TEST_KEY", KEY)
    assert ask(wire, Behaviour(key=KEY))[0].status == 200
    error = error_of(wire, "401")
    assert isinstance(error, FatalError)
    assert KEY not in f"{error} {error.body}"


@pytest.mark.every_case
@pytest.mark.parametrize("wire", OTHERS)
@pytest.mark.parametrize(
    ("fault", "kind", "state"),
    [
        ("500", TransientError, "status-500"),
        ("503", TransientError, "status-503"),
        ("529", TransientError, "status-529"),
        ("reset", TransientError, "reset"),
        ("half-body", TransientError, "broken-body"),
        ("truncated-json", TransientError, "not-json"),
        ("empty", TransientError, "empty-body"),
        ("html", TransientError, "html"),
        ("string", TransientError, "not-an-object"),
        ("400", RejectedError, "status-400"),
        ("huge", RejectedError, "too-large"),
        ("429", RateError, "rate"),
        ("402", FatalError, "status-402"),
        ("403", FatalError, "status-403"),
        ("404", FatalError, "status-404"),
        ("redirect", FatalError, "status-302"),
        ("too-long", FinalError, "too-long"),
        ("refusal", FinalError, "refused"),
        ("length", FinalError, "truncated"),
        ("null-content", FinalError, "unreadable"),
    ],
)
def test_each_fault_has_the_same_state_on_every_wire(
    wire: str, fault: str, kind: type[BackendError], state: str
) -> None:
    error = error_of(wire, fault)
    assert (type(error), error.state) == (kind, state)
    assert "\n" not in error.message


@pytest.mark.parametrize("wire", OTHERS)
def test_a_final_failure_keeps_text_reasoning_and_usage(wire: str) -> None:
    cut = error_of(wire, "length", reasoning=THOUGHT)
    assert isinstance(cut, FinalError)
    assert cut.answer
    assert cut.answer.usage["completion_tokens"] > 0
    assert cut.answer.reasoning == THOUGHT


@pytest.mark.parametrize("wire", OTHERS)
@pytest.mark.parametrize("fault", ["no-choices", "null-choice"])
def test_a_reply_without_an_answer_is_worth_another_attempt(wire: str, fault: str) -> None:
    assert isinstance(error_of(wire, fault), TransientError)


def test_a_content_filter_is_distinguished_from_a_refusal_if_the_api_does() -> None:
    assert error_of("responses", "filtered").state == "filtered"
    assert error_of("messages", "filtered").state == "refused"


@pytest.mark.parametrize("wire", OTHERS)
@pytest.mark.parametrize("fault", ["429", "529"])
def test_a_busy_server_is_waited_for_as_long_as_it_says(wire: str, fault: str) -> None:
    if fault == "529":
        error = error_of(wire, fault)
        assert isinstance(error, TransientError)
        return
    error = error_of(wire, fault, retry_after="7")
    assert isinstance(error, RateError)
    assert error.wait == 7.0


@pytest.mark.parametrize("wire", OTHERS)
def test_a_probe_finds_the_same_facts_on_every_wire(wire: str) -> None:
    findings = probed(wire, Behaviour(prefix_cache=16))
    assert (findings.warnings, findings.refusal) == ((), "")
    facts = dict(findings.facts)
    assert len(facts.pop("answers")) == 5
    assert facts["structured_output"] == "obeyed"
    assert facts["prefix_cache"] is True
    assert facts["listed"] is True


@pytest.mark.parametrize(
    ("wire", "refused", "omit"),
    [
        ("chat", ("response_format",), "response_format"),
        ("chat", ("temperature", "seed"), "temperature,seed"),
        ("responses", ("text",), "response_format"),
        ("messages", ("temperature",), "temperature"),
        ("messages", ("tools",), "response_format"),
    ],
)
def test_a_probe_names_the_parameters_to_omit(
    wire: str, refused: tuple[str, ...], omit: str
) -> None:
    behaviour = Behaviour(refused=refused)
    assert probed(wire, behaviour).refusal.endswith(f"define the judge with omit={omit}")
    judged = probed(wire, behaviour, omit=omit.split(","))
    assert judged.refusal == ""
    assert not judged.warnings


@pytest.mark.parametrize("wire", WIRES)
def test_models_that_only_think_within_the_probes_tokens_are_told_apart_by_their_thoughts(
    wire: str,
) -> None:
    one, other = (
        probed(wire, Behaviour(reasoning=thought, faults={"null-content": 1.0})).facts["answers"]
        for thought in (THOUGHT, "No.")
    )
    assert one
    assert one != other
    assert probed(wire, Behaviour(faults={"null-content": 1.0})).facts["answers"] is None


def test_a_probe_reports_all_rejected_parameters_together() -> None:
    refused = Behaviour(refused=("max_tokens", "temperature", "logprobs"))
    words = probed("chat", refused, max_tokens=10, logprobs=5).refusal
    assert "no log probabilities" in words
    assert "omit=temperature" in words
    assert "give max_completion_tokens instead" in words
    known = probed("chat", refused, max_completion_tokens=100, omit=["temperature"])
    assert known.refusal == ""
