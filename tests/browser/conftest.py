"""Chromium with the live site, recording every error and violation of the content policy."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page
from pytest_django.live_server_helper import LiveServer

from annotation.models import User
from tests.analysis.conftest import _few_resamples  # noqa: F401
from tests.browser.chromium import Kept, Requests, new_context, note, started, static_files_kept
from tests.browser.desk import Desk
from tests.browser.mirrored import LANGUAGE, write_catalogues
from tests.databases import ON_POSTGRESQL, keep, restore
from tests.page_cast import Study, client_of, make_study

# Playwright's event loop runs in this thread, in which tests also query the database.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "1")


@pytest.fixture(scope="package")
def chromium(django_db_setup: None) -> Iterator[Browser]:
    """One browser for the tests of this folder.

    It ends before tests of other folders start event loops of their own, which is impossible while
    Playwright's loop runs. The test database is created first: Django keeps separate connections
    inside an event loop, and tests outside of one would not see a database created within it.
    """
    with static_files_kept(), started() as browser:
        yield browser


@pytest.fixture(scope="session")
def requests() -> Requests:
    return Requests()


@pytest.fixture(scope="package")
def kept(chromium: Browser, live_server: LiveServer) -> Kept:
    return Kept(chromium, live_server.url)


@pytest.fixture
def context(
    chromium: Browser, live_server: LiveServer, requests: Requests
) -> Iterator[BrowserContext]:
    """A browser context for one test.

    Tests request it for several pages, scripts before each page, listeners, a clock, or cutting the
    network.
    """
    context = new_context(chromium, live_server.url)
    yield context
    context.close()
    requests.let_end()


@pytest.fixture
def page(
    request: pytest.FixtureRequest, live_server: LiveServer, requests: Requests
) -> Iterator[Page]:
    """The page that tests share, or a page in the test's own context if it requests one."""
    if "context" in request.fixturenames:
        yield request.getfixturevalue("context").new_page()
        return
    kept: Kept = request.getfixturevalue("kept")
    yield kept.page
    kept.empty()
    requests.let_end()


@pytest.fixture
def errors(request: pytest.FixtureRequest) -> Iterator[list[str]]:
    """The errors of the test's pages."""
    found: list[str] = []
    if "context" in request.fixturenames:
        context: BrowserContext = request.getfixturevalue("context")
        for page in context.pages:
            note(page, found)
        context.on("page", lambda page: note(page, found))
    else:
        found = request.getfixturevalue("kept").complaints
    yield found
    assert found == []


@pytest.fixture
def study(transactional_db: None) -> Study:
    return make_study()


class Built:
    """A module's study: built for the first test that begins with it, and restored for others."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.address = ""

    def address_of(self, build: Callable[[], str]) -> str:
        """Return the address of the study's page, which has computed its report."""
        if self.address and not ON_POSTGRESQL:
            restore(self.file)
            return self.address
        self.address = build()
        client_of(User.objects.get(username="rita")).get(self.address)
        if not ON_POSTGRESQL:
            keep(self.file)
        return self.address


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return Built(tmp_path_factory.mktemp("built") / "study.sqlite3")


@pytest.fixture
def mirrored(settings: Any, tmp_path: Path) -> str:
    """A language that reads from right to left, which accounts can have in this test."""
    write_catalogues(tmp_path)
    settings.LANGUAGES = [*settings.LANGUAGES, (LANGUAGE, "العربية")]
    settings.LOCALE_PATHS = [tmp_path]
    return LANGUAGE


@pytest.fixture
def desk(errors: list[str], page: Page, study: Study) -> Desk:
    """Ada before her first item."""
    desk = Desk(page, study)
    desk.begin("ada")
    return desk
