"""A first visit to an item's page with an empty cache: every file that it needs."""

from __future__ import annotations

import posixpath
import re
from typing import Any
from urllib.parse import urljoin

import aiohttp

from benchmarks.person import BROWSER, Person

_LINKS = {
    "text/html": re.compile(r'<(?:script|link|img)\b[^>]*?\b(?:src|href)="([^"]+)"'),
    "text/css": re.compile(r"""url\(["']?([^"')]+)["']?\)|@import\s+["']([^"']+)["']"""),
    "text/javascript": re.compile(
        r"""(?:^|[;}])\s*(?:import|(?:import|export)\b[^;"'()]*?\bfrom)\s*["']([^"']+)["']""",
        re.MULTILINE,
    ),
}


async def first_visit(person: Person) -> dict[str, Any]:
    """Return the requests and bytes (bodies as sent, and headers) of the page and its files."""
    page, where = await _fetched(person, await _next_item(person))
    sizes = {where: page.size}
    waiting = linked_files(where, page.kind, page.text)
    while waiting:
        address = waiting.pop()
        if address in sizes:
            continue
        file, _ = await _fetched(person, address)
        sizes[address] = file.size
        waiting |= linked_files(address, file.kind, file.text)
    named = {posixpath.basename(address.rstrip("/")): size for address, size in sizes.items()}
    return {"requests": len(sizes), "bytes": sum(sizes.values()), "largest": _largest(named)}


def linked_files(address: str, kind: str, text: str) -> set[str]:
    """Return the addresses that a browser fetches at once for a file, on any site."""
    pattern = _LINKS.get(kind.replace("application/javascript", "text/javascript"))
    found = pattern.findall(text) if pattern else []
    names = (name for each in found for name in ([each] if isinstance(each, str) else each))
    return {urljoin(address, name) for name in names if name and not name.startswith("data:")}


def _largest(sizes: dict[str, int]) -> dict[str, int]:
    return dict(sorted(sizes.items(), key=lambda each: -each[1])[:5])


class _File:
    def __init__(self, kind: str, text: str, size: int) -> None:
        self.kind, self.text, self.size = kind, text, size


async def _next_item(person: Person) -> str:
    page = await person.first_page()
    found = re.search(r'data-submit="([^"]+)submit"', page)
    return person.site + (found[1] if found else "/")


async def _fetched(person: Person, address: str) -> tuple[_File, str]:
    """Return one file, fetched once to count its bytes as sent and once to read it."""
    jar = person.session.cookie_jar
    async with (
        aiohttp.ClientSession(cookie_jar=jar, headers=BROWSER, auto_decompress=False) as raw,
        raw.get(address) as response,
    ):
        body = await response.read()
        head = sum(len(name) + len(value) + 4 for name, value in response.raw_headers)
    async with person.session.get(address) as response:
        response.raise_for_status()
        text = await response.text(errors="replace")
        return _File(response.content_type, text, len(body) + head), str(response.url)
