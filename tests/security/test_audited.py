"""Every change writes one audit event, which contains no text and no secret."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db.models import Model

from annotation.models import Assignment, Rater, Tally
from audit.models import Event
from judging.models import Judge
from tests.databases import assert_unchanged
from tests.page_cast import PASSWORD
from tests.security.example_requests import (
    DOWNLOADS,
    EXAMPLES,
    WITHOUT_EVENT,
    WORDS,
    Builder,
    Example,
)
from tests.security.routes import Route
from tests.security.rules import ANONYMOUS, UNSAFE
from tests.security.test_crawler import ROUTES, made, rule, world  # noqa: F401 - fixtures
from tests.security.world import CSRF, HIDDEN, World

pytestmark = pytest.mark.django_db
BY_NAME = {route.name: route for route in ROUTES}
CASES = [(name, build) for name, builders in EXAMPLES.items() for build in builders]
NAMES = [f"{name}-{n}" for n, (name, _) in enumerate(CASES)]


@pytest.fixture(autouse=True)
def _own_quarantine(own_quarantine: Path) -> None:
    """Each test has an empty quarantine."""


def test_every_changing_route_is_tested_here_or_has_a_reason_not_to_be() -> None:
    unsafe = {route.name for route in ROUTES if set(rule(route).who) & set(UNSAFE)}
    missing = unsafe - set(EXAMPLES) - set(WITHOUT_EVENT)
    assert not missing, (
        f"{missing}: add an example to tests/security/example_requests.py, or the reason why no "
        "event is due"
    )
    assert not set(EXAMPLES) & set(WITHOUT_EVENT)
    assert set(EXAMPLES) | set(WITHOUT_EVENT) <= set(BY_NAME)


@pytest.mark.every_case
@pytest.mark.parametrize(("name", "build"), CASES, ids=NAMES)
def test_a_change_writes_one_event(world: World, name: str, build: Builder) -> None:  # noqa: F811
    example = build(world)
    before = set(Event.objects.values_list("pk", flat=True))
    answer = send(world, BY_NAME[name], example)
    failed = example.event == "login.failed"
    assert answer.status_code < 400, getattr(answer, "content", b"")[:2000]
    written = Event.objects.exclude(pk__in=before)
    if example.event == "campaign.made":
        # Whoever creates a campaign for named people becomes one of them.
        written = written.exclude(event="member.added")
    event = written.get()
    assert event.event == example.event
    assert (event.request, event.address) == (answer["X-Request-ID"], "loopback")
    user = world.users.get(example.role)
    assert event.who == (user.pk if user else example.by) or (
        example.role == ANONYMOUS and not failed
    )
    recorded = json.dumps(list(Event.objects.exclude(pk__in=before).values()), default=str)
    for secret in (*HIDDEN, WORDS, PASSWORD):
        assert secret not in recorded


# A log-in changes nothing but when the account was last here, and a run's assignments are planned
# before it, for any later one.
LOG_INS = ("login", "log-in-link")
PLANNED: tuple[type[Model], ...] = (Assignment, Tally, Judge, Rater)
RUNS = ("api-runs", "judge-start", "campaign-baseline", "campaign-trials", "api-judge-trials")
CHANGES = [
    pytest.param(name, build, id=case)
    for (name, build), case in zip(CASES, NAMES, strict=True)
    if name not in (*DOWNLOADS, *LOG_INS)
]


@pytest.mark.once
@pytest.mark.every_case
@pytest.mark.parametrize(("name", "build"), CHANGES)
def test_a_change_that_cannot_be_recorded_is_undone(
    world: World,  # noqa: F811
    name: str,
    build: Builder,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full() -> None:
        raise OSError("no space left")

    example = build(world)
    monkeypatch.setattr("audit.recording.hold_off_sealing", full)
    with assert_unchanged(PLANNED if name in RUNS else ()):
        assert send(world, BY_NAME[name], example).status_code == 500


def test_every_download_writes_an_event() -> None:
    assert set(DOWNLOADS) == {name for name in EXAMPLES if set(rule(BY_NAME[name]).who) == {"GET"}}


@pytest.mark.parametrize("name", DOWNLOADS)
def test_a_head_request_for_a_download_writes_no_event(world: World, name: str) -> None:  # noqa: F811
    example = EXAMPLES[name][0](world)
    before = Event.objects.count()
    headers = {"authorization": f"Token {world.tokens[example.role]}"} if "api" in name else {}
    assert world.clients[example.role].head(example.address, headers=headers).status_code == 200
    assert Event.objects.count() == before


def send(world: World, route: Route, example: Example) -> Any:  # noqa: F811
    """Send an example with the session or the token of its role; return the response."""
    client = world.clients[example.role]
    headers = {"accept": "text/html,*/*;q=0.8"}
    if route.is_api:
        headers = {"authorization": f"Token {world.tokens[example.role]}"}
    else:
        headers["x-csrftoken"] = CSRF
    if example.method == "GET":
        return client.get(example.address, headers=headers)
    if not route.is_api or _has_files(example):
        return client.post(example.address, dict(example.sent), headers=headers)
    body = json.dumps(dict(example.sent))
    return client.generic(
        example.method, example.address, body, "application/json", headers=headers
    )


def _has_files(example: Example) -> bool:
    lists = (value if isinstance(value, list) else [value] for value in example.sent.values())
    return any(isinstance(each, SimpleUploadedFile) for given in lists for each in given)
