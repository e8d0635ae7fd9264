"""The API serves items, exports, imported labels and snapshots."""

from __future__ import annotations

import json
from typing import Any

import pytest

from analysis.models import FrozenReport
from annotation.answers.submission import submit
from annotation.exports.bundles import download, export_options
from annotation.models import Admission, Label, Rater, rater_of
from tests.api.cast import Script, assert_error, script_of
from tests.page_cast import Study, client_of, payload, plant
from tests.team_cast import give_away

pytestmark = pytest.mark.django_db
ITEM = "hidden-system-0:r"


@pytest.fixture
def rita(study: Study) -> Script:
    return script_of(study.rita)


def of(study: Study, rest: str) -> str:
    return f"campaigns/{study.campaign.pk}/{rest}"


def streamed(answer: Any) -> bytes:
    return b"".join(answer.streaming_content)


class TestItems:
    def test_an_item_comes_with_its_facts_and_its_units(self, rita: Script, study: Study) -> None:
        study.assignment(study.ada)
        first, second = rita.get(of(study, "items/")).json()["results"]
        taken = first if first["taken"] else second
        assert taken["taken"] + (first if taken is second else second)["taken"] == 1
        assert (first["item"], first["system"], first["query"]) == (ITEM, "hidden-system-0", "q")
        assert (first["units"], first["quota"], first["use"]) == (3, 2, "study")
        whole = rita.get(of(study, "items/0/")).json()
        assert [each["unit"] for each in whole["asked"]] == ["q:0", "q:1", "q:2"]
        assert whole["asked"][0]["variables"] == ["answerable"]
        assert "harbour" not in whole["texts"]
        assert whole["texts"]["report"]

    def test_only_documented_filters_are_accepted(self, rita: Script, study: Study) -> None:
        for query, count in ((f"item={ITEM}", 1), ("system=hidden-system-1", 1), ("query=x", 0)):
            assert rita.get(of(study, f"items/?{query}")).json()["count"] == count
        for query in ("report__system=x", "assignments__rater__name=ada", "taken=1", "use=gold"):
            assert_error(rita.get(of(study, f"items/?{query}")), 400)

    def test_a_researcher_with_an_open_item_does_not_see_which_items_are_gold(
        self, rita: Script, study: Study
    ) -> None:
        study.assignment(study.rita)
        assert_error(rita.get(of(study, "items/0/")), 403)
        assert rita.get(of(study, "items/")).json()["results"][1]["use"] is None

    def test_answers_of_others_do_not_change_the_list_of_items(
        self, rita: Script, study: Study
    ) -> None:
        begun = study.assignment(study.ben)
        before = rita.get(of(study, "items/")).content
        submit(begun, payload("no", "planted"), "page")
        assert rita.get(of(study, "items/")).content == before


class TestAssignments:
    def test_assignments_are_listed_with_rater_status_and_units(
        self, rita: Script, study: Study
    ) -> None:
        plant(study)
        path = of(study, "assignments/")
        rows = rita.get(path).json()["results"]
        assignments = {(row["rater"], row["status"], row["units"]) for row in rows}
        ben = rater_of(study.ben).name
        assert assignments == {(ben, "done", 3), (ben, "open", 3), ("planted-judge", "done", 3)}
        assert rita.get(f"{path}?rater_kind=judge").json()["count"] == 1
        assert rita.get(f"{path}?rater={ben}&status=done").json()["count"] == 1
        assert_error(rita.get(f"{path}?rater__user__username=ben"), 400)

    def test_the_list_contains_no_answers(self, rita: Script, study: Study) -> None:
        plant(study)
        assert "planted-comment" not in rita.get(of(study, "assignments/")).content.decode()

    def test_the_list_is_hidden_from_an_account_with_an_open_item(
        self, rita: Script, study: Study
    ) -> None:
        study.assignment(study.rita)
        assert_error(rita.get(of(study, "assignments/")), 403)


class TestSearch:
    def find(self, rita: Script, study: Study, query: str) -> Any:
        return rita.get(f"batches/{study.campaign.batch_id}/search/?{query}")

    def test_a_hit_shows_where_the_words_were_found(self, rita: Script, study: Study) -> None:
        found = self.find(rita, study, "q=pier+held").json()
        assert found["count"] == 2
        hits = [(hit["kind"], hit["position"], hit["id"]) for hit in found["results"]]
        assert hits == [("report", 0, "hidden-system-0:r"), ("report", 0, "hidden-system-1:r")]
        for hit in found["results"]:
            assert hit["found"] == ["pier", "held"]
            assert "The pier held." in hit["snippet"]
        assert self.find(rita, study, 'q="Report+1"+held').json()["count"] == 1

    def test_a_search_without_words_is_refused(self, rita: Script, study: Study) -> None:
        for query in ("", "q=", 'q="%20"', f"q={'x' * 301}"):
            assert_error(self.find(rita, study, query), 400)


def test_a_rater_who_failed_practice_is_admitted_with_a_reason(rita: Script, study: Study) -> None:
    study.assignment(study.ada)
    path = of(study, f"raters/{rater_of(study.ada).pk}/admission/")
    assert_error(rita.put(path, {"reason": ""}), 400)
    assert rita.put(path, {"reason": "a slip"}).status_code == 200
    assert Admission.objects.get().reason == "a slip"
    other = of(study, f"raters/{rater_of(study.ben).pk}/admission/")
    assert_error(rita.put(other, {"reason": "a slip"}), 404)


class TestExports:
    def test_the_api_offers_the_same_exports_as_the_page(self, rita: Script, study: Study) -> None:
        plant(study)
        rows = rita.get(of(study, "exports/")).json()["results"]
        assert [row["what"] for row in rows] == [
            each.what for each in export_options(study.campaign)
        ]
        for what, form in (("labels", "csv"), ("spans", "jsonl"), ("label-studio", "json")):
            (row,) = (row for row in rows if row["what"] == what)
            answer = rita.get(row["files"][form].removeprefix("http://testserver"))
            assert answer.streaming
            assert streamed(answer) == b"".join(download(study.campaign, what, form).pieces)
            assert answer["Content-Disposition"].startswith("attachment; ")

    def test_the_format_follows_the_address_and_not_the_accept_header(
        self, rita: Script, study: Study
    ) -> None:
        answer = rita.get(of(study, "exports/units/csv/"), Accept="text/html")
        assert answer["Content-Type"].startswith("text/csv")

    def test_exports_are_refused_to_an_account_with_an_open_item(
        self, rita: Script, study: Study
    ) -> None:
        plant(study)
        study.assignment(study.rita)
        for path in ("exports/labels/csv/", "exports/label-studio/json/"):
            answer = rita.get(of(study, path))
            assert_error(answer, 403)
            assert "planted" not in answer.content.decode()
        assert_error(rita.get(of(study, "exports/units/jsonl/")), 403)
        assert_error(rita.get(of(study, "units/")), 403)
        assert rita.get(of(study, "exports/batch/jsonl/")).status_code == 200

    def test_unknown_exports_and_formats_are_not_found(self, rita: Script, study: Study) -> None:
        for path in ("exports/labels/trec/", "exports/qrels/trec/", "exports/nothing/csv/"):
            assert_error(rita.get(of(study, path)), 404)

    def test_page_and_api_share_the_limit_on_exports(self, rita: Script, study: Study) -> None:
        for _ in range(12):
            assert rita.get(of(study, "exports/units/csv/")).status_code == 200
        assert_error(rita.get(of(study, "exports/units/csv/")), 429)
        path = f"/campaigns/{study.campaign.pk}/exports/units/csv/"
        assert client_of(study.rita).get(path).status_code == 429


LINE = {"item": ITEM, "unit": "q:0", "variable": "answerable", "value": "no", "rater": "crowd-7"}


class TestImportedLabels:
    def send(self, script: Script, study: Study, *lines: dict[str, Any], **more: Any) -> Any:
        return script.post(of(study, "imports/"), {"labels": list(lines), **more})

    def test_importing_the_same_labels_twice_changes_nothing(
        self, rita: Script, study: Study
    ) -> None:
        first = self.send(rita, study, LINE)
        assert first.status_code == 200, first.content
        assert first.json()["labels"] == {"crowd-7": 1}
        again = self.send(rita, study, LINE).json()
        assert (again["labels"], again["unchanged"]) == ({}, 1)
        assert Label.objects.get().response.assignment.rater.name == "crowd-7"

    def test_the_default_rater_is_used_for_lines_without_one(
        self, rita: Script, study: Study
    ) -> None:
        line = {name: value for name, value in LINE.items() if name != "rater"}
        assert self.send(rita, study, line, rater="crowd-8").json()["labels"] == {"crowd-8": 1}

    def test_one_invalid_line_refuses_the_whole_import_with_its_number(
        self, rita: Script, study: Study
    ) -> None:
        (wrong,) = assert_error(self.send(rita, study, LINE, {**LINE, "unit": "q:9"}), 422)
        assert wrong["field"] == "labels.1"
        assert str(wrong["wrong"]).startswith("labels, line 2: ")
        assert not Label.objects.exists()

    @pytest.mark.parametrize("who", ["account", "pseudonym of one who left", "judge"])
    def test_labels_for_a_rater_who_answers_in_tandem_are_refused(
        self, rita: Script, study: Study, who: str
    ) -> None:
        if who == "judge":
            plant(study)
            name, kind = "planted-judge", "judge"
        else:
            submit(study.assignment(study.ada), payload("no"), "page")
            name, kind = rater_of(study.ada).name, "human"
            if who != "account":
                Rater.objects.filter(name=name).update(user=None)
        before = Label.objects.count()
        answer = self.send(rita, study, {**LINE, "rater": name, "rater_kind": kind})
        (wrong,) = assert_error(answer, 422)
        assert "answers on this site" in str(wrong["wrong"])
        assert Label.objects.count() == before

    def test_importing_is_refused_to_an_account_with_an_open_item(
        self, rita: Script, study: Study
    ) -> None:
        study.assignment(study.rita)
        assert_error(self.send(rita, study, LINE), 403)


class TestFrozenReports:
    def freeze(self, script: Script, study: Study, **more: Any) -> Any:
        read = script.get(of(study, "report/?resamples=2")).json()
        sent = {"campaign": study.campaign.pk, "inputs": read["inputs"]["sha256"], "resamples": 2}
        return script.post("reports/", {**sent, **more})

    def test_the_report_is_stored_exactly_as_it_was_read(self, rita: Script, study: Study) -> None:
        plant(study)
        made = self.freeze(rita, study, epsilon=0.15)
        assert made.status_code == 201, made.content
        row = FrozenReport.objects.get()
        assert row.choices == "resamples=2&epsilon=0.15"
        read = rita.get(f"reports/{row.key}/")
        assert read.content.decode() == row.content
        assert json.loads(read.content)["choices"]["epsilon"] == 0.15
        assert rita.get("reports/").json()["results"] == [made.json()]
        assert rita.get("reports/?campaign=1000000").json()["count"] == 0

    def test_the_results_page_takes_the_options_of_a_snapshot(
        self, rita: Script, study: Study
    ) -> None:
        self.freeze(rita, study, assisted=True)
        row = FrozenReport.objects.get()
        client = client_of(study.rita)
        page = f"/campaigns/{study.campaign.pk}/results/?{row.choices}"
        assert client.get(page).status_code == 200
        assert "assisted=true" in row.choices

    def test_no_snapshot_is_stored_of_a_report_whose_labels_have_changed(
        self, rita: Script, study: Study
    ) -> None:
        (wrong,) = [self.freeze(rita, study, inputs="0" * 64)]
        assert_error(wrong, 409)
        assert wrong.json()["current"]["sha256"]
        assert not FrozenReport.objects.exists()

    def test_an_unknown_option_is_refused_with_its_field(self, rita: Script, study: Study) -> None:
        (wrong,) = assert_error(self.freeze(rita, study, variable=["nothing"]), 400)
        assert wrong["field"] == "variable"

    def test_snapshots_are_hidden_from_an_account_with_an_open_item(
        self, rita: Script, study: Study
    ) -> None:
        plant(study)
        key = self.freeze(rita, study).json()["key"]
        study.assignment(study.rita)
        assert_error(rita.get(f"reports/{key}/"), 403)
        assert rita.get("reports/").status_code == 200


def test_nothing_of_another_teams_campaign_is_found(rita: Script, study: Study) -> None:
    root = script_of(study.root)
    key = TestFrozenReports().freeze(root, study).json()["key"]
    give_away(study.campaign)
    paths = (
        of(study, "items/"), of(study, "items/0/"), of(study, "assignments/"),
        of(study, "exports/"),
        of(study, "exports/units/csv/"), of(study, "labels/"), of(study, "responses/"),
        of(study, "units/"), of(study, "draws/"), of(study, "report/?resamples=2"),
        of(study, "people/"), f"reports/{key}/", of(study, ""),
    )  # fmt: skip
    for path in paths:
        assert_error(rita.get(path), 404)
        assert root.get(path).status_code == 200, path
    assert rita.get("reports/").json()["count"] == 0
    assert_error(rita.post(of(study, "imports/"), {"labels": [LINE]}), 404)
    inputs = {"campaign": study.campaign.pk, "inputs": "0" * 64}
    assert_error(rita.post("reports/", inputs), 422)
    page = f"/campaigns/{study.campaign.pk}/exports/"
    assert client_of(study.rita).get(page).status_code == 404
    assert client_of(study.rita).get(f"{page}labels/csv/").status_code == 404
