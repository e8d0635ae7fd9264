"""The guard against requests to internal servers, for judges that are defined in the browser.

A name may resolve to another address when a connection is opened than when it was checked. So the
guard checks the address of each socket. Hosts listed by the operator may be private.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

import aiohttp
from aiohttp.connector import AddrInfoType
from yarl import URL

from judging.backends.base import (
    BackendError,
    FinalError,
    RateError,
    SetupError,
    TransientError,
)

PORTS = frozenset({80, 443, 8000, 8080, 8443})
# Addresses at which clouds serve a machine's secrets. Some count as public addresses.
METADATA = tuple(
    ip_network(each)
    for each in (
        "169.254.0.0/16",
        "192.0.0.0/24",
        "100.100.100.200",
        "168.63.129.16",
        "fd00:ec2::/32",
        "fd20:ce::/32",
    )
)
# Mapped, translated, NAT64 and compatible addresses contain an IPv4 address in the last 32 bits.
_EMBEDDING = tuple(
    IPv6Network(each) for each in ("::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96", "::/96")
)
# With a local NAT64 prefix, the network's operator chooses the position of the address.
_LOCAL_NAT64 = IPv6Network("64:ff9b:1::/48")
NO_CONNECTION = (
    "no connection to the server; check its address, and that TANDEM_JUDGE_HOSTS lists it if it "
    "is not public"
)

Address = IPv4Address | IPv6Address


def check_address(url: str, listed: Collection[str]) -> None:
    """Check an address before any connection. Raises SetupError.

    `listed` are the hosts with ports that may be private.
    """
    if any(character <= " " or character > "~" or character == "\\" for character in url):
        raise SetupError(
            "the base URL contains a blank or a character that no address has; write an "
            "international name in its form xn--…"
        )
    host, port = _host_and_port(url)
    if is_listed(url, listed):
        return
    if port not in PORTS:
        allowed = ", ".join(map(str, sorted(PORTS)))
        raise SetupError(
            f"judges defined in the browser may use the ports {allowed}, and not {port}; the "
            "operator may list the host with this port in TANDEM_JUDGE_HOSTS"
        )
    if not _may_be_asked(host):
        raise SetupError(
            "the base URL is not a public address; the operator may list its host and port in "
            "TANDEM_JUDGE_HOSTS"
        )


def is_listed(url: str, listed: Collection[str]) -> bool:
    """Return whether the operator listed the host with this port."""
    host, port = _host_and_port(url)
    shown = f"[{host}]" if ":" in host else host
    return f"{shown}:{port}" in {each.strip().lower() for each in listed}


@dataclass(frozen=True)
class Guard:
    """Decides which addresses one server's connections may reach, and what its failures reveal.

    `watched` is false if the operator entered the address, `listed` is true if the operator listed
    its host and port.
    """

    watched: bool
    listed: bool = False

    def connector(self) -> aiohttp.TCPConnector:
        """Return a connector that checks each connection as it is opened."""
        if not self.watched:
            return aiohttp.TCPConnector(limit=0)
        return aiohttp.TCPConnector(limit=0, socket_factory=self._open_socket)

    def _open_socket(self, info: AddrInfoType) -> socket.socket:
        family, kind, protocol, _, place = info
        if not _may_connect(str(place[0]), int(place[1]), self.listed):
            raise OSError(errno.EACCES, "this address may not be asked")
        return socket.socket(family, kind, protocol)

    def redact(self, error: BackendError) -> None:
        """Remove the server's text from a failure, which could be used to scan a network.

        Only the class of the status remains, and all failures to connect look the same. Failures
        of servers that the operator chose stay as they are.
        """
        if not self.watched or self.listed:
            return
        error.body = ""
        if isinstance(error, TransientError) and error.unreachable:
            error.state, error.message = "unreachable", NO_CONNECTION
        elif error.status is not None and not (isinstance(error, FinalError) and error.answer):
            kind = f"{error.status // 100}xx"
            error.status = error.status // 100 * 100
            error.message = f"the server answered {kind}, and no completion"
            if not isinstance(error, FinalError | RateError):
                error.state = f"status-{kind}"
        elif error.state == "bad-http":
            error.message = "the response is not HTTP"
        error.args = (error.message,)


def guard_for(url: str, listed: Collection[str] | None) -> Guard:
    """Return the guard of a server. `listed` is None if it needs none. Raises SetupError."""
    if listed is None:
        return Guard(watched=False)
    check_address(url, listed)
    return Guard(watched=True, listed=is_listed(url, listed))


def is_public(written: str) -> bool:
    """Return whether an address is public, also if it is embedded in another address."""
    address = _unwrapped(ip_address(written.partition("%")[0]))
    if address is None or _is_metadata(address) or not address.is_global:
        return False
    inside = address.is_multicast or address.is_reserved or address.is_loopback
    return not (inside or address.is_link_local or getattr(address, "is_site_local", False))


def _may_connect(written: str, port: int, trusted: bool) -> bool:
    if trusted:
        address = _unwrapped(ip_address(written.partition("%")[0]))
        return address is not None and not _is_metadata(address)
    return port in PORTS and is_public(written)


def _unwrapped(address: Address) -> Address | None:
    """Return the address of the actual destination, or None if only the network knows it."""
    if isinstance(address, IPv4Address):
        return address
    if address in _LOCAL_NAT64 or address.teredo:
        return None
    if address.sixtofour:
        return address.sixtofour
    if any(address in network for network in _EMBEDDING):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def _is_metadata(address: Address) -> bool:
    return any(address.version == each.version and address in each for each in METADATA)


def _host_and_port(url: str) -> tuple[str, int]:
    """Return host and port as the client will read them. Raises SetupError."""
    try:
        parts = URL(url)
        host, port = parts.host, parts.port
    except ValueError as error:
        raise SetupError("the base URL cannot be read; write it as https://HOST/v1") from error
    if parts.scheme not in ("http", "https") or not host or port is None:
        raise SetupError("the base URL is not of the form http://HOST or https://HOST; correct it")
    if parts.raw_user is not None or parts.raw_password is not None:
        raise SetupError("the base URL contains a user or a password; remove it")
    return host.lower().rstrip("."), port


def _may_be_asked(host: str) -> bool:
    """Check the host as written. A name is resolved only when a connection is opened."""
    try:
        return is_public(host)
    except ValueError:
        # Legacy forms such as 127.1, 2130706433 or 0x7f.1 are numeric addresses.
        last = host.rpartition(".")[2]
        numeric = last.isdigit() or last.startswith("0x")
        return not numeric and last not in ("localhost", "local", "internal") and "." in host
