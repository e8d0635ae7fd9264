"""The fake server behaves like vLLM: log probabilities, a prefix cache, a queue, other models."""

from __future__ import annotations

import concurrent.futures
import json
import math
import statistics
import urllib.error
import urllib.request
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from tests.fake_openai.behaviour import Behaviour
from tests.fake_openai.caching import PrefixCache
from tests.fake_openai.limiting import Bucket
from tests.fake_openai.probabilities import MASKED, Probabilities, pieces
from tests.fake_openai.running import Running, fake_openai
from tests.patience import PATIENCE

CODES = {"type": "string", "enum": ["yes", "no", "tie-good", "tie-bad"]}
SCHEMA = {
    "type": "object",
    "properties": {
        "quote": {"type": "string"},
        "start": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "verdict": CODES,
    },
}
VALUE = {"quote": "All is well 🌉.", "start": None, "verdict": "tie-good"}


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with fake_openai() as server:
        yield server


@pytest.fixture
def server(running: Running) -> Running:
    running.behave(reset=True)
    return running


def complete(server: Running, prompt: str = "Is it?", **fields: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": prompt}]
    body = {"model": "m", "messages": messages} | fields
    request = urllib.request.Request(f"{server.url}/v1/chat/completions", json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=PATIENCE) as response:
        return dict(json.load(response))


def constrained(**fields: Any) -> dict[str, Any]:
    return {"response_format": {"type": "json_schema", "json_schema": {"schema": SCHEMA}}} | fields


def get(server: Running, path: str) -> str:
    with urllib.request.urlopen(f"{server.url}{path}", timeout=PATIENCE) as response:
        return str(response.read().decode())


def metric(server: Running, name: str) -> float:
    found = [line for line in get(server, "/metrics").splitlines() if f"vllm:{name}{{" in line]
    return float(found[0].rpartition(" ")[2])


def test_the_tokens_of_an_answer_add_up_to_its_json() -> None:
    text = "".join(piece for piece, _ in pieces(SCHEMA, VALUE))
    assert text == json.dumps(VALUE, ensure_ascii=False)


def test_the_bytes_of_the_tokens_are_those_of_the_answer() -> None:
    content = Probabilities().of(SCHEMA, VALUE, 5)["content"]
    raw = b"".join(bytes(token["bytes"]) for token in content)
    assert raw.decode() == json.dumps(VALUE, ensure_ascii=False)


def label_tokens(mode: str) -> list[dict[str, float]]:
    given = Probabilities(mode, sureness=0.7, mass=0.9).of(SCHEMA, VALUE, 20)["content"]
    return [
        {top["token"]: top["logprob"] for top in token["top_logprobs"]}
        for token in given
        if len(token["top_logprobs"]) > 1
    ]


def test_raw_probabilities_leave_some_mass_to_other_tokens() -> None:
    """The two ties have 0.7 and 0.1, yes and no 0.1 each, all of a mass of 0.9."""
    first, *_ = label_tokens("raw")
    shares = {token: math.exp(logprob) for token, logprob in first.items()}
    assert shares["tie"] == pytest.approx(0.8 * 0.9)
    assert shares["yes"] == pytest.approx(0.1 * 0.9)
    assert sum(shares.values()) == pytest.approx(1.0)


def test_renormalised_probabilities_leave_no_mass_to_other_tokens() -> None:
    first, _, last = label_tokens("renormalised")
    assert math.exp(first["tie"]) == pytest.approx(0.8)
    assert first["The"] == MASKED
    assert math.exp(last["good"]) == pytest.approx(0.7 / 0.8)


def test_probabilities_are_sent_if_requested(server: Running) -> None:
    asked = constrained(logprobs=True, top_logprobs=3)
    tokens = complete(server, **asked)["choices"][0]["logprobs"]["content"]
    assert max(len(token["top_logprobs"]) for token in tokens) == 3
    assert complete(server, **constrained())["choices"][0]["logprobs"] is None
    server.behave(logprobs="none")
    assert complete(server, **asked)["choices"][0]["logprobs"] is None


def test_the_prefix_cache_matches_whole_blocks_with_an_equal_prefix() -> None:
    cache = PrefixCache()
    first = "shared " * 32  # 224 characters, 56 tokens, 14 blocks of 4
    _, blocks = cache.find(first + "one?", 4)
    cache.keep(blocks)
    assert cache.find(first + "two!", 4)[0] == 56
    assert cache.find("x" + first, 4)[0] == 0
    assert cache.find(first, 4)[0] == 52
    assert cache.queries == 57 + 57 + 56 + 56


def test_cached_tokens_are_reported_in_usage_and_metrics(server: Running) -> None:
    server.behave(prefix_cache=16)
    shared = "word " * 200
    cached = [
        complete(server, shared + end)["usage"]["prompt_tokens_details"]["cached_tokens"]
        for end in ("a", "b")
    ]
    assert cached == [0, 240]
    assert metric(server, "prefix_cache_hits_total") == 240
    assert metric(server, "prefix_cache_queries_total") == 500
    server.behave(prefix_cache=16, restart=True)
    assert metric(server, "prefix_cache_hits_total") == 0


def test_simultaneous_equal_prompts_are_computed_twice(server: Running) -> None:
    server.behave(prefix_cache=16, latency=0.3)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        answers = list(pool.map(lambda end: complete(server, "word " * 200 + end), "ab"))
    assert {a["usage"]["prompt_tokens_details"]["cached_tokens"] for a in answers} == {0}


def test_calls_beyond_the_servers_slots_wait(server: Running) -> None:
    server.behave(slots=2, latency=0.5)
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        calls = [pool.submit(complete, server, str(n)) for n in range(6)]
        running, waiting = [], []
        while not all(call.done() for call in calls):
            running.append(metric(server, "num_requests_running"))
            waiting.append(metric(server, "num_requests_waiting"))
        # Between the end of one call and the start of the next fewer may run, but never more.
        assert max(running) == 2
        assert max(waiting) >= 1
    assert server.stats()["by_outcome"] == {"ok": 6}


def test_a_rate_limit_bucket_fills_at_its_rate() -> None:
    bucket = Bucket(rate=2, most=3)
    assert [bucket.take(1, 10.0) for _ in range(4)] == [0, 0, 0, 0.5]
    assert bucket.take(1, 10.5) == 0
    assert bucket.take(4, 99.0) == 0.5


def test_calls_above_the_rate_are_refused_with_a_time_to_retry(server: Running) -> None:
    server.behave(rate=0.1, burst=2)
    complete(server)
    complete(server)
    with pytest.raises(urllib.error.HTTPError) as busy:
        complete(server)
    assert busy.value.code == 429
    assert 0 < float(busy.value.headers["Retry-After"]) <= 10


def test_tokens_above_the_limit_per_minute_are_refused(server: Running) -> None:
    server.behave(tokens_per_minute=300)
    complete(server, "word " * 200)
    with pytest.raises(urllib.error.HTTPError, match="429"):
        complete(server, "word " * 200)


def test_only_the_served_model_exists(server: Running) -> None:
    server.behave(model="qwen", context=4096, version="9.9")
    assert json.loads(get(server, "/v1/models"))["data"] == [
        {"id": "qwen", "object": "model", "owned_by": "vllm", "max_model_len": 4096}
    ]
    assert json.loads(get(server, "/version")) == {"version": "9.9"}
    with pytest.raises(urllib.error.HTTPError, match="404"):
        complete(server)
    assert complete(server, model="qwen")["model"] == "qwen"


def test_a_prompt_longer_than_the_context_is_refused(server: Running) -> None:
    server.behave(context=10)
    complete(server, "x" * 40)
    with pytest.raises(urllib.error.HTTPError) as long:
        complete(server, "x" * 44)
    assert b"maximum context length" in long.value.read()


def test_the_tokenize_endpoint_counts_tokens(server: Running) -> None:
    request = urllib.request.Request(f"{server.url}/tokenize", b'{"prompt": "word word"}')
    with urllib.request.urlopen(request, timeout=PATIENCE) as response:
        assert json.load(response)["count"] == 2


def test_a_server_without_constrained_decoding_ignores_the_schema(server: Running) -> None:
    server.behave(constrained=False)
    said = complete(server, **constrained())["choices"][0]["message"]["content"]
    assert said.startswith("I would say ")
    asked = complete(server, "Answer in JSON.", **constrained())
    assert json.loads(asked["choices"][0]["message"]["content"])["verdict"] == "yes"


def test_other_weights_give_other_answers(server: Running) -> None:
    said = []
    for weights in ("", "", "other"):
        server.behave(weights=weights)
        said.append(complete(server)["choices"][0]["message"]["content"])
    assert said[0] == said[1] != said[2]


def test_latency_may_be_lognormal_around_its_mean() -> None:
    behaviour, chance = Behaviour(latency=0.5, sigma=0.6), Random(0)
    drawn = [behaviour.seconds(chance) for _ in range(20_000)]
    assert statistics.fmean(drawn) == pytest.approx(0.5, rel=0.03)
    assert statistics.median(drawn) < 0.45


def test_an_unknown_kind_of_probabilities_is_refused() -> None:
    with pytest.raises(ValueError, match="logprobs are one of raw, renormalised, none"):
        Behaviour(logprobs="some")


def test_the_command_line_offers_every_behaviour() -> None:
    given = (
        "--model", "qwen", "--context", "99", "--prefix-cache", "16", "--unconstrained",
        "--logprobs", "renormalised", "--slots", "4", "--rate", "50", "--burst", "5",
        "--tokens-per-minute", "100000", "--sigma", "0.1", "--weights", "w",
    )  # fmt: skip
    with fake_openai(*given) as other:
        assert "qwen" in get(other, "/v1/models")
        answer = complete(other, model="qwen")
        assert answer["usage"]["prompt_tokens_details"] == {"cached_tokens": 0}
