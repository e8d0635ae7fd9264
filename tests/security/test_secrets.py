"""No key, password or token is ever stored or printed, even if a judge's server repeats it."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count, pairwise
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from tests.cast import manage_all
from tests.databases import ON_POSTGRESQL, environment

KEY, PASSWORD = "sk-canary-7f3b9e1c55d0", "canary-pass-phrase-1881"
TURNS = count()


class Echo(BaseHTTPRequestHandler):
    """A judge's server that repeats the key in every part of its responses."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        text = f"your header was {self.headers['Authorization']}"
        turn = next(TURNS) % 4
        status = {1: 400, 3: 422}.get(turn, 200)
        quoted = json.dumps({"evidence": [{"quote": text, "start": None}], "answerable": "yes"})
        choice = {"message": {"content": quoted if turn == 2 else text}, "finish_reason": "stop"}
        answers = {"error": {"message": text, "code": text}, "choices": [choice], "model": text}
        self._answer(status, answers if status == 200 else {"error": answers["error"]})

    def do_GET(self) -> None:
        self._answer(404, {"error": f"no such page for {self.headers['Authorization']}"})

    def _answer(self, status: int, body: object) -> None:
        raw = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def echo() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
    )
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()


def output_of(folder: Path, *commands: Sequence[object]) -> str:
    """Run commands, and return all that they print; commands of this judge may fail."""
    done = manage_all(folder, *commands, said=f"{PASSWORD}\n{PASSWORD}\n")
    return done.stdout + done.stderr


def stored_text(folder: Path) -> str:
    """Return everything that is stored: the data folder, and a database outside of it."""
    files = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    found = b"\n".join(files).decode("utf-8", "replace")
    return found + (_dumped(environment(folder)["DATABASE_URL"]) if ON_POSTGRESQL else "")


def places(folder: Path, secret: str) -> list[str]:
    """Return the surroundings of each place in which a secret is stored."""
    found = stored_text(folder).split(secret)
    return [before[-80:] + "…" + after[:40] for before, after in pairwise(found)]


def _dumped(url: str) -> str:
    with psycopg.connect(url) as connection:
        tables = connection.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
        ).fetchall()
        every = [sql.SQL("SELECT * FROM {}").format(sql.Identifier(name)) for (name,) in tables]
        return "".join(str(connection.execute(one).fetchall()) for one in every)


@pytest.mark.processes
def test_a_judges_key_and_a_password_are_stored_nowhere(
    house: Path, echo: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANARY_KEY", KEY)
    out = house / "canary"
    out.mkdir()
    asking = ("--backend", "openai", "--model", "m", "--base-url", echo,
              "--api-key-env", "CANARY_KEY")  # fmt: skip
    of_it = ("--campaign", "canary", "--judge", "canary")
    exports = [
        ("export", "--campaign", "canary", "--what", what, "--output", out / f"{what}.jsonl")
        for what in ("labels", "responses")
    ]
    output = output_of(
        house,
        ("create_campaign", "canary", "--protocol", "report-coverage", "--batch", "b"),
        ("create_judge", "canary", *asking, "--granularity", "unit"),
        ("run_judge", *of_it),
        ("create_account", "canary", "--role", "annotator"),
        ("report", "--campaign", "canary"),
        *exports,
        ("judge_manifest", *of_it, "--output", out / "manifest.json"),
        ("create_judge", "sent", *asking),
        ("run_judge", "--campaign", "canary", "--judge", "sent", "--batch-file",
         out / "requests.jsonl"),
    )  # fmt: skip
    assert next(TURNS) >= 4, output
    assert {path.name for path in out.iterdir()} == {
        "labels.jsonl", "responses.jsonl", "manifest.json", "requests.jsonl",
    }  # fmt: skip
    for secret in (KEY, PASSWORD):
        assert secret not in output
        assert not places(house, secret)
    assert "CANARY_KEY" in stored_text(house)


def test_a_key_entered_as_its_name_is_refused_and_not_repeated(house: Path) -> None:
    command = ("create_judge", "leaky", "--backend", "openai", "--model", "m",
               "--base-url", "https://api.example.org/v1", "--api-key-env", KEY)  # fmt: skip
    output = output_of(house, command)
    assert output.strip()
    assert KEY not in output
    assert not places(house, KEY)
    assert KEY not in os.environ.values()
