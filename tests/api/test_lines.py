"""The API returns units, labels and responses as the lines of the exports, paged or streamed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.db import connection
from django.http import StreamingHttpResponse
from django.test.utils import CaptureQueriesContext

from analysis.campaigns.reports import campaign_report
from annotation.answers.submission import fail, submit
from annotation.models import Assignment, Campaign, Item, Rater, Response, User, rater_of
from audit.models import Event
from tandem.labels.selection import ReportOptions
from tests import cast
from tests.annotation.answering import good_answer, person
from tests.api.cast import Script, assert_error, script_of
from tests.once import once

pytestmark = pytest.mark.django_db

WHAT = ("units", "labels", "responses")


@once
def campaign(folder: Path) -> Campaign:
    """Two people label each item; one of them declines the second."""
    cast.load(folder)
    made = cast.campaign_of("report-coverage", "--raters-per-item", "2")
    for item in Item.objects.filter(campaign=made).order_by("position"):
        for name in ("ann 🌉", "ben"):
            assignment = person(item, name)
            if item.position == 1 and name == "ben":
                fail(assignment, "declined")
            else:
                submit(assignment, {"units": good_answer(assignment), "comment": None}, "page")
    return made


@pytest.fixture
def rita(db: None) -> Script:
    return script_of(User.objects.create(username="rita", role="researcher"))


def paged(script: Script, path: str, size: int) -> list[dict[str, Any]]:
    """Read all pages; a page exceeds `size` only to complete its last item."""
    lines: list[dict[str, Any]] = []
    address: str | None = path if "?" in path else f"{path}?page_size={size}"
    while address:
        page = script.get(address.removeprefix("http://testserver/api/v1/")).json()
        assert page["results"]
        assert len({line["item"] for line in page["results"][size - 1 :]}) <= 1
        lines += page["results"]
        address = page["next"]
    return lines


@pytest.mark.first_case
@pytest.mark.parametrize("what", WHAT)
@pytest.mark.parametrize("size", [1, 2, 3, 7, 200])
def test_the_pages_together_are_the_lines_of_the_export(
    campaign: Campaign, rita: Script, what: str, size: int
) -> None:
    expected = cast.exported("c", what)
    assert len(expected) > 5
    assert paged(rita, f"campaigns/{campaign.pk}/{what}/", size) == expected


@pytest.mark.first_case
@pytest.mark.parametrize("what", WHAT)
@pytest.mark.parametrize("way", ["header", "parameter"])
def test_the_stream_is_identical_to_the_exported_file(
    campaign: Campaign, rita: Script, what: str, way: str, tmp_path: Path
) -> None:
    path, file = f"campaigns/{campaign.pk}/{what}/", tmp_path / "lines.jsonl"
    cast.run("export", "--campaign", "c", "--what", what, "--output", file)
    if way == "header":
        answer = rita.get(path, Accept="application/x-ndjson")
    else:
        answer = rita.get(path + "?format=jsonl")
    assert answer["Content-Type"] == "application/x-ndjson"
    assert isinstance(answer, StreamingHttpResponse)
    assert answer.getvalue() == file.read_bytes()


def test_a_missing_label_comes_with_its_reason(campaign: Campaign, rita: Script) -> None:
    lines = paged(rita, f"campaigns/{campaign.pk}/labels/", 50)
    missing = [line for line in lines if "missing" in line]
    assert {line["missing"] for line in missing} == {"declined"}
    assert all("value" not in line for line in missing)


def test_a_later_page_takes_no_more_queries_than_the_first(
    campaign: Campaign, rita: Script
) -> None:
    path = f"campaigns/{campaign.pk}/labels/?page_size=1"
    costs = []
    for cursor in ("0", "4"):
        with CaptureQueriesContext(connection) as queries:
            assert rita.get(f"{path}&cursor={cursor}").json()["results"]
        costs.append(len(queries))
    assert costs[1] <= costs[0]


@pytest.mark.parametrize("cursor", ["", "x", "1.", "-1", "1.0", "1\n", "²", "1000000000"])
def test_an_invalid_cursor_is_refused(campaign: Campaign, rita: Script, cursor: str) -> None:
    answer = rita.get(f"campaigns/{campaign.pk}/labels/?cursor={quote(cursor)}")
    (problem,) = assert_error(answer, 400)
    assert problem["field"] == "cursor"


def test_a_cursor_beyond_the_end_gives_an_empty_page(campaign: Campaign, rita: Script) -> None:
    answer = rita.get(f"campaigns/{campaign.pk}/labels/?cursor=999999999")
    assert answer.json() == {"next": None, "results": []}


def test_a_campaign_without_answers_has_no_labels(campaign: Campaign, rita: Script) -> None:
    new = cast.campaign_of("report-coverage", name="new")
    for accept in ("application/json", "application/x-ndjson"):
        answer = rita.get(f"campaigns/{new.pk}/labels/", Accept=accept)
        assert answer.status_code == 200
    assert rita.get(f"campaigns/{new.pk}/labels/").json()["results"] == []


def test_an_answer_that_arrives_between_two_pages_neither_hides_nor_repeats_a_line(
    campaign: Campaign, rita: Script
) -> None:
    """The lines of an item are sorted by rater, and the new rater's name sorts first."""
    path = f"campaigns/{campaign.pk}/responses/"
    before = rita.get(path + "?page_size=1").json()
    first = campaign.items.order_by("position")[0]
    rater = Rater.objects.create(name=" aaa")
    late = Assignment.objects.create(item=first, rater=rater, asked=[])
    Response.objects.create(assignment=late, payload={"units": {}}, door="import")
    lines = [*before["results"], *paged(rita, before["next"].partition("/api/v1/")[2], 50)]
    paged_keys = [(line["item"], line["rater"]) for line in lines]
    there = [(line["item"], line["rater"]) for line in cast.exported("c", "responses")]
    assert sorted([*paged_keys, (first.key, " aaa")]) == sorted(there)


def test_an_account_with_an_open_item_cannot_read_labels_of_others(
    campaign: Campaign, rita: Script
) -> None:
    first = campaign.items.order_by("position")[0]
    rater = rater_of(User.objects.get(username="rita"))
    Assignment.objects.create(item=first, rater=rater, asked=["a/b#1"])
    for what in ("labels", "responses", "report", "units"):
        answer = rita.get(f"campaigns/{campaign.pk}/{what}/")
        assert answer.status_code == 403
        assert "open item" in answer.json()["error"]


def test_an_unsupported_format_is_refused(campaign: Campaign, rita: Script) -> None:
    path = f"campaigns/{campaign.pk}/labels/"
    assert rita.get(path, Accept="text/html").status_code == 406
    assert rita.get("campaigns/", Accept="application/x-ndjson").status_code == 406


def test_whole_exports_have_a_limit_of_their_own(campaign: Campaign, rita: Script) -> None:
    path = f"campaigns/{campaign.pk}/units/?format=jsonl"
    codes = [rita.get(path).status_code for _ in range(13)]
    assert codes == [200] * 12 + [429]
    late = rita.get(path)
    assert 0 < int(late["Retry-After"]) <= 3600
    assert json.loads(late.content)["error"].startswith("too many requests")
    assert rita.get(f"campaigns/{campaign.pk}/units/").status_code == 200


def test_the_report_is_that_of_the_command(campaign: Campaign, rita: Script) -> None:
    answer = rita.get(f"campaigns/{campaign.pk}/report/?seed=3&resamples=50&epsilon=0.1")
    expected = campaign_report(campaign, ReportOptions(3, 50, 0.1))
    expected = json.loads(json.dumps(expected)) | {"generated_at": answer.json()["generated_at"]}
    assert answer.json() == expected


def test_the_report_takes_the_same_options_as_the_page(campaign: Campaign, rita: Script) -> None:
    query = "resamples=50&width=0.3&rater=ben&rater=judge&variable=answerable"
    answer = rita.get(f"campaigns/{campaign.pk}/report/?{query}").json()
    assert answer["choices"]["raters"] == ["ben", "judge"]
    assert answer["choices"]["variables"] == ["answerable"]
    assert answer["variables"]["answerable"]["planning"]["width"] == 0.3
    assert [rater["name"] for rater in answer["raters"] if rater["kind"] == "human"] == ["ben"]


@pytest.mark.parametrize("query", ["rater=nobody", "stratum=system:none", "threshold=9"])
def test_an_option_that_names_something_unknown_is_refused(
    campaign: Campaign, rita: Script, query: str
) -> None:
    (problem,) = assert_error(rita.get(f"campaigns/{campaign.pk}/report/?{query}"), 400)
    assert problem["field"] == query.partition("=")[0]


@pytest.mark.parametrize(
    "query",
    [
        "seed=-1",
        "width=0",
        "resamples=0",
        "resamples=10001",
        "epsilon=nan",
        "epsilon=2",
        "epsilon=1e999",
        "x=1",
    ],
)
def test_report_options_beyond_their_limits_are_refused(
    campaign: Campaign, rita: Script, query: str
) -> None:
    (problem,) = assert_error(rita.get(f"campaigns/{campaign.pk}/report/?{query}"), 400)
    assert problem["field"] == query.partition("=")[0]


def test_a_query_is_returned_as_its_line_in_the_batch(campaign: Campaign, rita: Script) -> None:
    (listed,) = rita.get("batches/?name=b").json()["results"]
    assert listed["counts"]["queries"] == len(cast.BATCH)
    assert rita.get(f"batches/{listed['id']}/").json()["name"] == "b"
    queries = rita.get(f"batches/{listed['id']}/queries/?page_size=2").json()
    assert (queries["count"], len(queries["results"])) == (3, 2)
    assert queries["results"][0]["counts"]["reports"] == 2
    assert queries["previous"] is None
    second = rita.get(queries["next"].removeprefix("http://testserver")).json()
    assert second["next"] is None
    for position, line in enumerate(cast.BATCH):
        read = rita.get(f"batches/{listed['id']}/queries/{position}/").json()
        assert read == line
    assert_error(rita.get(f"batches/{listed['id']}/queries/3/"), 404)


def test_a_page_after_the_last_is_not_found(campaign: Campaign, rita: Script) -> None:
    assert_error(rita.get("batches/?page=2"), 404)
    assert rita.get("batches/?page=1").json()["count"] == 1


def test_reading_pages_from_the_middle_is_recorded_once_in_the_trail(
    campaign: Campaign, rita: Script
) -> None:
    path = f"campaigns/{campaign.pk}/labels/"
    for page in ("?cursor=4", "?cursor=8", "?format=jsonl&cursor=4", "?format=jsonl&cursor=4"):
        assert rita.get(path + page).status_code == 200
    exports = (
        Event.objects.filter(event="export").order_by("pk").values_list("facts__form", flat=True)
    )
    assert list(exports) == ["pages", "jsonl", "jsonl"]
