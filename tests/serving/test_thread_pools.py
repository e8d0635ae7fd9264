"""Which threads and which process answer a request, and how it reaches them."""

from __future__ import annotations

import socket
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from config.front.exchange import GIVE_WAY_SECONDS, Balance, Exchange, Line, PassedConnection
from config.front.incoming import DiskBudget, Incoming, Limits
from config.front.thread_pools import DOOR, HEALTH, OTHER, WORK, pool_of

pytestmark = pytest.mark.once

LARGE = bytes(range(256)) * 1000
NEXT = b"GET /tasks/ HTTP/1.1\r\n\r\n"


@pytest.mark.parametrize(
    ("path", "pool"),
    [
        ("/health/live", HEALTH),
        ("/", WORK),
        ("/tasks/3f0c/submit", WORK),
        ("/api/v1/assignments/next/", WORK),
        ("/api/v1/campaigns/7/next/", WORK),
        ("/api/v1/campaigns/7/consent/", WORK),
        ("/adjudication/7/12/decide/", WORK),
        ("/api/v1/campaigns/7/adjudication/12/", WORK),
        ("/adjudication/7/", OTHER),
        ("/api/v1/campaigns/7/", OTHER),
        ("/static/css/tandem.css", WORK),
        ("/login/", DOOR),
        ("/prolific/7/", DOOR),
        ("/campaigns/1/results/", OTHER),
        ("/campaigns/1/exports/labels/jsonl/", OTHER),
        ("/api/v1/campaigns/1/report/", OTHER),
        ("/nothing/tasks/", OTHER),
    ],
)
def test_work_on_items_has_its_own_threads_apart_from_researchers_pages(
    path: str, pool: str
) -> None:
    assert pool_of(path) == pool


class TestRoles:
    def test_processes_for_work_start_first_and_a_dead_one_is_replaced_by_its_kind(
        self,
    ) -> None:
        exchange = Exchange(work=2)
        first = started(exchange)
        second = started(exchange, first)
        other = started(exchange, first, second)
        assert [each.is_other for each in (first, second, other)] == [False, False, True]
        assert not started(exchange, second, other).is_other
        assert started(exchange, first, second).is_other

    def test_requests_are_passed_on_only_while_another_process_takes_them(self) -> None:
        exchange = Exchange(work=1)
        work = started(exchange)
        other = started(exchange, work)
        exchange.note(work, True)
        assert not exchange.has_takers
        exchange.note(other, True)
        assert exchange.has_takers
        exchange.note(other, False)
        assert not exchange.has_takers


class TestBalance:
    """New connections go to the process that has the fewest."""

    def two(self) -> tuple[Exchange, Any, Any]:
        exchange = Exchange(work=2)
        first = started(exchange)
        second = started(exchange, first)
        exchange.note_connections(first, 3)
        exchange.note_connections(second, 1)
        return exchange, first, second

    def test_a_process_leaves_a_connection_to_one_that_has_fewer(self) -> None:
        exchange, _, second = self.two()
        assert Balance(exchange).gives_way(3, 100.0)
        assert not Balance(exchange).gives_way(1, 100.0)
        exchange.note_connections(second, 3)
        assert not Balance(exchange).gives_way(3, 100.0)

    def test_a_process_that_does_not_accept_is_waited_for_once_a_connection(self) -> None:
        balance = Balance(self.two()[0])
        asked = [balance.gives_way(3, n * GIVE_WAY_SECONDS / 4) for n in range(9)]
        assert asked == [True] * 4 + [False] + [True] * 3 + [False]

    def test_each_connection_is_left_to_the_other_process_for_the_full_time(self) -> None:
        balance = Balance(self.two()[0])
        assert balance.gives_way(3, 100.0)
        assert balance.gives_way(3, 100 + 10 * GIVE_WAY_SECONDS)

    def test_no_connection_is_left_to_a_process_that_stops_or_answers_other_requests(self) -> None:
        exchange, first, second = self.two()
        other = started(exchange, first, second)
        exchange.note_connections(other, 0)
        exchange.note(second, False)
        assert not Balance(exchange).gives_way(3, 100.0)


def started(exchange: Exchange, *living: Any) -> Any:
    worker = SimpleNamespace(age=len(living) + 1)
    exchange.assign(worker, living)
    return worker


@pytest.mark.parametrize("body", [b"", b"a=b", LARGE], ids=["none", "small", "large"])
def test_a_request_reaches_the_other_process_unchanged(body: bytes, tmp_path: Path) -> None:
    limits = Limits(len(LARGE), lambda _: 0, DiskBudget(len(LARGE)), str(tmp_path))
    head = f"POST /batches/ HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    sent, line = Incoming(limits, head + body + NEXT), Line()
    client, real = socket.socketpair()
    with client, real:
        line.send(PassedConnection(real, ("127.0.0.1", 5), ("127.0.0.1", 80), *sent.parts()))
        sent.close()
        real.close()
        passed = line.receive()
        there = Incoming.whole(limits, passed.head, passed.data, passed.rest, passed.body)
        assert b"".join(iter(lambda: there.recv(65536), b"")) == head + body
        assert (there.path, there.rest) == ("/batches/", NEXT)
        assert (passed.client, passed.server) == (("127.0.0.1", 5), ("127.0.0.1", 80))
        there.close()
        assert limits.room.left == len(LARGE)
        passed.real.sendall(b"done")
        passed.real.close()
        assert client.recv(10) == b"done"
    with pytest.raises(BlockingIOError):
        line.receive()
