"""Pages and API of reports while their jobs wait, run, fail and end."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import caches
from django.db.models.functions import Now
from django.test import Client
from pytest_django.fixtures import Settings

from annotation.models import Campaign, Membership, User
from datasets.models import Job
from datasets.work import queue, requests, results
from datasets.work.execution import carry_out
from tests import queue_cast
from tests.analysis.test_report_page import logged_in, more_labels
from tests.api.cast import script_of
from tests.queue_cast import reload_job, run_due_jobs

SITE = "http://testserver"
HTMX = {"HX-Request": "true", "HX-Target": "report"}
OF_BADGE = {"HX-Request": "true", "HX-Target": "check"}


@pytest.fixture(autouse=True)
def _queue(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    queue_cast.set_up(settings, tmp_path / "data", monkeypatch)


@pytest.mark.django_db
class TestPages:
    @pytest.fixture
    def rita(self, labelled: Campaign) -> Client:
        return logged_in("researcher")

    def text(self, client: Client, address: str, status: int = 200, **more: Any) -> str:
        answer = client.get(address, **more)
        assert answer.status_code == status
        return " ".join(answer.content.decode().split())

    def polled(self, text: str) -> str:
        found = re.search(r'id="job"[^>]*hx-get="([^"]+)"', text)
        assert found, text
        return found[1].replace("&amp;", "&")

    def test_the_page_waits_for_the_first_report_and_then_shows_it(
        self, rita: Client, labelled: Campaign
    ) -> None:
        address = f"/campaigns/{labelled.pk}/results/"
        shown = self.text(rita, address)
        assert "Results: waiting, next in the queue." in shown
        assert "reload the page" in shown
        assert "Kappa" not in shown
        poll = self.polled(shown)
        assert rita.get(poll, headers=HTMX).status_code == 204
        run_due_jobs()
        part = self.text(rita, poll, headers=HTMX)
        assert part.startswith('<div id="report">')
        assert "model-x" in part
        assert "up to date" in part
        assert 'id="job"' not in part
        assert "model-x" in self.text(rita, address), "without scripts a reload shows it"
        assert Job.objects.count() == 1

    def test_a_report_is_read_as_it_grows_and_its_check_follows(
        self, rita: Client, labelled: Campaign, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        address = f"/campaigns/{labelled.pk}/results/"
        api = script_of(User.objects.create(username="root", role="admin"))
        waiting = self.text(rita, address)
        assert "These numbers" not in waiting, "there are none"
        poll = self.polled(waiting)
        caches["reports"].clear()
        pages: list[str] = []
        reports: list[dict[str, Any]] = []
        publish = queue.publish

        def publish_and_look(job: Job, result: Any) -> bool:
            done = publish(job, result)
            pages.append(self.text(rita, poll, headers=HTMX))
            reports.append(results.value(reload_job(job))["report"])
            return done

        monkeypatch.setattr(queue, "publish", publish_and_look)
        monkeypatch.setattr(requests, "WAIT_SECONDS", 0)
        checks: list[Any] = []

        def check(*_: object) -> dict[str, Any]:
            """Look at the site as if other libraries took long, and have them find the same."""
            badge = rita.get(self.badge(pages[-1]), headers=OF_BADGE)
            file = rita.get(f"/campaigns/{labelled.pk}/report.json").json()
            own = api.get(f"/api/v1/campaigns/{labelled.pk}/report/").json()
            tile = self.text(rita, f"/campaigns/{labelled.pk}/", headers=HTMX)
            checks.extend([badge.status_code, file["check"]["state"], own["check"]["state"], tile])
            return {"state": "equal", "line": "Computed again.", "figures": 7, "differs": []}

        monkeypatch.setattr("tandem.sections.build.run_crosscheck", check)
        run_due_jobs()
        growing, whole = pages
        assert "model-x" in growing
        assert "the same numbers by strata follow here." in growing
        assert "Save snapshot" not in growing
        assert "up to date" not in growing
        assert "being checked" in whole
        assert "Save snapshot" in whole
        assert 'id="job"' not in whole
        assert checks[:3] == [204, "checking", "checking"]
        assert "Newer figures are being computed" in checks[3], "the checks of labels"
        assert "equal" in self.text(rita, self.badge(whole), headers=OF_BADGE)
        final = rita.get(f"/campaigns/{labelled.pk}/report.json").json()
        assert final["check"]["state"] == "equal"
        assert reports[1] == {**final, "check": reports[1]["check"]}
        for name in ("verdict", "warnings", "raters"):
            assert reports[0][name] == final[name], "no number that was shown changes"
        for score, of in reports[0]["scores"].items():
            assert of == {**final["scores"][score], "components": None}

    def test_the_first_page_follows_a_report_that_began_after_its_own(
        self, rita: Client, labelled: Campaign, tmp_path: Path
    ) -> None:
        address = f"/campaigns/{labelled.pk}/"
        self.text(rita, f"{address}results/")
        run_due_jobs()
        old = Job.objects.get(kind="report")
        more_labels(labelled, tmp_path)
        self.text(logged_in("admin"), f"{address}results/")
        new = Job.objects.get(kind="report", state="waiting")
        shown = self.text(rita, f"{address}?report={old.key}", headers=HTMX)
        assert f"report={new.key}" in shown
        assert "Newer figures are being computed" in shown

    def badge(self, text: str) -> str:
        found = re.search(r'id="check"[^>]*hx-get="([^"]+)"', text)
        assert found, text
        return found[1].replace("&amp;", "&")

    @pytest.mark.first_case
    @pytest.mark.parametrize("place", ["", "results/", "judges/", "exports/labels/csv/"])
    def test_a_reader_of_a_failed_report_can_start_it_again(
        self, rita: Client, labelled: Campaign, place: str
    ) -> None:
        address = f"/campaigns/{labelled.pk}/{place}"
        headers = HTMX if place in ("", "judges/") else {}
        rita.get(address, headers=headers)
        Job.objects.update(state="failed", error="no memory was left", ended_at=Now())
        other = logged_in("admin")
        shown = " ".join(other.get(address, headers=headers).content.decode().split())
        assert "o memory was left" in shown
        order = re.search(r'action="(/jobs/\w+/order/)"', shown)
        assert order, shown
        answer = other.post(order[1], {"order": "again", "next": address})
        assert answer.headers["Location"] == address
        assert Job.objects.filter(state="waiting", askers__user__role="admin").count() == 1

    def test_a_reader_who_may_still_label_is_warned_of_the_mark_of_exposure(
        self, rita: Client, labelled: Campaign
    ) -> None:
        address = f"/campaigns/{labelled.pk}/results/"
        admin = logged_in("admin")
        for client in (rita, admin):
            client.get(address)
            run_due_jobs()
        assert "is marked as exposed" in self.text(rita, address)
        assert "is marked as exposed" not in self.text(admin, address)

    @pytest.mark.first_case
    @pytest.mark.parametrize("of", ["report", "measures"])
    def test_a_running_job_shows_its_progress(
        self, rita: Client, labelled: Campaign, of: str
    ) -> None:
        self.text(rita, f"/campaigns/{labelled.pk}/{of}.json?resamples=20", 202)
        caches["reports"].clear()
        progress: list[tuple[int, int]] = []
        job = queue.take(heavy=True)
        assert job is not None
        carry_out(job, lambda done, total: progress.append((done, total)), strict=True)
        assert progress[0][0] == 0
        assert progress == sorted(progress)
        (total,) = {total for _, total in progress}
        assert progress[-1][0] >= total - 1 > 3

    def test_the_last_report_is_shown_with_its_age_while_a_new_one_is_computed(
        self, rita: Client, labelled: Campaign, tmp_path: Path
    ) -> None:
        address = f"/campaigns/{labelled.pk}/results/"
        self.text(rita, address)
        run_due_jobs()
        more_labels(labelled, tmp_path)
        shown = self.text(rita, address)
        assert "These numbers are from" in shown
        assert "0 minutes ago" in shown
        assert "New ones replace them here" in shown
        assert "model-x" in shown
        assert "Save snapshot" not in shown
        assert ">eve<" not in shown.partition("job-before")[2]
        poll = self.polled(shown)
        run_due_jobs()
        assert ">eve<" in self.text(rita, poll, headers=HTMX)
        assert "These numbers are from" not in self.text(rita, address)

    def test_a_cancelled_report_can_be_started_again(
        self, rita: Client, labelled: Campaign
    ) -> None:
        address = f"/campaigns/{labelled.pk}/results/"
        self.text(rita, address)
        job = Job.objects.get()
        order = f"/jobs/{job.key}/order/"
        rita.post(order, {"order": "cancel", "next": address})
        shown = self.text(rita, address)
        assert "Results: cancelled." in shown
        assert run_due_jobs() == 0
        answer = rita.post(order, {"order": "again", "next": address})
        assert answer["Location"] == address
        assert "waiting" in self.text(rita, address)
        assert run_due_jobs() == 1

    def test_a_file_is_awaited_on_a_page_that_links_to_it(
        self, rita: Client, labelled: Campaign
    ) -> None:
        address = f"/campaigns/{labelled.pk}/report.json?epsilon=0.1"
        answer = rita.get(address)
        assert (answer.status_code, answer["Retry-After"]) == (202, "2")
        poll = self.polled(answer.content.decode())
        run_due_jobs()
        ready = self.text(rita, poll, headers=HTMX)
        found = re.search(r'href="([^"]+)" data-open', ready)
        assert found
        file = rita.get(found[1].replace("&amp;", "&"))
        assert json.loads(file.content)["choices"]["epsilon"] == 0.1

    def test_a_script_with_a_session_receives_the_job(
        self, rita: Client, labelled: Campaign
    ) -> None:
        address = f"/campaigns/{labelled.pk}/report.json"
        answer = rita.get(address, headers={"Accept": "application/json"})
        assert answer.status_code == 202
        assert answer.json()["state"] == "waiting"
        run_due_jobs()
        assert rita.get(answer.json()["result"]).status_code == 200

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("what", "jobs"),
        [
            ("results/?measures=own", 2),
            ("judges/bench/", 1),
            ("measures.zip", 1),
            ("exports/labels/csv/", 1),
            ("disagreements.csv", 1),
            ("draws.csv", 1),
            ("audit.jsonl", 1),
        ],
    )
    def test_the_web_server_computes_no_report_itself(
        self, rita: Client, labelled: Campaign, what: str, jobs: int
    ) -> None:
        address = f"/campaigns/{labelled.pk}/{what}"
        answer = rita.get(address)
        assert "waiting, next in the queue" in answer.content.decode()
        assert run_due_jobs() == jobs
        again = rita.get(address)
        assert again.status_code == 200
        assert "waiting" not in again.getvalue().decode("utf-8", "replace")

    def test_a_snapshot_is_stored_by_a_job(self, rita: Client, labelled: Campaign) -> None:
        few = "?resamples=20"
        address = f"/campaigns/{labelled.pk}/results/{few}"
        self.text(rita, address)
        run_due_jobs()
        found = re.search(r'name="inputs" value="([0-9a-f]+)"', self.text(rita, address))
        assert found
        order = f"/campaigns/{labelled.pk}/report/freeze/{few}"
        assert rita.get(order)["Location"] == address, "nothing is to be stored yet"
        answer = rita.post(order, {"inputs": found[1]})
        waits = rita.get(answer["Location"])
        assert waits.status_code == 202
        assert rita.get(order).status_code == 202, "without the job in its address, too"
        poll = self.polled(waits.content.decode())
        run_due_jobs()
        ready = re.search(r'href="([^"]+)" data-open', self.text(rita, poll, headers=HTMX))
        assert ready
        stored = rita.get(ready[1].replace("&amp;", "&"))
        assert re.fullmatch(r"/reports/[0-9a-f]{16}/", stored["Location"])
        event = self.text(rita, stored["Location"])
        assert "researcher" in event

    def test_a_reader_who_lost_access_gets_neither_result_nor_status(
        self, rita: Client, labelled: Campaign
    ) -> None:
        address = f"/campaigns/{labelled.pk}/results/"
        self.text(rita, address)
        run_due_jobs()
        job = Job.objects.get()
        user = User.objects.get(username="researcher")
        Membership.objects.create(campaign=labelled, user=user, role="annotator")
        asked = (address, f"{address}?job={job.key}", f"/jobs/{job.key}/live/?next={address}")
        assert {rita.get(each).status_code for each in asked} == {404}
        assert (
            "Results" not in self.text(rita, "/jobs/").partition("<main")[2].partition("<table")[2]
        )
        assert rita.post(f"/jobs/{job.key}/order/", {"order": "again"}).status_code == 404

    def test_a_job_does_not_give_the_result_of_another_request(
        self, rita: Client, labelled: Campaign
    ) -> None:
        self.text(rita, f"/campaigns/{labelled.pk}/results/?epsilon=0.1")
        run_due_jobs()
        job = Job.objects.get()
        shown = self.text(rita, f"/campaigns/{labelled.pk}/results/?job={job.key}")
        assert "waiting" in shown
        assert "model-x" not in shown.partition("job-before")[2]

    def test_a_users_own_jobs_are_listed(self, rita: Client, labelled: Campaign) -> None:
        self.text(rita, f"/campaigns/{labelled.pk}/results/")
        self.text(rita, f"/campaigns/{labelled.pk}/report.json?resamples=20", 202)
        self.text(rita, f"/campaigns/{labelled.pk}/exports/labels/csv/", 202)
        shown = self.text(rita, "/jobs/")
        assert "Waiting, number 2" in shown
        assert "number 3" not in shown, "an export waits for no report"
        run_due_jobs()
        assert self.text(rita, "/jobs/").count("Ready") == 3
        assert "Nothing yet" in self.text(logged_in("admin"), "/jobs/")

    def test_without_a_worker_the_page_says_how_to_start_one(
        self, rita: Client, labelled: Campaign, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        address = f"/campaigns/{labelled.pk}/results/"
        self.text(rita, address)
        Job.objects.update(created_at="2020-01-01T00:00:00Z")
        shown = self.text(rita, address)
        assert "No worker has started on it" in shown
        assert "tandem work" in shown
        started: list[bool] = []
        monkeypatch.setattr("datasets.work.wake.start_here", lambda: started.append(True))
        rita.post(f"/jobs/{Job.objects.get().key}/order/", {"order": "start", "next": address})
        assert started == [True]


@pytest.mark.django_db
class TestAPI:
    @pytest.fixture(autouse=True)
    def _impatient(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(requests, "WAIT_SECONDS", 0)

    def test_a_report_that_takes_long_is_answered_by_its_job(self, labelled: Campaign) -> None:
        root = script_of(User.objects.create(username="root", role="admin"))
        address = f"/api/v1/campaigns/{labelled.pk}/report/?epsilon=0.1"
        first = root.get(address)
        assert first.status_code == 202
        assert first["Location"] == first.json()["address"]
        job = first["Location"].removeprefix(SITE)
        assert (first.json()["state"], first.json()["position"]) == ("waiting", 1)
        assert root.get(address).json()["key"] == first.json()["key"], "asked again, it is the same"
        assert root.get(job).json()["result"] is None
        run_due_jobs()
        done = root.get(job).json()
        assert done["state"] == "done"
        report = root.get(done["result"].removeprefix(SITE))
        assert report.status_code == 200
        assert report.json()["choices"]["epsilon"] == 0.1
        assert root.get(address).json() == report.json()

    @pytest.mark.first_case
    @pytest.mark.parametrize("what", ["labels/?format=jsonl", "exports/labels/csv/", "measures/"])
    def test_exports_and_measures_that_take_long_are_answered_by_their_jobs(
        self, labelled: Campaign, what: str
    ) -> None:
        root = script_of(User.objects.create(username="root", role="admin"))
        first = root.get(f"/api/v1/campaigns/{labelled.pk}/{what}")
        assert first.status_code == 202
        run_due_jobs()
        job = first["Location"].removeprefix(SITE)
        result = root.get(root.get(job).json()["result"].removeprefix(SITE))
        assert result.status_code == 200
        assert result.getvalue()

    def test_a_cancelled_job_ends_and_a_new_request_is_a_new_job(self, labelled: Campaign) -> None:
        root = script_of(User.objects.create(username="root", role="admin"))
        address = f"/api/v1/campaigns/{labelled.pk}/report/"
        first = root.get(address)
        cancelled = root.post(f"{first['Location'].removeprefix(SITE)}cancel/", {})
        assert cancelled.json()["state"] == "cancelled"
        assert root.get(address).json()["key"] != first.json()["key"]

    def test_a_failed_job_gives_its_reason(
        self, labelled: Campaign, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        root = script_of(User.objects.create(username="root", role="admin"))
        address = f"/api/v1/campaigns/{labelled.pk}/report/"
        first = root.get(address)
        Job.objects.update(state="failed", error="it needs more memory")
        answer = root.get(f"{address}?job={first.json()['key']}")
        assert answer.status_code == 422
        assert answer.json()["error"] == "it needs more memory"

    def test_jobs_of_other_users_are_not_found(self, labelled: Campaign) -> None:
        root = script_of(User.objects.create(username="root", role="admin"))
        rita = script_of(User.objects.create(username="rita", role="researcher"))
        first = root.get(f"/api/v1/campaigns/{labelled.pk}/report/")
        job = first["Location"].removeprefix(SITE)
        assert rita.get(job).status_code == 404
        assert rita.post(f"{job}cancel/", {}).status_code == 404
        assert rita.get("/api/v1/jobs/").json()["count"] == 0
