"""Each middleware and permission check refuses what it must and lets all else pass."""

from __future__ import annotations

import json
import logging
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.cache import cache
from django.core.exceptions import PermissionDenied
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.test import Client, RequestFactory
from django.utils import translation
from django.utils.functional import SimpleLazyObject
from pytest_django.fixtures import Settings
from rest_framework.exceptions import AuthenticationFailed
from structlog.contextvars import get_contextvars

from annotation.exposure import ledger
from annotation.models import LogInCount, User
from audit.models import Event
from audit.recording import Actor, current_actor, on_behalf
from config import login_guard, middleware
from config.login_guard import LogInGuard, _account, note_failure
from config.rest import REST_KNOX, spectacular
from datasets.access import role_required, takes_files, wants_data
from datasets.api import concurrency, permissions
from datasets.api.base import ScopeError
from datasets.api.permissions import TokenInHeader
from datasets.api.routes import Routes
from datasets.work.guard import InRequestError, for_workers

MB = 1024 * 1024
AS_DATA = {"HTTP_ACCEPT": "application/json"}


def asked(path: str = "/", **meta: Any) -> HttpRequest:
    return RequestFactory().get(path, **meta)


def answered(request: HttpRequest) -> HttpResponse:
    return HttpResponse("well")


class TestSessions:
    NOW = 1_000_000

    class Session(dict[str, Any]):
        session_key = "key"

    @pytest.fixture
    def out(self, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
        gone: list[Any] = []
        monkeypatch.setattr(middleware, "logout", gone.append)
        monkeypatch.setattr(middleware.time, "time", lambda: self.NOW + 0.9)
        return gone

    def look(self, **kept: Any) -> dict[str, Any]:
        """Return the session's times after a request."""
        session = self.Session({"_auth_user_id": "1", **kept})
        request: Any = SimpleNamespace(session=session)
        assert middleware.session_limits(lambda asked: HttpResponse("well"))(request)
        return {name: session[name] for name in ("began", "seen") if name in session}

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("began", "seen", "ends", "noted"),
        [
            (0, 0, False, False),
            (600, 600, False, False),
            (601, 601, False, True),
            (43_200, 43_200, False, True),
            (43_201, 43_201, True, False),
            (604_800, 0, False, False),
            (604_800, 601, False, True),
            (604_801, 0, True, False),
        ],
    )
    def test_a_session_ends_after_half_a_day_of_silence_or_a_week(
        self, out: list[Any], began: int, seen: int, ends: bool, noted: bool
    ) -> None:
        before = {"began": self.NOW - began, "seen": self.NOW - seen}
        after = self.look(**before)
        assert bool(out) == ends
        assert after == (before | {"seen": self.NOW} if noted else before)

    def test_a_new_session_begins_now(self, out: list[Any]) -> None:
        assert self.look() == {"began": self.NOW, "seen": self.NOW}
        assert self.look(seen=self.NOW) == {"began": self.NOW, "seen": self.NOW}
        assert not out

    @pytest.mark.every_case
    @pytest.mark.parametrize(("key", "kept"), [(None, {"_auth_user_id": "1"}), ("key", {})])
    def test_an_anonymous_visitor_has_no_session_to_end(
        self, out: list[Any], key: str | None, kept: dict[str, Any]
    ) -> None:
        session = self.Session(kept, seen=0)
        session.session_key = key  # type: ignore[assignment]
        request: Any = SimpleNamespace(session=session)
        middleware.session_limits(lambda asked: HttpResponse("well"))(request)
        assert not out
        assert "began" not in session


class TestTheRequestLog:
    def line(
        self, request: HttpRequest, caplog: pytest.LogCaptureFixture, **more: Any
    ) -> dict[str, Any]:
        caplog.set_level(logging.INFO, "tandem.requests")
        response = middleware.request_ids(lambda asked: HttpResponse(status=201))(request)
        assert response["X-Request-ID"] == request.id  # type: ignore[attr-defined]
        (record,) = [each for each in caplog.records if each.name == "tandem.requests"]
        return {name: vars(record)[name] for name in ("method", "path", "status", "user", "ms")}

    def test_the_log_has_path_and_status_of_a_request_without_its_query(
        self, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        times = iter([5.0, 5.0 + 0.01234])
        monkeypatch.setattr(middleware.time, "perf_counter", lambda: next(times))
        assert self.line(asked("/tasks/?key=secret"), caplog) == {
            "method": "GET", "path": "/tasks/", "status": 201, "user": None, "ms": 12.3,
        }  # fmt: skip

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("user", "cached", "logged"),
        [
            (User(pk=7), None, 7),
            (AnonymousUser(), None, None),
            (SimpleLazyObject(lambda: pytest.fail("looked up")), None, None),
            (SimpleLazyObject(lambda: pytest.fail("looked up")), User(pk=8), 8),
        ],
        ids=["known", "nobody", "not asked for", "asked for"],
    )
    def test_the_log_names_the_account_only_if_it_was_loaded(
        self, caplog: pytest.LogCaptureFixture, user: Any, cached: User | None, logged: int | None
    ) -> None:
        request = asked()
        request.user = user
        if cached is not None:
            request._cached_user = cached  # type: ignore[attr-defined]
        assert self.line(request, caplog)["user"] == logged


class TestMiddleware:
    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("proxies", "sent", "taken"),
        [
            (1, "id_of-8-", True),
            (1, "x" * 64, True),
            (1, "x" * 65, False),
            (1, "x" * 7, False),
            (1, "a b c d e", False),
            (0, "id_of-8-", False),
        ],
    )
    def test_every_log_line_has_the_request_id_of_the_proxy_or_a_new_one(
        self, settings: Settings, proxies: int, sent: str, taken: bool
    ) -> None:
        settings.PROXIES = proxies
        within: list[Any] = []

        def handle(request: HttpRequest) -> HttpResponse:
            within.append((request.id, get_contextvars()["request_id"]))  # type: ignore[attr-defined]
            return HttpResponse()

        answer = middleware.request_ids(handle)(asked(HTTP_X_REQUEST_ID=sent))
        ((own, bound),) = within
        assert own == bound == answer["X-Request-ID"]
        assert (own == sent) is taken
        assert taken or len(own) == 32
        assert "request_id" not in get_contextvars()

    @pytest.mark.parametrize("user", [User(pk=7), AnonymousUser(), None])
    def test_events_of_a_request_name_its_account_id_and_network(self, user: Any) -> None:
        request = asked(REMOTE_ADDR="10.0.0.7")
        request.id = "the-id"  # type: ignore[attr-defined]
        if user is not None:
            request.user = user
        actors: list[Any] = []

        def handle(request: HttpRequest) -> HttpResponse:
            actor = current_actor()
            actors.append((actor.who(), actor.request, actor.address))
            return HttpResponse()

        middleware.audit_actor(handle)(request)
        assert actors == [(user.pk if user else None, "the-id", "private")]
        assert current_actor().address == "command"

    def test_a_request_computes_nothing_meant_for_workers(self) -> None:
        @for_workers
        def long() -> None:
            """Takes long."""

        def handle(request: HttpRequest) -> HttpResponse:
            with pytest.raises(InRequestError):
                long()
            return HttpResponse()

        assert middleware.guard_of_long_work(handle)(asked()).status_code == 200
        long()

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("status", "shows"),
        [
            *((status, True) for status in (200, 302, 400, 402, 406, 409, 422, 430, 499)),
            *((status, False) for status in (401, 403, 404, 405, 429, 500, 503)),
        ],
    )
    def test_a_look_is_recorded_if_the_response_shows_answers(
        self, monkeypatch: pytest.MonkeyPatch, status: int, shows: bool
    ) -> None:
        noted: list[Any] = []
        monkeypatch.setattr(ledger, "record", lambda user, looks: noted.append((user, looks)))

        def handle(request: HttpRequest) -> HttpResponse:
            ledger.deliver([{"kind": "report"}])
            return HttpResponse(status=status)

        with on_behalf(Actor(lambda: 7)):
            middleware.ledger_of_looks(handle)(asked())
            middleware.ledger_of_looks(handle)(RequestFactory().head("/"))
            middleware.ledger_of_looks(answered)(asked())
        assert noted == [(7, [{"kind": "report"}])] * shows

    def test_a_streamed_look_is_recorded_again_at_its_end(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        noted: list[str] = []
        monkeypatch.setattr(ledger, "record", lambda user, looks: noted.append("first"))
        monkeypatch.setattr(ledger, "record_again", lambda user, looks: noted.append("again"))

        def handle(request: HttpRequest) -> StreamingHttpResponse:
            ledger.deliver([{"kind": "export"}])
            return StreamingHttpResponse([b"a", b"b"])

        answer: Any = middleware.ledger_of_looks(handle)(asked())
        pieces = iter(answer)
        assert [next(pieces), next(pieces), *noted] == [b"a", b"b", "first"]
        assert [*pieces, *noted] == ["first", "again"]


class TestFailures:
    def canceled(self, state: str = "57014") -> OperationalError:
        error, cause = OperationalError("x"), Exception("y")
        cause.sqlstate = state  # type: ignore[attr-defined]
        error.__cause__ = cause
        return error

    def after(self, error: Exception, handle: Any, **meta: Any) -> Any:
        request = asked(**meta)
        request.id = "the-id"  # type: ignore[attr-defined]
        try:
            raise error
        except Exception as caught:
            return handle(request, caught)

    def in_a_view(self, error: Exception, **meta: Any) -> Any:
        return self.after(error, middleware.DatabaseAway(answered).process_exception, **meta)

    def outside(self, error: Exception, **meta: Any) -> Any:
        return self.after(error, lambda request, _: middleware.server_error(request), **meta)

    @pytest.mark.every_case
    @pytest.mark.parametrize("error", [OperationalError("x"), InterfaceError("x")])
    def test_an_unreachable_database_answers_503_and_retry_later(self, error: Exception) -> None:
        for handle in (self.in_a_view, self.outside):
            answer = handle(error, **AS_DATA)
            assert (answer.status_code, answer["Retry-After"]) == (503, "5")
            content = json.loads(answer.content)
            assert content["problems"] == []
            assert "the database is not available" in content["error"]
            page = handle(error)
            assert page.status_code == 503
            assert page["Content-Type"].startswith("text/html")

    def test_a_request_over_its_time_limit_says_so(self) -> None:
        for handle in (self.in_a_view, self.outside):
            answer = handle(self.canceled(), **AS_DATA)
            assert (answer.status_code, answer["Retry-After"]) == (503, "5")
            assert json.loads(answer.content)["error"] == middleware.TOO_LONG
        assert "is not available" in str(self.in_a_view(self.canceled("57P01"), **AS_DATA).content)
        assert middleware.timeout_response(self.canceled())
        assert not middleware.timeout_response(OperationalError("x"))
        assert not middleware.timeout_response(None)

    def test_any_other_error_shows_the_id_of_the_request(self) -> None:
        assert self.in_a_view(ValueError("x")) is None
        answer = self.outside(ValueError("secret"), **AS_DATA)
        assert answer.status_code == 500
        assert "unexpected error" in json.loads(answer.content)["error"]
        page = self.outside(ValueError("secret"))
        assert (page.status_code, b"the-id" in page.content) == (500, True)
        assert b"secret" not in page.content + answer.content

    def test_a_request_without_an_error_is_answered(self) -> None:
        for guard in (middleware.DatabaseAway(answered), middleware.BodyGuard(answered)):
            assert guard(asked()).status_code == 200


class TestHeaders:
    def test_every_page_forbids_caching_and_device_access(self) -> None:
        answer = middleware.headers(answered)(asked())
        assert answer["Cache-Control"] == "private, no-store"
        assert answer["Cross-Origin-Resource-Policy"] == "same-origin"
        assert "camera=(), " in answer["Permissions-Policy"]

    def test_headers_set_by_a_view_are_kept(self) -> None:
        given = HttpResponse(
            headers={
                "Cache-Control": "no-store, max-age=0",
                "Cross-Origin-Resource-Policy": "cross-origin",
            }
        )
        answer = middleware.headers(lambda request: given)(asked())
        assert answer["Cache-Control"] == "no-store, max-age=0"
        assert answer["Cross-Origin-Resource-Policy"] == "cross-origin"


class TestBodies:
    def refused(self, view: Any = answered, **meta: Any) -> int | None:
        request = RequestFactory().post("/", **meta)
        answer = middleware.BodyGuard(answered).process_view(request, view)
        return answer.status_code if answer else None

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("meta", "status"),
        [
            ({"HTTP_TRANSFER_ENCODING": "gzip, Chunked"}, 411),
            ({"HTTP_TRANSFER_ENCODING": "gzip"}, None),
            ({"content_type": "text/plain; charset=utf-16"}, 415),
            ({"content_type": "text/plain; charset=UTF-8"}, None),
            ({"content_type": "text/plain; charset=UTF8"}, None),
            ({"content_type": "text/plain"}, None),
            ({"CONTENT_LENGTH": str(8 * MB)}, None),
            ({"CONTENT_LENGTH": str(8 * MB + 1)}, 413),
            ({"CONTENT_LENGTH": str(5 * MB // 2), "content_type": "application/json"}, None),
            ({"CONTENT_LENGTH": str(5 * MB // 2 + 1), "content_type": "application/json"}, 413),
            ({"CONTENT_LENGTH": ""}, None),
            ({"CONTENT_LENGTH": "x" * 9}, None),
            ({"CONTENT_LENGTH": "²"}, None),
            ({"CONTENT_LENGTH": "-1"}, None),
            ({"CONTENT_LENGTH": "9" * 40}, 413),
            ({"CONTENT_LENGTH": "٣" * 9}, None),
        ],
    )
    def test_a_body_is_refused_by_its_announced_length(
        self, meta: dict[str, Any], status: int | None
    ) -> None:
        assert self.refused(**meta) == status

    def test_no_body_limit_exceeds_that_of_files(self, settings: Settings) -> None:
        settings.TANDEM_MAX_UPLOAD_MB = 1
        assert self.refused(CONTENT_LENGTH=str(MB)) is None
        assert self.refused(CONTENT_LENGTH=str(MB + 1)) == 413
        settings.TANDEM_MAX_UPLOAD_MB = 0
        assert self.refused(CONTENT_LENGTH="1") == 413
        for nothing in ("0", "", "x"):
            assert self.refused(CONTENT_LENGTH=nothing) is None
        settings.TANDEM_MAX_UPLOAD_MB = 9
        assert self.refused(CONTENT_LENGTH=str(9 * MB)) == 413
        upload = takes_files(lambda request: HttpResponse())
        assert self.refused(upload, CONTENT_LENGTH=str(9 * MB)) is None
        assert self.refused(upload, CONTENT_LENGTH=str(9 * MB + 1)) == 413

    def test_a_refusal_is_data_for_a_script_and_a_page_for_a_person(self) -> None:
        answer: Any = middleware.bad_request(asked(**AS_DATA))
        assert answer.status_code == 400
        assert json.loads(answer.content) == {
            "error": "this request cannot be read; correct it and send it again", "problems": [],
        }  # fmt: skip
        page: Any = middleware.bad_request(asked(), ValueError("secret"))
        assert page.status_code == 400
        assert "<p>This request cannot be read; correct" in page.content.decode()
        for language, lang in (("de", "de"), (None, "en")):
            with translation.override(language):
                page = middleware.bad_request(asked())
            assert f"<html lang={lang}>" in page.content.decode()
        assert login_guard.format_wait(0) == "0 seconds"
        assert login_guard.format_wait(1) == "1 second"
        assert login_guard.format_wait(59) == "59 seconds"
        assert login_guard.format_wait(60) == "a minute"
        assert login_guard.format_wait(61) == "2 minutes"

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("wait", "after", "words"),
        [(0.2, "1", "1 second"), (59.1, "60", "a minute")],
    )
    def test_too_many_guesses_are_answered_with_a_wait_in_whole_seconds(
        self, wait: float, after: str, words: str
    ) -> None:
        request = asked()
        request.user = AnonymousUser()
        request.log_in_wait = timedelta(seconds=wait)  # type: ignore[attr-defined]
        page: Any = login_guard.log_in_waits(answered)(request)
        assert (page.status_code, page["Retry-After"]) == (429, after)
        assert f"Wait {words}, then log in again" in page.content.decode()

    def test_a_guess_that_need_not_wait_has_its_own_answer(self) -> None:
        request = asked()
        for _ in range(2):
            assert login_guard.log_in_waits(answered)(request).status_code == 200
            request.log_in_wait = timedelta(0)  # type: ignore[attr-defined]


class TestAccess:
    @staticmethod
    @role_required("admin", "researcher")
    def view(request: HttpRequest, pk: int, *, more: str = "") -> HttpResponse:
        return HttpResponse(f"{pk}{more}")

    def test_a_view_admits_only_accounts_of_its_roles(self) -> None:
        for role in ("admin", "researcher"):
            request = asked()
            request.user = User(role=role)
            page: Any = self.view(request, 7, more="x")
            assert page.content == b"7x"
        request.user = User(role="annotator")
        with pytest.raises(PermissionDenied):
            self.view(request, 7)

    def test_a_visitor_is_redirected_to_log_in_and_a_script_gets_401(self) -> None:
        request = asked("/x/?y=1")
        request.user = AnonymousUser()
        page: Any = self.view(request, 7)
        assert (page.status_code, page["Location"]) == (302, "/login/?next=/x/%3Fy%3D1")
        script = asked("/x/", **AS_DATA)
        script.user = AnonymousUser()
        answer: Any = self.view(script, 7)
        assert answer.status_code == 401
        assert json.loads(answer.content) == {"message": "log in again"}

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("path", "meta", "wants"),
        [
            ("/", {}, False),
            ("/x/api/", {"HTTP_ACCEPT": "text/html"}, False),
            ("/", {"HTTP_ACCEPT": "text/plain, application/json;q=0.9"}, True),
            ("/api/v1/", {"HTTP_ACCEPT": "text/html"}, True),
            ("/", {"HTTP_HX_REQUEST": "true"}, True),
        ],
    )
    def test_a_script_is_recognised_by_its_accept_header(
        self, path: str, meta: dict[str, str], wants: bool
    ) -> None:
        assert wants_data(asked(path, **meta)) == wants

    def test_a_token_with_non_ascii_characters_is_refused(self) -> None:
        with pytest.raises(AuthenticationFailed):
            TokenInHeader().authenticate_credentials("tandem_ü".encode())

    def test_tokens_last_a_year_and_the_api_description_is_public(self) -> None:
        assert REST_KNOX["TOKEN_TTL"].days == 365
        options = spectacular("1.2")
        assert (options["VERSION"], options["COMPONENT_SPLIT_REQUEST"]) == ("1.2", True)
        assert options["SERVE_INCLUDE_SCHEMA"] is False


class TestRateLimits:
    RATES = {"user": "2/min", "export": "1/h", "slow": "3/d", "quick": "1/s", "join": "2/h",
             "none": "0/h"}  # fmt: skip

    @pytest.fixture(autouse=True)
    def _clock(self, monkeypatch: pytest.MonkeyPatch) -> None:
        cache.clear()
        self.now = 7200.0 + 6.5
        rates = SimpleNamespace(DEFAULT_THROTTLE_RATES=self.RATES)
        monkeypatch.setattr(concurrency, "api_settings", rates)
        monkeypatch.setattr(concurrency.time, "time", lambda: self.now)

    def allowed(self, throttle: concurrency.PerUser, user: int = 1, campaign: int = 3) -> bool:
        request: Any = SimpleNamespace(user=SimpleNamespace(pk=user), query_params={})
        view: Any = SimpleNamespace(kwargs={"pk": campaign})
        return throttle.allow_request(request, view)

    def test_the_rate_limit_applies_per_window_and_account(self) -> None:
        throttle = concurrency.PerUser()
        assert [self.allowed(throttle) for _ in range(3)] == [True, True, False]
        assert throttle.wait() == 54
        assert self.allowed(throttle, user=2)
        self.now = 7259.9
        assert not self.allowed(throttle)
        assert throttle.wait() == 1
        self.now = 7260.0
        assert self.allowed(throttle)
        assert throttle.wait() == 60

    def test_exports_are_limited_per_campaign(self) -> None:
        throttle = concurrency.PerExport()
        assert [self.allowed(throttle, campaign=n) for n in (3, 3, 4)] == [True, False, True]
        assert throttle.wait() == 3594

    def test_requests_without_a_rate_are_not_counted(self) -> None:
        assert all(self.allowed(concurrency.PerReport()) for _ in range(5))
        assert [concurrency.seconds_to_wait("report", 1) for _ in range(5)] == [None] * 5

    def test_kinds_of_requests_are_counted_separately(self) -> None:
        throttles = (
            concurrency.PerUser,
            concurrency.PerExport,
            concurrency.PerReport,
            concurrency.PerImport,
        )
        assert [each.scope for each in throttles] == ["user", "export", "report", "import"]

    def test_pages_and_api_share_a_rate_limit(self) -> None:
        assert concurrency.seconds_to_wait("export", 1, 3) is None
        assert not self.allowed(concurrency.PerExport(), user=1, campaign=3)
        assert concurrency.seconds_to_wait("export", 1, 3) == 3594
        assert concurrency.seconds_to_wait("export", 1, 4) is None
        assert concurrency.seconds_to_wait("export", 2, 3) is None

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("scope", "most", "wait"),
        [("quick", 1, 1), ("user", 2, 54), ("join", 2, 3594), ("slow", 3, 79194)],
    )
    def test_a_window_is_a_second_a_minute_an_hour_or_a_day(
        self, scope: str, most: int, wait: int
    ) -> None:
        waits = [concurrency.seconds_to_wait(scope, "10.0.0.1") for _ in range(most + 1)]
        assert waits == [None] * most + [wait]

    def test_a_count_that_the_cache_evicted_starts_again(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def gone(key: str) -> int:
            cache.clear()
            raise ValueError(key)

        assert [concurrency.seconds_to_wait("user", 1) for _ in range(3)] == [None, None, 54]
        with monkeypatch.context() as within:
            within.setattr(cache, "incr", gone)
            assert concurrency.seconds_to_wait("user", 1) is None
            assert concurrency.seconds_to_wait("quick", 1) is None
            assert concurrency.seconds_to_wait("none", 1) == 3594
            assert concurrency.seconds_to_wait("user", 1) is None
        assert [concurrency.seconds_to_wait("user", 1) for _ in range(2)] == [None, 54]

    def test_two_simultaneous_first_requests_start_one_count(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(cache, "set", lambda *_, **__: pytest.fail("begun twice"))
        assert [concurrency.seconds_to_wait("user", 1) for _ in range(3)] == [None, None, 54]


class TestScopes:
    def test_each_role_has_default_and_maximum_scopes(self) -> None:
        every = ("read", "label", "manage", "judge", "people")
        assert every == permissions.ANY
        assert permissions.LEAST == {
            "annotator": ("label",), "researcher": ("read",), "admin": ("read",),
        }  # fmt: skip
        assert {
            "annotator": ("read", "label"),
            "researcher": every,
            "admin": ("read", "manage", "judge", "people"),
        } == permissions.MOST
        assert Routes("studies").scopes == {
            "GET": ("read",),
            "POST": ("manage",),
            "PUT": ("manage",),
        }

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("method", "wanted"),
        [("GET", ("read", "label")), ("HEAD", ("read", "label")), ("POST", ("manage",)),
         ("DELETE", ())],
    )  # fmt: skip
    def test_an_endpoint_declares_the_scopes_of_its_methods(
        self, method: str, wanted: tuple[str, ...]
    ) -> None:
        view = SimpleNamespace(scopes={"GET": ["read", "label"], "POST": ["manage"]})
        assert permissions.required_scopes(view, method) == wanted
        assert permissions.required_scopes(object(), method) == ()

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("method", "granted", "enough"),
        [
            ("GET", ["label"], True),
            ("HEAD", ["label"], True),
            ("GET", ["manage", "judge"], False),
            ("GET", [], False),
            ("GET", None, False),
            ("DELETE", [], True),
        ],
    )
    def test_one_of_the_required_scopes_suffices(
        self, method: str, granted: list[str] | None, enough: bool
    ) -> None:
        grant = None if granted is None else SimpleNamespace(scopes=granted)
        request: Any = SimpleNamespace(method=method, auth=SimpleNamespace(grant=grant))
        view: Any = SimpleNamespace(scopes={"GET": ("read", "label")})
        if enough:
            assert permissions.HasScope().has_permission(request, view) is True
        else:
            with pytest.raises(ScopeError, match="lacks the scope read or label"):
                permissions.HasScope().has_permission(request, view)

    def test_a_token_without_a_grant_has_no_scopes(self) -> None:
        assert permissions.scopes_of(None) == permissions.scopes_of(SimpleNamespace()) == ()
        assert permissions.scopes_of(SimpleNamespace(grant=SimpleNamespace(scopes=["read"]))) == (
            "read",
        )


class TestLogInGuard:
    def test_an_account_name_is_truncated_like_the_stored_one(self) -> None:
        assert _account({}) == _account({"username": None}) == ""
        assert _account({"username": "x" * 300}) == "x" * 255
        assert _account({"username": 7}) == "7"

    def test_without_a_request_no_guess_is_counted(self, db: None) -> None:
        note_failure(None, {"username": "ada"})
        with pytest.raises(ValueError, match="address"):
            LogInGuard().authenticate(None, username="ada", password="wrong")
        assert not LogInCount.objects.exists()
        assert not Event.objects.exists()


def test_a_missing_address_has_the_sites_own_page_in_the_demo_too(
    settings: Settings, client: Client
) -> None:
    settings.DEBUG = True
    answer = client.get("/campaigns/no/")
    assert answer.status_code == 404
    assert "There is nothing at this address" in answer.text
    assert "URLconf" not in answer.text
    assert (
        client.get("/nothing/", headers={"accept": "application/json"})
        .json()["error"]
        .startswith("this address")
    )
