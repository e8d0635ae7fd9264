"""Every route admits only its roles and methods, and treats others' objects like missing ones.

Each is requested by all methods, in all roles, for one's own, others' and missing objects.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import pytest
from django.core.cache import cache
from django.http import HttpResponseBase

from annotation.models import Look
from audit.models import Event
from tests.databases import assert_unchanged, rolled_back, rolling_back
from tests.extent import Extent
from tests.security.example_requests import DOWNLOADS
from tests.security.routes import Route, routes
from tests.security.rules import (
    ADMIN,
    ANNOTATOR,
    ANONYMOUS,
    BY_SESSION_TOO,
    METHODS,
    OTHER,
    RESEARCHER,
    ROLES,
    SAFE,
    UNSAFE,
    Rule,
    rule_of,
)
from tests.security.world import CSRF, HIDDEN, World, make_world, objects_of_all, renewed

pytestmark = pytest.mark.django_db

ROUTES = routes()


def each_of(found: Sequence[Route]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("route", found, ids=lambda route: route.name or route.path)


def with_any(methods: Collection[str]) -> list[Route]:
    """Return the routes that a role may use with one of these methods; with --all, every route."""
    known = {route: rule_of(route.name) for route in ROUTES}
    return [
        route for route, of in known.items() if Extent.everything or (of and {*methods} & {*of.who})
    ]


each_route = each_of(ROUTES)
each_that_reads = each_of(with_any(SAFE))
each_that_changes = each_of(with_any(UNSAFE))
each_with_arguments = each_of([route for route in ROUTES if route.arguments])
INLINE_STYLE = re.compile(r"<style|<[a-z][^<>]* style=", re.IGNORECASE)
LEAST_POLICY = ("default-src 'self'", "object-src 'none'", "base-uri 'none'")


@pytest.fixture(scope="module")
def made(django_db_setup: None, django_db_blocker: Any) -> Iterator[World]:
    """Created once, since it takes longer than most tests; each test's changes are undone."""
    with rolled_back(django_db_blocker):
        yield make_world()


@pytest.fixture
def world(made: World, db: None) -> World:
    cache.clear()  # requests of other tests count towards the API's rate limits
    return renewed(made)


def rule(route: Route) -> Rule:
    assert route.name, f"the route at /{route.path} has no name; give it one in its urls.py"
    found = rule_of(route.name)
    assert found, (
        f"route {route.name!r} at /{route.path} has no rule: say in "
        "tests/security/rules.py, at RULES, who may use it with which methods"
    )
    return found


def ask(world: World, route: Route, role: str, method: str, address: str) -> HttpResponseBase:
    """Send a request as a correct client would: with session and CSRF token, or an API token."""
    sent = {"accept": "text/html,*/*;q=0.8"}
    if not route.is_api:
        sent["x-csrftoken"] = CSRF
    elif role != ANONYMOUS:
        sent["authorization"] = f"Token {world.tokens[role]}"
    kind = "application/json" if route.is_api else "application/x-www-form-urlencoded"
    body = "{}" if route.is_api and method in UNSAFE else ""
    answer = world.clients[role].generic(method, address, body, kind, headers=sent)
    _assert_safe(answer, role, f"{role} {method} {address}")
    return answer


def _assert_safe(answer: HttpResponseBase, role: str, what: str) -> None:
    """Require what every response must satisfy, whatever its status."""
    assert answer.status_code < 500, f"{what} fails with {answer.status_code}"
    assert "no-store" in answer.headers["Cache-Control"], f"{what} may be cached by the browser"
    assert answer.headers["X-Content-Type-Options"] == "nosniff", what
    assert answer.headers["Referrer-Policy"] == "same-origin", what
    assert answer.headers["X-Frame-Options"] == "DENY", what
    assert answer.headers["Cross-Origin-Opener-Policy"] == "same-origin", what
    assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin", what
    policy = answer.headers["Content-Security-Policy"]
    assert not any(word in policy for word in ("unsafe", "*", "http")), what
    assert all(part in policy for part in LEAST_POLICY), what
    if answer.headers.get("Content-Type", "").startswith("text/html") and (
        "Content-Disposition" not in answer.headers
    ):
        # The policy refuses an inline style, and the browser's console says so.
        assert not INLINE_STYLE.search(_whole(answer)), f"{what} has an inline style"
    if role == ANNOTATOR:
        text = _whole(answer)
        for secret in HIDDEN:
            assert secret not in text, f"{what} reveals {secret}"


def _whole(answer: HttpResponseBase) -> str:
    body = b"".join(answer) if answer.streaming else answer.content  # type: ignore[attr-defined]
    return body.decode(errors="replace") + str(answer.headers)


def refusal(route: Route, role: str) -> set[int]:
    if role != ANONYMOUS:
        return {403}
    return {401} if route.is_api else {302}


def to_log_in(answer: HttpResponseBase) -> bool:
    return answer.status_code != 302 or answer.headers["Location"].startswith("/login/?next=/")


@pytest.mark.once
@pytest.mark.every_case
@each_route
def test_every_route_is_declared_and_a_refused_request_changes_nothing(
    world: World, route: Route
) -> None:
    taken = rule(route)
    assert set(taken.who) <= set(METHODS) - {"HEAD"}
    for who in taken.who.values():
        assert (ANNOTATOR in who) == (OTHER in who), "Ben may do what Ada may: see _is_asked"
    for found in objects_of_all(world, route).values():
        assert found.own or found.foreign
    with assert_unchanged():
        _refused_to_all_but_its_roles(world, route)


def _refused_to_all_but_its_roles(world: World, route: Route) -> None:
    for role, method, address, kind in _requests(world, route):
        who = rule(route).who_may(method)
        if who is not None and role in who:
            continue
        answer = ask(world, route, role, method, address)
        what = f"{role} {method} {address} ({kind}) returned {answer.status_code}"
        allowed = refusal(route, role) if who is not None else {405, *refusal(route, role)}
        assert answer.status_code in allowed, what
        assert to_log_in(answer), what
        assert answer.status_code != 401 or answer.headers["WWW-Authenticate"] == "Token", what
        if who is None and any(role in each for each in rule(route).who.values()):
            assert answer.status_code == 405, what


@pytest.mark.every_case
@each_with_arguments
def test_others_objects_and_missing_ones_both_give_404(world: World, route: Route) -> None:
    with assert_unchanged():
        for role, method, address, kind in _requests(world, route):
            who = rule(route).who_may(method)
            if kind != "own" and who is not None and role in who:
                answer = ask(world, route, role, method, address)
                assert answer.status_code == 404, f"{role} {method} {address} ({kind})"


@pytest.mark.every_case
@each_that_reads
def test_reading_changes_nothing(world: World, route: Route) -> None:
    # Downloads write events (test_audited.py); pages with others' answers, looks (test_ledger.py).
    but = (Event, Look) if route.name in DOWNLOADS else (Look,)
    with assert_unchanged(but):
        for role, method, address, kind in _requests(world, route):
            who = rule(route).who_may(method)
            if kind == "own" and method in SAFE and who is not None and role in who:
                Look.objects.all().delete()  # the same look is recorded once
                _read(world, route, role, method, address)
                if method == "GET" and not Extent.everything and Look.objects.exists():
                    Look.objects.all().delete()
                    _read(world, route, role, "HEAD", address)


def _read(world: World, route: Route, role: str, method: str, address: str) -> None:
    answer = ask(world, route, role, method, address)
    assert method == "GET" or not Look.objects.exists(), f"{address}: HEAD recorded a look"
    assert answer.status_code in rule(route).answers, f"{role} {method} {address}"
    assert not answer.headers.get("Location", "").startswith("/login/")


@pytest.mark.postgresql
@pytest.mark.every_case
@each_that_changes
def test_allowed_requests_succeed(world: World, route: Route) -> None:
    for role, method, address, kind in _requests(world, route):
        who = rule(route).who_may(method)
        if kind == "own" and method not in SAFE and who is not None and role in who:
            # A fresh browser each time, since the request before may have logged in or out.
            with rolling_back():
                answer = ask(renewed(world), route, role, method, address)
            assert answer.status_code in rule(route).answers, f"{role} {method} {address}"


@pytest.mark.once
@pytest.mark.every_case
@each_of([route for route in with_any(UNSAFE) if not route.is_api])
def test_no_form_is_accepted_without_a_csrf_token(world: World, route: Route) -> None:
    with assert_unchanged():
        for role, method, address, kind in _requests(world, route):
            who = rule(route).who_may(method)
            if kind == "own" and method in UNSAFE and _speaks_for_all(role, who):
                answer = world.clients[role].generic(method, address)
                assert answer.status_code == 403, f"{role} {method} {address} without a token"


def test_the_api_ignores_sessions(world: World) -> None:
    with assert_unchanged():
        for route in (r for r in ROUTES if r.is_api and r.name not in BY_SESSION_TOO):
            for role, method, address, kind in _requests(world, route):
                who = rule(route).who_may(method)
                open_to = who is not None and ANONYMOUS in who
                if kind == "own" and not open_to and _speaks_for_all(role, who):
                    sent = {"x-csrftoken": CSRF}
                    answer = world.clients[role].generic(method, address, headers=sent)
                    assert answer.status_code in {401, 405}, (
                        f"{role} {method} {address} with a session"
                    )


def test_no_two_routes_share_a_name() -> None:
    names = [route.name for route in ROUTES]
    assert sorted(names) == sorted(set(names))


def _requests(world: World, route: Route) -> Iterator[tuple[str, str, str, str]]:
    """Yield role, method, address and kind of object; `make test` skips near-duplicates."""
    for role, found in objects_of_all(world, route).items():
        for kind in ("own", "foreign", "missing"):
            addresses = getattr(found, kind)
            for number, address in enumerate(addresses):
                for method in METHODS:
                    place = (number, len(addresses) - 1)
                    if _is_asked(rule(route), role, method, kind, place):
                        yield role, method, address, kind


def _is_asked(rule: Rule, role: str, method: str, kind: str, place: tuple[int, int]) -> bool:
    """Return whether this request is sent; with --all every one is, and `make test` selects.

    - A role that may use the route requests its first own object (the admin the last one, which
      belongs to another team), all objects of others, and the first or the last missing one.
    - A role that may not requests its first own object and the last missing one.
    - HEAD is sent by one role for an own object: the admin, if one may, who then sends no GET.
    - Ben has the same rights as Ada, and requests nothing.

    A method that the route does not accept is refused before any object is read. The least
    privileged role that may use the route tries it on its first own object.
    """
    (number, last), who = place, rule.who_may(method)
    if who is None:
        least = {next((each for each in ROLES if _may_come(each, rule)), ANONYMOUS)}
        if Extent.everything:
            least |= {ANONYMOUS, ANNOTATOR}
        return kind == "own" and number == 0 and role in least
    if Extent.everything:
        return True
    if role == OTHER:
        return False
    if method == "HEAD":
        return kind == "own" and role == _of_heads(who) and number == _first(role, last)
    if role not in who:
        return (kind, number) in {("own", 0), ("missing", last)}
    if kind == "own":
        by_head = method == "GET" and role == ADMIN and RESEARCHER in who
        return number == _first(role, last) and not by_head
    return kind == "foreign" or _asks_for_the_missing(role, who, number, last)


def _asks_for_the_missing(role: str, who: frozenset[str], number: int, last: int) -> bool:
    if number == 0 and role == _reader(who):
        return True
    return number == last and role in (ANNOTATOR, _of_heads(who))


def _first(role: str, last: int) -> int:
    return last if role == ADMIN else 0


def _may_come(role: str, rule: Rule) -> bool:
    return any(role in who for who in rule.who.values())


def _speaks_for_all(role: str, who: frozenset[str] | None) -> bool:
    """Return whether `make test` uses this role for refusals that come before the role check."""
    return Extent.everything or (who is not None and role == _reader(who))


def _reader(who: frozenset[str]) -> str | None:
    """Return the role that requests missing objects: the researcher, if one may."""
    return RESEARCHER if RESEARCHER in who else next((role for role in ROLES if role in who), None)


def _of_heads(who: frozenset[str]) -> str | None:
    return ADMIN if ADMIN in who else _reader(who)
