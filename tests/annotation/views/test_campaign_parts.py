"""A campaign's pages link to each other with the same words in the same position."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse

from annotation.answers.submission import submit
from annotation.models import rater_of
from tests.cast import run
from tests.page_cast import Study, client_of, make_study, payload

PARTS = {
    "campaign": "Overview",
    "campaign-progress": "Progress",
    "campaign-people": "People",
    "report": "Report",
    "disagreements": "Disagreements",
    "measures": "Measures",
    "exports": "Exports",
    "campaign-audit": "Audit trail",
}
LINK = re.compile(r'<a href="([^"]+)"(?: aria-current="(\w+)")?>([^<]+)</a>')


@pytest.fixture
def study(db: None) -> Study:
    return make_study()


def parts(study: Study, address: str) -> list[tuple[str, str, str]]:
    """The address, mark and word of each part that a page leads to, for a researcher."""
    page = client_of(study.rita).get(address).content.decode()
    (nav,) = re.findall(r'<nav class="campaign-nav".*?</nav>', page, re.S)
    return LINK.findall(nav)


@pytest.mark.parametrize("name", PARTS)
def test_each_part_leads_to_all_and_marks_itself(study: Study, name: str) -> None:
    here = [study.campaign.pk]
    assert parts(study, reverse(name, args=here)) == [
        (reverse(each, args=here), "page" if each == name else "", word)
        for each, word in PARTS.items()
    ]


def test_what_a_part_leads_to_marks_the_part(study: Study) -> None:
    submit(study.assignment(study.ada), payload("no"), "page")
    person = [study.campaign.pk, rater_of(study.ada).pk]
    for name in ("campaign-rater", "rater-labels"):
        marked = {word: mark for _, mark, word in parts(study, reverse(name, args=person)) if mark}
        assert marked == {"Progress": "true"}


def test_judges_are_a_part_where_one_has_run(study: Study) -> None:
    run("create_judge", "floor", "--backend", "lexical")
    run("run_judge", "--campaign", study.campaign.name, "--judge", "floor")
    address = reverse("judges-compared", args=[study.campaign.pk])
    assert (address, "page", "Judges") in parts(study, address)
    overview = reverse("campaign", args=[study.campaign.pk])
    assert (address, "", "Judges") in parts(study, overview)


def test_every_part_has_the_name_as_its_heading_and_says_which_it_is(study: Study) -> None:
    for name, word in PARTS.items():
        page = client_of(study.rita).get(reverse(name, args=[study.campaign.pk])).content.decode()
        (heading,) = re.findall(r"<h1>(.*?)</h1>", page, re.S)
        assert re.sub(r"<[^>]*>", "", heading).split() == [
            "Pilot:", *word.lower().split(), "open",
        ]  # fmt: skip
