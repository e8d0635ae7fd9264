"""A request's database statements have a time limit, and exceeding it is explained."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from django.db import OperationalError, connection
from django.db.backends.signals import connection_created
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory

from config import middleware
from config.middleware import LONG, SHORT, TOO_LONG, Timeouts, unavailable_response
from tests.page_cast import client_of, make_study
from tests.security.test_crawler import ROUTES

pytestmark = pytest.mark.postgresql


@pytest.fixture(autouse=True)
def _real_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the real limits; other tests have limits that no machine reaches."""
    monkeypatch.setattr(middleware, "SHORT", SHORT)
    monkeypatch.setattr(middleware, "LONG", LONG)


def test_every_long_timeout_names_an_existing_route() -> None:
    names = [route.name for route in ROUTES]
    for each in middleware.SLOW_ROUTES:
        assert any(name == each or name.startswith(f"{each}-") for name in names), each


def test_work_pages_have_the_short_time_limit() -> None:
    work = ("work", "item", "draft", "submit", "take-next", "api-next", "api-response", "login")
    assert not [name for name in work if middleware.takes_long(name)]
    assert middleware.takes_long("report-csv")


class Raw:
    """A pooled psycopg connection, which records the parameters of its statements."""

    def __init__(self) -> None:
        self.parameters: list[str] = []

    def execute(self, sql: str, params: list[str]) -> None:
        self.parameters += params


class Wrapped:
    """A connection to PostgreSQL as Django wraps it."""

    vendor = "postgresql"

    def __init__(self, raw: Raw | None) -> None:
        self.connection = raw


def test_a_connection_sets_its_limit_only_when_it_changes() -> None:
    raw = Raw()
    for limit in ("", middleware.SHORT, middleware.SHORT, middleware.LONG, middleware.SHORT):
        token = middleware._timeout.set(limit)
        middleware._apply(Wrapped(raw))
        middleware._timeout.reset(token)
    assert raw.parameters == ["5s", "60s", "5s"]


@pytest.mark.parametrize("connected", [True, False])
def test_a_slow_view_gets_the_long_limit_and_the_next_request_the_short_one(
    monkeypatch: pytest.MonkeyPatch, connected: bool
) -> None:
    raw = Raw()
    monkeypatch.setattr(middleware, "connection", Wrapped(raw if connected else None))
    limits: list[str] = []

    def handle(request: HttpRequest) -> HttpResponse:
        timeouts.process_view(request)
        limits.append(middleware._timeout.get())
        return HttpResponse()

    timeouts = Timeouts(handle)
    for name in ("report-csv", "work"):
        request = RequestFactory().get("/")
        request.resolver_match = SimpleNamespace(view_name=name)  # type: ignore[assignment]
        timeouts(request)
    assert limits == [middleware.LONG, middleware.SHORT]
    # A later connection gets its limit when it is opened.
    assert raw.parameters == (["5s", "60s", "5s"] if connected else [])
    assert middleware._timeout.get() == ""


def test_a_connection_opened_within_a_request_gets_its_limit_at_once() -> None:
    raw = Raw()
    token = middleware._timeout.set(middleware.SHORT)
    connection_created.send(sender=Wrapped, connection=Wrapped(raw))
    middleware._timeout.reset(token)
    assert raw.parameters == ["5s"]


def test_a_statement_timeout_is_not_reported_as_an_unreachable_database() -> None:
    class Canceled(Exception):  # noqa: N818 - as psycopg calls it
        sqlstate = "57014"

    request = RequestFactory().get("/", headers={"accept": "application/json"})
    try:
        raise OperationalError from Canceled()
    except OperationalError:
        answer = unavailable_response(request)
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert TOO_LONG in answer.content.decode()  # type: ignore[attr-defined]


@pytest.mark.django_db
def test_postgresql_ends_statements_over_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has no such limit")
    study = make_study()

    def limit() -> str:
        with connection.cursor() as cursor:
            cursor.execute("SHOW statement_timeout")
            return str(cursor.fetchone()[0])

    client: Client = client_of(study.rita)
    client.get(f"/campaigns/{study.campaign.pk}/draws.csv")
    assert limit() == "1min"
    client.get("/campaigns/")
    assert limit() == "5s"
