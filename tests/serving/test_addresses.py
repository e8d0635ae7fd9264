"""One address cannot take all connections, and nobody who shares it is locked out."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import requests

from config import env
from config.front.connection import Addresses, source_of
from tests.patience import PATIENCE
from tests.serving.site import ROOT, Person, Site

MOST = 20


@pytest.mark.parametrize(
    ("client", "source"),
    [
        (("192.0.2.7", 1234), "192.0.2.7"),
        (("::ffff:192.0.2.7", 1234, 0, 0), "192.0.2.7"),
        (("2001:db8::1", 1234, 0, 0), "2001:db8::/64"),
        (("2001:db8:0:0:ffff::2", 1234, 0, 0), "2001:db8::/64"),
        (("fe80::1%eth0", 1234, 0, 2), "fe80::/64"),
        ("", ""),
        (b"", ""),
    ],
    ids=["IPv4", "IPv4 in IPv6", "IPv6", "the same network", "a link", "a file", "a nameless file"],
)
def test_an_address_is_that_of_one_customer(client: Any, source: str) -> None:
    assert source_of(client) == source


def test_only_an_address_at_its_limit_is_crowding_and_its_longest_waiting_comes_first() -> None:
    addresses = Addresses[str](2)
    for source, connection in (("a", "first"), ("b", "other"), ("a", "second")):
        addresses.add(source, connection)
    assert addresses.crowding("a") == ("first", "second")
    assert addresses.crowding("b") == ()
    addresses.add("a", "first")
    assert addresses.crowding("a") == ("second", "first")
    addresses.remove("a", "second")
    assert addresses.crowding("a") == ()


@pytest.mark.parametrize("most", [0, 1])
def test_connections_without_an_address_and_those_without_a_limit_are_not_counted(
    most: int,
) -> None:
    addresses = Addresses[str](most)
    addresses.add("" if most else "a", "first")
    addresses.remove("", "first")
    assert addresses.crowding("") == addresses.crowding("a") == ()


@pytest.mark.parametrize(
    ("proxies", "setting", "most"),
    [("0", "", 500), ("0", "30", 30), ("0", "0", 0), ("1", "30", 0)],
    ids=["by default", "as set", "switched off", "behind a proxy"],
)
def test_the_sites_own_proxy_has_no_limit(
    proxies: str, setting: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TANDEM_PROXIES", proxies)
    monkeypatch.setenv("TANDEM_ADDRESS_CONNECTIONS", setting)
    assert env.most_connections_of_address() == most


def test_the_proxy_of_compose_has_no_limit() -> None:
    assert "TANDEM_ADDRESS_CONNECTIONS:-0" in (ROOT / "compose.yaml").read_text("utf-8")


@pytest.fixture(scope="module")
def limited(
    django_db_setup: None, static: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    settings = {"WEB_WORKERS": "1", "TANDEM_ADDRESS_CONNECTIONS": str(MOST), **static}
    site = Site(Path(tmp_path_factory.mktemp("limited")), settings)
    site.open_campaign(2, 1, "ada")
    with site.served():
        yield site


@pytest.mark.processes
@pytest.mark.once
def test_an_address_with_many_slow_connections_keeps_only_the_latest(limited: Site) -> None:
    with ExitStack() as stack:
        waiting = [stack.enter_context(slow(limited, "127.0.0.1")) for _ in range(MOST - 5)]
        others = [stack.enter_context(slow(limited, "127.0.0.2")) for _ in range(3 * MOST)]
        assert requests.get(f"{limited.url}/health/live", timeout=PATIENCE).text == "ok"
        assert [has_ended(each) for each in others] == [True] * 2 * MOST + [False] * MOST
        assert not any(has_ended(each) for each in waiting)
        # Ada shares the address of the slow connections, and still gets in.
        for _ in range(MOST):
            stack.enter_context(slow(limited, "127.0.0.1"))
        ada = Person(limited, "ada").come_in()
        ada.work()
        assert (len(ada.acknowledged), ada.odd) == (2, [])


def slow(site: Site, address: str) -> socket.socket:
    client = socket.create_connection(("127.0.0.1", site.port), PATIENCE, (address, 0))
    client.sendall(b"GET /login/ HTTP/1.1\r\nHost: local")
    return client


def has_ended(client: socket.socket) -> bool:
    client.settimeout(0.02)
    try:
        return client.recv(1) == b""
    except TimeoutError:
        return False
    except ConnectionError:
        return True
