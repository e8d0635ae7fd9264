"""No stored text, and no text from an address or a form, is ever returned as markup.

Here every role requests every address, and all markup in the response must be escaped.
`test_stored_texts` opens the pages with most text in a browser.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import cache
from django.db import transaction
from django.db.models import Model
from django.http import HttpResponseBase
from django.utils import timezone

from annotation.answers.submission import submit
from annotation.campaigns.rendering import render
from annotation.models import (
    Campaign,
    Exclusion,
    GoldAnswer,
    GuidelineVersion,
    Invitation,
    Rater,
    Unit,
    User,
)
from datasets.models import Batch, Grant, Query, Question, Report, Upload
from judging.models import Judge, JudgeCall
from tests.databases import rolled_back
from tests.page_cast import payload
from tests.security.payloads import PAYLOADS
from tests.security.routes import Route, routes
from tests.security.rules import ADMIN, ANNOTATOR, RESEARCHER, rule_of
from tests.security.world import CSRF, World, make_world, objects, renewed

pytestmark = [pytest.mark.django_db, pytest.mark.once]

MARKUP = tuple(text for text in PAYLOADS if "<" in text)
SHORT = "'\"><img src=x onerror=caught(0)>"
HTML = [route for route in routes() if not route.is_api]
PARAMETERS = (
    "q", "page", "name", "next", "state", "protocol", "batch", "format", "guests", "number", "of",
    "with", "like", "prompt", "campaign", "variable", "rater", "stratum", "seed", "guideline",
    "key", "PROLIFIC_PID", "STUDY_ID", "SESSION_ID", "since", "shown", "order",
)  # fmt: skip
FIELDS = (
    "order", "name", "password", "again", "role", "campaign", "campaign_role", "note", "account",
    "reason", "study_id", "completion_code", "most_people", "rater", "to", "deadline", "language",
    "guideline", "gold_every", "practice_of", "qualify", "protocol", "batch", "raters_per_item",
    "overlap", "human_share", "seed", "passages", "validates", "backend", "model", "prompt",
    "base_url", "item", "limit", "seen", "format", "pool", "hold_minutes", "inputs",
)  # fmt: skip


@pytest.fixture(scope="module")
def made(django_db_setup: None, django_db_blocker: Any) -> Iterator[World]:
    """The crawler's study, with an injection attempt in every text."""
    with rolled_back(django_db_blocker):
        world = make_world()
        _poison(world)
        yield world


@pytest.fixture
def world(made: World, db: None) -> World:
    cache.clear()
    return renewed(made)


def _fill(model: type[Model], *fields: str, **which: Any) -> None:
    """Fill these fields of each row with injection attempts, up to their maximum length."""
    for n, row in enumerate(model._default_manager.filter(**which).order_by("pk")):
        for m, name in enumerate(fields):
            longest = getattr(model._meta.get_field(name), "max_length", None) or 10_000
            text = f"{row.pk} {MARKUP[(7 * n + m) % len(MARKUP)]} {SHORT}"
            setattr(row, name, text[:longest] if longest > 60 else SHORT[:longest])
        model._default_manager.filter(pk=row.pk).update(
            **{name: getattr(row, name) for name in fields}
        )


def _poison(world: World) -> None:
    study = world.study
    open_item = study.assignment(study.ada)
    submit(open_item, payload("no", " ".join(MARKUP)), "page")
    rater = Rater.objects.get(user=study.ben)
    Exclusion.objects.create(campaign=study.campaign, rater=rater, reason=SHORT, by=study.rita)
    unit = Unit.objects.filter(item=open_item.item).order_by("pk")[0]
    GoldAnswer.objects.create(unit=unit, variable="answerable", value="yes", reason=SHORT)
    type(open_item.item).objects.filter(pk=open_item.item_id).update(use="practice")
    Campaign.objects.filter(pk=study.campaign.pk).update(practice_of=study.campaign)
    text = "\n\n".join((*MARKUP, *(f"# {each}" for each in MARKUP), *(f"- {m}" for m in MARKUP)))
    GuidelineVersion.objects.create(campaign=study.campaign, version=1, text=text, digest="0" * 12)
    Upload.objects.update(
        found={"counts": {SHORT: 2}, "warnings": list(MARKUP), "warning_count": 1, "format": SHORT,
               "first": [{"id": SHORT, "text": SHORT, "more": {}, "questions": [{"text": SHORT}]}]},
        digest="0" * 64, error=SHORT, changed_at=timezone.now(),
    )  # fmt: skip
    _fill(Batch, "name", "format")
    Batch.objects.update(warnings=list(MARKUP))
    _fill(Query, "text")
    _fill(Question, "text")
    _fill(Report, "system")
    _fill(Campaign, "name", pk__in=(study.campaign.pk, world.closed.pk))
    Campaign.objects.update(guideline=text)
    _fill(Rater, "name")
    _fill(User, "username", "first_name", "last_name")
    _fill(Invitation, "note")
    _fill(Upload, "name")
    _fill(Grant, "note")
    _fill(Judge, "prompt", "model")
    _fill(JudgeCall, "completion", "body")


def page_html(answer: HttpResponseBase) -> str:
    """Return the body if a browser would render it as a page; empty otherwise."""
    if not answer.headers.get("Content-Type", "").startswith("text/html"):
        return ""
    if "attachment" in answer.headers.get("Content-Disposition", ""):
        return ""
    return answer.content.decode()  # type: ignore[attr-defined]


def assert_escaped(html: str, what: str) -> None:
    for text in (*MARKUP, SHORT):
        assert text not in html, f"{what} shows {text} as it is"


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("work", ANNOTATOR), ("item", ANNOTATOR), ("feedback", ANNOTATOR), ("guideline", ANNOTATOR),
        ("campaigns", RESEARCHER), ("campaign", RESEARCHER), ("campaign-people", RESEARCHER),
        ("exports", RESEARCHER), ("batches", RESEARCHER), ("query", RESEARCHER),
        ("upload", RESEARCHER), ("judges", RESEARCHER), ("judge", RESEARCHER),
        ("judge-call", RESEARCHER), ("people", ADMIN), ("person", ADMIN),
    ],
)  # fmt: skip
def test_the_attack_texts_appear_on_the_pages(world: World, name: str, role: str) -> None:
    (route,) = (each for each in HTML if each.name == name)
    pages = [
        page_html(world.clients[role].get(str(each))) for each in objects(world, route, role).own
    ]
    assert any("caught(" in page for page in pages)


@pytest.mark.parametrize("route", HTML, ids=lambda route: route.name)
def test_stored_texts_are_escaped(world: World, route: Route) -> None:
    rule = rule_of(route.name)
    assert rule is not None
    for role in (ANNOTATOR, RESEARCHER, ADMIN):
        if role in (rule.who_may("GET") or ()):
            for address in objects(world, route, role).own[:3]:
                html = page_html(world.clients[role].get(str(address)))
                assert_escaped(html, f"{role} GET {address}")


@pytest.mark.parametrize("route", HTML, ids=lambda route: route.name)
def test_texts_from_addresses_and_forms_are_escaped(world: World, route: Route) -> None:
    rule = rule_of(route.name)
    assert rule is not None
    sent = {"x-csrftoken": CSRF, "accept": "text/html"}
    for role in (ANNOTATOR, ADMIN):
        for address in objects(world, route, role).own[:1]:
            if role in (rule.who_may("GET") or ()):
                answer = world.clients[role].get(str(address), dict.fromkeys(PARAMETERS, SHORT))
                assert answer.status_code < 500, address
                assert_escaped(page_html(answer), f"{role} GET {address}")
            if role in (rule.who_may("POST") or ()):
                with transaction.atomic():
                    form = dict.fromkeys(FIELDS, SHORT)
                    answer = world.clients[role].post(str(address), form, headers=sent)
                    transaction.set_rollback(True)
                assert answer.status_code < 500, address
                assert_escaped(page_html(answer), f"{role} POST {address}")


@pytest.mark.parametrize("text", PAYLOADS)
def test_a_guideline_renders_only_allowed_tags(text: str) -> None:
    for written in (text, f"# {text}", f"- {text}", f"1. {text}", f"**{text}**", f"`{text}`"):
        html = str(render(written))
        own = ("h2", "p", "ul", "ol", "li", "strong", "em", "code")
        for tag in own:
            html = html.replace(f"<{tag}>", "").replace(f"</{tag}>", "")
        assert "<" not in html
