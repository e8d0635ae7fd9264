"""Counts the connections of each address, so that one address cannot take all of a process.

An address at its limit is not refused: many people may share it. Of its connections, the one that
has waited longest without a request under way closes for the new one, and a browser opens another
when it needs one.
"""

from __future__ import annotations

import ipaddress
from typing import Any, Generic, TypeVar

ConnectionT = TypeVar("ConnectionT")
NETWORK_OF_ONE = 64
"""An IPv6 network of this length belongs to one customer, who may use each address in it."""


def source_of(client: Any) -> str:
    """Return the address that a connection counts for; empty for one that has none (a file)."""
    host = client[0] if isinstance(client, tuple) and client else ""
    try:
        address = ipaddress.ip_address(str(host).partition("%")[0])
    except ValueError:
        return ""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is None:
            return str(ipaddress.ip_network((address, NETWORK_OF_ONE), strict=False))
        return str(address.ipv4_mapped)
    return str(address)


class Addresses(Generic[ConnectionT]):
    """The connections by address; those that have waited longest come first. No limit if `most`
    is 0."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._connections: dict[str, dict[ConnectionT, None]] = {}

    def add(self, source: str, connection: ConnectionT) -> None:
        """Count a connection, or note that it starts to wait now."""
        if source and self.most:
            own = self._connections.setdefault(source, {})
            own.pop(connection, None)
            own[connection] = None

    def remove(self, source: str, connection: ConnectionT) -> None:
        own = self._connections.get(source, {})
        own.pop(connection, None)
        if not own:
            self._connections.pop(source, None)

    def crowding(self, source: str) -> tuple[ConnectionT, ...]:
        """Return an address's connections, the longest waiting first, if they are at the limit."""
        own = self._connections.get(source, {})
        return tuple(own) if self.most and len(own) >= self.most else ()
