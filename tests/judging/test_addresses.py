"""A judge with several addresses: how they are declared, checked and used."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import override_settings

from annotation.models import User
from judging.backends.base import Facts, Message, Request, Setup, SetupError
from judging.backends.contents import ContentsError, read_addresses
from judging.backends.vllm import VLLM
from judging.forms import JudgeForm
from judging.judge_backends import backends_of, build_backend
from judging.judge_file.template import FileError
from judging.judges import JudgeError, read_judge_file
from judging.library import names, text_of
from judging.models import Judge, Key
from judging.prompts.request import request_hash
from judging.servers import Server, known_servers, servers_of, variables_of_judge
from tests.judging.cast import command, judge

FIRST, SECOND, THIRD = (f"http://127.0.0.{n}:8000/v1" for n in (1, 2, 3))
REQUEST = Request((Message("user", "Yes?"),), {}, Facts("", (), (), unit_by_unit=True))
db = pytest.mark.django_db


def served(name: str = "served", *further: str, **fields: Any) -> Judge:
    params = {"addresses": list(further), **fields.pop("params", {})} if further else {}
    given = {"backend": "openai", "model": "m", "base_url": FIRST, "params": params}
    return judge(name, **{**given, **fields})


@pytest.mark.parametrize("text", [
    "http://a.b:1, http://c.d/v1", "http://a.b:1\nhttp://c.d/v1\n",
    '["http://a.b:1", "http://c.d/v1/chat/completions"]',
])  # fmt: skip
def test_addresses_are_read_in_the_form_in_which_they_are_asked(text: str) -> None:
    assert read_addresses(text) == ["http://a.b:1/v1", "http://c.d/v1"]


@pytest.mark.parametrize(("text", "wrong"), [
    ("", "0 addresses"), (" ".join(f"http://a.b:{n}" for n in range(1, 33)), "32 addresses"),
    ("http://a.b, http://a.b/v1/", "http://a.b/v1 twice"), ("a.b", "cannot be used"),
    ("http://u:p@a.b", "a user"), ("[1]", "other than an address"), ("[", "not a JSON list"),
    ("http://a.b?key=secret", "environment variable"), (f"http://{'a' * 500}", "500 characters"),
])  # fmt: skip
def test_wrong_addresses_are_refused(text: str, wrong: str) -> None:
    with pytest.raises(ContentsError, match=wrong):
        read_addresses(text)


@db
@pytest.mark.parametrize("backend", ["openai", "anthropic", "decisions"])
def test_a_request_has_one_identity_at_all_addresses(backend: str) -> None:
    every = backends_of(served("a", SECOND, THIRD, backend=backend))
    assert [each.endpoint for each in every] == [FIRST, SECOND, THIRD]
    assert len({request_hash(each, REQUEST) for each in every}) == 1
    alone = build_backend(served("b", backend=backend))
    assert request_hash(every[2], REQUEST) == request_hash(alone, REQUEST)


@db
def test_a_request_is_encoded_once_for_all_addresses() -> None:
    first, second = backends_of(served("a", SECOND))
    request = Request(REQUEST.messages, {}, REQUEST.facts)
    assert first.encode(request) is second.encode(request)  # type: ignore[attr-defined]


@db
def test_the_command_takes_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("judging.management.commands.create_judge._is_closed", lambda *given: False)
    command(
        "create_judge", "many", "--backend", "openai", "--model", "m", "--base-url", FIRST,
        "--param", f"addresses={SECOND},{THIRD}",
    )  # fmt: skip
    made = Judge.objects.get()
    assert made.params == {"addresses": [SECOND, THIRD]}
    assert [server.base_url for server in servers_of(made)] == [FIRST, SECOND, THIRD]


@db
@pytest.mark.parametrize(("fields", "wrong"), [
    ({"base_url": ""}, "needs the first address"),
    ({"backend": "vllm"}, "starts its own server; leave out --base-url"),
    ({"backend": "lexical", "base_url": "", "model": ""}, "does not use --param addresses"),
    ({"base_url": SECOND}, f"{SECOND} is given twice"),
])  # fmt: skip
def test_a_judge_without_use_for_addresses_is_refused(fields: dict[str, str], wrong: str) -> None:
    with pytest.raises(JudgeError, match=wrong):
        served("a", SECOND, **fields)


def test_the_backend_with_a_server_of_its_own_takes_no_addresses() -> None:
    with pytest.raises(SetupError, match="leave out --param addresses"):
        VLLM(Setup("m", params={"addresses": [SECOND]}))


@db
def test_a_judge_file_names_no_addresses() -> None:
    text = next(text for text in map(text_of, names()) if "\n[params]\n" in text)
    with pytest.raises(FileError, match="addresses belong to a judge"):
        read_judge_file(text.replace("\n[params]\n", f'\n[params]\naddresses = ["{SECOND}"]\n'))


@db
def test_the_secrets_of_all_addresses_are_claimed() -> None:
    made = served("a", f"{SECOND}?key={{TANDEM_KEY_B}}", api_key_env="TANDEM_KEY_A")
    assert variables_of_judge(made) == ("TANDEM_KEY_A", "TANDEM_KEY_B")
    assert set(Key.objects.values_list("variable", flat=True)) == {"TANDEM_KEY_A", "TANDEM_KEY_B"}


def form(user: User, **given: str) -> JudgeForm:
    plain = {"name": "j", "backend": "openai", "model": "m", "granularity": "item"}
    return JudgeForm({**plain, "server": "new", "base_url": FIRST, **given}, user=user)


@db
@override_settings(TANDEM_JUDGE_HOSTS=["127.0.0.1:8000", "127.0.0.2:8000"])
def test_each_address_of_the_form_is_guarded_as_the_first_is() -> None:
    rita = User.objects.create(username="rita", role="researcher")
    good = form(rita, addresses=SECOND)
    assert good.is_valid(), good.errors
    assert good.definition().params == {"addresses": [SECOND], "guarded": 1}
    for url, wrong in {
        THIRD: "not a public address", FIRST: "repeats", "http://host.example:9": "ports",
        f"{SECOND}?key={{TANDEM_KEY_B}}": "only an admin",
    }.items():  # fmt: skip
        assert wrong in str(form(rita, addresses=url).errors["addresses"]).replace("Only", "only")


@db
@override_settings(TANDEM_JUDGE_HOSTS=["127.0.0.2:8000"])
def test_a_key_goes_to_further_addresses_that_use_it_already() -> None:
    rita = User.objects.create(username="rita", role="researcher")
    served("a", THIRD, api_key_env="TANDEM_KEY_A")
    server = Server(FIRST, "TANDEM_KEY_A", guarded=False)
    assert server.name in {each.name for each in known_servers(rita)}
    known = form(rita, server=server.name, base_url="", addresses=THIRD)
    assert known.is_valid(), known.errors
    assert known.definition().params == {"addresses": [THIRD]}
    other = form(rita, server=server.name, base_url="", addresses=SECOND)
    assert "Only an admin may combine" in str(other.errors["addresses"])


@db
def test_a_guarded_judge_asks_no_private_address() -> None:
    guarded = Judge(
        backend="openai", model="m", base_url="http://host.example/v1",
        params={"addresses": [SECOND], "guarded": 1},
    )  # fmt: skip
    with pytest.raises(SetupError, match="not a public address"):
        backends_of(guarded)
