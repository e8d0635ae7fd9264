"""The crawler finds every route, and fails for one without a declaration."""

from __future__ import annotations

import re

import pytest
from django.http import HttpResponse
from django.test import override_settings
from django.urls import include, path

from tests.page_cast import Study, client_of, make_study, page, plant
from tests.security.routes import Route, routes
from tests.security.test_crawler import rule
from tests.security.world import HIDDEN, make_world, objects


def _view(*_: object, **__: object) -> HttpResponse:
    return HttpResponse()


_inner = ([path("<slug:word>/", _view, name="inner")], "space")
urlpatterns = [
    path("plain/", _view, name="plain"),
    path("nameless/", _view),
    path("outer/<int:pk>/", include(_inner)),
]


@override_settings(ROOT_URLCONF="tests.security.test_routes")
def test_the_crawler_finds_routes_at_every_depth() -> None:
    assert routes() == [
        Route("plain", "plain/", ()),
        Route("", "nameless/", ()),
        Route("space:inner", "outer/<int:pk>/<slug:word>/", ("pk", "word")),
    ]
    assert routes()[2].address({"pk": 3, "word": "a"}) == "/outer/3/a/"


def test_an_undeclared_route_fails_with_its_name() -> None:
    with pytest.raises(AssertionError, match=r"'brand-new' .*security/rules.py, at RULES"):
        rule(Route("brand-new", "brand/new/", ()))
    with pytest.raises(AssertionError, match="/brand/new/ has no name; give it one"):
        rule(Route("", "brand/new/", ()))


@pytest.mark.django_db
def test_an_undeclared_route_argument_fails() -> None:
    with pytest.raises(AssertionError, match=r"'item' takes 'colour': say in .*world.py"):
        objects(make_world(), Route("item", "x/<colour>/", ("colour",)), "annotator")


@pytest.mark.django_db
def test_planted_markers_are_visible_to_permitted_readers() -> None:
    world = make_world()
    report = world.clients["researcher"].get(f"/campaigns/{world.study.campaign.pk}/report.csv")
    assert "planted-judge" in report.content.decode()
    mine = world.own["annotator"][0]
    assert (
        "what Ada said herself"
        in world.clients["annotator"].get(page("item", mine)).content.decode()
    )


@pytest.mark.django_db
def test_a_page_does_not_depend_on_others_labels() -> None:
    study = make_study()
    mine = study.assignment(study.ada)
    before = _shown(study, page("item", mine))
    plant(study)
    after = _shown(study, page("item", mine))
    assert after == before
    assert not any(secret in after for secret in HIDDEN)


def _shown(study: Study, address: str) -> str:
    """Return a page with its headers, without the parts that differ with each request."""
    answer = client_of(study.ada).get(address)
    text = answer.content.decode() + str(sorted(answer.headers.items()))
    return re.sub(r'(csrfmiddlewaretoken" value=|X-Request-ID\', )[\'"][^\'"]+[\'"]', "", text)
