"""Slow clients and slow requests do not block others on the server of `make serve`."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
import requests

from config.front.worker import SWITCH_SECONDS_OF_OTHERS
from datasets.priority import NICENESS_OF_PAGES
from tests.datasets.test_priority import gives_way, is_of_a_nice_session
from tests.judging.processes import until
from tests.patience import PATIENCE
from tests.serving.site import Person, Site
from tests.serving.test_local_worker import runs

pytestmark = [pytest.mark.processes, pytest.mark.once]

OF_A_KIND = 50
PLACES = 3
POST = b"POST /login/ HTTP/1.1\r\nHost: localhost\r\n"


@pytest.fixture(scope="module")
def study(
    django_db_setup: None, static: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Site:
    folder = tmp_path_factory.mktemp("slow")
    settings = {
        "WEB_WORKERS": "1", "WEB_OTHER_THREADS": str(PLACES), "TANDEM_TEST_HELD": str(folder)
    }  # fmt: skip
    study = Site(folder, settings | static)
    study.open_campaign(6, 2, "ada", "ben", "rita")
    return study


@pytest.fixture(scope="module")
def site(study: Site) -> Iterator[Site]:
    with study.served():
        yield study


@pytest.fixture(scope="module")
def hurried(site: Site) -> Iterator[Site]:
    """The site with limits short enough for a test, and requests that can be held.

    One process is for work on items, and one for all else.
    """
    other = site.beside("-c", "tests/serving/held.py", WEB_OTHER_WORKERS="1")
    with other.served():
        until(lambda: process_of(other, "/login/") != process_of(other, "/people/"), "both")
        yield other


def process_of(site: Site, path: str) -> str:
    answer = requests.get(site.url + path, timeout=PATIENCE, allow_redirects=False)
    return answer.headers["X-Process"]


def test_only_the_process_for_other_requests_runs_at_lower_priority(hurried: Site) -> None:
    saves, other = (int(process_of(hurried, path)) for path in ("/login/", "/people/"))
    assert gives_way(other)
    assert is_of_a_nice_session(other, NICENESS_OF_PAGES)
    assert not gives_way(saves)
    assert os.getsid(saves) != os.getsid(other)


def test_pages_take_turns_rarely_where_nobody_saves(hurried: Site) -> None:
    intervals = [
        float(
            requests.get(hurried.url + path, timeout=PATIENCE, allow_redirects=False).headers[
                "X-Switch"
            ]
        )
        for path in ("/login/", "/people/")
    ]
    assert intervals == pytest.approx([0.005, SWITCH_SECONDS_OF_OTHERS])


def test_two_hundred_slow_clients_keep_nobody_from_saving(site: Site) -> None:
    address = requests.get(f"{site.url}/login/", timeout=PATIENCE).text
    file = address.partition('href="/static/')[2].partition('"')[0]
    with ExitStack() as open_ones:
        slow = [open_ones.enter_context(client) for client in slow_clients(site, file)]
        assert len(slow) == 4 * OF_A_KIND
        ada = Person(site, "ada").come_in()
        ada.work()
        assert len(ada.acknowledged) == 6
        assert ada.odd == []
        assert requests.get(f"{site.url}/health/live", timeout=PATIENCE).text == "ok"
        for client in slow:
            assert_open(client)


def slow_clients(site: Site, file: str) -> Iterator[socket.socket]:
    get = f"GET /static/{file} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    post = POST + b"Content-Length: 1000\r\n\r\nuser"
    for _ in range(OF_A_KIND):
        yield sent(site, b"GET /login/ HTTP/1.1\r\nHost: local")
        yield sent(site, post)
        yield answered(sent(site, b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"))
        # Together, the responses are larger than the kernel's buffer for a client.
        yield sent(site, 200 * get, room=4096)


def sent(site: Site, data: bytes, room: int = 0) -> socket.socket:
    client = socket.socket()
    if room:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
    client.connect(("127.0.0.1", site.port))
    client.settimeout(PATIENCE)
    client.sendall(data)
    return client


def answered(client: socket.socket) -> socket.socket:
    assert client.recv(4096).startswith(b"HTTP/1.1 200")
    return client


def assert_open(client: socket.socket) -> None:
    """Check that the server waits for the client, or has sent something without closing."""
    client.setblocking(False)
    with suppress(BlockingIOError):
        assert client.recv(1, socket.MSG_PEEK) != b""


def test_a_slowly_reading_client_gets_the_whole_response(site: Site) -> None:
    where = f"{site.url}/login/"
    whole = requests.get(where, timeout=PATIENCE).content
    get = b"GET /login/ HTTP/1.1\r\nHost: localhost\r\n\r\n"
    last = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    with sent(site, 100 * get + last, room=4096) as client:
        received = b"".join(iter(lambda: client.recv(65536), b""))
    assert received.count(b"HTTP/1.1 200 OK") == 101
    assert received.count(b"</html>") == 100 * whole.count(b"</html>")
    assert received.endswith(b"\r\n2\r\nok\r\n0\r\n\r\n")


def test_a_save_is_answered_while_all_other_requests_hang(hurried: Site) -> None:
    ben = Person(hurried, "ben").come_in()
    asking, statuses = asked(hurried, 3 * PLACES)
    with started(asking, hurried.folder / "release"):
        until(lambda: len(marks(hurried.folder)) == PLACES, "every place is held", 60)
        ben.work()
        assert len(ben.acknowledged) == 6
        for probe in ("live", "ready"):
            answer = requests.get(f"{hurried.url}/health/{probe}", timeout=PATIENCE)
            assert answer.text == "ok"
        assert requests.get(f"{hurried.url}/login/", timeout=PATIENCE).status_code == 200
        assert statuses == []
        assert len(marks(hurried.folder)) == PLACES
    assert statuses == [200] * len(asking)


def test_requests_of_clients_that_left_while_they_waited_are_not_answered(hurried: Site) -> None:
    release = hurried.folder / "release"
    release.unlink(missing_ok=True)
    before = len(marks(hurried.folder))
    cookie = f"Cookie: sessionid={hurried.sessions['rita']}\r\n".encode()
    get = b"GET /campaigns/ HTTP/1.1\r\nHost: localhost\r\nX-Hold: 1\r\n" + cookie + b"\r\n"
    asking, statuses = asked(hurried, PLACES)
    with started(asking, release):
        until(lambda: len(marks(hurried.folder)) == before + PLACES, "every place is held", 60)
        for _ in range(PLACES):
            sent(hurried, get).close()
        with sent(hurried, get) as stays:
            release.touch()
            assert stays.recv(4096).startswith(b"HTTP/1.1 200")
    assert statuses == [200] * PLACES
    assert len(marks(hurried.folder)) == before + PLACES + 1


def asked(site: Site, times: int) -> tuple[list[threading.Thread], list[int]]:
    """Requests of Rita's that are held: how to start them, and the statuses of their responses."""
    cookies, statuses = {"sessionid": site.sessions["rita"]}, list[int]()

    def ask() -> None:
        answer = requests.get(
            f"{site.url}/campaigns/", cookies=cookies, headers={"X-Hold": "1"}, timeout=PATIENCE
        )
        statuses.append(answer.status_code)

    return [threading.Thread(target=ask) for _ in range(times)], statuses


@contextmanager
def started(threads: list[threading.Thread], release: Path) -> Iterator[None]:
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        release.touch()
        for thread in threads:
            thread.join(PATIENCE)


def marks(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if len(path.name) == 32 and path.is_file()]


@pytest.mark.parametrize(
    ("begun", "status"),
    [
        (b"GET /login/ HTTP/1.1\r\nHost: local", b"408"),
        (POST + b"Content-Length: 9\r\n\r\nuser", b"408"),
        (b"GET /login/ HTTP/1.1\r\nX: " + 70_000 * b"x", b"431"),
        (POST + b"Content-Length: 90000000\r\n\r\n", b"413"),
        (POST + b"Transfer-Encoding: chunked\r\n\r\n1\r\na", b"411"),
        (POST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n", b"400"),
    ],
    ids=["slow head", "slow body", "long head", "long body", "chunks", "two lengths"],
)
def test_requests_that_are_too_slow_or_too_long_are_refused(
    hurried: Site, begun: bytes, status: bytes
) -> None:
    with sent(hurried, begun) as client:
        received = b"".join(iter(lambda: client.recv(65536), b""))
    assert received.split(b" ", 2)[1] == status


def test_a_client_that_expects_100_continue_gets_it(hurried: Site) -> None:
    head = POST + b"Content-Length: 4\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n"
    with sent(hurried, head) as client:
        assert client.recv(65536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(b"a=b&")
        received = b"".join(iter(lambda: client.recv(65536), b""))
    # Without a CSRF token it is refused, but it was read.
    assert received.startswith(b"HTTP/1.1 403")


def test_requests_passed_to_the_other_process_are_answered_before_the_site_stops(
    hurried: Site,
) -> None:
    release, server = hurried.folder / "release", hurried.server
    assert server is not None
    release.unlink(missing_ok=True)
    before = len(marks(hurried.folder))
    asking, statuses = asked(hurried, PLACES)
    with started(asking, release):
        until(lambda: len(marks(hurried.folder)) == before + PLACES, "all have begun", 60)
        server.terminate()
        until(lambda: not is_listening(hurried), "it takes no more")
    assert statuses == [200] * PLACES
    assert server.wait(PATIENCE) == 0


def is_listening(site: Site) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", site.port)) == 0


def test_no_process_outlives_a_site_that_is_killed(site: Site) -> None:
    endless = ("--graceful-timeout", "86400")
    other = site.beside("-c", "tests/serving/held.py", *endless, WEB_OTHER_WORKERS="1")
    with other.served() as server:
        until(lambda: process_of(other, "/login/") != process_of(other, "/people/"), "both")
        serving = other.serving(server)
    assert len(serving) == 2
    until(lambda: not any(map(runs, serving)), "all have ended")
