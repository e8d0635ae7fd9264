"""A report is interim until people have labelled as many queries as the study registered."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest

from analysis.campaigns.cache import state_of
from analysis.campaigns.people_sample import describe_interim, interim_of
from analysis.campaigns.reports import campaign_report
from analysis.evaluation.build import measures_report
from analysis.models import Study
from analysis.papers import rendering as tables
from analysis.papers.build import paper_tables
from analysis.papers.index import PAPERS
from annotation.campaigns.changes import change
from annotation.campaigns.settings import CampaignSettings
from annotation.models import Campaign, User
from tandem.formats import FORMATS
from tandem.formats.verdict import verdict_html
from tandem.labels.selection import ReportOptions
from tandem.scores.options import Options, TableOptions
from tandem.types import JSON
from tests.annotation.follow_cast import answer, coverage
from tests.page_cast import client_of

SAID = "Interim: 1 of 2 registered queries are labelled"


@pytest.fixture
def campaign(batch: Path) -> Campaign:
    """Two people a report; both have answered all of the first query, which has two reports."""
    made = coverage(2)
    change(made, CampaignSettings(registered_queries=2))
    for item in ("r", "r#1"):
        for name in ("ann", "bo"):
            answer(made, item, name, {"a/b#1": "yes"})
    return made


def words_of(text: str) -> str:
    """A text without the tags of HTML and the marks of Markdown."""
    return unescape(re.sub(r"<[^>]*>|\\*", "", text))


def report_of(campaign: Campaign) -> JSON:
    return campaign_report(campaign, ReportOptions(resamples=20, check=False))


def test_a_report_says_in_every_format_that_it_is_interim(campaign: Campaign) -> None:
    report = report_of(campaign)
    assert report["interim"] == {"labelled": 1, "registered": 2}
    for name in ("md", "html", "latex", "json"):
        assert SAID in words_of(FORMATS[name].render(report)), name
    rows = [line.split(",") for line in FORMATS["csv"].render(report).splitlines()]
    numbers = {row[0]: row[12] for row in rows if row[1] == "interim"}
    assert numbers == {"/interim/labelled": "1", "/interim/registered": "2"}
    assert SAID in words_of(verdict_html(report))


def test_measures_warn_of_it(campaign: Campaign) -> None:
    first, *_ = measures_report(campaign, Options(), "tandem", ReportOptions(resamples=20))[
        "warnings"
    ]
    assert (first["code"], first["text"]) == ("interim", f"{SAID}.")


def test_a_report_is_final_once_as_many_are_labelled(campaign: Campaign) -> None:
    _, before = state_of(campaign)
    change(campaign, CampaignSettings(registered_queries=1))
    assert state_of(campaign)[1] != before
    report = report_of(campaign)
    assert "interim" not in report
    assert "interim" not in report["verdict"]
    change(campaign, CampaignSettings(registered_queries=0))
    assert interim_of(campaign) == {}


def test_a_query_counts_once_each_vote_is_in(campaign: Campaign) -> None:
    change(campaign, CampaignSettings(registered_queries=9))
    assert interim_of(campaign)["labelled"] == 1
    campaign.items.filter(key="r").update(quota=3)
    assert interim_of(campaign)["labelled"] == 0


@pytest.mark.parametrize(
    ("labelled", "registered", "words"),
    [
        (0, 1, "0 of 1 registered query is labelled"),
        (12, 50, "12 of 50 registered queries are labelled"),
        (1200, 5000, "1,200 of 5,000 registered queries are labelled"),
    ],
)
@pytest.mark.every_case
def test_the_sentence_has_both_numbers(labelled: int, registered: int, words: str) -> None:
    assert describe_interim({"labelled": labelled, "registered": registered}) == words


def test_the_results_and_the_first_page_say_it(campaign: Campaign) -> None:
    client = client_of(User.objects.create_user("rita", role="researcher"))
    for address, headers in (("results/", {}), ("", {"HX-Request": "true"})):
        page = client.get(f"/campaigns/{campaign.pk}/{address}", follow=True, headers=headers)
        assert SAID in words_of(page.content.decode()), address


@pytest.mark.parametrize("name", tables.FORMATS)
def test_a_papers_tables_begin_with_it(campaign: Campaign, name: str) -> None:
    study = Study.objects.create(name="small")
    study.parts.create(kind="campaign", name=campaign.name, campaign=campaign)
    paper = PAPERS["crux"]

    def head() -> str:
        text = tables.FORMATS[name].render(paper_tables(paper, study, TableOptions()))
        return words_of(text.partition("Table 1")[0])

    assert f"Campaign {campaign.name}: {SAID.partition(': ')[2]}" in head()
    change(campaign, CampaignSettings(registered_queries=0))
    assert "interim" not in head().lower()
