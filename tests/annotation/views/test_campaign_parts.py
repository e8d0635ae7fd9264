"""A campaign's pages link to each other with the same words in the same position."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse

from analysis.disagreements.choose import Disagreements
from analysis.templatetags import cockpit_tags
from annotation.answers.submission import submit
from annotation.models import rater_of
from annotation.registry import PROTOCOLS
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
"""Pages that share a tab with another page, and that tab."""
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


def test_every_tab_page_links_to_all_tabs_and_marks_its_own(study: Study) -> None:
    here = [study.campaign.pk]
    for name in TABS:
        assert parts(study, reverse(name, args=here)) == [
            (reverse(each, args=here), "page" if each == name else "", word)
            for each, word in TABS.items()
        ]


def test_a_page_below_a_tab_marks_the_tab_and_links_to_its_neighbours(study: Study) -> None:
    for name, tab in BELOW.items():
        address = reverse(name, args=[study.campaign.pk])
        marked = {word for _, mark, word in parts(study, address) if mark}
        assert marked == {tab}
        page = client_of(study.rita).get(address).content.decode()
        assert re.search(rf'<nav class="sub-nav".*?href="{address}" aria-current="page"', page)


def test_pages_about_a_person_mark_the_people_tab(study: Study) -> None:
    submit(study.assignment(study.ada), payload("no"), "page")
    person = [study.campaign.pk, rater_of(study.ada).pk]
    for name in ("campaign-rater", "rater-labels"):
        page = client_of(study.rita).get(reverse(name, args=person)).content.decode()
        (nav,) = re.findall(r'<nav class="campaign-nav".*?</nav>', page, re.S)
        assert re.findall(r'aria-current="true">(\w+)', nav) == ["People"]
        assert '<span class="tab-count">1</span>' in nav


def test_the_number_of_disagreements_is_explained_on_the_page_that_it_leads_to(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = Disagreements(1067, 958, {"j": 300})
    head = {
        "disagreements": number,
        "by_variable": [("use", 953), ("relevant", 114)],
        "to_adjudicate": 1224,
    }
    monkeypatch.setattr(cockpit_tags, "_disagreements", lambda context, campaign: head)
    sentence = "1,067 disagreements over 2 variables (use 953, relevant 114): people differ on 958"
    client, here = client_of(study.rita), [study.campaign.pk]
    for name in ("disagreements", "results"):
        page = client.get(reverse(name, args=here)).content.decode()
        text = re.sub(r"<[^>]+>", "", page)
        assert (sentence in text) == (name == "disagreements")
        of_judge = "only a judge differs from most people on 109. To adjudicate: 1,224 questions."
        assert (of_judge in text) == (name == "disagreements")
        assert 'title="use 953, relevant 114">1,067</span>' in page


def test_every_page_of_a_campaign_is_headed_by_its_name_and_the_part(study: Study) -> None:
    for name, word in WORDS.items():
        page = client_of(study.rita).get(reverse(name, args=[study.campaign.pk])).content.decode()
        (heading,) = re.findall(r"<h1>(.*?)</h1>", page, re.S)
        assert re.sub(r"<[^>]*>", "", heading).split() == [
            "Pilot:", *word.lower().split(), "open",
        ]  # fmt: skip


def test_filling_in_the_protocols_guideline_keeps_other_typed_settings(
    study: Study,
) -> None:
    """Nothing is stored, and another person's change in the meantime is still detected."""
    rita, pk = client_of(study.rita), study.campaign.pk
    shown = rita.get(reverse("campaign-settings", args=[pk]))
    terms, seen = reverse("campaign-terms", args=[pk]), shown.context["seen"]
    button = rf'<button [^>]*name="own" value="1" formaction="{terms}#id_guideline"'
    assert re.search(button, shown.content.decode())
    typed = {"language": "pt", "qualify": "0.8", "deadline": "soon", "seen": seen, "own": "1"}
    study.campaign.pay = "14 EUR per hour"
    study.campaign.save()
    filled = rita.post(terms, typed)
    assert filled.status_code == 200
    page = filled.content.decode()
    assert "The guideline below is the protocol’s own" in page
    assert "## Can the report answer it?" in page
    for name in ("language", "qualify", "deadline"):
        assert re.search(rf'name="{name}" value="{typed[name]}"', page), name
    assert not re.search(button, page)
    before = study.campaign.guideline, study.campaign.language
    study.campaign.refresh_from_db()
    assert (study.campaign.guideline, study.campaign.language) == before == ("", "")
    kept = filled.context["form"].initial | {"deadline": "", "seen": filled.context["seen"]}
    sent = {name: value for name, value in kept.items() if value is not None}
    assert rita.post(terms, sent).status_code == 409


def test_a_new_campaign_keeps_what_was_typed_when_its_guideline_is_filled_in(study: Study) -> None:
    rita, batch = client_of(study.rita), study.campaign.batch.name
    typed = {
        "protocol": "question-typing", "batch": batch, "name": "Typing", "human_share": "lots",
        "variables": ["sensitivity", "popularity"], "own": "1",
    }  # fmt: skip
    answer = rita.post(reverse("campaign-new"), typed)
    assert answer.status_code == 200
    page = answer.content.decode()
    assert re.search(r'name="name" value="Typing"', page)
    assert re.search(r'name="human_share" value="lots"', page)
    assert re.findall(r'name="variables" value="(\w+)"[^>]* checked', page) == typed["variables"]
    assert PROTOCOLS["question-typing"].guideline[:40] in page
    # A person who visits another page in the meantime finds the typed values again.
    assert "own" not in rita.session["new-campaign"]


def test_the_first_button_of_the_settings_saves_so_that_enter_saves(study: Study) -> None:
    rita, batch = client_of(study.rita), study.campaign.batch.name
    pages = {
        reverse("campaign-settings", args=[study.campaign.pk]): "campaign-terms",
        f"{reverse('campaign-new')}?protocol=report-coverage&batch={batch}": "campaign-new",
    }
    for address, action in pages.items():
        page = rita.get(address).content.decode()
        args = [study.campaign.pk] if action == "campaign-terms" else []
        form = page[page.index(f'action="{reverse(action, args=args)}"') :]
        (first, *_) = re.findall(r"<button[^>]*>", form)
        assert first == '<button type="submit" hidden>'


def test_saving_the_settings_is_confirmed(study: Study) -> None:
    rita = client_of(study.rita)
    terms = reverse("campaign-terms", args=[study.campaign.pk])
    page = rita.post(terms, {"guideline": "Ours.", "guideline_shown": "whole"}, follow=True)
    assert "The settings are saved." in page.content.decode()
    study.campaign.refresh_from_db()
    assert study.campaign.guideline == "Ours."
