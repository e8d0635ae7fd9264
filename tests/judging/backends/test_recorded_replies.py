"""Replies as providers document them, or as a server gave them, are read correctly.

Each file states its origin: files written by hand follow the provider's reference of that day, and
`tandem judge record` adds others.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from judging.backends.anthropic import Anthropic
from judging.backends.base import Setup
from judging.backends.openai import OpenAICompatible
from judging.backends.recording import reread_reply, without_secrets
from judging.backends.wire import WireBackend
from tests.fake_openai.running import Running
from tests.judging.backends.test_openai import KEY
from tests.judging.cast import command, judge

FOLDER = Path(__file__).parent / "replies"
WIRES: dict[str, WireBackend] = {
    "chat/completions": OpenAICompatible(Setup("m", "http://h")),
    "responses": OpenAICompatible(Setup("m", "http://h", params={"api": "responses"})),
    "messages": Anthropic(Setup("m", "http://h")),
}


def replies(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    whole = json.loads(path.read_text("utf-8"))
    for reply in whole["replies"]:
        yield whole["wire"], reply


ALL = [
    pytest.param(wire, reply, id=f"{path.stem}-{reply['name']}")
    for path in sorted(FOLDER.glob("*.json"))
    for wire, reply in replies(path)
]


@pytest.mark.every_case
@pytest.mark.parametrize(("wire", "reply"), ALL)
def test_a_recorded_reply_is_read_as_its_file_expects(wire: str, reply: dict[str, Any]) -> None:
    found = reread_reply(WIRES[wire], reply)
    assert {name: found.get(name) for name in reply["expected"]} == reply["expected"]


def test_each_file_of_replies_states_its_origin_and_contains_no_secret() -> None:
    files = sorted(FOLDER.glob("*.json"))
    assert {json.loads(path.read_text("utf-8"))["wire"] for path in files} == set(WIRES)
    for path in files:
        whole = json.loads(path.read_text("utf-8"))
        assert whole["origin"].startswith(("recorded on 20", "written by hand on 20"))
        for reply in whole["replies"]:
            texts = json.dumps(reply["body"])
            assert "sk-" not in texts
            assert "org-" not in texts


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("backend", "params", "wire"),
    [
        ("openai", {}, "chat/completions"),
        ("openai", {"api": "responses"}, "responses"),
        ("anthropic", {}, "messages"),
    ],
)
def test_replies_are_recorded_without_the_key_and_read_again(
    server: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    backend: str, params: dict[str, Any], wire: str,
) -> None:  # fmt: skip
    monkeypatch.setenv("TANDEM_TEST_KEY", KEY)
    server.behave(reset=True, key=KEY, model="m", reasoning="So it is.")
    judge(
        "j", backend, model="m", base_url=server.url, api_key_env="TANDEM_TEST_KEY", params=params
    )
    path = tmp_path / "replies.json"
    assert "Recorded 5 replies" in command("record_replies", "--judge", "j", "--output", str(path))
    text = path.read_text("utf-8")
    assert KEY not in text
    assert json.loads(text)["wire"] == wire
    found = {reply["name"]: reply for _, reply in replies(path)}
    assert found["label"]["expected"]["reasoning"] == "So it is."
    assert found["unknown-model"]["expected"]["state"] == "status-404"
    assert all(reread_reply(WIRES[wire], each) == each["expected"] for each in found.values())
    with pytest.raises(CommandError, match="already exists"):
        command("record_replies", "--judge", "j", "--output", str(path))


@pytest.mark.django_db
def test_a_judge_that_asks_no_server_has_nothing_to_record(tmp_path: Path) -> None:
    judge("words")
    with pytest.raises(CommandError, match="asks no server"):
        command("record_replies", "--judge", "words", "--output", str(tmp_path / "r.json"))
    assert not list(tmp_path.iterdir())


def test_account_and_request_ids_are_removed_everywhere() -> None:
    body = {
        "id": "chatcmpl-123",
        "error": {"message": "Wrong key sk-proj-****abcd of org-AbCdEfGh123."},
        "choices": [{"message": {"content": "A user-friendly text."}}],
    }
    assert without_secrets(body) == {
        "id": "[removed]",
        "error": {"message": "Wrong key [removed] of [removed]"},
        "choices": [{"message": {"content": "A user-friendly text."}}],
    }
