"""Several addresses as one backend: what has to be equal, and what is left out."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from judging.backends.base import (
    BackendError,
    FatalError,
    Findings,
    TransientError,
)
from judging.backends.replicas import ADDRESS, Replicas, members_of, with_replicas
from judging.backends.scripted import Scripted

ANSWERS = ["a", "b", "c", "d", "e"]
FACTS: Mapping[str, Any] = {
    "model_returned": "m", "structured_output": "obeyed", "answers": ANSWERS, "max_model_len": 9,
}  # fmt: skip
PRINTS: Mapping[str, Any] = {"id": "m", "version": "1"}
DOWN = TransientError("refused-connection", "nobody listens", unreachable=True)
DENIED = FatalError("status-401", "the server does not accept this key")


class Shown(Scripted):
    """A server that shows what a test says."""

    def __init__(self, name: str, found: Findings | BackendError, prints: Any = PRINTS) -> None:
        super().__init__([])
        self.endpoint, self.found, self.prints = f"http://{name}", found, prints
        self.recalled: Mapping[str, Any] = {}

    async def probe(self) -> Findings:
        if isinstance(self.found, BackendError):
            raise self.found
        return self.found

    async def fingerprint(self, answers: bool = False) -> Mapping[str, Any]:
        if isinstance(self.prints, BackendError):
            raise self.prints
        kept = dict(self.prints)
        given = kept.pop("answers", ANSWERS)
        return {**kept, "answers": given} if answers else kept

    def recall(self, facts: Mapping[str, Any]) -> None:
        self.recalled = facts


def shown(name: str, prints: Any = PRINTS, **facts: Any) -> Shown:
    return Shown(name, Findings({**FACTS, **facts}), prints)


def probed(*servers: Shown) -> tuple[Replicas, Findings]:
    replicas = Replicas(servers)
    return replicas, asyncio.run(replicas.probe())


def test_equal_addresses_are_one_server() -> None:
    replicas, found = probed(shown("a"), shown("b", {**PRINTS, "created": 5}))
    assert (found.refusal, found.warnings, replicas.left_out) == ("", (), {})
    assert found.facts == {
        **FACTS,
        "addresses": {name: {"reports": PRINTS} for name in ("http://a", "http://b")},
    }
    # The server knows the judge's context although only the other was asked first.
    assert all(each.recalled == found.facts for each in replicas.backends)  # type: ignore[attr-defined]
    assert asyncio.run(replicas.fingerprint()) == PRINTS


@pytest.mark.parametrize(("prints", "facts", "words"), [
    ({**PRINTS, "version": "2"}, {}, "the version of http://a is 1, and that of http://b 2"),
    ({**PRINTS, "id": "n"}, {}, "the model of http://a is m, and that of http://b n"),
    ({"id": "m"}, {}, "the version of http://a is 1, and that of http://b unknown"),
    ({**PRINTS, "root": "r"}, {}, "the root of http://a is unknown, and that of http://b r"),
    (PRINTS, {"structured_output": "ignored"}, "structured output of http://a is obeyed, and that"),
    (PRINTS, {"model_returned": "n"}, "the model returned of http://a is m, and that of http://b"),
    (PRINTS, {"system_fingerprint": "f"}, "the system fingerprint of http://a is unknown"),
    (PRINTS, {"answers": ["x", "y", *ANSWERS[2:]]}, "answer equal questions differently"),
])  # fmt: skip
def test_addresses_that_differ_are_refused_by_name(
    prints: Mapping[str, Any], facts: Mapping[str, Any], words: str
) -> None:
    _, found = probed(shown("a"), shown("b", prints, **facts))
    assert words in found.refusal
    assert "http://a" in found.refusal
    assert "http://b" in found.refusal
    assert found.refusal.endswith(
        "serve the same model in the same way at all addresses of a judge"
    )


def test_one_answer_may_differ_by_chance() -> None:
    _, found = probed(shown("a"), shown("b", answers=["x", *ANSWERS[1:]]))
    assert found.refusal == ""
    _, found = probed(shown("a"), shown("b", answers=None))
    assert found.refusal == ""


def test_an_address_that_cannot_serve_the_judge_refuses_the_run() -> None:
    cannot = Shown("b", Findings(FACTS, refusal="the model takes 100 tokens"))
    _, found = probed(shown("a"), cannot)
    assert found.refusal == "http://b: the model takes 100 tokens"


@pytest.mark.parametrize("error", [DOWN, DENIED])
def test_an_address_that_does_not_respond_is_left_out(error: BackendError) -> None:
    replicas, found = probed(Shown("a", error), shown("b"), shown("c"))
    assert replicas.left_out == {"http://a": error.message}
    assert found.refusal == ""
    assert found.warnings == (f"http://a is left out until it responds: {error.message}",)
    assert found.facts["addresses"]["http://a"] == {"left_out": error.message}
    assert replicas.known is not None
    assert replicas.known.address == "http://b"


def test_an_address_without_a_completion_is_left_out() -> None:
    silent = Shown("b", Findings({"listed": True}, ("no usable answer (status 500)",)))
    replicas, found = probed(shown("a"), silent)
    assert (found.refusal, replicas.left_out) == ("", {"http://b": "no usable answer (status 500)"})


def test_if_all_are_away_the_run_may_begin_anyway() -> None:
    with pytest.raises(TransientError):
        probed(Shown("a", DENIED), Shown("b", DOWN))
    with pytest.raises(FatalError):
        probed(Shown("a", DENIED), Shown("b", DENIED))


def test_an_address_is_compared_once_it_is_back() -> None:
    b = Shown("b", DOWN)
    replicas, _ = probed(shown("a"), b)
    with pytest.raises(TransientError):
        asyncio.run(replicas.compare(b))
    b.found = Findings({"listed": True}, ("no usable answer (rate)",))
    with pytest.raises(TransientError, match="no usable answer"):
        asyncio.run(replicas.compare(b))
    b.found = Findings(FACTS)
    assert asyncio.run(replicas.compare(b)) == ""
    b.found = replace(b.found, refusal="it rejects this")
    assert asyncio.run(replicas.compare(b)) == "http://b: it rejects this"
    b.found, b.prints = Findings(FACTS), {"id": "n"}
    assert "the model of http://a is m, and that of http://b n" in asyncio.run(replicas.compare(b))


def test_the_first_that_is_known_is_what_others_are_compared_with() -> None:
    a, b = shown("a"), shown("b", {"id": "n"})
    replicas = Replicas((a, b))
    assert asyncio.run(replicas.compare(b)) == ""
    assert "the model of http://b is n" in asyncio.run(replicas.compare(a))


def test_the_next_worker_compares_with_what_the_first_one_found() -> None:
    a, b, c = (shown(name) for name in "abc")
    _, found = probed(a, b, c)
    b.prints, c.prints = {**PRINTS, "version": "2"}, DOWN
    again = Replicas((a, b, c))
    again.recall(found.facts)
    assert asyncio.run(again.fingerprint()) == PRINTS
    assert again.left_out == {
        "http://b": "its version is 2, and was 1", "http://c": "nobody listens",
    }  # fmt: skip
    a.prints = b.prints
    with_all = Replicas((a, b))
    with_all.recall(found.facts)
    assert asyncio.run(with_all.fingerprint()) == {**b.prints, ADDRESS: "http://a"}


def test_an_address_that_the_first_worker_left_out_is_compared_by_the_next_one_too() -> None:
    a, b = shown("a"), Shown("b", DOWN)
    _, found = probed(a, b)
    again = Replicas((a, b))
    again.recall(found.facts)
    assert again.left_out == {"http://b": "nobody listens"}
    again.recall({})
    assert again.known is not None


def test_at_the_end_any_address_that_differs_is_reported() -> None:
    a, b = shown("a"), shown("b")
    replicas, _ = probed(a, b)
    assert asyncio.run(replicas.fingerprint(answers=True)) == {**PRINTS, "answers": ANSWERS}
    b.prints = {**PRINTS, "answers": ["x", "y", *ANSWERS[2:]]}
    report = asyncio.run(replicas.fingerprint(answers=True))
    assert (report[ADDRESS], report["answers"][:2]) == ("http://b", ["x", "y"])
    a.prints = b.prints = DOWN
    with pytest.raises(TransientError):
        asyncio.run(replicas.fingerprint(answers=True))


def test_one_address_is_asked_as_it_is() -> None:
    a, b = shown("a"), shown("b")
    assert with_replicas([a]) is a
    assert members_of(a) == (a,)
    assert members_of(with_replicas([a, b])) == (a, b)
