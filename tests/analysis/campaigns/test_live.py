"""The report's page while labels come in, and what is cached between two requests."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from django.test import Client

from analysis.campaigns import cache
from analysis.campaigns.cache import computed_report
from annotation.models import Assignment, Campaign
from tandem.labels.selection import ReportOptions
from tests.analysis.test_report_page import logged_in, more_labels

pytestmark = pytest.mark.django_db
FEW = ReportOptions(resamples=10)
SINCE = {"HX-Request": "true", "HX-Target": "since"}


def polled(client: Client, campaign: Campaign) -> str:
    """Return the address that htmx asks repeatedly for the element."""
    page = client.get(f"/campaigns/{campaign.pk}/results/?resamples=10").content.decode()
    found = re.search(r'hx-get="([^"]*since=[^"]*)"', page)
    assert found
    return found[1].replace("&amp;", "&")


def test_the_page_shows_the_age_of_its_numbers_and_the_count_of_newer_labels(
    labelled: Campaign, tmp_path: Path
) -> None:
    client = logged_in("researcher")
    address = polled(client, labelled)
    assert client.get(address, headers=SINCE).status_code == 204
    more_labels(labelled, tmp_path)
    answer = client.get(address, headers=SINCE).content.decode()
    assert re.search(r"behind by (\d+) labels?", answer)
    assert f'href="/campaigns/{labelled.pk}/results/?resamples=10"' in answer


def test_polling_stops_after_hours_on_an_open_page(labelled: Campaign) -> None:
    client = logged_in("researcher")
    address = re.sub(
        r"opened=\d+", f"opened={int(time.time()) - 3 * 3600}", polled(client, labelled)
    )
    assert client.get(address, headers=SINCE).status_code == 286


def test_reading_a_report_again_computes_nothing(
    labelled: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = computed_report(labelled, FEW)
    monkeypatch.delattr(cache, "campaign_report")
    assert computed_report(labelled, FEW) == first


@pytest.mark.first_case
@pytest.mark.parametrize("what", ["labels", "choices", "a failure"])
def test_the_report_is_computed_again_after_any_relevant_change(
    labelled: Campaign, tmp_path: Path, what: str
) -> None:
    first = computed_report(labelled, FEW)
    choices = FEW
    if what == "labels":
        more_labels(labelled, tmp_path)
    elif what == "choices":
        choices = ReportOptions(resamples=10, seed=1)
    else:
        done = Assignment.objects.filter(item__campaign=labelled, status="done").first()
        assert done
        Assignment.objects.filter(pk=done.pk).update(status="failed", reason="refused")
    again = computed_report(labelled, choices)
    assert {**again.report, "generated_at": ""} != {**first.report, "generated_at": ""}
