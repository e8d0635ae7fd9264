"""A study from a notebook: from the batch to the frozen report, on a site that is served."""

from __future__ import annotations

import asyncio
import hashlib
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

import tandem
from tandem.client import Campaign, Client, Progress, SiteError, transport
from tests.client.study import BATCH, JUDGE, PEOPLE, labels

pytestmark = [pytest.mark.processes, pytest.mark.once]


class TestBatches:
    def test_queries_and_files_are_loaded_as_a_batch(
        self, client: Client, campaign: Campaign
    ) -> None:
        assert client.batch("ferries").counts["queries"] == len(BATCH)

    def test_the_same_content_again_is_the_same_batch(
        self, client: Client, campaign: Campaign, tmp_path: Path
    ) -> None:
        before, file = client.batches(), tmp_path / "ferries.jsonl"
        file.write_text("".join(json.dumps(query) + "\n" for query in BATCH), "utf-8")
        assert client.load_batch("ferries", file).id == client.batch("ferries").id
        assert [each.id for each in client.batches()] == [each.id for each in before]

    def test_a_refused_file_is_an_error_with_line_and_mend(self, client: Client) -> None:
        with pytest.raises(SiteError, match=r"line 1: .*text"):
            client.load_batch("broken", [{"id": "q1"}])
        with pytest.raises(KeyError, match="no batch 'broken'"):
            client.batch("broken")

    def test_an_object_that_is_no_query_is_refused_at_once(self, client: Client) -> None:
        with pytest.raises(TypeError, match="a query is int"):
            client.load_batch("numbers", [1, 2])  # type: ignore[arg-type]


class TestCampaigns:
    def test_the_same_campaign_again_is_the_same_and_another_design_is_refused(
        self, client: Client, campaign: Campaign
    ) -> None:
        assert client.create_campaign("ferries", "report-coverage", "ferries").id == campaign.id
        with pytest.raises(SiteError, match="ferries") as refused:
            client.create_campaign("ferries", "report-coverage", "ferries", raters_per_item=3)
        assert refused.value.status == 422
        assert refused.value.problems

    def test_settings_are_changed(self, client: Client, campaign: Campaign) -> None:
        assert not campaign.change(is_open=False).json["is_open"]
        assert campaign.change(is_open=True).refresh().json["is_open"]

    def test_labels_that_were_imported_before_are_unchanged(self, campaign: Campaign) -> None:
        found = campaign.import_labels(labels())
        assert (found["unchanged"], found["labels"]) == (len(labels()), {})

    def test_a_person_is_invited_by_a_link_that_no_representation_shows(
        self, campaign: Campaign
    ) -> None:
        invitation = campaign.invite("Dora")
        assert "/join/?key=" in invitation.link
        assert invitation.link.partition("key=")[2] not in repr(invitation)

    def test_progress_counts_answers(self, campaign: Campaign) -> None:
        assert campaign.progress()

    def test_an_unknown_name_is_answered_with_the_nearest(
        self, client: Client, campaign: Campaign
    ) -> None:
        with pytest.raises(KeyError, match="did you mean 'ferries'"):
            client.campaign("feries")
        with pytest.raises(KeyError, match=f"did you mean '{JUDGE}'"):
            campaign.run("ferry-wurds")

    def test_lists_are_read_to_their_last_page(
        self, client: Client, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        whole = [each.name for each in client.campaigns()]
        monkeypatch.setattr(transport, "PAGE", 1)
        assert [each.name for each in client.campaigns()] == whole
        assert len(whole) >= 2


class TestRuns:
    @pytest.fixture
    def fresh(self, client: Client, campaign: Campaign, request: Any) -> Campaign:
        """A campaign that no judge has judged."""
        return client.create_campaign(request.node.name[:90], "report-coverage", "ferries")

    def test_a_run_keeps_to_its_budget_and_tells_its_progress(
        self, client: Client, fresh: Campaign
    ) -> None:
        told: list[Progress] = []
        watched = Client(client.url, _token(client), progress=told.append)
        run = watched.campaign(fresh.name).run(JUDGE, limit=3).wait(120)
        assert (run.state, run.json["done"], run.json["most_tokens"]) == ("done", 3, None)
        assert (run.tokens, run.cost) == (0, 0.0)
        assert (told[-1].what, told[-1].done, told[-1].total) == (JUDGE, 3, 3)
        assert "0 tokens" in told[-1].note
        assert str(told[-1]).startswith(f"{JUDGE} ████████████████████████ 3 of 3")

    def test_a_budget_of_tokens_and_money_reaches_the_site_and_its_end_is_explained(
        self, fresh: Campaign
    ) -> None:
        run = fresh.run(JUDGE, limit=1, most_tokens=5000, most_cost=0.25)
        assert (run.json["most_tokens"], float(run.json["most_cost"])) == (5000, 0.25)
        assert run.wait(120).state == "stopped"
        assert "its model has no price" in repr(run)

    def test_a_run_is_awaited_in_an_async_cell(self, fresh: Campaign) -> None:
        async def cell() -> tuple[str, int]:
            ticks = 0

            async def tick() -> None:
                nonlocal ticks
                while True:
                    ticks += 1
                    await asyncio.sleep(0.01)

            beside = asyncio.create_task(tick())
            run = await fresh.run(JUDGE, limit=2)
            beside.cancel()
            return run.state, ticks

        state, ticks = asyncio.run(cell())
        assert state == "done"
        assert ticks > 1

    def test_waiting_ends_after_its_time(self, fresh: Campaign) -> None:
        run = fresh.run(JUDGE)
        run.json = {**run.json, "state": "running"}
        with pytest.raises(TimeoutError, match=f"the run {run.id} is running after 0 s"):
            run.wait(0)
        assert run.wait(120).state == "done"

    def test_nothing_open_is_said_in_the_words_of_the_site(self, campaign: Campaign) -> None:
        with pytest.raises(SiteError) as refused:
            campaign.run(JUDGE)
        assert refused.value.status == 409
        assert "runs/: " in str(refused.value)
        assert campaign.estimate(JUDGE)["sentence"].startswith("Nothing will be asked")


class TestResults:
    def test_labels_are_a_frame_that_gives_the_report_of_the_site(
        self, campaign: Campaign, tmp_path: Path
    ) -> None:
        frame = campaign.labels()
        assert set(frame["rater"]) == {*PEOPLE, JUDGE}
        own, there = tandem.report(frame), campaign.report()
        assert own["answerable"].json["agreement"] == there["answerable"].json["agreement"]
        assert own.judge(JUDGE).against().kappa == there.judge(JUDGE).against().kappa
        file = tandem.report(campaign.export("labels", tmp_path / "labels.jsonl"))
        assert own["answerable"].json == file["answerable"].json

    def test_labels_come_in_the_kind_of_frame_that_is_asked_for(self, campaign: Campaign) -> None:
        import pyarrow as pa

        table = campaign.labels("arrow")
        assert isinstance(table, pa.Table)
        assert table.num_rows == len(campaign.labels("pandas"))
        with pytest.raises(ValueError, match="not 'dask'"):
            campaign.labels("dask")  # type: ignore[arg-type]

    def test_the_report_is_the_same_object_as_of_a_table(self, campaign: Campaign) -> None:
        report = campaign.report(epsilon=0.25, resamples=50)
        assert isinstance(report, tandem.Report)
        assert (report.options.epsilon, report.options.resamples) == (0.25, 50)
        assert "<iframe" in report._repr_html_()
        assert report.figure("raters").svg
        judge = report.judge(JUDGE)
        assert judge.alt_test().epsilon == 0.25

    def test_the_test_at_another_epsilon_comes_from_the_labels_of_the_site(
        self, campaign: Campaign
    ) -> None:
        asked = campaign.report(resamples=50).judge(JUDGE).alt_test(0.3)
        there = campaign.report(resamples=50, epsilon=0.3).judge(JUDGE).alt_test()
        assert (asked.epsilon, asked.json["annotators"]) == (0.3, there.json["annotators"])

    def test_an_option_that_names_nothing_is_refused_in_words(self, campaign: Campaign) -> None:
        with pytest.raises(SiteError, match=r"judge: .*nobody") as refused:
            campaign.report(judge=["nobody"])
        assert refused.value.status == 400

    def test_a_report_is_frozen_as_it_was_read(self, campaign: Campaign, tmp_path: Path) -> None:
        report = campaign.report(epsilon=0.15, resamples=40, judge=[JUDGE])
        snapshot = campaign.freeze(report)
        path = snapshot.save(tmp_path / "frozen.json")
        assert hashlib.sha256(path.read_bytes()).hexdigest() == snapshot.sha256
        frozen = json.loads(path.read_bytes())
        for name in ("choices", "resamples", "seed", "inputs", "variables"):
            assert frozen[name] == report.json[name]
        assert campaign.freeze(report).key == snapshot.key

    def test_a_report_of_other_labels_is_not_frozen(self, campaign: Campaign) -> None:
        report = campaign.report(resamples=30)
        report.json["inputs"] = {**report.json["inputs"], "sha256": "0" * 64}
        with pytest.raises(SiteError, match="labels have changed") as refused:
            campaign.freeze(report)
        assert refused.value.status == 409

    def test_exports_are_saved_whole(self, campaign: Campaign, tmp_path: Path) -> None:
        lines = campaign.export("labels", tmp_path / "labels.jsonl").read_text("utf-8")
        assert len(lines.splitlines()) == len(campaign.labels("arrow"))
        archive = zipfile.ZipFile(campaign.export("dataset", tmp_path / "dataset.zip"))
        assert {"README.md", "manifest.json", "data/labels.parquet"} <= set(archive.namelist())
        with pytest.raises(SiteError):
            campaign.export("labels", tmp_path / "labels.docx")
        assert {each.name for each in tmp_path.iterdir()} == {"labels.jsonl", "dataset.zip"}


def _token(client: Client) -> str:
    return client.transport._secret.header().removeprefix("Bearer ")
