"""A campaign's pages link to each other with the same words in the same position."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse

from analysis.templatetags import cockpit_tags
from annotation.answers.submission import submit
from annotation.models import rater_of
from tests.once import once
from tests.page_cast import Study, client_of, make_study, payload

TABS = {
    "campaign": "Overview",
    "results": "Results",
    "disagreements": "Disagreements",
    "campaign-data": "Data",
    "campaign-progress": "People",
    "judges-compared": "Judges",
    "campaign-settings": "Settings",
}
BELOW = {
    "campaign-people": "People",
    "exports": "Settings",
    "campaign-audit": "Settings",
}
"""Pages that stand under a tab with another one, and that tab."""
WORDS = {
    **TABS,
    "campaign-progress": "progress",
    "campaign-people": "people",
    "exports": "exports",
    "campaign-audit": "audit trail",
}
LINK = re.compile(r'<a href="([^"]+)"(?: aria-current="(\w+)")?>([^<]+)</a>')


@once
def study() -> Study:
    return make_study()


def parts(study: Study, address: str) -> list[tuple[str, str, str]]:
    """The address, mark and word of each part that a page leads to, for a researcher."""
    page = client_of(study.rita).get(address).content.decode()
    (nav,) = re.findall(r'<nav class="campaign-nav".*?</nav>', page, re.S)
    return LINK.findall(nav)


def test_each_tab_leads_to_all_from_the_beginning_and_marks_itself(study: Study) -> None:
    here = [study.campaign.pk]
    for name in TABS:
        assert parts(study, reverse(name, args=here)) == [
            (reverse(each, args=here), "page" if each == name else "", word)
            for each, word in TABS.items()
        ]


def test_a_page_below_a_tab_marks_it_and_has_its_neighbours(study: Study) -> None:
    for name, tab in BELOW.items():
        address = reverse(name, args=[study.campaign.pk])
        marked = {word for _, mark, word in parts(study, address) if mark}
        assert marked == {tab}
        page = client_of(study.rita).get(address).content.decode()
        assert re.search(rf'<nav class="sub-nav".*?href="{address}" aria-current="page"', page)


def test_what_a_part_leads_to_marks_the_part(study: Study) -> None:
    submit(study.assignment(study.ada), payload("no"), "page")
    person = [study.campaign.pk, rater_of(study.ada).pk]
    for name in ("campaign-rater", "rater-labels"):
        page = client_of(study.rita).get(reverse(name, args=person)).content.decode()
        (nav,) = re.findall(r'<nav class="campaign-nav".*?</nav>', page, re.S)
        assert re.findall(r'aria-current="true">(\w+)', nav) == ["People"]
        assert '<span class="tab-count">1</span>' in nav


def test_the_number_of_disputes_is_explained_on_the_page_that_it_leads_to(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = {"disputes": 1067, "among_people": 958}
    monkeypatch.setattr(cockpit_tags, "_disputes", lambda campaign: number)
    told = "1,067 questions are in dispute in at least one variable"
    client, here = client_of(study.rita), [study.campaign.pk]
    for name in ("disagreements", "results"):
        page = client.get(reverse(name, args=here)).content.decode()
        assert (told in page) == (name == "disagreements")
        assert ("People differ on 958 of them" in page) == (name == "disagreements")
        assert '>1,067<span class="sr"> in dispute</span>' in page


def test_every_part_has_the_name_as_its_heading_and_says_which_it_is(study: Study) -> None:
    for name, word in WORDS.items():
        page = client_of(study.rita).get(reverse(name, args=[study.campaign.pk])).content.decode()
        (heading,) = re.findall(r"<h1>(.*?)</h1>", page, re.S)
        assert re.sub(r"<[^>]*>", "", heading).split() == [
            "Pilot:", *word.lower().split(), "open",
        ]  # fmt: skip


def test_a_guideline_starts_from_the_protocols_own_text_and_nothing_is_stored(study: Study) -> None:
    rita = client_of(study.rita)
    settings = reverse("campaign-settings", args=[study.campaign.pk])
    assert 'href="?guideline=1#id_guideline"' in rita.get(settings).content.decode()
    filled = rita.get(settings, {"guideline": 1}).content.decode()
    assert "The guideline below is the protocol’s own" in filled
    assert "## Can the report answer it?" in filled
    study.campaign.refresh_from_db()
    assert not study.campaign.guideline


def test_whoever_saves_the_settings_is_told(study: Study) -> None:
    rita = client_of(study.rita)
    terms = reverse("campaign-terms", args=[study.campaign.pk])
    page = rita.post(terms, {"guideline": "Ours.", "guideline_shown": "whole"}, follow=True)
    assert "The settings are saved." in page.content.decode()
    study.campaign.refresh_from_db()
    assert study.campaign.guideline == "Ours."
