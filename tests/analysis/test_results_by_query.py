"""Results by query, and what the page says about a change of the guideline."""

from __future__ import annotations

import html
import re

import pytest
from django.test import Client

from analysis.disagreements.votes_job import VOTES
from analysis.results.guideline import guideline_points
from annotation.answers.submission import submit
from annotation.campaigns.changes import change
from annotation.campaigns.settings import CampaignSettings
from annotation.models import Campaign, Label, Look, User
from datasets.models import Job
from tests.page_cast import client_of, make_study, payload

pytestmark = pytest.mark.django_db


@pytest.fixture
def rita(db: None) -> Client:
    return client_of(User.objects.create_user("rita", role=User.Role.RESEARCHER))


def address(campaign: Campaign) -> str:
    return f"/campaigns/{campaign.pk}/results/"


def shown(client: Client, campaign: Campaign, sort: str) -> list[tuple[str, list[str]]]:
    """Return the rows of the table: each query with its percentages."""
    page = client.get(address(campaign), {"by_query": sort}).content.decode()
    body = re.search(r'<table class="table queries">.*?<tbody>(.*?)</tbody>', page, re.DOTALL)
    assert body
    rows = body[1].split("</tr>")[:-1]
    return [
        (re.findall(r"<th .*?<bdi>(.*?)</bdi>", row)[0], re.findall(r"<b>(\d+) %</b>", row))
        for row in rows
    ]


def test_the_queries_on_which_people_agree_least_come_first(
    rita: Client, labelled: Campaign
) -> None:
    texts = [text for text, _ in shown(rita, labelled, "people")]
    shares = [int(numbers[0]) for _, numbers in shown(rita, labelled, "people")]
    assert len(texts) == len(set(texts)) > 1
    assert shares == sorted(shares)
    assert shares[0] < shares[-1]
    turned = [int(numbers[0]) for _, numbers in shown(rita, labelled, "-people")]
    assert turned == shares[::-1]
    judged = [int(numbers[-1]) for _, numbers in shown(rita, labelled, "judge:model-x")]
    assert judged == sorted(judged)
    # An unknown column changes nothing.
    assert [text for text, _ in shown(rita, labelled, "nobody")] == texts


def test_each_number_of_a_query_leads_to_as_many_units(rita: Client, labelled: Campaign) -> None:
    page = rita.get(address(labelled), {"by_query": "people"}).content.decode()
    links = re.findall(r'<a href="([^"]+)">(\d+) differ</a>', page)
    assert {"people", "judge"} <= {re.search(r"show=(\w+)", link)[1] for link, _ in links}  # type: ignore[index]
    for link, number in links:
        found = rita.get(html.unescape(link)).context["page"].paginator.count
        assert found == int(number), link


def test_the_table_comes_when_its_section_is_opened(rita: Client, labelled: Campaign) -> None:
    page = rita.get(address(labelled)).content.decode()
    assert f'hx-get="{address(labelled)}?by_query="' in page
    assert 'class="table queries"' not in page
    assert not Job.objects.filter(kind=VOTES).exists()
    part = rita.get(
        address(labelled), {"by_query": ""}, headers={"HX-Request": "true", "HX-Target": "queries"}
    ).content.decode()
    assert part.startswith('<div id="queries"')
    assert 'class="table queries"' in part


def test_figures_over_few_units_count_as_a_look_at_their_items(
    rita: Client, labelled: Campaign
) -> None:
    Look.objects.all().delete()
    rita.get(
        address(labelled), {"by_query": ""}, headers={"HX-Request": "true", "HX-Target": "queries"}
    )
    look = Look.objects.get(kind="report", user__username="rita")
    assert look.exposing


def test_without_two_people_or_a_judge_the_table_says_what_it_needs(
    rita: Client, labelled: Campaign
) -> None:
    people = Label.objects.filter(response__assignment__rater__kind="human")
    people.exclude(response__assignment__rater__name="ada").delete()
    Label.objects.filter(response__assignment__rater__kind="judge").delete()
    page = rita.get(address(labelled), {"by_query": "people"}).content.decode()
    assert "this needs questions that two people labelled, or a person and a judge" in page


def test_the_page_says_how_many_answers_stand_under_a_former_guideline() -> None:
    study = make_study()
    (nothing, needs) = guideline_points(study.campaign, False)
    assert "no answer stands under a former text" in nothing
    assert needs.startswith("A comparison needs 30 questions that two people labelled under each")
    submit(study.assignment(study.ada), payload("no"), "page")
    change(study.campaign, CampaignSettings(guideline="Ours."))
    campaign = Campaign.objects.get(pk=study.campaign.pk)
    before = guideline_points(campaign, False)
    assert before[0].startswith(
        "1 of 1 answer from people stand under a former text: 1 under the protocol's own guideline."
    )
    assert "only one of the texts" in before[1]
    submit(study.assignment(study.ben), payload("invalid"), "page")
    (after,) = guideline_points(campaign, True)
    assert after.startswith("1 of 2 answers from people stand under a former text")
    # The protocol's own text again: now the answer under version 1 is the former one.
    change(campaign, CampaignSettings(guideline=""))
    (back,) = guideline_points(Campaign.objects.get(pk=campaign.pk), True)
    assert "1 under version 1. The text is the protocol's own guideline now" in back
    page = client_of(study.rita).get(address(campaign)).content.decode()
    assert back.replace("'", "&#x27;") in page
