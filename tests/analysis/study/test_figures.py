"""A study's page begins with what its labels say: of one campaign in full, of others in a line."""

from __future__ import annotations

import re
from pathlib import Path
from unittest.mock import patch

import pytest
from django.test import Client
from django.urls import reverse

from analysis.models import Study, StudyPart
from analysis.study_pages import views
from annotation.models import Campaign, User
from datasets.models import Job
from tests.analysis.conftest import CONTRACT, ferries, labelled, run
from tests.page_cast import client_of

__all__ = ["ferries", "labelled"]
pytestmark = pytest.mark.django_db
IN_PLACE = {"HX-Request": "true", "HX-Target": "figures"}


@pytest.fixture
def rita(db: None) -> Client:
    return client_of(User.objects.create_user("rita", role=User.Role.RESEARCHER))


@pytest.fixture
def address(labelled: Campaign) -> str:
    """The page of a study with a campaign that people and a judge labelled, and two others."""
    run("create_campaign", "empty", "--protocol", "report-coverage", "--batch", "ferries")
    run("create_campaign", "alone", "--protocol", "report-coverage", "--batch", "ferries")
    study = Study.objects.create(name="ferry", preset="crux", text="", sha256="0" * 64)
    for n, name in enumerate(("alone", labelled.name, "empty")):
        campaign = Campaign.objects.get(name=name)
        StudyPart.objects.create(
            study=study, kind="campaign", name=name, position=n, campaign=campaign
        )
    return reverse("study", args=[study.pk])


def text_of(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


def test_figures_are_computed_once_the_page_is_there(
    rita: Client, labelled: Campaign, address: str
) -> None:
    first = rita.get(address).content.decode()
    assert "Not computed yet." in text_of(first)
    assert 'hx-trigger="load"' in first
    assert not Job.objects.exists()
    part = rita.get(address, headers=IN_PLACE).content.decode()
    assert part.startswith('<div id="figures"')
    shown = text_of(part)
    assert re.search(r"Do people agree\? .+ κ \d\.\d\d \[", shown)
    assert re.search(r"model-x κ −?\d\.\d\d", shown)
    assert "Which system is best?" in shown
    assert f"{reverse('results', args=[labelled.pk])}?by_query=people&amp;of=answerable" in part
    # Only campaigns with answers are asked about, and nothing is asked twice.
    assert Job.objects.count() == 1
    assert "hx-trigger" not in part
    assert rita.get(address).content.decode().count("κ") == part.count("κ")


def test_the_campaign_that_says_most_leads_and_the_others_have_a_line(
    rita: Client, labelled: Campaign, address: str, tmp_path: Path
) -> None:
    lines = (CONTRACT / "labels.jsonl").read_text("utf-8").splitlines(keepends=True)
    path = tmp_path / "one.jsonl"
    path.write_text(next(each for each in lines if '"answerable"' in each), "utf-8")
    run("import_labels", str(path), "--campaign", "alone")
    rita.get(address, headers=IN_PLACE)
    page = rita.get(address)
    found = page.context["figures"]
    assert found.lead.campaign == labelled
    assert [each.campaign.name for each in found.others] == ["alone"]
    assert "alone Report coverage One person has answered." in text_of(page.content.decode())


def test_an_open_item_hides_the_figures_of_its_campaign(labelled: Campaign, address: str) -> None:
    user = User.objects.create_user("rosa", role=User.Role.RESEARCHER)
    Campaign.objects.filter(pk=labelled.pk).update(pool="open")
    labelled.items.update(quota=9)
    client = client_of(user)
    client.post(reverse("take-next", args=[labelled.pk]))
    page = text_of(client.get(address, headers=IN_PLACE).content.decode())
    assert "Hidden until your open item in ferries is answered." in page
    assert "κ" not in page
    assert not Job.objects.exists()


def test_a_visit_asks_for_the_figures_of_few_campaigns(
    rita: Client, labelled: Campaign, address: str
) -> None:
    with patch.object(views, "MOST_ASKED", 0):
        rita.get(address, headers=IN_PLACE)
    assert not Job.objects.exists()


def test_the_tables_of_the_paper_are_listed_with_their_addresses(
    rita: Client, address: str
) -> None:
    page = rita.get(address).content.decode()
    tables = re.findall(r'<li><a href="([^"]+/tables/crux/)#section-([\w-]+)">([^<]+)</a>', page)
    assert ("table-1", "Table 1") in [(anchor, name) for _, anchor, name in tables]
    shown = rita.get(tables[0][0]).content.decode()
    assert all(f'id="section-{anchor}"' in shown for _, anchor, _ in tables)
