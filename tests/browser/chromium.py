"""Chromium, the page that tests share, and the open requests of pages."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.conf import settings
from django.contrib.staticfiles.handlers import StaticFilesHandlerMixin
from django.core.signals import request_finished, request_started
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.csrf import get_token
from django.utils.cache import patch_cache_control
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Error,
    Page,
    ViewportSize,
    expect,
    sync_playwright,
)

from annotation.models import User
from tests.page_cast import client_of

PAGE_PATIENCE = 120_000  # milliseconds; waiting ends as soon as the page has loaded
expect.set_options(timeout=PAGE_PATIENCE)

WIDE: ViewportSize = {"width": 1360, "height": 900}
WATCH = """
document.addEventListener("securitypolicyviolation", (event) => {
  console.error("CSP: " + event.violatedDirective);
});
"""
# As in a busy browser, where keys and clicks come before a timer that was set earlier.
TIMERS_ARE_LATE = """() => {
  const soon = setTimeout;
  window.setTimeout = (act, _time, ...rest) => soon(act, 60_000, ...rest);
}"""


@contextmanager
def started() -> Iterator[Browser]:
    """The system's Chromium, if possible its headless build, else Playwright's own."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    path = next(filter(None, map(shutil.which, names)), None)
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=path, args=["--disable-gpu"])
        except Error:
            pytest.skip("there is no Chromium on this machine; install the package chromium")
        yield browser
        browser.close()


def new_context(browser: Browser, address: str, **options: Any) -> BrowserContext:
    # Otherwise the spinner that is shown while a draft is saved is drawn sixty times a second.
    context = browser.new_context(
        base_url=address, reduced_motion="reduce", **({"viewport": WIDE} | options)
    )
    context.add_init_script(WATCH)
    context.set_default_timeout(PAGE_PATIENCE)
    return context


def note(page: Page, found: list[str]) -> None:
    """Record a page's errors. Only network errors while the network is cut are expected."""

    def said(message: ConsoleMessage) -> None:
        if message.type == "error" and not message.text.startswith("Failed to load resource"):
            found.append(message.text)

    page.on("pageerror", lambda error: found.append(str(error)))
    page.on("console", said)


def come_in(page: Page, name: str) -> None:
    """Log in without the form: set the cookies that the form would set."""
    session = client_of(User.objects.get(username=name)).cookies[settings.SESSION_COOKIE_NAME]
    request = HttpRequest()
    get_token(request)
    values = {session.key: session.value, settings.CSRF_COOKIE_NAME: request.META["CSRF_COOKIE"]}
    page.context.add_cookies(
        [
            {"name": name, "value": value, "domain": "localhost", "path": "/"}
            for name, value in values.items()
        ]
    )


@contextmanager
def static_files_kept() -> Iterator[None]:
    """Serve static files as immutable, so that a browser asks for each only once."""
    serve = StaticFilesHandlerMixin.serve

    def served(handler: StaticFilesHandlerMixin, request: HttpRequest) -> HttpResponseBase:
        response = serve(handler, request)
        patch_cache_control(response, max_age=3600)
        return response

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StaticFilesHandlerMixin, "serve", served)
        yield


class Kept:
    """A page that tests share, since a new one costs a second of processor time."""

    def __init__(self, browser: Browser, address: str) -> None:
        self.context = new_context(browser, address)
        self.complaints: list[str] = []
        self.context.on("page", lambda page: note(page, self.complaints))
        self.page = self.context.new_page()

    def empty(self) -> None:
        """Leave nothing to the next test. Without cookies, a closing page can save nothing."""
        self.context.clear_cookies()
        self.context.set_offline(False)
        for other in self.context.pages[1:]:
            other.close()
        self.context.unroute_all(behavior="ignoreErrors")
        self.page.unroute_all(behavior="ignoreErrors")
        self.page.goto("/static/icon.svg")
        self.page.set_viewport_size(WIDE)
        self.page.emulate_media(color_scheme="light")
        self.page.evaluate("() => { localStorage.clear(); sessionStorage.clear(); }")
        self.page.mouse.move(-1, -1)
        self.complaints.clear()


class Requests:
    """The open requests of the live server: the database is emptied once there are none."""

    def __init__(self) -> None:
        self.count = 0
        self.changed = threading.Condition()
        request_started.connect(self._one_more)
        request_finished.connect(self._one_less)
        # First, since closing a connection fails between two tests, and the count would then stay.
        request_finished.receivers.insert(0, request_finished.receivers.pop())

    def _one_more(self, **_: object) -> None:
        self._add(1)

    def _one_less(self, **_: object) -> None:
        self._add(-1)

    def _add(self, number: int) -> None:
        if "process_request_thread" in threading.current_thread().name:
            with self.changed:
                self.count += number
                self.changed.notify_all()

    def let_end(self) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: self.count == 0, PAGE_PATIENCE / 1000)
