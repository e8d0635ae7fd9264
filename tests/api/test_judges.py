"""Judges and their runs through the API: what the pages can do, under the same rules."""

from __future__ import annotations

from typing import Any

import pytest

from annotation.models import Label, User, rater_of
from audit.models import Event
from datasets.models import Job, Team
from datasets.work import queue
from datasets.work.execution import carry_out
from judging import library
from judging.backends.base import Request
from judging.backends.scripted import Scripted
from judging.models import Judge, JudgeCall, JudgeRun, Lane
from judging.prompts.template import sha256_of
from judging.runs import lifecycle
from judging.trials import one_item
from tests.api.cast import Script, assert_error, body, place, script_of
from tests.judging.cast import judge, run_scripted, yes
from tests.judging.judge_file.test_document import GRADED
from tests.page_cast import Study
from tests.team_cast import give_away

pytestmark = pytest.mark.django_db
MODEL: dict[str, Any] = {"name": "m", "backend": "openai", "model": "small"}


@pytest.fixture
def rita(study: Study) -> Script:
    return script_of(study.rita)


@pytest.fixture
def rung(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    heard: list[int] = []
    monkeypatch.setattr("judging.tasks.ring", heard.append)
    return heard


def started(script: Script, study: Study, of: Judge, **more: Any) -> Any:
    return script.post("runs/", {"judge": of.pk, "campaign": study.campaign.pk, **more})


def half(request: Request) -> str:
    return "no JSON at all" if "Report 1." in request.facts.texts[0] else yes(request)


def done(study: Study, of: Judge, script: Any = yes) -> JudgeRun:
    return run_scripted(study.campaign, of, script)[0]


class TestDefining:
    def test_a_judge_is_created_and_read_back(self, rita: Script) -> None:
        sent = {**MODEL, "params": {"temperature": "0.5"}, "granularity": "unit"}
        made = rita.post("judges/", sent)
        assert made.status_code == 201
        read = rita.get(f"judges/{made.json()['id']}/").json()
        assert read == made.json()
        assert (read["params"], read["granularity"]) == ({"temperature": 0.5}, "unit")
        assert read["api_key_env"] == "OPENAI_API_KEY"
        assert rita.get("judges/?name=m").json()["count"] == 1
        assert rita.get("judges/?backend=lexical").json()["count"] == 0

    def test_request_parameters_can_be_nested_json(self, rita: Script) -> None:
        params = {"omit": ["seed"], "extra_body": {"top_k": 20}, "temperature": 0.5}
        made = rita.post("judges/", {**MODEL, "params": params})
        assert made.status_code == 201
        assert made.json()["params"] == params

    def test_headers_of_a_known_server_may_be_named_and_no_others(self, rita: Script) -> None:
        url, headers = "https://gateway.example/v1", {"api-key": "TANDEM_KEY_GATEWAY"}
        judge("known", "openai", model="m", base_url=url, params={"headers": headers})
        sent = {"backend": "openai", "model": "m", "base_url": url, "granularity": "item"}
        made = rita.post("judges/", {**sent, "name": "ours", "params": {"headers": headers}})
        assert made.status_code == 201
        assert (made.json()["params"], made.json()["api_key_env"]) == ({"headers": headers}, "")
        other = {"headers": {"api-key": "DATABASE_URL"}}
        refused = rita.post("judges/", {**sent, "name": "theirs", "params": other})
        assert refused.status_code == 422
        assert "params.headers" in refused.content.decode()

    def test_a_judge_file_is_stored_and_returned(self, rita: Script) -> None:
        created = rita.post("judges/", {**MODEL, "file": GRADED}).json()
        assert created == rita.get(f"judges/{created['id']}/").json()
        assert (created["file"], created["file_sha256"]) == (GRADED, sha256_of(GRADED))
        assert (created["isolate"], created["granularity"], created["prompt"]) == (
            "unit",
            "unit",
            "",
        )
        (row,) = rita.get("judges/").json()["results"]
        assert row["file_sha256"] == created["file_sha256"]
        assert "file" not in row
        event = Event.objects.get(event="judge.made")
        assert event.facts == {"backend": "openai", "file": created["file_sha256"][:16]}

    def test_a_judge_without_a_file_may_choose_its_isolation(self, rita: Script) -> None:
        created = rita.post("judges/", {**MODEL, "params": {"isolate": "response"}}).json()
        assert (created["isolate"], created["file_sha256"]) == ("response", "")

    @pytest.mark.parametrize(
        ("sent", "field", "words"),
        [
            (
                {"file": GRADED.replace("title =", "titel =")},
                "file",
                "Line 2: 'titel' is not a key",
            ),
            ({"file": GRADED, "prompt": "…"}, "prompt", "does not go with a judge file"),
            ({"file": GRADED, "backend": "lexical"}, "file", "is not used by word overlap"),
            ({"file": GRADED, "params": {"isolate": "item"}}, "params.isolate", "sets this itself"),
        ],
    )
    def test_an_invalid_file_is_refused_with_its_line(
        self, rita: Script, sent: dict[str, Any], field: str, words: str
    ) -> None:
        (wrong,) = assert_error(rita.post("judges/", {**MODEL, **sent}), 422)
        assert wrong["field"] == field
        assert words in wrong["wrong"]
        assert not Judge.objects.exists()

    def test_files_of_the_library_are_listed_and_can_define_judges(self, rita: Script) -> None:
        rows = rita.get("judges/library/").json()["results"]
        assert {row["name"] for row in rows} == set(library.names())
        for row in rows:
            whole = rita.get(f"judges/library/{row['name']}/").json()
            text = whole.pop("text")
            assert (whole, row["sha256"]) == (row, sha256_of(text))
        assert_error(rita.get("judges/library/nothing/"), 404)
        made = rita.post("judges/", {**MODEL, "file": text})
        assert made.json()["file_sha256"] == rows[-1]["sha256"]

    def test_an_anthropic_judge_has_the_providers_server_and_key(self, rita: Script) -> None:
        created = rita.post("judges/", {**MODEL, "backend": "anthropic"}).json()
        assert created["api_key_env"] == "ANTHROPIC_API_KEY"
        (wrong,) = assert_error(
            rita.post(
                "judges/",
                {**MODEL, "name": "n", "backend": "anthropic", "params": {"logprobs": "5"}},
            ),
            422,
        )
        assert "no log probabilities" in wrong["wrong"]

    def test_the_same_key_creates_one_judge_and_a_taken_name_is_refused(self, rita: Script) -> None:
        for _ in range(2):
            assert rita.post("judges/", MODEL, Idempotency_Key="j").status_code == 201
        (wrong,) = assert_error(rita.post("judges/", MODEL), 422)
        assert wrong["field"] == "name"
        assert Judge.objects.count() == 1

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("sent", "field"),
        [
            ({"base_url": "http://127.0.0.1:8000/v1"}, "base_url"),
            ({"base_url": "file:///etc/passwd"}, "base_url"),
            ({"base_url": "https://host.example/v1", "api_key_env": "SECRET_KEY"}, "api_key_env"),
            ({"params": {"temperature": "9"}}, "params.temperature"),
            ({"params": {"guarded": "0"}}, "guarded"),
            ({"params": {"extra_body": {"stream": True}}}, "params.extra_body"),
            ({"prompt": "nothing to fill in"}, "prompt"),
            ({"model": ""}, "model"),
        ],
    )
    def test_an_invalid_setting_is_refused_with_its_field(
        self, rita: Script, sent: dict[str, Any], field: str
    ) -> None:
        answer = rita.post("judges/", {**MODEL, **sent})
        found = assert_error(answer, 400 if field == "model" else 422)
        assert field in {each["field"] for each in found}
        assert not Judge.objects.exists()

    def test_the_sites_api_keys_are_never_shown(
        self, rita: Script, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", "canary-of-the-key")
        made = rita.post("judges/", MODEL)
        assert "canary" not in made.content.decode()
        assert "canary" not in rita.get("judges/").content.decode()


class TestTrying:
    def test_a_try_returns_everything_and_stores_nothing(self, rita: Script, study: Study) -> None:
        key = study.campaign.items.get(position=1).key
        sent = {"campaign": study.campaign.pk, "item": key}
        tried = rita.post(f"judges/{judge().pk}/try/", sent)
        assert tried.status_code == 200
        found = tried.json()
        assert found["item"] == key
        assert len(found["labels"]) == found["asked"] == 3
        assert found["state"] == "answered"
        assert found["messages"]
        assert not JudgeCall.objects.exists()
        assert not Label.objects.exists()

    def test_a_definition_can_be_tried_without_being_stored(
        self, rita: Script, study: Study, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        file = library.text_of("report-coverage")
        asked: list[Request] = []

        def rated(request: Request) -> str:
            asked.append(request)
            return "no rating"

        monkeypatch.setattr(one_item, "build_backend", lambda judge: Scripted(rated))
        draft = {name: value for name, value in MODEL.items() if name != "name"}
        sent = {**draft, "file": file, "campaign": study.campaign.pk}
        found = rita.post("judges/try/", sent).json()
        assert [each.content for each in asked[0].messages] == [
            each["content"] for each in found["messages"]
        ]
        assert (found["state"], found["labels"]) == ("unreadable", [])
        assert not Judge.objects.exists()
        assert not JudgeCall.objects.exists()

    def test_only_the_account_that_asked_can_fetch_a_slow_answer_from_its_job(
        self, rita: Script, study: Study, settings: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        settings.JOBS_EAGER = False
        monkeypatch.setattr("datasets.work.wake.wake", lambda *given: None)
        monkeypatch.setattr("datasets.work.requests.WAIT_SECONDS", 0)
        pending = rita.post(f"judges/{judge().pk}/try/", {"campaign": study.campaign.pk})
        assert (pending.status_code, pending.json()["state"]) == (202, "waiting")
        carry_out(queue.lease_now(Job.objects.get()), lambda done, total: None, strict=True)
        path = f"judges/try/?job={pending.json()['key']}"
        assert rita.get(path).json()["state"] == "answered"
        other = script_of(User.objects.create(username="root2", role="admin"))
        assert_error(other.get(path), 404)

    def test_a_definition_that_cannot_work_sends_no_request(
        self, rita: Script, study: Study
    ) -> None:
        sent = {"backend": "openai", "model": "m", "campaign": study.campaign.pk}
        other = {**sent, "file": library.text_of("graded-relevance")}
        answer = rita.post("judges/try/", other)
        assert_error(answer, 422)
        assert "is from a file about grounding-relevance" in answer.json()["error"]
        for wrong, field in (
            ({"params": {"temperature": "9"}}, "params.temperature"),
            ({"base_url": "http://127.0.0.1:8000/v1"}, "base_url"),
            ({"file": "["}, "file"),
        ):
            (wrong_field,) = assert_error(rita.post("judges/try/", {**sent, **wrong}), 422)
            assert wrong_field["field"] == field

    def test_trying_is_refused_to_an_account_with_an_open_item(
        self, rita: Script, study: Study
    ) -> None:
        study.assignment(study.rita)
        path = f"judges/{judge().pk}/try/"
        assert_error(rita.post(path, {"campaign": study.campaign.pk}), 403)
        draft = {"backend": "lexical", "campaign": study.campaign.pk}
        assert_error(rita.post("judges/try/", draft), 403)

    def test_tries_are_limited_per_minute(
        self, rita: Script, study: Study, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("judging.trials.one_item_jobs.TRIES", 1)
        path = f"judges/{judge().pk}/try/"
        sent = {"campaign": study.campaign.pk}
        assert rita.post(path, sent).status_code == 200
        refused = rita.post(path, sent)
        assert_error(refused, 429)
        assert int(refused["Retry-After"]) > 0

    def test_an_unknown_item_is_refused_and_named(self, rita: Script, study: Study) -> None:
        sent = {"campaign": study.campaign.pk, "item": "nothing"}
        (wrong,) = assert_error(rita.post(f"judges/{judge().pk}/try/", sent), 422)
        assert wrong["field"] == "item"


class TestRuns:
    def test_an_estimate_says_what_will_be_asked(self, rita: Script, study: Study) -> None:
        path = f"judges/{judge().pk}/estimate/"
        estimate = rita.get(f"{path}?campaign={study.campaign.pk}&limit=1").json()
        assert (estimate["rows"], estimate["missing"], estimate["calls"]) == (2, 2, 1)
        assert estimate["sentence"]
        assert not JudgeRun.objects.exists()

    def test_a_run_may_go_on_without_an_early_end(
        self, rita: Script, study: Study, rung: list[int]
    ) -> None:
        made = started(rita, study, judge(), go_on=True).json()
        assert (made["go_on"], JudgeRun.objects.get(pk=made["id"]).go_on) == (True, True)
        assert started(rita, study, judge("other"), go_on="perhaps").status_code == 400

    def test_a_run_is_queued_and_a_worker_is_woken(
        self, rita: Script, study: Study, rung: list[int], django_capture_on_commit_callbacks: Any
    ) -> None:
        with django_capture_on_commit_callbacks(execute=True):
            made = started(rita, study, judge(), limit=1, most_cost="0.5")
        assert made.status_code == 201
        assert rung == [made.json()["id"]]
        run = rita.get(f"runs/{rung[0]}/").json()
        assert (run["state"], run["limit"], run["most_cost"]) == ("queued", 1, "0.500000")
        assert run["progress"]["open"] == 2

    def test_a_queued_run_says_how_many_of_its_items_are_planned(
        self, rita: Script, study: Study, rung: list[int], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(lifecycle, "FIRST_ASSIGNMENTS", 1)
        of = judge()
        pk, items = started(rita, study, of).json()["id"], study.campaign.items.count()
        assert items > 1
        progress = rita.get(f"runs/{pk}/").json()["progress"]
        assert progress["planning"] == {"done": 1, "items": items}
        lifecycle.plan(study.campaign, of)
        assert rita.get(f"runs/{pk}/").json()["progress"]["planning"] is None

    def test_starting_a_run_twice_returns_the_one_that_is_running(
        self, rita: Script, study: Study, rung: list[int]
    ) -> None:
        of = judge()
        first = started(rita, study, of)
        assert lifecycle.lease_run(JudgeRun.objects.get())
        second = started(rita, study, of)
        assert (first.status_code, second.status_code) == (201, 200)
        assert first.json()["id"] == second.json()["id"]

    def test_a_run_with_nothing_left_to_judge_is_refused(self, rita: Script, study: Study) -> None:
        of = judge()
        done(study, of)
        assert_error(started(rita, study, of), 409)

    def test_a_run_takes_orders_until_it_has_ended(
        self, rita: Script, study: Study, rung: list[int]
    ) -> None:
        pk = started(rita, study, judge()).json()["id"]
        order = f"runs/{pk}/order/"
        run = rita.post(order, {"order": "concurrency", "concurrency": 3}).json()
        assert run["concurrency"] == 3
        run = rita.post(order, {"order": "workers", "workers": 2}).json()
        assert run["workers"] == 2
        for name in ("concurrency", "workers"):
            (wrong,) = assert_error(rita.post(order, {"order": name}), 422)
            assert wrong["field"] == name
        assert rita.post(order, {"order": "stop"}).json()["state"] == "interrupted"
        assert_error(rita.post(order, {"order": "stop"}), 409)
        assert_error(rita.post(order, {"order": "resume"}), 409)
        assert_error(rita.post(order, {"order": "halt"}), 400)

    def test_a_paused_server_can_be_resumed(
        self, rita: Script, study: Study, rung: list[int]
    ) -> None:
        of = judge("n", "openai", model="m", base_url="https://host.example/v1", api_key_env="")
        pk = started(rita, study, of).json()["id"]
        Lane.objects.update(paused="the key is refused")
        assert rita.get(f"runs/{pk}/").json()["progress"]["word"] == "Paused"
        assert rita.post(f"runs/{pk}/order/", {"order": "resume"}).status_code == 200
        assert Lane.objects.get().paused == ""

    def test_lists_take_only_the_documented_filters(
        self, rita: Script, study: Study, rung: list[int]
    ) -> None:
        of = judge()
        started(rita, study, of)
        for query, count in (
            (f"campaign={study.campaign.pk}", 1), (f"judge={of.pk + 1}", 0), ("state=done", 0),
        ):  # fmt: skip
            assert rita.get(f"runs/?{query}").json()["count"] == count
        for query in ("judge__rater__name=x", "lease=1", "state=lost", "page_size=201"):
            assert_error(rita.get(f"runs/?{query}"), 400)


class TestTrials:
    def started(self, script: Script, study: Study, of: Judge, **more: Any) -> Any:
        sent = {"campaign": study.campaign.pk, "items": 1, **more}
        return script.post(f"judges/{of.pk}/trials/", sent)

    def test_each_requested_trial_gets_a_run_and_is_listed(
        self, rita: Script, study: Study, rung: list[int]
    ) -> None:
        of = judge()
        done(study, of)
        made = self.started(rita, study, of, kinds=["again", "empty"])
        assert made.status_code == 201
        rows = made.json()["results"]
        assert [(row["kind"], row["state"]) for row in rows] == [
            ("again", "queued"), ("empty", "queued"),
        ]  # fmt: skip
        assert all(row["progress"]["open"] == 1 for row in rows)
        runs = {run["id"] for run in rita.get("runs/?state=queued").json()["results"]}
        assert {row["run"] for row in rows} == runs
        assert (
            rita.get(f"judges/{of.pk}/trials/?campaign={study.campaign.pk}").json() == made.json()
        )

    def test_an_estimate_has_the_calls_of_each_trial_or_why_it_is_impossible(
        self, rita: Script, study: Study
    ) -> None:
        of = judge()
        done(study, of)
        estimate = rita.get(f"judges/{of.pk}/trials/estimate/?campaign={study.campaign.pk}&items=1")
        found = {row["kind"]: row for row in estimate.json()["results"]}
        assert (found["again"]["calls"], found["again"]["impossible"]) == (1, "")
        assert (found["swapped"]["calls"], found["swapped"]["impossible"]) == (
            0, "report-coverage has no pairs",
        )  # fmt: skip
        assert not Judge.objects.filter(base=of).exists()

    def test_a_slow_plan_is_a_job_that_leads_to_the_list(
        self, rita: Script, study: Study, rung: list[int], settings: Any,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:  # fmt: skip
        settings.JOBS_EAGER = False
        monkeypatch.setattr("datasets.work.wake.wake", lambda *given: None)
        monkeypatch.setattr("datasets.work.requests.WAIT_SECONDS", 0)
        of = judge()
        done(study, of)
        pending = self.started(rita, study, of, kinds=["again"])
        assert (pending.status_code, pending.json()["state"]) == (202, "waiting")
        assert not Judge.objects.filter(base=of).exists()
        carry_out(queue.lease_now(Job.objects.get()), lambda done, total: None, strict=True)
        job = rita.get(f"jobs/{pending.json()['key']}/").json()
        path = job["result"].partition("/api/v1/")[2]
        assert [row["kind"] for row in rita.get(path).json()["results"]] == ["again"]
        other = script_of(User.objects.create(username="root2", role="admin"))
        assert_error(other.get(path), 404)

    def test_an_impossible_trial_is_refused_and_nothing_is_stored(
        self, rita: Script, study: Study
    ) -> None:
        of = judge()
        answer = self.started(rita, study, of, kinds=["again"])
        assert_error(answer, 422)
        assert "has answered nothing" in answer.json()["error"]
        done(study, of)
        assert "has no pairs" in self.started(rita, study, of, kinds=["swapped"]).json()["error"]
        (wrong,) = assert_error(self.started(rita, study, of, kinds=[]), 422)
        assert wrong["field"] == "kinds"
        assert not Judge.objects.filter(base=of).exists()

    def test_trials_need_the_right_to_manage_campaign_and_judge(
        self, rita: Script, study: Study
    ) -> None:
        of = judge()
        done(study, of)
        Judge.objects.filter(pk=of.pk).update(team=Team.objects.create(name="others"))
        assert_error(self.started(rita, study, of, kinds=["again"]), 403)
        assert not Judge.objects.filter(base=of).exists()


class TestCalls:
    @pytest.fixture
    def run(self, study: Study) -> JudgeRun:
        return done(study, judge(), half)

    def test_calls_are_listed_and_can_be_read_verbatim(self, rita: Script, run: JudgeRun) -> None:
        listed = rita.get(f"runs/{run.pk}/calls/").json()["results"]
        assert [each["state"] for each in listed] == ["answered"] * 2
        assert {each["missing"] for each in listed} == {None, "unreadable"}
        assert all("completion" not in each for each in listed)
        assert rita.get(f"runs/{run.pk}/calls/?state=server-error").json()["count"] == 0
        (bad,) = [each for each in listed if each["missing"]]
        assert rita.get(f"calls/{bad['id']}/").json()["completion"] == "no JSON at all"

    def test_the_manifest_has_its_run_and_checksum(self, rita: Script, run: JudgeRun) -> None:
        manifest = rita.get(f"runs/{run.pk}/manifest/").json()
        assert manifest["run"] == run.pk
        assert manifest["sha256"]

    def test_calls_are_hidden_from_an_account_with_an_open_item(
        self, rita: Script, study: Study, run: JudgeRun
    ) -> None:
        mine = study.assignment(study.rita)
        one = JudgeCall.objects.earliest("pk")
        paths = (f"runs/{run.pk}/calls/", f"calls/{one.pk}/", f"runs/{run.pk}/manifest/")
        for path in paths:
            assert_error(rita.get(path), 403)
        rita.put(place(mine, "response/"), body("no", "no", "no"))
        assert all(rita.get(path).status_code == 200 for path in paths)


class TestCampaignOfAnotherTeam:
    """Rita is not in the team and finds nothing of its campaign; the admin reads everything."""

    def test_runs_and_calls_of_such_a_campaign_are_not_found(
        self, rita: Script, study: Study
    ) -> None:
        of = judge()
        run = done(study, of)
        call = JudgeCall.objects.all()[0]
        give_away(study.campaign)
        paths = (
            f"runs/{run.pk}/", f"runs/{run.pk}/calls/", f"runs/{run.pk}/manifest/",
            f"calls/{call.pk}/",
        )  # fmt: skip
        for path in paths:
            assert_error(rita.get(path), 404)
            assert script_of(study.root).get(path).status_code == 200
        assert rita.get("runs/").json()["count"] == 0
        assert_error(rita.post(f"runs/{run.pk}/order/", {"order": "stop"}), 404)

    def test_no_judge_can_be_run_on_it(self, rita: Script, study: Study) -> None:
        of = judge()
        give_away(study.campaign)
        (wrong,) = assert_error(started(rita, study, of), 422)
        assert wrong["field"] == "campaign"
        sent = {"campaign": study.campaign.pk}
        assert_error(rita.post(f"judges/{of.pk}/try/", sent), 422)
        assert_error(rita.get(f"judges/{of.pk}/estimate/?campaign={study.campaign.pk}"), 422)
        assert not JudgeRun.objects.exists()


def test_annotators_learn_nothing_about_judges(study: Study) -> None:
    run = done(study, judge("planted-judge"))
    ada = script_of(study.ada)
    rater_of(study.ada)
    for path in ("judges/", f"judges/{run.judge_id}/", "runs/", f"runs/{run.pk}/"):
        answer = ada.get(path)
        assert_error(answer, 403)
        assert "planted" not in answer.content.decode()


class TestComparison:
    def test_all_judges_of_a_campaign_are_listed_for_comparison(
        self, rita: Script, study: Study
    ) -> None:
        path = f"campaigns/{study.campaign.pk}/judges/"
        assert rita.get(path).json() == {"results": []}
        done(study, judge("good"))
        done(study, judge("odd"), half)
        judges = {each["name"]: each for each in rita.get(path).json()["results"]}
        assert set(judges) == {"good", "odd"}
        counts = {name: (each["done"], each["missing"]) for name, each in judges.items()}
        assert counts == {"good": (2, 0), "odd": (1, 1)}
        assert judges["odd"]["reasons"] == {"unreadable": 1}
        assert {each["base"] for each in judges.values()} == {None}
        give_away(study.campaign)
        assert_error(rita.get(path), 404)
