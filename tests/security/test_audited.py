"""Whatever changes something writes one event, and what it writes tells no text and no secret."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from audit.models import Event
from tests.page_cast import PASSWORD
from tests.security.deeds import DEEDS, SILENT, TAKEN_ALONG, WORDS, Deed, Doing
from tests.security.routes import Route
from tests.security.rules import ANONYMOUS, UNSAFE
from tests.security.test_crawler import ROUTES, made, rule, world  # noqa: F401 - fixtures
from tests.security.world import CSRF, HIDDEN, World

pytestmark = pytest.mark.django_db
BY_NAME = {route.name: route for route in ROUTES}
DONE = [(name, doing) for name, all_of_it in DEEDS.items() for doing in all_of_it]
NAMES = [f"{name}-{n}" for n, (name, _) in enumerate(DONE)]


@pytest.fixture(autouse=True)
def _own_quarantine(own_quarantine: Path) -> None:
    """Nothing of other tests lies there."""


def test_every_changing_route_is_tested_here_or_has_a_reason_not_to_be() -> None:
    unsafe = {route.name for route in ROUTES if set(rule(route).who) & set(UNSAFE)}
    missing = unsafe - set(DEEDS) - set(SILENT)
    assert not missing, f"{missing}: do them in tests/security/deeds.py, or say why no event is due"
    assert not set(DEEDS) & set(SILENT)
    assert set(DEEDS) | set(SILENT) <= set(BY_NAME)


@pytest.mark.every_case
@pytest.mark.parametrize(("name", "doing"), DONE, ids=NAMES)
def test_a_change_writes_one_event(world: World, name: str, doing: Doing) -> None:  # noqa: F811
    deed = doing(world)
    before = set(Event.objects.values_list("pk", flat=True))
    answer = done(world, BY_NAME[name], deed)
    failed = deed.event == "login.failed"
    assert answer.status_code < 400, getattr(answer, "content", b"")[:2000]
    event = Event.objects.exclude(pk__in=before).get()
    assert event.event == deed.event
    assert (event.request, event.address) == (answer["X-Request-ID"], "loopback")
    user = world.users.get(deed.role)
    assert event.who == (user.pk if user else deed.by) or (deed.role == ANONYMOUS and not failed)
    told = json.dumps(list(Event.objects.exclude(pk__in=before).values()), default=str)
    for secret in (*HIDDEN, WORDS, PASSWORD):
        assert secret not in told


def test_every_download_writes_an_event() -> None:
    assert set(TAKEN_ALONG) == {
        name for name, all_of_it in DEEDS.items() if set(rule(BY_NAME[name]).who) == {"GET"}
    }


@pytest.mark.parametrize("name", TAKEN_ALONG)
def test_asking_whether_an_export_is_ready_writes_no_event(world: World, name: str) -> None:  # noqa: F811
    deed = DEEDS[name][0](world)
    before = Event.objects.count()
    headers = {"authorization": f"Token {world.tokens[deed.role]}"} if "api" in name else {}
    assert world.clients[deed.role].head(deed.address, headers=headers).status_code == 200
    assert Event.objects.count() == before


def done(world: World, route: Route, deed: Deed) -> Any:  # noqa: F811
    client = world.clients[deed.role]
    headers = {"accept": "text/html,*/*;q=0.8"}
    if route.is_api:
        headers = {"authorization": f"Token {world.tokens[deed.role]}"}
    else:
        headers["x-csrftoken"] = CSRF
    if deed.method == "GET":
        return client.get(deed.address, headers=headers)
    if not route.is_api or _has_files(deed):
        return client.post(deed.address, dict(deed.sent), headers=headers)
    body = json.dumps(dict(deed.sent))
    return client.generic(deed.method, deed.address, body, "application/json", headers=headers)


def _has_files(deed: Deed) -> bool:
    lists = (value if isinstance(value, list) else [value] for value in deed.sent.values())
    return any(isinstance(each, SimpleUploadedFile) for given in lists for each in given)
