"""The fake server itself: valid answers, correct counts, and the behaviour that tests ask for."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.fake_openai.answering import Rule, answer_to, quote_from
from tests.fake_openai.faults import FAULTS
from tests.fake_openai.running import ROOT, Running, fake_openai
from tests.fake_openai.server import Behaviour
from tests.judging.processes import until
from tests.patience import PATIENCE

QUOTES = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "quote": {"type": "string"},
            "start": {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}]},
        },
    },
}
CODES = {"type": "string", "enum": ["no", "yes", "invalid"]}
SCHEMA = {"type": "object", "properties": {"evidence": QUOTES, "answerable": CODES}}
PROMPT = "Judge:\n[begin 0a]\nAll is well 🌉.\n[end 0a]\nIs it?"


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with fake_openai() as running:
        yield running


def complete(server: Running, prompt: str = PROMPT) -> dict[str, Any]:
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": prompt}],
        "response_format": {"type": "json_schema", "json_schema": {"schema": SCHEMA}},
    }
    url = f"{server.url}/v1/chat/completions"
    request = urllib.request.Request(url, json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=PATIENCE) as response:
        return dict(json.load(response))


def test_quotes_are_verbatim_parts_of_the_text() -> None:
    assert quote_from(PROMPT) == "All is well 🌉."
    assert quote_from("short\na longer line") == "a longer line"
    assert quote_from("") == "?"


def test_an_answer_fits_its_schema() -> None:
    assert answer_to(SCHEMA, PROMPT, Rule()) == {
        "evidence": [{"quote": "All is well 🌉.", "start": None}],
        "answerable": "yes",
    }


def test_a_code_that_is_not_offered_is_replaced_by_the_first() -> None:
    assert answer_to(CODES, PROMPT, Rule("agree")) == "no"


def test_values_can_be_fixed_and_mixed_answers_are_reproducible() -> None:
    assert answer_to(SCHEMA, PROMPT, Rule(fixed={"answerable": None}))["answerable"] is None
    mixed = [answer_to(CODES, f"{n}", Rule("mixed")) for n in range(50)]
    assert mixed == [answer_to(CODES, f"{n}", Rule("mixed")) for n in range(50)]
    assert set(mixed) == {"no", "yes", "invalid"}


def test_chat_completions_are_answered_and_counted(server: Running) -> None:
    server.behave(reset=True)
    answer = complete(server)
    complete(server)
    assert json.loads(answer["choices"][0]["message"]["content"])["answerable"] == "yes"
    assert answer["choices"][0]["finish_reason"] == "stop"
    stats = server.stats()
    assert (stats["calls"], list(stats["by_prompt"].values())) == (2, [2])
    assert stats["usage"]["total_tokens"] == 2 * answer["usage"]["total_tokens"]


def test_the_served_model_is_listed(server: Running) -> None:
    with urllib.request.urlopen(f"{server.url}/v1/models", timeout=PATIENCE) as response:
        assert json.load(response)["data"][0]["id"] == "fake-judge"


def test_a_script_sets_the_behaviour_request_by_request(server: Running) -> None:
    server.behave(reset=True, script=["ok", "500", "429"], retry_after="1m30s")
    complete(server)
    with pytest.raises(urllib.error.HTTPError, match="500"):
        complete(server)
    with pytest.raises(urllib.error.HTTPError) as busy:
        complete(server)
    assert (busy.value.code, busy.value.headers["Retry-After"]) == (429, "1m30s")
    complete(server)
    assert server.stats()["by_outcome"] == {"ok": 2, "500": 1, "429": 1}


def test_the_seed_decides_which_requests_get_a_fault(server: Running) -> None:
    counts = []
    for _ in range(2):
        server.behave(reset=True, faults={"prose": 0.3})
        for n in range(60):
            complete(server, str(n))
        counts.append(server.stats()["by_outcome"])
    assert counts[0] == counts[1]
    assert 8 <= counts[0]["prose"] <= 28


def test_an_unknown_fault_is_refused_with_the_known_ones(server: Running) -> None:
    with pytest.raises(ValueError, match="'flood' is not a fault; the faults are 429, "):
        Behaviour(faults={"flood": 1.0})
    with pytest.raises(urllib.error.HTTPError, match="400"):
        server.behave(faults={"flood": 1.0})
    assert "prose" in FAULTS


def test_the_command_line_sets_the_initial_behaviour() -> None:
    given = ("--answer", "no", "--fault", "prose:0.0", "--fixed", "evidence=[]", "--key", "k")
    with fake_openai(*given) as running, pytest.raises(urllib.error.HTTPError, match="401"):
        complete(running)


def test_calls_beyond_a_set_number_are_held_until_the_behaviour_is_changed(
    server: Running,
) -> None:
    server.behave(reset=True, holds_after=1)
    complete(server)
    with ThreadPoolExecutor() as beside:
        held = beside.submit(complete, server)
        until(server.holds, "the second call is there")
        assert not held.done()
        server.behave()
        assert held.result()["choices"]
    assert not server.holds()
    assert server.stats()["calls"] == 2


def test_the_server_ends_with_the_tests_that_started_it_however_they_end() -> None:
    starts = "import os; from tests.fake_openai.running import fake_openai\n"
    dies = "with fake_openai() as running: print(running.url, flush=True); os._exit(9)"
    done = subprocess.run(
        [sys.executable, "-c", starts + dies], cwd=ROOT, capture_output=True, text=True,
        timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 9
    until(lambda: not _answers(done.stdout.strip()), "the server is gone")


def _answers(url: str) -> bool:
    try:
        return bool(Running(url, None).stats())
    except OSError:
        return False
