"""A person at a browser: logs in, opens an item, answers it, and gets the next."""

from __future__ import annotations

import html
import json
import re
import time
import uuid
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import aiohttp

from benchmarks.study_names import PASSWORD, QUOTE, name_of

BROWSER = {"Accept-Encoding": "gzip, deflate"}
_SUBMIT = re.compile(r'data-submit="([^"]+)"')
_SEEN = re.compile(r'data-version="(\d+)" data-seen="(\d+)"')
_UNIT = re.compile(r'name="(unit-\d+)" value="([^"]*)"')
_REPORT = re.compile(r'data-text="report"[^>]*>(.*?)</div>', re.DOTALL)


class WrongPageError(RuntimeError):
    """An unexpected page from the site, which makes its timing meaningless."""


@dataclass
class Timings:
    """Seconds from sending a request to receiving its whole response."""

    save: list[float] = field(default_factory=list)
    open: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class WrittenSave:
    """The request that saves an answer, ready to be sent."""

    address: str
    body: str
    headers: dict[str, str]


class Person:
    """A session with one kept-alive connection."""

    def __init__(self, site: str, campaign: int, number: int) -> None:
        self.site, self.campaign, self.number = site, campaign, number
        self.session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=1),
            cookie_jar=aiohttp.CookieJar(unsafe=True),
            headers=BROWSER,
        )
        self.timings = Timings()

    async def log_in(self) -> None:
        await self.text("GET", "/login/")
        form = {"username": name_of(self.number), "password": PASSWORD, "next": ""}
        await self.text("POST", "/login/", data=form, headers=self.token())
        if "sessionid" not in self._cookies():
            raise WrongPageError(f"{name_of(self.number)} could not log in")

    async def come_in(self, session: str) -> None:
        """Log in with an existing session."""
        self.session.cookie_jar.update_cookies({"sessionid": session})
        await self.text("GET", "/")

    async def first_page(self) -> str:
        """Return the person's next item, as taken by the button on their list."""
        return await self.text("POST", f"/tasks/next/{self.campaign}/", headers=self.token())

    async def work(self, page: str, saves: int, warm_up: int) -> str:
        """Answer items one after the other; the first `warm_up` are not timed."""
        for turn in range(saves + warm_up):
            began = time.perf_counter()
            address = await self.save(page)
            saved = time.perf_counter()
            page = await self.text("GET", address)
            opened = time.perf_counter()
            if turn >= warm_up:
                self.timings.save.append(saved - began)
                self.timings.open.append(opened - saved)
        return page

    async def save(self, page: str) -> str:
        """Answer the item of a page; return the address of the next item."""
        where, form = fill_in(page)
        accept = {"Accept": "application/json"} | self.token()
        answer = json.loads(await self.text("POST", where, data=form, headers=accept))
        return str(answer["next"])

    def written_save(self, page: str) -> WrittenSave:
        """Return the request that answers the item of a page."""
        where, form = fill_in(page)
        cookies = "; ".join(f"{name}={value}" for name, value in self._cookies().items())
        headers = {
            "Accept": "application/json",
            "Content-Type": "application/x-www-form-urlencoded",
            "Cookie": cookies,
        }
        return WrittenSave(where, urlencode(form), BROWSER | headers | self.token())

    async def text(self, method: str, address: str, **more: Any) -> str:
        async with self.session.request(method, self.site + address, **more) as response:
            text = await response.text()
            if response.status != 200:
                raise WrongPageError(f"{method} {address}: {response.status} {text[:300]}")
            return text

    def _cookies(self) -> dict[str, str]:
        return {cookie.key: cookie.value for cookie in self.session.cookie_jar}

    def token(self) -> dict[str, str]:
        return {"X-CSRFToken": self._cookies().get("csrftoken", "")}


def address_of(page: str) -> str:
    """Return the address of an item's page."""
    where = _SUBMIT.search(page)
    if where is None:
        raise WrongPageError(f"this is no item's page: {page[:300]}")
    return where[1].removesuffix("submit")


def fill_in(page: str) -> tuple[str, dict[str, str]]:
    """Return the address and the content of a page's answer: one yes, the others no."""
    where, seen, report = _SUBMIT.search(page), _SEEN.search(page), _REPORT.search(page)
    units = _UNIT.findall(page)
    if not (where and seen and report and units):
        raise WrongPageError(f"this is no item's page: {page[:300]}")
    quote = {"quote": html.unescape(report[1])[:QUOTE], "start": 0}
    form = {"version": seen[1], "seen": seen[2], "seconds": "12.5", "key": str(uuid.uuid4())}
    for number, (field_name, name) in enumerate(units):
        form[field_name] = html.unescape(name)
        form[f"{field_name}-answerable"] = "no" if number else "yes"
        form[f"{field_name}-evidence"] = json.dumps([] if number else [quote])
    return where[1], form
