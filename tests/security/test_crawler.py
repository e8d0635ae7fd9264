"""All routes, by all methods, in all roles, over one's own, others' and missing objects."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import pytest
from django.core.cache import cache
from django.http import HttpResponseBase

from annotation.models import Look
from audit.models import Event
from tests.databases import rolled_back, unchanged, undone
from tests.extent import Extent
from tests.security.deeds import TAKEN_ALONG
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
    """The routes that somebody may use by one of these methods; all of them with --all."""
    known = {route: rule_of(route.name) for route in ROUTES}
    return [
        route for route, of in known.items() if Extent.everything or (of and {*methods} & {*of.who})
    ]


each_route = each_of(ROUTES)
each_that_reads = each_of(with_any(SAFE))
each_that_changes = each_of(with_any(UNSAFE))
each_with_arguments = each_of([route for route in ROUTES if route.arguments])
LEAST_POLICY = ("default-src 'self'", "object-src 'none'", "base-uri 'none'")


@pytest.fixture(scope="module")
def made(django_db_setup: None, django_db_blocker: Any) -> Iterator[World]:
    """Created once, since it takes longer than most tests; each test returns to this state."""
    with rolled_back(django_db_blocker):
        yield make_world()


@pytest.fixture
def world(made: World, db: None) -> World:
    cache.clear()  # what was asked in other tests counts against the limits of the API
    return renewed(made)


def rule(route: Route) -> Rule:
    assert route.name, f"the route at /{route.path} has no name; give it one in its urls.py"
    found = rule_of(route.name)
    assert found, (
        f"route {route.name!r} at /{route.path} stands in no table: say in "
        "tests/security/rules.py, at RULES, who may use it by which methods"
    )
    return found


def ask(world: World, route: Route, role: str, method: str, address: str) -> HttpResponseBase:
    """A request with all that a sound client sends: a CSRF token for a session, or an API token."""
    sent = {"accept": "text/html,*/*;q=0.8"}
    if not route.is_api:
        sent["x-csrftoken"] = CSRF
    elif role != ANONYMOUS:
        sent["authorization"] = f"Token {world.tokens[role]}"
    kind = "application/json" if route.is_api else "application/x-www-form-urlencoded"
    body = "{}" if route.is_api and method in UNSAFE else ""
    answer = world.clients[role].generic(method, address, body, kind, headers=sent)
    _sound(answer, role, f"{role} {method} {address}")
    return answer


def _sound(answer: HttpResponseBase, role: str, what: str) -> None:
    """What holds of every answer, right or wrong."""
    assert answer.status_code < 500, f"{what} breaks: {answer.status_code}"
    assert "no-store" in answer.headers["Cache-Control"], f"{what} may be kept by the browser"
    assert answer.headers["X-Content-Type-Options"] == "nosniff", what
    assert answer.headers["Referrer-Policy"] == "same-origin", what
    assert answer.headers["X-Frame-Options"] == "DENY", what
    assert answer.headers["Cross-Origin-Opener-Policy"] == "same-origin", what
    assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin", what
    policy = answer.headers["Content-Security-Policy"]
    assert not any(word in policy for word in ("unsafe", "*", "http")), what
    assert all(part in policy for part in LEAST_POLICY), what
    if role == ANNOTATOR:
        told = _whole(answer)
        for secret in HIDDEN:
            assert secret not in told, f"{what} tells {secret}"


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
        assert (ANNOTATOR in who) == (OTHER in who), "Ben may what Ada may: see _is_asked"
    for found in objects_of_all(world, route).values():
        assert found.own or found.foreign
    with unchanged():
        _refused_to_all_but_its_roles(world, route)


def _refused_to_all_but_its_roles(world: World, route: Route) -> None:
    for role, method, address, kind in _requests(world, route):
        who = rule(route).who_may(method)
        if who is not None and role in who:
            continue
        answer = ask(world, route, role, method, address)
        what = f"{role} {method} {address} ({kind}) is answered by {answer.status_code}"
        allowed = refusal(route, role) if who is not None else {405, *refusal(route, role)}
        assert answer.status_code in allowed, what
        assert to_log_in(answer), what
        if who is None and any(role in each for each in rule(route).who.values()):
            assert answer.status_code == 405, what


@pytest.mark.every_case
@each_with_arguments
def test_others_objects_and_missing_ones_both_give_404(world: World, route: Route) -> None:
    with unchanged():
        for role, method, address, kind in _requests(world, route):
            who = rule(route).who_may(method)
            if kind != "own" and who is not None and role in who:
                answer = ask(world, route, role, method, address)
                assert answer.status_code == 404, f"{role} {method} {address} ({kind})"


@pytest.mark.every_case
@each_that_reads
def test_reading_changes_nothing(world: World, route: Route) -> None:
    # Of what is taken along the trail is told; test_audited.py says of which routes. The ledger has
    # who could see others' answers; test_ledger.py says by which routes.
    but = (Event, Look) if route.name in TAKEN_ALONG else (Look,)
    with unchanged(but):
        for role, method, address, kind in _requests(world, route):
            who = rule(route).who_may(method)
            if kind == "own" and method in SAFE and who is not None and role in who:
                Look.objects.all().delete()  # the same look is noted once
                _read(world, route, role, method, address)
                if method == "GET" and not Extent.everything and Look.objects.exists():
                    Look.objects.all().delete()
                    _read(world, route, role, "HEAD", address)


def _read(world: World, route: Route, role: str, method: str, address: str) -> None:
    answer = ask(world, route, role, method, address)
    assert method == "GET" or not Look.objects.exists(), f"{address}: HEAD looks"
    assert answer.status_code in rule(route).answers, f"{role} {method} {address}"
    assert not answer.headers.get("Location", "").startswith("/login/")


@pytest.mark.postgresql
@pytest.mark.every_case
@each_that_changes
def test_allowed_requests_succeed(world: World, route: Route) -> None:
    for role, method, address, kind in _requests(world, route):
        who = rule(route).who_may(method)
        if kind == "own" and method not in SAFE and who is not None and role in who:
            # With browsers of its own again, since the one before may have logged in or out.
            with undone():
                answer = ask(renewed(world), route, role, method, address)
            assert answer.status_code in rule(route).answers, f"{role} {method} {address}"


@pytest.mark.once
@pytest.mark.every_case
@each_of([route for route in with_any(UNSAFE) if not route.is_api])
def test_no_form_is_accepted_without_a_csrf_token(world: World, route: Route) -> None:
    with unchanged():
        for role, method, address, kind in _requests(world, route):
            who = rule(route).who_may(method)
            if kind == "own" and method in UNSAFE and _speaks_for_all(role, who):
                answer = world.clients[role].generic(method, address)
                assert answer.status_code == 403, f"{role} {method} {address} without a token"


def test_the_api_ignores_sessions(world: World) -> None:
    with unchanged():
        for route in (r for r in ROUTES if r.is_api and r.name not in BY_SESSION_TOO):
            for role, method, address, kind in _requests(world, route):
                who = rule(route).who_may(method)
                open_to = who is not None and ANONYMOUS in who
                if kind == "own" and not open_to and _speaks_for_all(role, who):
                    sent = {"x-csrftoken": CSRF}
                    answer = world.clients[role].generic(method, address, headers=sent)
                    assert answer.status_code in {401, 405}, (
                        f"{role} {method} {address} by a session"
                    )


def test_no_two_routes_share_a_name() -> None:
    names = [route.name for route in ROUTES]
    assert sorted(names) == sorted(set(names))


def _requests(world: World, route: Route) -> Iterator[tuple[str, str, str, str]]:
    """Every (role, method, address, kind of object); `make test` leaves out what is alike."""
    for role, found in objects_of_all(world, route).items():
        for kind in ("own", "foreign", "missing"):
            addresses = getattr(found, kind)
            for number, address in enumerate(addresses):
                for method in METHODS:
                    place = (number, len(addresses) - 1)
                    if _is_asked(rule(route), role, method, kind, place):
                        yield role, method, address, kind


def _is_asked(rule: Rule, role: str, method: str, kind: str, place: tuple[int, int]) -> bool:
    """Whether `make test` asks it: of one's own the first, but an admin the last, which is another
    team's; all that is another's; of what is missing one reader the first and the other the last,
    as does an annotator; where a role is refused the first of its own and the last of what is
    missing. HEAD by one role, of its own; an admin reads so what a researcher reads by GET. Ben is
    as Ada, and asked nothing.

    A method that a route has for nobody is refused before any object is looked at: it is tried on
    the first of their own by those who may least of all that may use the route.
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
    """Whether `make test` asks in this role what is refused before anybody's role is looked at."""
    return Extent.everything or (who is not None and role == _reader(who))


def _reader(who: frozenset[str]) -> str | None:
    """The role that asks for all that is missing: a researcher where one may."""
    return RESEARCHER if RESEARCHER in who else next((role for role in ROLES if role in who), None)


def _of_heads(who: frozenset[str]) -> str | None:
    return ADMIN if ADMIN in who else _reader(who)
