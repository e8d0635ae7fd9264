"""Headers from named secrets: who may use them, and where their names belong."""

from __future__ import annotations

from typing import Any

import pytest

from annotation.models import User
from judging.backends.base import SetupError
from judging.forms import JudgeForm
from judging.judge_file.template import FileError
from judging.judges import JudgeError, read_judge_file
from judging.lanes import lanes_of
from judging.library import names, text_of
from judging.models import Judge, Key
from judging.servers import Server, known_servers, missing_key, new_server, servers_of
from tests.judging.cast import command, judge

pytestmark = pytest.mark.django_db

SERVER = "http://127.0.0.1:9/v1"
HEADERS = {"api-key": "TANDEM_KEY_AZURE", "x-org": "TANDEM_KEY_ORG"}
OF_A_SERVER: dict[str, Any] = {"backend": "openai", "model": "m", "base_url": SERVER}


def azure(name: str = "azure", **fields: Any) -> Judge:
    return judge(name, **{**OF_A_SERVER, "params": {"headers": HEADERS}, **fields})


def test_the_command_takes_headers_and_sends_no_other_key(monkeypatch: pytest.MonkeyPatch) -> None:
    # Port 9 is not asked for decisions.
    monkeypatch.setattr("judging.management.commands.create_judge._is_closed", lambda *given: False)
    command(
        "create_judge", "azure", "--backend", "openai", "--model", "m", "--base-url", SERVER,
        "--param", "headers=API-Key=TANDEM_KEY_AZURE, x-org=TANDEM_KEY_ORG",
    )  # fmt: skip
    made = Judge.objects.get()
    assert (made.params["headers"], made.api_key_env) == (HEADERS, "")
    assert set(Key.objects.values_list("variable", flat=True)) == set(HEADERS.values())


def test_the_public_servers_key_stays_beside_an_organisation() -> None:
    made = azure(base_url="")
    assert made.api_key_env == "OPENAI_API_KEY"


def test_headers_belong_to_the_judges_identity() -> None:
    azure()
    with pytest.raises(JudgeError, match="exists with another params"):
        azure(params={"headers": {"api-key": "TANDEM_KEY_AZURE"}})
    with pytest.raises(JudgeError, match="exists with another base url"):
        azure(base_url=f"{SERVER}?api-version=2")


def test_other_headers_are_another_lane() -> None:
    first, second = lanes_of(azure()), lanes_of(azure("again"))
    assert first is not None
    assert first == second
    # PostgreSQL orders the keys of an object by their length.
    azured = azure()
    azured.params["headers"] = dict(reversed(HEADERS.items()))
    assert lanes_of(azured) == first
    assert servers_of(azured) == servers_of(azure())
    assert first != lanes_of(azure("plain", params={}))
    assert first != lanes_of(azure("other", params={"headers": {"api-key": "TANDEM_KEY_B"}}))


def test_a_missing_value_of_a_header_or_query_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    made = azure(base_url=f"{SERVER}?key={{TANDEM_KEY_QUERY}}")
    for variable in (*HEADERS.values(), "TANDEM_KEY_QUERY"):
        assert missing_key(made) == variable
        monkeypatch.setenv(variable, "value")
    assert missing_key(made) == ""


def test_a_judge_file_names_no_headers() -> None:
    headers = 'headers = { api-key = "DATABASE_URL" }'
    text = next(text for text in map(text_of, names()) if "\n[params]\n" in text)
    with pytest.raises(FileError, match="headers belong to a judge"):
        read_judge_file(text.replace("\n[params]\n", f"\n[params]\n{headers}\n"))


def form(user: User, **more: Any) -> JudgeForm:
    plain = {"name": "new", "backend": "openai", "granularity": "item", "model": "m"}
    return JudgeForm({**plain, "prompt_from": "protocol", **more}, user=user)


def test_only_an_admin_gives_headers_to_a_new_address_and_only_reserved_ones(settings: Any) -> None:
    settings.TANDEM_JUDGE_HOSTS = ["127.0.0.1:9"]
    admin = User.objects.create(username="admin", role="admin")
    rita = User.objects.create(username="rita", role="researcher")
    given = {"server": "new", "base_url": SERVER, "headers": "api-key=TANDEM_KEY_AZURE"}
    of_admin = form(admin, **given)
    assert of_admin.is_valid(), of_admin.errors
    assert of_admin.definition().params["headers"] == {"api-key": "TANDEM_KEY_AZURE"}
    assert "Only an admin" in str(form(rita, **given).errors["headers"])
    secret = form(admin, **{**given, "headers": "api-key=SECRET_KEY"})
    assert "TANDEM_KEY_" in str(secret.errors)
    for url in (SERVER, f"{SERVER}?key={{SECRET_KEY}}"):
        with pytest.raises(SetupError):
            new_server(url, "", rita, {"a": "TANDEM_KEY_A"})


def test_a_known_server_brings_its_headers_and_takes_no_others() -> None:
    azure()
    rita = User.objects.create(username="rita", role="researcher")
    server = Server(SERVER, headers=tuple(HEADERS.items()))
    assert server.name in {each.name for each in known_servers(rita)}
    assert str(server) == f"{SERVER} (api-key in TANDEM_KEY_AZURE, x-org in TANDEM_KEY_ORG)"
    chosen = form(rita, server=server.name)
    assert chosen.is_valid(), chosen.errors
    assert chosen.definition().params["headers"] == HEADERS
    assert chosen.definition().api_key_env == ""
    other = form(rita, server=server.name, headers="api-key=DATABASE_URL")
    assert "choose a server with these headers" in str(other.errors["headers"])
