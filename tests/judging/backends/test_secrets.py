"""Headers and addresses with secrets from the environment: sent, part of the identity, unseen."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from judging.backends.anthropic import Anthropic
from judging.backends.base import BackendError, FatalError, Findings, Setup, SetupError
from judging.backends.contents import ContentsError, read_headers
from judging.backends.decisions import DecisionModel, find_offered_form
from judging.backends.openai import OpenAICompatible
from judging.backends.vllm import VLLM
from judging.params import ParamError, read_params
from tests.fake_openai.deciding import Deciding
from tests.fake_openai.server import DEPLOYMENT, Behaviour, FakeOpenAI
from tests.judging.backends.test_openai import REQUEST, serving

SECRET, ORGANISATION = "azure-secret-0123456789", "org-0123456789abc"
HEADERS = {"api-key": "TANDEM_TEST_AZURE", "openai-organization": "TANDEM_TEST_ORG"}


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANDEM_TEST_AZURE", f" {SECRET}\n")
    monkeypatch.setenv("TANDEM_TEST_ORG", ORGANISATION)
    monkeypatch.setenv("TANDEM_TEST_KEY", "sk-0123456789abcdef")
    monkeypatch.setenv("TANDEM_TEST_BEARER", f"Bearer {SECRET}")


def asked(
    server: FakeOpenAI, suffix: str = "", key: str = "", headers: Any = None, probe: bool = False
) -> Any:
    async def inside() -> Any:
        async with serving(server) as url:
            params = {"timeout": 5.0, **({"headers": headers} if headers else {})}
            async with OpenAICompatible(Setup("fake-judge", url + suffix, key, params)) as backend:
                return await (backend.probe() if probe else backend.ask(REQUEST))

    return asyncio.run(inside())


def test_an_azure_deployment_is_asked_with_its_version_and_its_header() -> None:
    server = FakeOpenAI(Behaviour())
    address = f"{DEPLOYMENT}/chat/completions?api-version=2024-10-21"
    assert asked(server, address, headers=HEADERS).status == 200
    assert server.last_url == f"{DEPLOYMENT}/chat/completions?api-version=2024-10-21"
    assert server.last_headers["api-key"] == SECRET
    assert server.last_headers["OpenAI-Organization"] == ORGANISATION
    assert "Authorization" not in server.last_headers


def test_headers_are_sent_by_the_probe_too() -> None:
    server = FakeOpenAI(Behaviour())
    found: Findings = asked(server, headers=HEADERS, probe=True)
    assert (found.refusal, server.last_headers["api-key"]) == ("", SECRET)


def test_a_header_takes_the_place_of_the_protocols_own() -> None:
    server = FakeOpenAI(Behaviour())
    asked(server, key="TANDEM_TEST_KEY", headers={"authorization": "TANDEM_TEST_BEARER"})
    assert server.last_headers.getall("Authorization") == [f"Bearer {SECRET}"]  # type: ignore[attr-defined]


def test_a_secret_of_the_query_is_filled_in_when_a_request_is_sent() -> None:
    server = FakeOpenAI(Behaviour())
    setup = Setup("m", "http://h/v1?key={TANDEM_TEST_AZURE}&v=1", "")
    assert OpenAICompatible(setup).endpoint == "http://h/v1?key={TANDEM_TEST_AZURE}&v=1"
    asked(server, "/v1?key={TANDEM_TEST_AZURE}&v=1")
    assert server.last_url == f"/v1/chat/completions?key={SECRET}&v=1"


@pytest.mark.parametrize("value", ["", "two\nlines"])
def test_a_header_without_a_usable_value_stops_the_run_and_names_the_variable(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TANDEM_TEST_AZURE", value)
    for suffix, headers in (("", HEADERS), ("/v1?key={TANDEM_TEST_AZURE}", None)):
        with pytest.raises(FatalError, match="TANDEM_TEST_AZURE") as caught:
            asked(FakeOpenAI(Behaviour()), suffix, headers=headers)
        assert caught.value.state == "key"


@pytest.mark.parametrize("name", ["authorization", "api-key"])
def test_a_secret_that_the_server_repeats_is_removed(
    name: str,
) -> None:
    server = FakeOpenAI(Behaviour(key="another"))
    headers = {name: "TANDEM_TEST_BEARER", "authorization": "TANDEM_TEST_BEARER"}
    with pytest.raises(BackendError) as caught:
        asked(server, headers=headers)
    error = caught.value
    assert "Incorrect API key provided" in error.message
    assert SECRET not in f"{error} {error.message} {error.body} {error.args}"


def test_headers_and_queries_are_part_of_the_identity_and_secrets_are_not() -> None:
    def identity(url: str, **params: Any) -> dict[str, Any]:
        backend = OpenAICompatible(Setup("m", url, "", params))
        return backend.identity(replace(REQUEST, written={}))

    plain = identity("http://h/v1")
    assert set(plain) == {"endpoint", "sent"}, "older judges keep their digests"
    with_headers = identity("http://h/v1", headers=HEADERS)
    assert with_headers == plain | {"headers": HEADERS}
    assert identity("http://h/v1?api-version=1") != identity("http://h/v1?api-version=2")
    assert SECRET not in str(with_headers)
    deciding = [
        DecisionModel(Setup("m", "http://h/v1", "", params))
        for params in ({}, {"headers": HEADERS})
    ]
    before, after = (each.identity(replace(REQUEST, written={})) for each in deciding)
    assert after == before | {"headers": HEADERS}


@pytest.mark.parametrize(
    ("text", "headers"),
    [
        ("api-key=AZURE", {"api-key": "AZURE"}),
        ("X-B = B , API-Key=A,", {"api-key": "A", "x-b": "B"}),
        ('{"api-key": "AZURE"}', {"api-key": "AZURE"}),
    ],
)
def test_headers_are_read_as_pairs_or_as_json(text: str, headers: dict[str, str]) -> None:
    assert read_headers(text) == headers
    assert read_params([f"headers={text}"]) == {"headers": headers}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "0 headers"), ("api-key", "no variable for 'api-key'"),
        ("api-key=sk-abc.123", "no variable for 'api-key'"), ("a b=C", "that HTTP allows"),
        ("Host=H", "'Host', which Tandem itself sends"), ("a=B,A=C", "'A' twice"),
        ('{"a": 1}', "no variable for 'a'"), ('{"a"', "not JSON"), ("a\r\nb=C", "that HTTP allows"),
        (f"a={'B' * 101}", "no variable"), (",".join(f"h{n}=V" for n in range(21)), "21 headers"),
    ],
)  # fmt: skip
def test_a_wrong_header_is_refused_without_repeating_its_value(text: str, said: str) -> None:
    with pytest.raises(ContentsError, match=said):
        read_headers(text)
    with pytest.raises(ParamError) as caught:
        read_params([f"headers={text}"])
    assert "sk-abc" not in str(caught.value)


def test_every_backend_with_a_server_of_a_persons_choice_sends_headers() -> None:
    setup = Setup("m", "http://h", "", {"headers": HEADERS})
    assert Anthropic(setup).headers == DecisionModel(setup).http.headers == HEADERS
    with pytest.raises(SetupError, match="leave out --param headers"):
        VLLM(Setup("m", params={"headers": HEADERS}))


def test_the_look_for_decisions_sends_them_as_well() -> None:
    server = FakeOpenAI(Behaviour(decides=Deciding(("systemone",))))

    async def inside() -> str:
        async with serving(server) as url:
            return await find_offered_form(Setup("fake-judge", url, "", {"headers": HEADERS}), [])

    assert asyncio.run(inside()) == "systemone"
    assert server.last_headers["api-key"] == SECRET
