"""Only answers that ended well are answers, and only those to a whole prompt."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from judging.backends.anthropic import Messages
from judging.backends.base import Answer, BackendError, FinalError, Findings, Message
from judging.backends.completeness import GOOD, ended_well, is_prompt_cut
from judging.backends.openai import ChatCompletions, OpenAICompatible
from judging.backends.responses import Responses
from judging.backends.scripted import Scripted
from judging.backends.transport import read_reply
from judging.backends.wire import Wire
from tests.fake_openai.server import Behaviour
from tests.judging.backends.test_openai import REQUEST
from tests.judging.backends.test_wires import WIRES, ask, backend_of, error_of, probed

ABSENT = object()
JSON = dict[str, Any]


def chat(word: object, **choice: Any) -> JSON:
    ended = {} if word is ABSENT else {"finish_reason": word}
    return {"choices": [{"message": {"content": "yes"}, **ended, **choice}]}


def messages(word: object) -> JSON:
    ended = {} if word is ABSENT else {"stop_reason": word}
    return {"content": [{"type": "text", "text": "yes"}], **ended}


def responses(word: object) -> JSON:
    ended = {} if word is ABSENT else {"status": word}
    part = {"type": "output_text", "text": "yes"}
    return {"output": [{"type": "message", "content": [part]}], **ended}


PROTOCOLS: dict[str, tuple[Wire, Any]] = {
    "chat": (ChatCompletions(), chat),
    "messages": (Messages(), messages),
    "responses": (Responses(), responses),
}


def read(wire: Wire, body: JSON) -> Answer:
    return read_reply(200, {}, json.dumps(body).encode(), wire.read)


def failure(wire: Wire, body: JSON) -> FinalError:
    with pytest.raises(FinalError) as caught:
        read(wire, body)
    return caught.value


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("chat", "stop"), ("chat", "STOP"), ("chat", "eos"), ("chat", "eos_token"),
        ("chat", "stop_sequence"), ("chat", "end_turn"), ("chat", "COMPLETE"),
        ("messages", "end_turn"), ("messages", "stop_sequence"), ("messages", "tool_use"),
        ("responses", "completed"),
    ],
)  # fmt: skip
def test_an_answer_that_ended_well_is_an_answer(name: str, word: str) -> None:
    wire, body = PROTOCOLS[name]
    assert (read(wire, body(word)).text, read(wire, body(word)).finish_reason) == ("yes", word)


@pytest.mark.parametrize("name", PROTOCOLS)
@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("length", "truncated"), ("max_tokens", "truncated"), ("model_length", "truncated"),
        ("MAX_TOKENS", "truncated"), ("model_context_window_exceeded", "truncated"),
        ("content_filter", "filtered"), ("content-filter", "filtered"), ("SAFETY", "filtered"),
        ("sensitive", "filtered"), ("RECITATION", "filtered"), ("PROHIBITED_CONTENT", "filtered"),
        ("refusal", "refused"),
        ("error", "error"), ("abort", "error"), ("repetition", "error"), ("load", "error"),
        ("insufficient_system_resource", "error"), ("network_error", "error"),
        ("pause_turn", "error"), ("tool_calls", "error"), ("function_call", "error"),
        ("stopped", "error"), ("not stop", "error"), ("a word of next year", "error"),
    ],
)  # fmt: skip
def test_any_other_word_is_missing_with_the_servers_word(name: str, word: str, reason: str) -> None:
    wire, body = PROTOCOLS[name]
    error = failure(wire, body(word))
    assert (error.reason, error.status) == (reason, 200)
    assert error.answer is not None
    assert (error.answer.text, error.answer.finish_reason) == ("yes", word)
    assert reason == "refused" or repr(word) in error.message


@pytest.mark.parametrize("name", PROTOCOLS)
@pytest.mark.parametrize("word", [None, "", " ", ABSENT, 7, ["stop"], {"reason": "stop"}])
def test_no_word_is_missing_unless_the_judge_accepts_it(name: str, word: object) -> None:
    wire, body = PROTOCOLS[name]
    error = failure(wire, body(word))
    assert error.reason == "error"
    assert "no finish reason" in error.message
    assert "accept_no_reason=1" in error.message
    assert wire.read(body(word), 200, accept_no_reason=True).text == "yes"


@pytest.mark.parametrize(
    ("state", "why", "reason"),
    [
        ("incomplete", "max_output_tokens", "truncated"),
        ("incomplete", "content_filter", "filtered"),
        ("incomplete", "", "truncated"),
        ("incomplete", "stop", "truncated"),
        ("incomplete", "a new word", "error"),
        ("paused", "stop", "error"),
        ("", "stop", "error"),
    ],
)
def test_only_the_status_makes_a_response_complete(state: str, why: str, reason: str) -> None:
    body = responses(state) | {"incomplete_details": {"reason": why}}
    assert failure(Responses(), body).reason == reason
    good = responses("completed") | {"incomplete_details": {"reason": why}}
    assert read(Responses(), good).text == "yes"


def test_a_judge_that_accepts_no_word_still_accepts_no_bad_one() -> None:
    for word in ("abort", "length", "repetition"):
        with pytest.raises(FinalError, match=word):
            ChatCompletions().read(chat(word), 200, accept_no_reason=True)


@pytest.mark.parametrize("word", ["stop", "error", None])
@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({"code": 7, "message": "Upstream\nidle timeout"}, "Upstream idle timeout"),
        ("out of memory", "out of memory"),
        ({"code": 7}, "7"),
    ],
)
def test_a_break_within_the_answer_is_missing_with_the_servers_message(
    word: str | None, broken: object, said: str
) -> None:
    for body in (chat(word, error=broken), chat(word) | {"error": broken}):
        error = failure(ChatCompletions(), body)
        assert error.reason == "error"
        assert said in error.message
        with pytest.raises(FinalError):
            ChatCompletions().read(body, 200, accept_no_reason=True)


@pytest.mark.parametrize("empty", [None, {}, ""])
def test_an_empty_error_beside_an_answer_is_none(empty: object) -> None:
    assert read(ChatCompletions(), chat("stop", error=empty) | {"error": empty}).text == "yes"
    assert read(Responses(), responses("completed") | {"error": empty}).text == "yes"


def test_a_long_word_is_shown_in_part_and_on_one_line() -> None:
    error = failure(ChatCompletions(), chat("so\nit " + "e" * 500))
    assert "\n" not in error.message
    assert len(error.message) < 200


def test_every_good_word_is_recognised_in_any_case_and_no_part_of_one() -> None:
    for word in GOOD:
        assert ended_well(word)
        assert ended_well(f" {word.upper()} ")
        assert not ended_well(f"not {word}")
    assert (ended_well(""), ended_well("", accept_no_reason=True)) == (False, True)


@pytest.mark.parametrize("wire", WIRES)
def test_a_server_that_gives_no_reason_gives_no_answers_unless_accepted(wire: str) -> None:
    assert error_of(wire, "no-reason").state == "error"
    accepted, _ = ask(wire, Behaviour(faults={"no-reason": 1.0}), accept_no_reason=1)
    assert json.loads(accepted.text) == {"answerable": "yes"}


@pytest.mark.parametrize("wire", WIRES)
def test_an_aborted_answer_is_no_answer(wire: str) -> None:
    error = error_of(wire, "abort")
    assert (error.state, "'abort'" in error.message) == ("error", True)


@pytest.mark.parametrize("wire", ["chat", "responses"])
def test_an_answer_that_broke_off_is_no_answer(wire: str) -> None:
    assert "Upstream idle timeout" in error_of(wire, "broken-off").message


@pytest.mark.parametrize(("word", "said"), [("repetition", "repetition"), ("", "no finish reason")])
def test_scripted_answers_obey_the_same_list(word: str, said: str) -> None:
    with pytest.raises(FinalError, match=said):
        asyncio.run(Scripted([Answer("yes", word)]).ask(REQUEST))


def no_reason(wire: str, **params: Any) -> Findings:
    return probed(wire, Behaviour(faults={"no-reason": 1.0}), **params)


@pytest.mark.parametrize("wire", WIRES)
def test_the_probe_says_that_a_server_gives_no_reason_and_names_the_parameter(wire: str) -> None:
    found = no_reason(wire)
    assert found.refusal == ""
    (warning,) = found.warnings
    assert "does not say why an answer ended" in warning
    assert "accept_no_reason=1 (Accept answers without a reason)" in warning
    assert found.facts["structured_output"] == "obeyed"
    (accepted,) = no_reason(wire, accept_no_reason=1).warnings
    assert "were cut off count too" in accepted


@pytest.mark.parametrize("wire", WIRES)
def test_the_probe_says_nothing_about_a_server_that_gives_reasons(wire: str) -> None:
    words = " ".join(probed(wire, Behaviour()).warnings)
    assert "why an answer ended" not in words


def test_the_parameter_changes_nothing_that_is_sent() -> None:
    plain, accepting = (
        backend_of("chat", "http://h", **given) for given in ({}, {"accept_no_reason": 1})
    )
    assert isinstance(plain, OpenAICompatible)
    assert plain.body(REQUEST) == accepting.body(REQUEST)
    fresh = replace(REQUEST, written={})
    assert plain.identity(REQUEST) == accepting.identity(fresh)


LONG = replace(REQUEST, messages=(Message("system", "x" * 600), Message("user", "y" * 1000)))


@pytest.mark.parametrize(
    ("usage", "is_cut"),
    [
        ({"prompt_tokens": 99}, True),
        ({"prompt_tokens": 100}, False),
        ({"prompt_tokens": 1}, True),
        ({"prompt_tokens": 0}, False),
        ({}, False),
        ({"prompt_tokens": None}, False),
        ({"prompt_tokens": "50"}, False),
        ({"prompt_tokens": True}, False),
        ({"prompt_tokens": -3}, False),
        # Cached tokens are a part of the prompt's, as most servers count them.
        ({"prompt_tokens": 99, "prompt_tokens_details": {"cached_tokens": 90}}, True),
        ({"prompt_tokens": 99, "total_tokens": 104, "completion_tokens": 5,
          "prompt_tokens_details": {"cached_tokens": 90}}, True),
        # Or they are counted apart.
        ({"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 91}}, False),
        ({"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 90}}, True),
        ({"prompt_tokens": 0, "prompt_tokens_details": {"cached_tokens": 100}}, False),
        ({"prompt_tokens": 60, "total_tokens": 105, "completion_tokens": 5,
          "prompt_tokens_details": {"cached_tokens": 40}}, False),
        ({"prompt_tokens": 9, "cache_read_input_tokens": 60, "cache_creation_input_tokens": 31},
         False),
        ({"prompt_tokens": 9, "prompt_tokens_details": [91]}, True),
    ],
)  # fmt: skip
def test_a_prompt_with_fewer_tokens_than_a_sixteenth_of_its_characters_was_cut(
    usage: JSON, is_cut: bool
) -> None:
    assert is_prompt_cut(LONG, usage) == is_cut


@pytest.mark.parametrize("wire", WIRES)
def test_an_answer_to_a_cut_prompt_is_missing_and_names_the_context_window(wire: str) -> None:
    behaviour = Behaviour(faults={"cut-prompt": 1.0})
    with pytest.raises(FinalError) as caught:
        ask(wire, behaviour, LONG)
    error = caught.value
    assert (error.reason, error.status) == ("too-long", 200)
    assert error.answer is not None
    assert json.loads(error.answer.text) == {"answerable": "yes"}
    assert "context window" in error.message
    assert "num_ctx" in error.message
    assert "it read 1 tokens of 1,600 characters" in error.message


@pytest.mark.parametrize("wire", WIRES)
def test_a_whole_prompt_and_one_without_counts_are_answered(wire: str) -> None:
    for behaviour in (Behaviour(), Behaviour(prefix_cache=4), Behaviour(faults={"no-usage": 1.0})):
        assert ask(wire, behaviour, LONG)[0].text


def test_a_failed_answer_keeps_its_own_reason_beside_a_cut_prompt() -> None:
    with pytest.raises(BackendError) as caught:
        ask("chat", Behaviour(faults={"length": 1.0}), LONG)
    assert caught.value.state == "truncated"
