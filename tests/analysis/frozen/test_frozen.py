"""Snapshots never change, name what they report on, and can be compared with each other."""

from __future__ import annotations

import copy
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.db.models import ProtectedError
from django.test import Client
from django.utils import timezone

from analysis.frozen.compare import comparison_document, describe_change
from analysis.models import FrozenReport
from analysis.signals import NOBODY
from annotation.models import Campaign, Consent, ConsentText, Label, Rater, User
from annotation.people.membership import exclude, include
from tandem.formats import FORMATS
from tandem.formats.markdown import sections_as_markdown
from tests.analysis.conftest import run
from tests.analysis.test_report_page import logged_in, more_labels

pytestmark = pytest.mark.django_db
QUERY = "?resamples=50&seed=2"
OF_ONE_VARIABLE = "?variable=answerable"  # with a snapshot's default number of resamples


def freeze(client: Client, campaign: Campaign, query: str = QUERY) -> FrozenReport:
    """Send the button's request without the pages before and after it, which take longer."""
    report = client.get(f"/campaigns/{campaign.pk}/report.json{query}").json()
    answer = client.post(
        f"/campaigns/{campaign.pk}/report/freeze/{query}", {"inputs": report["inputs"]["sha256"]}
    )
    found = FrozenReport.objects.latest("pk")
    assert answer["Location"] == f"/reports/{found.key}/"
    return found


def test_a_snapshot_never_changes_with_later_labels(labelled: Campaign, tmp_path: Path) -> None:
    client = logged_in("researcher")
    found = freeze(client, labelled)
    addresses = [f"/reports/{found.key}.{each.suffix}" for each in FORMATS.values()]
    before = [client.get(address).content for address in addresses]
    more_labels(labelled, tmp_path)
    assert [client.get(address).content for address in addresses] == before
    live = client.get(f"/campaigns/{labelled.pk}/report.json{QUERY}").json()
    assert live["inputs"] != json.loads(before[0])["inputs"]


def test_a_snapshot_says_how_many_of_its_people_revoked_their_consent_since(
    labelled: Campaign,
) -> None:
    client = logged_in("researcher")
    names = [r.name for r in Rater.objects.filter(kind="human").order_by("pk")]
    text = ConsentText.objects.create(campaign=labelled, version=1, text="You agree.")
    for rater in Rater.objects.filter(name__in=names[:2]):
        Consent.objects.create(text=text, rater=rater)
    stranger = Rater.objects.create(name="stranger")
    Consent.objects.create(text=text, rater=stranger)
    Consent.objects.filter(rater__name=names[0]).update(revoked_at=timezone.now())
    found = freeze(client, labelled)
    page = f"/reports/{found.key}/"
    assert "consent" not in client.get(page).content.decode()
    Consent.objects.exclude(rater__name=names[0]).update(revoked_at=timezone.now())
    assert "1 person revoked the consent after" in client.get(page).content.decode()
    Consent.objects.create(text=text, rater=Rater.objects.get(name=names[1]))
    assert "revoked" not in client.get(page).content.decode()


def test_the_digest_is_that_of_the_downloaded_file(labelled: Campaign) -> None:
    client = logged_in("researcher")
    found = freeze(client, labelled)
    file = client.get(f"/reports/{found.key}.json").content
    assert hashlib.sha256(file).hexdigest() == found.sha256
    live = client.get(f"/campaigns/{labelled.pk}/results/{QUERY}").content.decode()
    assert f'name="inputs" value="{found.inputs_sha256}"' in live, "the button sends it"
    page = client.get(f"/reports/{found.key}/").content.decode()
    for text in (found.sha256, found.inputs_sha256, "resamples=50&amp;seed=2", "researcher"):
        assert text in page
    assert json.loads(file)["inputs"]["sha256"] == found.inputs_sha256
    assert "Do not cite it" not in page


def test_a_snapshot_has_ten_thousand_resamples_by_default(labelled: Campaign) -> None:
    client = logged_in("researcher")
    assert freeze(client, labelled, OF_ONE_VARIABLE).report["resamples"] == 10_000
    assert freeze(client, labelled).report["resamples"] == 50


def test_a_report_compared_with_a_snapshot_has_as_many_resamples(labelled: Campaign) -> None:
    client = logged_in("researcher")
    found = freeze(client, labelled, OF_ONE_VARIABLE)
    page = client.get(f"/reports/{found.key}/compare/").content.decode()
    assert "10000" not in page


def test_a_report_changed_in_the_database_warns_against_citing_it(labelled: Campaign) -> None:
    client = logged_in("researcher")
    found = freeze(client, labelled)
    with pytest.raises(TypeError, match="cannot be changed"):
        found.save()
    changed = found.content.replace('"resamples": 50', '"resamples": 51')
    FrozenReport.objects.update(content=changed)
    assert "Do not cite it" in client.get(f"/reports/{found.key}/").content.decode()


def test_storing_the_same_numbers_again_creates_no_second_snapshot(labelled: Campaign) -> None:
    client = logged_in("researcher")
    assert freeze(client, labelled).pk == freeze(client, labelled).pk
    assert FrozenReport.objects.count() == 1


def test_numbers_that_changed_since_the_page_was_opened_are_not_stored(labelled: Campaign) -> None:
    client = logged_in("researcher")
    answer = client.post(f"/campaigns/{labelled.pk}/report/freeze/{QUERY}", {"inputs": "0" * 64})
    assert answer.status_code == 409
    assert "New labels have arrived since you opened the report" in answer.content.decode()
    assert not FrozenReport.objects.exists()


def test_a_campaign_with_snapshots_cannot_be_deleted_but_an_account_can(
    labelled: Campaign,
) -> None:
    client = logged_in("researcher")
    found = freeze(client, labelled)
    with pytest.raises(ProtectedError):
        labelled.delete()
    User.objects.filter(username="researcher").delete()
    page = logged_in("admin").get(f"/reports/{found.key}/").content.decode()
    assert f"by {NOBODY}" in page
    assert "by researcher" not in page


def test_a_snapshot_is_compared_with_the_current_report(labelled: Campaign, tmp_path: Path) -> None:
    client = logged_in("researcher")
    found = freeze(client, labelled)
    same = client.get(f"/reports/{found.key}/compare/").content.decode()
    assert "Both use the same labels." in same
    more_labels(labelled, tmp_path)
    page = client.get(f"/reports/{found.key}/compare/").content.decode()
    number = Label.objects.filter(response__assignment__rater__name="eve").count()
    assert "The labels differ." in page
    assert f"+{number}" in page
    assert "lower" in page


def test_a_snapshot_is_compared_only_with_others_of_its_campaign(
    labelled: Campaign, tmp_path: Path
) -> None:
    client = logged_in("researcher")
    first = freeze(client, labelled)
    other = freeze(client, labelled, "?resamples=60&judge=model-x&stratum=system%3Along")
    page = client.get(f"/reports/{first.key}/compare/?with={other.key}").content.decode()
    assert "resamples" in page
    assert client.get(f"/reports/{first.key}/compare/?with=nothing").status_code == 404


def test_a_comparison_shows_the_earlier_report_first(labelled: Campaign) -> None:
    client = logged_in("researcher")
    first = freeze(client, labelled)
    second = freeze(client, labelled, "?resamples=60")
    for one, other in ((first, second), (second, first)):
        page = client.get(f"/reports/{one.key}/compare/?with={other.key}").content.decode()
        before, after = re.findall(r"<dt>(?:Before|After)</dt>.*?/reports/(\w+)/", page)
        assert (before, after) == (first.key, second.key)


def test_a_comparison_names_raters_excluded_between_the_two_reports(labelled: Campaign) -> None:
    client = logged_in("researcher")
    first = freeze(client, labelled)
    rater = Rater.objects.filter(kind="human", assignments__item__campaign=labelled).first()
    assert rater
    exclude(labelled, rater, "Answered at random")
    page = client.get(f"/reports/{first.key}/compare/").content.decode()
    assert "excluded: Answered at random" in page
    second = freeze(client, labelled)
    include(labelled, rater)
    page = client.get(f"/reports/{second.key}/compare/").content.decode()
    assert "counts again" in page


def test_an_option_that_no_longer_exists_is_named_beside_the_current_report(
    labelled: Campaign,
) -> None:
    client = logged_in("researcher")
    found = freeze(client, labelled)
    FrozenReport.objects.filter(pk=found.pk).update(choices="rater=nobody")
    page = client.get(f"/reports/{found.key}/compare/").content.decode()
    assert "no longer exists" in page


def estimate(value: float | None, low: float | None = None, high: float | None = None) -> Any:
    return {"value": value, "low": low, "high": high}


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        (estimate(0.5), estimate(0.5), ""),
        (estimate(None), estimate(None), ""),
        (estimate(0.5, 0.4, 0.6), estimate(0.5, 0.3, 0.6), "interval only"),
        (estimate(0.5, 0.4, 0.6), estimate(0.55), "higher"),
        (estimate(0.5, 0.4, 0.6), estimate(0.3), "lower, outside the earlier interval"),
        (estimate(0.5), estimate(0.3), "lower"),
        (estimate(None), estimate(0.3), "now defined"),
        (estimate(0.3), estimate(None), "now undefined"),
        (None, estimate(0.3), "new"),
        (estimate(0.3), None, "gone"),
    ],
)
def test_changes_between_reports_are_described_in_words(before: Any, after: Any, says: str) -> None:
    assert describe_change(before, after) == says


def test_a_comparison_lists_only_differences(labelled: Campaign) -> None:
    report = json.loads(run("report", "--campaign", labelled.name, "--resamples", "20"))
    other = copy.deepcopy(report)
    percent = other["variables"]["answerable"]["agreement"]["percent"]
    percent["value"] -= 0.25
    text = sections_as_markdown(comparison_document(report, other), "Compared")
    assert "-0.250" in text
    other["variables"]["answerable"]["agreement"]["fleiss_kappa"]["low"] = -0.5
    text = sections_as_markdown(comparison_document(report, other), "Compared")
    assert text.count("| lower") == 1
    assert "1 estimate kept the value with another interval" in text
    assert "Percent agreement" in text
    assert "Fleiss" not in text
    assert "Both use the same labels." in text
