"""A route that shows others' answers records a look in the ledger, whatever its method.

To find out what a route shows, the test plants words in others' answers, quotes and judges'
completions, and changes others' labels. A response shows others' answers if it contains a
planted word, or if it differs after the labels changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import pytest
from django.core.cache import caches
from django.db.models import Q
from django.http import HttpResponseBase
from django.urls import reverse

from analysis.campaigns.reports import campaign_report
from analysis.models import FrozenReport
from annotation.answers.submission import submit
from annotation.exposure import ledger
from annotation.models import (
    Assignment,
    Label,
    Look,
    Membership,
    Rater,
    Response,
    Span,
    User,
)
from datasets.models import Job
from judging.models import Judge, JudgeCall
from tandem.formats.html import as_json
from tandem.labels.selection import ReportOptions
from tests.databases import rolling_back
from tests.page_cast import payload
from tests.security.example_requests import EXAMPLES, Builder
from tests.security.routes import Route
from tests.security.rules import ADMIN, ANNOTATOR, READERS, RESEARCHER, UNSAFE
from tests.security.test_audited import BY_NAME, CASES, _own_quarantine, send  # noqa: F401 - fixture
from tests.security.test_crawler import ROUTES, _whole, made, rule, world  # noqa: F401 - fixtures
from tests.security.world import CSRF, World, objects

pytestmark = pytest.mark.django_db

PLANTED = ("sentinel-comment", "sentinel-quote", "sentinel-verdict")
READ = [route for route in ROUTES if (rule(route).who.get("GET") or frozenset()) & READERS]
each_route = pytest.mark.parametrize("route", READ, ids=lambda route: route.name)
SLOW = ("report", "measures", "api-report", "api-measures", "judge-bench", "api-bench")
# Parts of a response that differ from one request to the next.
CHANGING = re.compile(
    r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?(\.\d+)?|csrfmiddlewaretoken\" value=\"\w+"
    r"|\w{3}, \d+ \w{3} \d{4} [\d:]+ GMT|nonce=[\"'][^\"']+|X-Request-ID': '\w+|opened=\d+"
    r"|\d\d:\d\d:\d\d|/jobs/\w+/"
    r"|\d+ (second|minute)s? ago|/link/\?key=[\w-]+"
)


@dataclass(frozen=True)
class Shown:
    """A response as text, and the looks that its request added."""

    text: str
    looks: list[Look]
    status: int

    @property
    def planted(self) -> list[str]:
        return [word for word in PLANTED if word in self.text]


@each_route
def test_a_page_that_shows_others_answers_records_a_look(world: World, route: Route) -> None:  # noqa: F811
    looked, shows = set[str](), False
    for role, address in list(addresses(world, route)):
        before = asked(world, route, role, address)
        with rolling_back():
            plant(world.users[role])
            planted = asked(world, route, role, address).planted
            turn_labels(world.users[role])
            after = asked(world, route, role, address)
        differs = route.name not in LISTS_ITSELF and after.text != before.text
        for shown in filter(None, (planted, differs and "what depends on labels")):
            assert before.looks, (
                f"{role} GET {address} shows {shown}, but records no look: call "
                "annotation.exposure.ledger in the function that reads the answers"
            )
            shows = True
        looked |= {look.kind for look in before.looks}
    if route.name in SHOWS_MORE_IN_OTHER_STUDIES:
        return
    assert shows or not looked, (
        f"{route.name} shows no others' answers, but records looks: {looked}"
    )


LISTS_ITSELF = frozenset({"audit-file", "campaign-audit-file"})
"""Two downloads always differ, since each lists the one before; only planted words count."""


SHOWS_MORE_IN_OTHER_STUDIES = frozenset({"change-drafts", "change-draft", "label-first"})
"""These show tags and where judges differ, and this study has no tag and one judge."""


def addresses(world: World, route: Route) -> Iterator[tuple[str, str]]:  # noqa: F811
    """Yield all of a researcher's own objects (one on slow routes), and one of the admin's."""
    slow = route.name.startswith(SLOW)
    for role in (RESEARCHER, ADMIN):
        if role in rule(route).who["GET"]:
            own = objects(world, route, role).own
            for address in own[: 1 if slow or role == ADMIN else None]:
                yield role, f"{address}{'?resamples=20' if slow else ''}"


def forget() -> None:
    """Delete caches, jobs and looks, so that each request computes and records again."""
    for each in caches.all():
        each.clear()
    Job.objects.all().delete()  # otherwise a stored result would be reused
    Look.objects.all().delete()  # the same look is recorded once


def asked(world: World, route: Route, role: str, address: str) -> Shown:  # noqa: F811
    forget()
    response = _get(world, route, role, address)
    assert response.status_code < 500
    text = CHANGING.sub("", _whole(response))
    looks = list(Look.objects.filter(user=world.users[role]))
    return Shown(text, looks, response.status_code)


def _get(world: World, route: Route, role: str, address: str) -> HttpResponseBase:  # noqa: F811
    sent = {"accept": "text/html,*/*;q=0.8"}
    if route.is_api:
        sent["authorization"] = f"Token {world.tokens[role]}"
    return world.clients[role].get(address, headers=sent)


SENT = [
    pytest.param(name, build, id=f"{name}-{n}")
    for n, (name, build) in enumerate(CASES)
    if set(rule(BY_NAME[name]).who) & set(UNSAFE)
]


@pytest.mark.parametrize(("name", "build"), SENT)
def test_a_post_answered_with_others_answers_records_a_look(
    world: World,  # noqa: F811
    name: str,
    build: Builder,
) -> None:
    """The test above covers the pages to which these requests redirect."""
    first, again = (sent(world, name, build) for _ in range(2))
    planted = sent(world, name, build, plant).planted
    turned = sent(world, name, build, turn_labels)
    # A response that contains a new key each time differs anyway.
    differs = first.text == again.text and turned.text != first.text
    differs |= turned.status != first.status
    if planted or differs:
        assert first.looks, (
            f"{name} shows {planted or 'what depends on labels'}, but records no look"
        )


def sent(
    world: World,  # noqa: F811
    name: str,
    build: Builder,
    change: Callable[[User], None] = lambda user: None,
) -> Shown:
    """Return the response to an example after others' answers changed; undo everything."""
    with rolling_back():
        example = build(world)
        user = world.users.get(example.role)
        if user is not None:
            change(user)
        forget()
        client = world.clients[example.role]
        kept = deepcopy(client.cookies)
        answer = send(world, BY_NAME[name], example)
        client.cookies = kept  # the example may have logged in or out
        assert answer.status_code < 500
        looks = Look.objects.filter(user=user) if user else Look.objects.none()
        return Shown(CHANGING.sub("", _whole(answer)), list(looks), answer.status_code)


def test_a_change_that_shows_label_dependent_content_records_a_look(
    world: World,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whether storing a snapshot is refused depends on others' labels."""
    build = EXAMPLES["freeze"][0]
    assert sent(world, "freeze", build).looks
    monkeypatch.setattr(ledger, "record", lambda user, notes: None)
    with pytest.raises(AssertionError, match="freeze shows what depends on labels"):
        test_a_post_answered_with_others_answers_records_a_look(world, "freeze", build)


def others(user: User) -> Q:
    return ~Q(response__assignment__rater__user=user)


def plant(user: User) -> None:
    """Plant words in others' comments, in quotes without a location and in judges' completions."""
    for response in Response.objects.exclude(assignment__rater__user=user):
        payload = {**response.payload, "comment": "sentinel-comment"}
        changed = Response.objects.filter(pk=response.pk)
        changed.update(payload=payload, comment="sentinel-comment")
    for label in Label.objects.filter(others(user), spans=None):
        Span.objects.create(label=label, field="report", quote="sentinel-quote")
    JudgeCall.objects.update(completion="sentinel-verdict")


TURNED = {"yes": "no", "no": "yes"}


def turn_labels(user: User) -> None:
    """Swap yes and no in others' labels, and in the snapshots of reports.

    Ada's labels stay, so that people who agreed now disagree.
    """
    ada = User.objects.get(username="ada")
    theirs = Response.objects.exclude(assignment__rater__user__in=(user, ada))
    for label in Label.objects.filter(response__in=theirs, value__in=TURNED):
        Label.objects.filter(pk=label.pk).update(value=TURNED[label.value])
    for response in theirs:
        units = {
            name: {key: TURNED.get(code, code) if isinstance(code, str) else code
                   for key, code in unit.items()}
            for name, unit in response.payload["units"].items()
        }  # fmt: skip
        changed = Response.objects.filter(pk=response.pk)
        changed.update(payload={**response.payload, "units": units})
    for frozen in FrozenReport.objects.select_related("campaign"):
        report = campaign_report(frozen.campaign, ReportOptions(resamples=2))
        FrozenReport.objects.filter(pk=frozen.pk).update(content=as_json(report))


def adjudicator(world: World) -> None:  # noqa: F811
    """Make Ada an adjudicator of the closed campaign, in which two raters disagree."""
    item = world.closed.items.order_by("position")[0]
    for code in ("no", "invalid"):
        rater = Rater.objects.create(name=f"says {code}")
        row = Assignment.objects.create(item=item, rater=rater, asked=["q:0", "q:1", "q:2"])
        submit(row, payload(code, "sentinel-comment"), "api")
    role = Membership.Role.ADJUDICATOR
    Membership.objects.create(campaign=world.closed, user=world.study.ada, role=role)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("adjudication", "disputes"),
        ("adjudication-unit", "dispute"),
        ("api-disputes", "disputes"),
        ("api-dispute", "dispute"),
    ],
)
def test_adjudicating_records_a_look(world: World, name: str, kind: str) -> None:  # noqa: F811
    adjudicator(world)
    route = next(route for route in ROUTES if route.name == name)
    unit = world.closed.items.order_by("position")[0].units.get(name="q:1")
    keys = [world.closed.pk, unit.pk][: len(route.arguments)]
    shown = asked(world, route, ANNOTATOR, reverse(name, args=keys))
    (look,) = shown.looks
    assert look.kind == kind
    assert unit.pk in (look.scope or {})["units"]


@pytest.mark.parametrize("name", ["judge-try", "api-judge-try"])
def test_trying_a_judge_records_a_look(world: World, name: str) -> None:  # noqa: F811
    judge = Judge.objects.get(rater__name="planted-judge")
    Judge.objects.update(prompt="")  # the planted prompt cannot be sent
    client, address = world.clients[RESEARCHER], reverse(name, args=[judge.pk])
    sent: dict[str, Any] = {"campaign": world.study.campaign.pk}
    if name.startswith("api"):
        headers = {"authorization": f"Token {world.tokens[RESEARCHER]}"}
        answer = client.post(address, sent, "application/json", headers=headers)
    else:
        asked_for = client.post(address, sent, headers={"x-csrftoken": CSRF})
        answer = client.get(asked_for.headers["Location"])
    assert answer.status_code == 200, answer.content
    look = Look.objects.get(user=world.users[RESEARCHER])
    assert (look.kind, look.exposing, look.campaign) == ("trial", True, world.study.campaign)


def test_a_refused_request_records_no_look(world: World) -> None:  # noqa: F811
    """Ada may not export labels, and Rita has an open item."""
    before = Look.objects.count()
    address = reverse("export-file", args=[world.study.campaign.pk, "labels", "jsonl"])
    assert world.clients[ANNOTATOR].get(address).status_code == 403
    world.study.assignment(world.study.rita)
    assert world.clients[RESEARCHER].get(address).status_code == 403
    assert Look.objects.count() == before
