"""Chromium over the live site, with every violation of the content policy and every error noted."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Error, Page, expect, sync_playwright
from pytest_django.live_server_helper import LiveServer

from tests.browser.desk import Desk
from tests.page_cast import Study, make_study

# Playwright's loop runs in this thread, and the tests look into the database beside it.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "1")

PAGE_PATIENCE = 30_000  # milliseconds; a page that is there sooner is not waited for
expect.set_options(timeout=PAGE_PATIENCE)

WATCH = """
document.addEventListener("securitypolicyviolation", (event) => {
  console.error("CSP: " + event.violatedDirective);
});
"""


@pytest.fixture(scope="module")
def chromium(django_db_setup: None) -> Iterator[Browser]:
    """The system's Chromium, else Playwright's own; for a module, since tests of other modules in
    this process start event loops of their own and could not beside Playwright's.

    The test database is made first: where a loop runs Django keeps separate connections, and those
    of the tests without a loop would not learn of a database that was made within one."""
    names = ("chromium", "chromium-browser", "google-chrome")
    path = next(filter(None, map(shutil.which, names)), None)
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=path)
        except Error:
            pytest.skip("there is no Chromium on this machine; install the package chromium")
        yield browser
        browser.close()


@pytest.fixture
def context(chromium: Browser, live_server: LiveServer) -> Iterator[BrowserContext]:
    context = chromium.new_context(
        base_url=live_server.url, viewport={"width": 1360, "height": 900}
    )
    context.add_init_script(WATCH)
    context.set_default_timeout(PAGE_PATIENCE)
    yield context
    context.close()
    _let_requests_end()


def _let_requests_end() -> None:
    """The database is emptied next, and a request on its way would find it locked or half empty."""
    for thread in threading.enumerate():
        if "process_request_thread" in thread.name:
            thread.join(timeout=10)


@pytest.fixture
def errors(context: BrowserContext) -> Iterator[list[str]]:
    """Whatever a page complains of; none is expected but the network's own, when it is cut."""
    found: list[str] = []

    def listen(page: Page) -> None:
        page.on("pageerror", lambda error: found.append(str(error)))
        page.on(
            "console",
            lambda message: (
                found.append(message.text)
                if message.type == "error"
                and not message.text.startswith("Failed to load resource")
                else None
            ),
        )

    context.on("page", listen)
    yield found
    assert found == []


@pytest.fixture
def study(transactional_db: None) -> Study:
    return make_study()


@pytest.fixture
def desk(context: BrowserContext, errors: list[str], study: Study) -> Desk:
    """Ada, logged in, before her first item."""
    desk = Desk(context.new_page(), study)
    desk.log_in("ada")
    desk.start()
    return desk
