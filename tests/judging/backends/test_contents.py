"""What a judge leaves out of its requests, and adds to them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from judging.backends.base import Setup, SetupError
from judging.backends.contents import is_deterministic
from judging.backends.openai import OpenAICompatible
from judging.params import ParamError, check_params, read_params
from judging.prompts.request import request_hash
from tests.judging.backends.test_openai import REQUEST


def backend(**params: Any) -> OpenAICompatible:
    return OpenAICompatible(Setup("m", "http://h", "KEY", params))


def digest(**params: Any) -> str:
    return request_hash(backend(**params), replace(REQUEST, written={}))


# Computed at de51730d, before bodies could be customised; stored answers are found by these.
FROZEN = "f833083c88a7e2e44023fec801392c009882958a4add124a6f9e8bbac9201efb"
TUNED_AND_FROZEN = "bea84a441bcb913e2d0cb1073891bb3f883076657e46c255ade297d5b4794ad9"
TUNED = {"temperature": 0.5, "top_p": 0.9, "seed": 3, "max_tokens": 64, "logprobs": 5}


def test_existing_judges_send_the_same_bytes_as_before() -> None:
    assert digest() == FROZEN
    assert digest(**TUNED, concurrency=4, timeout=9.0, repair=1) == TUNED_AND_FROZEN


def test_a_null_parameter_omits_its_key() -> None:
    params = read_params(["seed=null", "max_tokens=5", "response_format=null"])
    assert params == {"max_tokens": 5, "omit": ["response_format", "seed"]}
    assert set(backend(**params).body(REQUEST)) == {
        "model", "messages", "temperature", "max_tokens",
    }  # fmt: skip


def test_omitted_keys_may_be_listed_in_any_order_and_twice() -> None:
    for given in (["omit=temperature, seed"], ['omit=["seed","temperature"]', "seed=null"]):
        assert read_params(given) == {"omit": ["seed", "temperature"]}
    assert check_params({"omit": ["temperature", "seed"]}) == {"omit": ["seed", "temperature"]}


def test_extra_body_is_sent_unchanged_and_may_replace_the_schema() -> None:
    given = {"top_k": 20, "response_format": {"type": "json_object"}}
    params = read_params([f"extra_body={json.dumps(given)}"])
    body = backend(**params).body(REQUEST)
    assert body["top_k"] == 20
    assert body["response_format"] == {"type": "json_object"}


def test_thinking_models_have_their_own_limit_and_effort() -> None:
    params = read_params(
        ["max_completion_tokens=900", "reasoning_effort=low",
         'chat_template_kwargs={"enable_thinking": false}'],
    )  # fmt: skip
    body = backend(**params).body(REQUEST)
    assert body["max_completion_tokens"] == 900
    assert body["reasoning_effort"] == "low"
    assert body["chat_template_kwargs"] == {"enable_thinking": False}
    assert "max_tokens" not in body


@pytest.mark.parametrize(
    "params",
    [
        {"omit": ["seed"]},
        {"omit": ["response_format"]},
        {"extra_body": {"top_k": 20}},
        {"extra_body": {"top_k": 21}},
        {"chat_template_kwargs": {"enable_thinking": False}},
        {"reasoning_effort": "low"},
        {"max_completion_tokens": 9},
        {"api": "responses"},
    ],
    ids=str,
)
def test_everything_sent_is_part_of_the_requests_identity(params: dict[str, Any]) -> None:
    assert digest(**params) != digest()


def test_the_order_of_keys_is_not_part_of_the_requests_identity() -> None:
    one = {"stop": ["a"], "b": {"y": 1, "x": [{"d": 1, "c": 2}]}}
    other = {"b": {"x": [{"c": 2, "d": 1}], "y": 1}, "stop": ["a"]}
    assert digest(extra_body=one) == digest(extra_body=other)
    assert digest(chat_template_kwargs=one) == digest(chat_template_kwargs=other)


def test_samples_have_different_hashes_even_without_a_seed() -> None:
    seedless = backend(omit=["seed"])
    requests = [replace(REQUEST, sample=n, written={}) for n in range(3)]
    assert seedless.encode(requests[0]) == seedless.encode(requests[2])
    assert len({request_hash(seedless, each) for each in requests}) == 3


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("foo=null", "names 'foo', which is not sent by itself; give any of temperature"),
        ("omit=model", "names 'model', which is not sent by itself"),
        ("omit=[", "is not a JSON list"),
        ("extra_body=[1]", "is not a JSON object"),
        ("extra_body={", "is not JSON; give an object"),
        ('extra_body={"a": NaN}', "is not JSON"),
        ('extra_body={"a": 1e999}', "a number that is too large"),
        ('extra_body={"a": "\\u0000"}', "cannot be stored"),
        ('extra_body={"model": "x"}', "may not change 'model', which Tandem itself sends"),
        ('extra_body={"stream": true}', "may not change 'stream'"),
        ('extra_body={"n": 3}', "may not change 'n'"),
        ('extra_body={"messages": []}', "may not change 'messages'"),
        ('extra_body={"seed": 3}', "may not contain 'seed'; give it as a param of its own"),
        ('extra_body={"a b": 3}', "has the key 'a b', which no server reads"),
        (f'extra_body={{"a": "{"x" * 20_001}"}}', "over 20,000 characters; shorten it"),
        (f'extra_body={{"a": {"[" * 30}{"]" * 30}}}', "nested deeper than 20 levels"),
        (f'extra_body={{"a": {"[" * 9_000}{"]" * 9_000}}}', "extra_body"),
        ("chat_template_kwargs=1", "is not a JSON object"),
        ("reasoning_effort=very high", "give a word such as low"),
        ("api=grpc", "give for openai: chat or responses"),
        ("max_completion_tokens=0", "a whole number above 0"),
    ],
)
def test_a_parameter_that_would_break_requests_is_refused_in_one_line(
    given: str, words: str
) -> None:
    with pytest.raises(ParamError) as caught:
        read_params([given])
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"reasoning_effort": "low", "extra_body": {"reasoning_effort": "high"}}, "give it once"),
        ({"seed": 3, "omit": ["seed"]}, "seed is both given and omitted"),
        (
            {"api": "responses", "reasoning_effort": "low", "extra_body": {"reasoning": {}}},
            "contains 'reasoning', and so does the param reasoning_effort",
        ),
    ],
)
def test_a_setting_given_in_two_ways_is_refused(params: dict[str, Any], words: str) -> None:
    with pytest.raises(SetupError, match=words):
        backend(**params)


def test_a_judge_without_temperature_does_not_count_as_deterministic() -> None:
    assert is_deterministic({})
    assert is_deterministic({"temperature": 0.0})
    assert not is_deterministic({"temperature": 0.1})
    assert not is_deterministic({"omit": ["temperature"]})
