"""Pages of long items come from the process in which nobody saves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import requests

from annotation.long_items import MOST_CHARACTERS
from config.front.exchange import Exchange
from config.front.handover import Handover
from config.front.incoming import DiskBudget, Incoming, Limits
from tests.judging.processes import until
from tests.patience import PATIENCE
from tests.serving.site import Person, Site

pytestmark = [pytest.mark.processes, pytest.mark.once]

SHORT, LONG = 1, 2
"""The keys of the two campaigns."""
GET = b"GET /tasks/1/ HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture(scope="module")
def site(
    django_db_setup: None, static: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("long")
    site = Site(folder, {"WEB_WORKERS": "1", "WEB_OTHER_WORKERS": "1", **static})
    site.command = ("-c", "tests/serving/held.py")
    site.open_campaign(2, 2, "ada", "ben", "rita")
    batch = folder / "long.jsonl"
    report = {"id": "r", "text": "All is well. " * (MOST_CHARACTERS // 10), "system": "s"}
    question = {"id": "q:0", "text": "Is all well?"}
    query = {"id": "q", "text": "Tell all.", "questions": [question], "reports": [report]}
    batch.write_text(json.dumps(query) + "\n", "utf-8")
    site.manage(
        ("load_batch", batch, "--name", "long"),
        ("create_campaign", "long", "--protocol", "report-coverage", "--batch", "long",
         "--raters-per-item", 2, "--pool", "open"),
    )  # fmt: skip
    with site.served():
        until(lambda: process_of(site, "/login/") != process_of(site, "/people/"), "both")
        yield site


def process_of(site: Site, path: str) -> str:
    answer = requests.get(site.url + path, timeout=PATIENCE, allow_redirects=False)
    return answer.headers["X-Process"]


def test_a_page_of_a_long_item_comes_from_the_process_in_which_nobody_saves(site: Site) -> None:
    saves, other = process_of(site, "/login/"), process_of(site, "/people/")
    ada = Person(site, "ada").come_in()
    for campaign, expected in ((SHORT, saves), (LONG, other)):
        uid = ada.take_next(campaign)
        answer = ada.session.get(f"{site.url}/tasks/{uid}/", timeout=PATIENCE)
        assert answer.status_code == 200
        assert answer.headers["X-Process"] == expected
        # The connection has come back.
        answer = ada.session.get(f"{site.url}/login/", timeout=PATIENCE)
        assert answer.headers["X-Process"] == saves


def test_an_answer_to_a_long_item_is_saved_where_people_save(site: Site) -> None:
    ben = Person(site, "ben").come_in()
    saves, uid = process_of(site, "/login/"), ben.take_next(LONG)
    assert uid is not None
    sent: list[str] = []
    ben.session.hooks["response"].append(
        lambda answer, **_: (
            sent.append(answer.headers["X-Process"]) if answer.request.method == "POST" else None
        )
    )
    ben.answer(uid)
    assert ben.odd == []
    assert sent == [saves]


def left_at(worker: Any) -> tuple[Any, Exchange, Handover]:
    """A request that a view has left, and its place in the process `worker`."""
    exchange = Exchange(work=1)
    incoming = Incoming(Limits(100, lambda path: 0, DiskBudget(1000), None))
    incoming.feed(GET)
    incoming.recv(1000)
    connection = SimpleNamespace(
        incoming=incoming, outgoing=SimpleNamespace(waiting=0), real=None, client=None, server=None
    )
    return connection, exchange, Handover(worker, exchange, 3)


def test_a_request_that_no_process_takes_is_answered_where_it_was_left() -> None:
    answered: list[Any] = []
    worker = SimpleNamespace(is_other=False, alive=False, age=1, answer=answered.append)
    connection, exchange, handover = left_at(worker)
    other = SimpleNamespace(is_other=True, age=2)
    exchange.note(other, True)
    assert not handover.may_leave(connection)
    handover.leave(connection)
    assert answered == [connection]
    worker.alive = True
    # It is not left a second time.
    assert not handover.may_leave(connection)


def test_a_request_is_read_again_from_its_beginning_where_it_was_left() -> None:
    incoming = Incoming(Limits(100, lambda path: 0, DiskBudget(1000), None))
    incoming.feed(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc")
    first = incoming.recv(1000) + incoming.recv(1000)
    incoming.rewind()
    assert incoming.recv(1000) + incoming.recv(1000) == first
    assert first.endswith(b"abc")
