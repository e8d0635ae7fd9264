"""What is undecided leads to the page on which more queries are labelled, sampled or loaded."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Campaign, Item, User
from tandem.formats.verdict import verdict_html
from tandem.sections.sentence import Sentence, more_queries
from tests.annotation.derivation.cast import PEOPLE, batch, campaign, label

pytestmark = pytest.mark.django_db


@pytest.fixture
def rita(client: Client) -> Client:
    client.force_login(User.objects.create_user("rita", role=User.Role.RESEARCHER))
    return client


def page(rita: Client, of: Campaign, number: int = 1) -> str:
    return rita.get(reverse("more-queries", args=[of.pk]), {"number": number}).content.decode()


def labelled(folder: Path, share: str) -> Campaign:
    """A campaign over two queries, of which the sampled ones have all their labels."""
    batch(folder)
    campaign("report-coverage", "--human-share", share, people=2)
    found = Campaign.objects.get()
    asked = found.items.filter(use=Item.Use.STUDY, quota__gt=0).prefetch_related("units")
    for item in asked:
        given = {unit.key: [{"answerable": "no"}] * 2 for unit in item.units.all()}
        label(folder, given, items=dict.fromkeys(given, item.key), people=PEOPLE[:2])
    return found


def test_queries_that_wait_for_people_come_first(tmp_path: Path, rita: Client) -> None:
    batch(tmp_path)
    campaign("report-coverage", people=2)
    shown = page(rita, Campaign.objects.get())
    assert "0 of 2 queries have all labels" in shown
    assert "2 queries of this campaign wait for people" in shown
    assert 'class="button main" href="/campaigns/' in shown.partition(">Add people<")[0][-80:]
    assert "Sample more" not in shown


def test_a_larger_sample_begins_as_a_campaign_that_continues_this_one(
    tmp_path: Path, rita: Client
) -> None:
    found = labelled(tmp_path, "0.5")
    shown = page(rita, found, 3)
    assert "1 of 2 queries have all labels" in shown
    assert "New campaign with 1 more" in shown
    assert "Load 2 more" in shown
    address = f"{reverse('more-queries', args=[found.pk])}?number=3"
    form = rita.post(address, follow=True).context["form"]
    assert form["continues"].value() == found.name
    assert float(form["human_share"].value()) == 1.0


def test_without_further_queries_new_ones_are_loaded(tmp_path: Path, rita: Client) -> None:
    shown = page(rita, labelled(tmp_path, "1"), 43)
    assert "2 of 2 queries have all labels" in shown
    assert "Load 43 more" in shown
    assert f'<a class="button main" href="{reverse("upload-new")}">' in shown
    assert "Sample more" not in shown


def test_an_undecided_sentence_has_the_button_on_pages_and_words_in_files() -> None:
    part = more_queries(18, 6, ("variables", "v"), at_least=True)
    assert part.text == "; at least 18 queries are needed: label 6 more"
    said = Sentence("Could it?", "Not shown with 12 queries", "open", (part,)).as_json()
    of = {"people": said, "judges": {}}
    report = {"verdict": {"variables": {"v": of}, "scores": {}}}
    shown = verdict_html(report, units=lambda v, j, cells, show: f"/{show}")
    assert '<a href="/more:6" class="button small">At least 18 queries are needed' in shown
    plain = verdict_html(report)
    assert "<a " not in plain
    assert "At least 18 queries are needed: label 6 more" in plain
