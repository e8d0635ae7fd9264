"""A campaign's exports page offers each export, and each downloads over HTTP."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from annotation.assignments.queue import next_assignment
from annotation.exports.bundles import export_options
from annotation.models import Campaign, User, rater_of
from tests.annotation.label_files import labels_for
from tests.cast import campaign_of, exported, run, write_lines

pytestmark = pytest.mark.usefixtures("batch")


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    cache.clear()  # requests of other tests count against the limit
    made = campaign_of("report-coverage", "--raters-per-item", "3")
    lines = labels_for(made, exported("c", "units"))
    run("import_labels", write_lines(tmp_path / "labels.jsonl", lines), "--campaign", "c")
    return made


@pytest.fixture
def rita(client: Client) -> Client:
    client.force_login(User.objects.create_user("rita", role="researcher"))
    return client


def get(client: Client, campaign: Campaign, what: str, form: str) -> Any:
    return client.get(reverse("export-file", args=[campaign.pk, what, form]))


def content(answer: Any) -> bytes:
    assert answer.streaming
    return b"".join(answer.streaming_content)


def test_the_page_offers_every_export_in_every_format(campaign: Campaign, rita: Client) -> None:
    page = rita.get(reverse("exports", args=[campaign.pk])).content.decode()
    for offer in export_options(campaign):
        for form in offer.forms:
            assert reverse("export-file", args=[campaign.pk, offer.what, form]) in page
    assert "qrels" not in page
    data = rita.get(reverse("campaign-data", args=[campaign.pk])).content.decode()
    assert reverse("exports", args=[campaign.pk]) in data


@pytest.mark.parametrize(
    ("what", "form"),
    [("labels", "jsonl"), ("labels", "csv"), ("spans", "csv"), ("units", "jsonl"),
     ("label-studio", "json"), ("web-annotations", "jsonld"), ("labels", "parquet")],
)  # fmt: skip
def test_a_downloaded_file_equals_that_of_the_command(
    campaign: Campaign, rita: Client, tmp_path: Path, what: str, form: str
) -> None:
    out = tmp_path / "out"
    run("export", "--campaign", "c", "--what", what, "--format", form, "--output", out)
    answer = get(rita, campaign, what, form)
    assert answer.status_code == 200
    assert content(answer) == out.read_bytes()
    suffix = form
    name = f'attachment; filename="c-{campaign.pk}-{what}.{suffix}"'
    assert answer["Content-Disposition"] == name


def test_a_campaign_name_with_special_characters_gives_a_safe_file_name(
    campaign: Campaign, rita: Client
) -> None:
    Campaign.objects.filter(pk=campaign.pk).update(name='../=x"\r\nSet-Cookie: a=b; 🌉')
    answer = get(rita, campaign, "units", "csv")
    file = f"x-set-cookie-ab-{campaign.pk}-units.csv"
    assert answer["Content-Disposition"] == f'attachment; filename="{file}"'
    assert "a" not in answer.cookies


@pytest.mark.first_case
@pytest.mark.parametrize(("what", "form"), [("all", "csv"), ("dataset", "parquet")])
def test_a_folder_is_downloaded_as_an_archive(
    campaign: Campaign, rita: Client, what: str, form: str
) -> None:
    with zipfile.ZipFile(io.BytesIO(content(get(rita, campaign, what, form)))) as archive:
        manifest = json.loads(archive.read("manifest.json"))
        assert {file["path"] for file in manifest["files"]} < set(archive.namelist())


def test_a_person_with_an_open_item_exports_only_the_batch(
    campaign: Campaign, rita: Client
) -> None:
    user = User.objects.get(username="rita")
    assert next_assignment(campaign, rater_of(user)) is not None
    waiting = (("labels", "csv"), ("units", "csv"), ("label-studio", "json"), ("all", "jsonl"))
    for what, form in waiting:
        answer = get(rita, campaign, what, form)
        assert answer.status_code == 403
        assert "Answer it first" in answer.content.decode()
    assert get(rita, campaign, "batch", "jsonl").status_code == 200


def test_an_account_may_download_twelve_exports_an_hour(campaign: Campaign, rita: Client) -> None:
    answers = [get(rita, campaign, "units", "csv") for _ in range(13)]
    assert [answer.status_code for answer in answers] == [200] * 12 + [429]
    assert 0 < int(answers[-1]["Retry-After"]) <= 3600
    assert "Try again later" in answers[-1].content.decode()


def test_an_id_that_does_not_fit_trecs_form_is_reported_first(rita: Client, tmp_path: Path) -> None:
    cache.clear()
    made = campaign_of("grounding-relevance")
    row = {"item": "q 2", "unit": "q 2/p2", "variable": "relevant", "value": "yes", "rater": "ann"}
    run("import_labels", write_lines(tmp_path / "l.jsonl", [row]), "--campaign", "c")
    answer = get(rita, made, "qrels", "trec")
    assert answer.status_code == 422
    assert "contains a blank" in answer.content.decode()
    assert get(rita, made, "qrels", "csv").status_code == 200


@pytest.mark.parametrize(
    ("what", "form"),
    [("labels", "trec"), ("qrels", "trec"), ("nothing", "csv"), ("dataset", "csv")],
)
def test_an_export_that_the_campaign_lacks_is_404(
    campaign: Campaign, rita: Client, what: str, form: str
) -> None:
    assert get(rita, campaign, what, form).status_code == 404


def test_an_annotator_is_refused_exports(campaign: Campaign, client: Client) -> None:
    client.force_login(User.objects.create_user("ada", role="annotator"))
    assert get(client, campaign, "labels", "csv").status_code == 403
    assert client.get(reverse("exports", args=[campaign.pk])).status_code == 403
