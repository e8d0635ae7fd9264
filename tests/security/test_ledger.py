"""A route that shows what others answered has an entry in the ledger of looks, whatever its method.

What a route shows is found out, not declared: words are planted in others' answers, quotes and
judges' completions, and others' labels are turned into other ones. A response that holds such a
word, or that differs after the turn, depends on them.
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
from analysis.data.selection import ReportOptions
from analysis.formats.html import as_json
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
from tests.databases import undone
from tests.page_cast import payload
from tests.security.deeds import DEEDS, Doing
from tests.security.routes import Route
from tests.security.rules import ADMIN, ANNOTATOR, READERS, RESEARCHER, UNSAFE
from tests.security.test_audited import BY_NAME, DONE, _own_quarantine, done  # noqa: F401 - fixture
from tests.security.test_crawler import ROUTES, _whole, made, rule, world  # noqa: F401 - fixtures
from tests.security.world import CSRF, World, objects

pytestmark = pytest.mark.django_db

PLANTED = ("sentinel-comment", "sentinel-quote", "sentinel-verdict")
ASKED = [route for route in ROUTES if (rule(route).who.get("GET") or frozenset()) & READERS]
each_route = pytest.mark.parametrize("route", ASKED, ids=lambda route: route.name)
SLOW = ("report", "measures", "api-report", "api-measures", "judge-bench", "api-bench")
# What differs from one moment and one request to the next.
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
        with undone():
            plant(world.users[role])
            planted = asked(world, route, role, address).planted
            turn_labels(world.users[role])
            after = asked(world, route, role, address)
        differs = route.name not in TELLS_OF_ITSELF and after.text != before.text
        for shown in filter(None, (planted, differs and "what depends on labels")):
            assert before.looks, (
                f"{role} GET {address} shows {shown}, and no look is in the ledger: note it in "
                "the function that reads them (annotation.exposure.ledger)"
            )
            shows = True
        looked |= {look.kind for look in before.looks}
    if route.name in SHOWS_MORE_ELSEWHERE:
        return
    assert shows or not looked, f"{route.name} shows no answer of others, but is a look: {looked}"


TELLS_OF_ITSELF = frozenset({"audit-file", "campaign-audit-file"})
"""They list their own downloads, so that no two are alike. What was planted is looked for."""


SHOWS_MORE_ELSEWHERE = frozenset({"change-drafts", "change-draft", "label-first"})
"""They show tags, which tell of answers in words, and where judges differ; here is one only."""


def addresses(world: World, route: Route) -> Iterator[tuple[str, str]]:  # noqa: F811
    """A researcher's own objects and one of the admin's; of what takes long only the first."""
    slow = route.name.startswith(SLOW)
    for role in (RESEARCHER, ADMIN):
        if role in rule(route).who["GET"]:
            own = objects(world, route, role).own
            for address in own[: 1 if slow or role == ADMIN else None]:
                yield role, f"{address}{'?resamples=20' if slow else ''}"


def forget() -> None:
    """Forget what was computed and looked at before, so that it is computed and recorded again."""
    for each in caches.all():
        each.clear()
    Job.objects.all().delete()  # a result is given again while nothing has changed
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
    pytest.param(name, doing, id=f"{name}-{n}")
    for n, (name, doing) in enumerate(DONE)
    if set(rule(BY_NAME[name]).who) & set(UNSAFE)
]


@pytest.mark.parametrize(("name", "doing"), SENT)
def test_a_post_answered_with_others_answers_records_a_look(
    world: World,  # noqa: F811
    name: str,
    doing: Doing,
) -> None:
    """Each change that `deeds` knows, done as it should be. A redirection leads to a page that the
    test above asks for."""
    first, again = (sent(world, name, doing) for _ in range(2))
    planted = sent(world, name, doing, plant).planted
    turned = sent(world, name, doing, turn_labels)
    # Some are answered with a new key each time.
    differs = first.text == again.text and turned.text != first.text
    differs |= turned.status != first.status
    if planted or differs:
        assert first.looks, f"{name} shows {planted or 'what depends on labels'}, and notes no look"


def sent(
    world: World,  # noqa: F811
    name: str,
    doing: Doing,
    change: Callable[[User], None] = lambda user: None,
) -> Shown:
    """What a deed is answered with after a change of others' answers, all of it taken back."""
    with undone():
        deed = doing(world)
        user = world.users.get(deed.role)
        if user is not None:
            change(user)
        forget()
        client = world.clients[deed.role]
        kept = deepcopy(client.cookies)
        answer = done(world, BY_NAME[name], deed)
        client.cookies = kept  # of somebody who has not logged in
        assert answer.status_code < 500
        looks = Look.objects.filter(user=user) if user else Look.objects.none()
        return Shown(CHANGING.sub("", _whole(answer)), list(looks), answer.status_code)


def test_a_change_that_shows_label_dependent_content_records_a_look(
    world: World,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A snapshot is refused if its numbers are others by now, which tells of them."""
    doing = DEEDS["freeze"][0]
    assert sent(world, "freeze", doing).looks
    monkeypatch.setattr(ledger, "record", lambda user, notes: None)
    with pytest.raises(AssertionError, match="freeze shows what depends on labels"):
        test_a_post_answered_with_others_answers_records_a_look(world, "freeze", doing)


def others(user: User) -> Q:
    return ~Q(response__assignment__rater__user=user)


def plant(user: User) -> None:
    """Words into what others answered: a comment, a quote that is nowhere, a judge's completion."""
    for response in Response.objects.exclude(assignment__rater__user=user):
        payload = {**response.payload, "comment": "sentinel-comment"}
        changed = Response.objects.filter(pk=response.pk)
        changed.update(payload=payload, comment="sentinel-comment")
    for label in Label.objects.filter(others(user), spans=None):
        Span.objects.create(label=label, field="report", quote="sentinel-quote")
    JudgeCall.objects.update(completion="sentinel-verdict")


TURNED = {"yes": "no", "no": "yes"}


def turn_labels(user: User) -> None:
    """Others' yes becomes no and their no becomes yes, also in the snapshots of reports.

    Ada's stay as they are, so that people differ where they agreed.
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
    """Ada adjudicates the closed campaign, in which two others disagree."""
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
    Judge.objects.update(prompt="")  # its own could not be sent
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
    """Ada has no right to it, and Rita an open item."""
    before = Look.objects.count()
    address = reverse("export-file", args=[world.study.campaign.pk, "labels", "jsonl"])
    assert world.clients[ANNOTATOR].get(address).status_code == 403
    world.study.assignment(world.study.rita)
    assert world.clients[RESEARCHER].get(address).status_code == 403
    assert Look.objects.count() == before
