"""Nobody with an open item of a campaign can read others' answers in it, researchers included."""

from __future__ import annotations

import json

import pytest
from django.test import Client
from django.urls import reverse

from analysis.models import FrozenReport
from annotation.answers.submission import submit
from judging.models import JudgeCall, JudgeRun
from tandem.formats import FORMATS
from tests.api.cast import assert_error, script_of
from tests.page_cast import Study, client_of, payload
from tests.security.test_crawler import made, world  # noqa: F401 - fixtures
from tests.security.world import World

pytestmark = pytest.mark.django_db
ENDINGS = [each.suffix for each in FORMATS.values()]
EXPORTED = ("labels", "responses", "units")
MARKERS = ("planted-judge says no", "planted-comment")


@pytest.fixture
def study(world: World) -> Study:  # noqa: F811
    return world.study


def pages(study: Study) -> list[str]:
    """Return every page and file that shows what people or judges answered."""
    pk, run = study.campaign.pk, JudgeRun.objects.get(campaign=study.campaign)
    call = JudgeCall.objects.get(run=run)
    key = FrozenReport.objects.get(campaign=study.campaign).key
    return [
        reverse("results", args=[pk]),
        *(reverse(f"report-{suffix}", args=[pk]) for suffix in ENDINGS),
        reverse("report-figure-csv", args=[pk, "coverage"]),
        reverse("frozen", args=[key]),
        reverse("frozen-json", args=[key]),
        reverse("frozen-compare", args=[key]),
        reverse("judge-call", args=[call.pk]),
        reverse("judge-answers", args=[pk, run.judge_id]),
        reverse("judge-robustness", args=[run.pk]),
        reverse("judge-bench", args=[pk]),
        reverse("judge-bench-file", args=[pk]),
        reverse("judge-run-manifest", args=[run.pk]),
        reverse("campaign-draws", args=[pk]),
        *(
            f"{reverse('exports', args=[pk])}{what}/jsonl/"
            for what in ("labels", "responses", "units")
        ),
    ]


def read(client: Client, address: str) -> tuple[int, str]:
    """Return status and body."""
    answer = client.get(address)
    body = b"".join(answer) if answer.streaming else answer.content
    return answer.status_code, body.decode()


def test_pages_with_others_answers_wait_for_ones_own_answer(study: Study) -> None:
    rita, mine = client_of(study.rita), study.assignment(study.rita)
    for address in pages(study):
        status, body = read(rita, address)
        assert not any(marker in body for marker in MARKERS), address
        assert "open item" in body, address
        assert status in {200, 403}, address
    submit(mine, payload("no"), "page")
    found = "".join(body for status, body in (read(rita, each) for each in pages(study)))
    assert all(marker in found for marker in MARKERS)


@pytest.mark.every_case
@pytest.mark.parametrize(
    "path",
    ["campaigns/{pk}/labels/", "campaigns/{pk}/responses/", "campaigns/{pk}/report/",
     "campaigns/{pk}/units/", "campaigns/{pk}/exports/units/csv/", "campaigns/{pk}/items/0/",
     "campaigns/{pk}/draws/", "campaigns/{pk}/exports/labels/jsonl/", "runs/{run}/calls/",
     "runs/{run}/manifest/", "calls/{call}/", "reports/{key}/"],
)  # fmt: skip
def test_the_api_withholds_others_answers_until_ones_own(study: Study, path: str) -> None:
    rita, mine = script_of(study.rita), study.assignment(study.rita)
    run, key = (
        JudgeRun.objects.get(campaign=study.campaign),
        study.campaign.frozen_reports.get().key,
    )
    call = JudgeCall.objects.get(run=run).pk
    address = path.format(pk=study.campaign.pk, run=run.pk, call=call, key=key)
    refused = rita.get(address)
    assert refused.status_code == 403
    assert "open item" in json.loads(refused.content)["error"]
    submit(mine, payload("no"), "page")
    assert rita.get(address).status_code == 200


def test_no_snapshot_is_created_before_ones_own_answer(study: Study) -> None:
    rita, before = client_of(study.rita), study.campaign.frozen_reports.count()
    study.assignment(study.rita)
    assert rita.post(reverse("freeze", args=[study.campaign.pk])).status_code == 403
    assert study.campaign.frozen_reports.count() == before


def test_gold_items_are_revealed_only_after_ones_own_answer(study: Study) -> None:
    rita, mine = script_of(study.rita), study.assignment(study.rita)
    address = f"campaigns/{study.campaign.pk}/items/"
    before = rita.get(address).json()["results"]
    assert {(each["use"], each["quota"]) for each in before} == {(None, None)}
    submit(mine, payload("no"), "page")
    after = rita.get(address).json()["results"]
    assert {(each["use"], each["quota"]) for each in after} == {("study", 3)}


def test_systems_are_revealed_only_after_ones_own_answer(study: Study) -> None:
    rita, mine = script_of(study.rita), study.assignment(study.rita)
    address = f"campaigns/{study.campaign.pk}/items/"
    asked, named = f"{address}?system=hidden-system-1", f"{address}?item=hidden-system-1-report"
    listed = rita.get(address).json()["results"]
    assert {(each["system"], each["item"]) for each in listed} == {(None, None)}
    assert "hidden-system" not in rita.get(address).content.decode()
    for path in (f"{address}0/", asked, named):
        assert_error(rita.get(path), 403)
    submit(mine, payload("no"), "page")
    systems = {each["system"] for each in rita.get(address).json()["results"]}
    assert systems == {"hidden-system-0", "hidden-system-1"}
    assert rita.get(asked).json()["count"] == 1
