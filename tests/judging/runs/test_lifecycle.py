"""Parts of a run's life: commands, the end of an engine, turns, servers, shutdown."""

from __future__ import annotations

import asyncio
import uuid
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from annotation.answers.submission import LostLeaseError
from annotation.models import Assignment, Campaign, Rater, User
from annotation.registry import get_protocol
from judging import lanes, manifest, servers, tasks
from judging.backends.base import SetupError
from judging.engine import Control, Ending, worker
from judging.engine.loop import GRACE_SECONDS, drain_calls
from judging.models import Judge, JudgeRun, Key, Lane, Strike
from judging.runs import ledger, lifecycle, planning, prompts, shards
from judging.runs.fit import check_file
from judging.runs.grants import Use
from judging.runs.lifecycle import (
    LeasedRunError,
    Orders,
    next_run,
    refuse_lost_lease,
    runs_without_worker,
    without_lease,
)
from judging.servers import (
    Server,
    check_key,
    known_servers,
    listed_hosts_for,
    may_use_key,
    new_server,
)
from judging.trials.one_item import try_judge
from tests.judging.cast import campaign_of, command, judge
from tests.judging.judge_file.test_document import GRADED
from tests.team_cast import move_to_own_team, share_with

SERVER = "http://127.0.0.1:9/v1"

ADMIN = User(role="admin")


class TestControl:
    def test_a_listener_is_called_when_the_stop_comes(self) -> None:
        calls: list[str] = []
        control = Control()
        control.listen(lambda: calls.append("first"))
        assert calls == []
        control.stop()
        assert calls == ["first"]
        control.listen(None)
        control.stop()
        assert calls == ["first"]
        control.listen(lambda: calls.append("late"))
        assert calls == ["first", "late"]

    def test_a_stop_before_any_listener_is_kept_for_it(self) -> None:
        calls: list[int] = []
        control = Control()
        control.stop()
        control.listen(lambda: calls.append(1))
        assert calls == [1]
        assert control.seconds is None
        assert control.progress(3) is None

    def test_endings_are_compared_by_kind_and_reason(self) -> None:
        bare = Ending("fatal", "no")
        assert (bare.pauses, bare.ceiling, bare.limits) == (False, None, ())
        assert bare == Ending("fatal", "no", pauses=True, ceiling=3, limits=((1.0, 2),))
        assert bare != Ending("fatal", "other")


class Calls:
    """Calls under way that end by themselves, or only when cancelled."""

    def __init__(self, *, end: bool = True) -> None:
        self.end = end
        self.waited: list[float] = []
        self.cancelled = False

    async def drain(self, seconds: float) -> None:
        self.waited.append(seconds)
        if self.end or len(self.waited) > 1:
            return
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise


class TestDraining:
    def drain(self, calls: Calls, how: Any, pressed: Any = None) -> bool:
        async def main() -> bool:
            pressing = asyncio.get_running_loop().create_future()
            if pressed:
                pressing.set_result(pressed)
            return await asyncio.wait_for(drain_calls(calls, how, 99.0, pressing), 5)  # type: ignore[arg-type]

        return asyncio.run(main())

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("how", "seconds"),
        [("lost", 0.0), ("crashed", 0.0), ("stopped", GRACE_SECONDS), ("fatal", GRACE_SECONDS)],
    )
    def test_calls_under_way_get_a_grace_period_that_depends_on_the_ending(
        self, how: str, seconds: float
    ) -> None:
        calls = Calls()
        assert not self.drain(calls, how)
        assert calls.waited == [seconds]
        hanging = Calls(end=False)
        assert not self.drain(hanging, "time", pressed=how)
        assert hanging.waited == [99.0, seconds]
        assert hanging.cancelled

    def test_calls_at_the_end_of_the_time_finish_by_themselves(self) -> None:
        calls = Calls()
        assert self.drain(calls, "time")
        assert calls.waited == [99.0]


def ended_by(campaign: Campaign, name: str, **fields: Any) -> JudgeRun:
    run = lifecycle.start(campaign, judge(name, "openai", model="m", base_url=SERVER), queued=True)
    JudgeRun.objects.filter(pk=run.pk).update(**fields)
    return run


class TestTurns:
    SOON, AGO = timedelta(minutes=5), timedelta(minutes=-5)

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("run", "lane", "waits"),
        [
            ({}, {}, True),
            ({"state": "running"}, {}, True),
            ({"state": "done"}, {}, False),
            ({"queued": False}, {}, False),
            ({"lease": uuid.uuid4(), "lease_until": SOON}, {}, False),
            ({"lease": uuid.uuid4(), "lease_until": AGO}, {}, True),
            ({}, {"paused": "no"}, False),
            ({"lane": None}, {"paused": "no"}, True),
            ({"lane": None, "lease": uuid.uuid4(), "lease_until": SOON}, {}, False),
        ],
    )
    def test_a_run_without_a_lease_on_a_lane_in_use_waits_for_a_worker(
        self, campaign: Campaign, run: dict[str, Any], lane: dict[str, Any], waits: bool
    ) -> None:
        def at(fields: dict[str, Any]) -> dict[str, Any]:
            now = timezone.now()
            return {k: now + v if isinstance(v, timedelta) else v for k, v in fields.items()}

        waiting = ended_by(campaign, "a", **at(run))
        Lane.objects.update(**at(lane))
        assert list(runs_without_worker()) == [waiting] * waits
        held = run.get("lease_until") == self.SOON
        assert list(without_lease(JudgeRun.objects.all())) == [waiting] * (not held)

    def test_waiting_runs_follow_each_other_in_a_ring(self, campaign: Campaign) -> None:
        first, second, third = (ended_by(campaign, name) for name in "abc")
        assert [next_run(each) for each in (first, second, third)] == [second, third, first]
        JudgeRun.objects.filter(pk=second.pk).update(state="done")
        assert next_run(first) == third
        JudgeRun.objects.exclude(pk=first.pk).update(state="done")
        assert next_run(first) == first
        JudgeRun.objects.update(state="done")
        assert next_run(first) is None


class TestOneOfTwoRuns:
    """Orders, results and ends of one run leave the other unchanged."""

    @pytest.fixture
    def other(self, campaign: Campaign) -> JudgeRun:
        run = lifecycle.start(campaign, judge("other"))
        assert lifecycle.lease_run(run)
        assert len(ledger.claim(campaign, run.judge, uuid.uuid4(), 2)) == 2
        return run

    def snapshot(self, run: JudgeRun) -> tuple[dict[str, Any], dict[str, int]]:
        row = dict(JudgeRun.objects.filter(pk=run.pk).values().get())
        return row, ledger.count_by_status(run.campaign, run.judge)

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("wish", "ended", "left"),
        [("stop", "interrupted", {"open": 4}), ("cancel", "cancelled", {"cancelled": 4})],
    )
    def test_changing_and_ending_one_run_leaves_the_other_unchanged(
        self, campaign: Campaign, other: JudgeRun, wish: str, ended: str, left: dict[str, int]
    ) -> None:
        before = self.snapshot(other)
        run = lifecycle.start(campaign, judge("first"))
        token = lifecycle.lease_run(run)
        assert token is not None
        assert lifecycle.lease_run(run) is None
        assert lifecycle.renew(run, uuid.uuid4()) is None
        assert lifecycle.renew(run, token, Use(2, 3)) == Orders("", None)
        run.refresh_from_db()
        assert (run.in_flight, run.allowed, run.state, run.queued) == (2, 3, "running", False)
        assert lifecycle.set_concurrency(run, 0)
        assert lifecycle.queue_active(campaign, run.judge).queued
        assert shards.has_lease(run, token)
        assert not shards.has_lease(run, uuid.uuid4())
        assert lifecycle.wished_state(run) == ""
        ask = lifecycle.ask_to_stop if wish == "stop" else lifecycle.ask_to_cancel
        assert ask(run)
        assert lifecycle.renew(run, token) == Orders(wish, 1)
        assert lifecycle.wished_state(run) == ended
        lifecycle.apply_wishes()
        assert not lifecycle.has_ended(run), "a process works on it"
        ledger.claim(campaign, run.judge, token, 1)
        lifecycle.hand_over(run, uuid.uuid4())
        assert shards.has_lease(run, token)
        lifecycle.hand_over(run, token)
        run.refresh_from_db()
        assert (run.state, run.lease, run.lease_until) == (ended, None, None)
        assert (run.in_flight, run.allowed, run.queued) == (0, 0, True)
        assert run.ended_at is not None
        assert ledger.count_by_status(campaign, run.judge) == left
        assert self.snapshot(other) == before
        assert lifecycle.has_ended(run)
        assert not ask(run)
        assert not lifecycle.set_concurrency(run, 5)
        assert not lifecycle.finish(run, token, "done")
        assert lifecycle.lease_run(run) is None

    def test_an_order_given_just_before_the_end_is_obeyed(
        self, campaign: Campaign, other: JudgeRun
    ) -> None:
        before = self.snapshot(other)
        for wish, given, ended, left in (
            ("", "done", "done", "open"), ("stop", "done", "done", "open"),
            ("cancel", "done", "cancelled", "cancelled"),
        ):  # fmt: skip
            run = lifecycle.start(campaign, judge(f"with {wish}"))
            token = lifecycle.lease_run(run)
            assert token is not None
            ledger.claim(campaign, run.judge, token, 1)
            JudgeRun.objects.filter(pk=run.pk).update(wish=wish)
            assert lifecycle.finish(run, token, given, "why")
            run.refresh_from_db()
            assert (run.state, run.error, run.lease) == (ended, "why", None)
            assert ledger.count_by_status(campaign, run.judge) == {left: 4}
        assert self.snapshot(other) == before

    def test_the_prompt_is_the_judge_file_the_custom_prompt_or_the_protocol_prompt(
        self, campaign: Campaign, other: JudgeRun
    ) -> None:
        own = Judge(file="of its file", prompt="its own")
        assert prompts.prompt_for(own, campaign) == "of its file"
        own.file = ""
        assert prompts.prompt_for(own, campaign) == "its own"
        own.prompt = ""
        assert prompts.prompt_for(own, campaign) == get_protocol(campaign).prompt
        JudgeRun.objects.filter(pk=other.pk).update(prompt_sha256="0" * 64)
        assert lifecycle.start(campaign, judge("first")).prompt_sha256 != "0" * 64
        with pytest.raises(prompts.ChangedPromptError):
            lifecycle.start(campaign, other.judge)


class TestServers:
    def test_the_name_of_a_server_includes_its_key(self) -> None:
        names = [(each.name, str(each), each.guarded) for each in
                (Server("http://a/v1"), Server("http://a/v1", "KEY", guarded=False))]  # fmt: skip
        assert names == [
            ("http://a/v1", "http://a/v1 (no key)", True),
            ("http://a/v1 KEY", "http://a/v1 (key in KEY)", False),
        ]

    def test_only_guarded_judges_are_restricted_to_listed_hosts(
        self, db: None, settings: Any
    ) -> None:
        settings.TANDEM_JUDGE_HOSTS = ["127.0.0.1:9"]
        params = {servers.GUARDED: True}
        guarded = judge("a", "openai", model="m", base_url=SERVER, params=params)
        assert listed_hosts_for(guarded) == ("127.0.0.1:9",)
        assert listed_hosts_for(judge("b")) is None

    def test_known_servers_are_trusted_if_a_judge_of_the_operator_asks_them(
        self, db: None, settings: Any
    ) -> None:
        settings.TANDEM_JUDGE_HOSTS = ["127.0.0.1:9"]
        public = [
            Server("https://api.openai.com/v1", "OPENAI_API_KEY", guarded=True),
            Server("https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", guarded=True),
        ]
        assert known_servers(ADMIN) == public
        own: dict[str, Any] = {"backend": "openai", "model": "m", "base_url": SERVER}
        guarded = own | {"params": {servers.GUARDED: True}}
        judge("a", api_key_env="K", **guarded)
        judge("words")
        assert known_servers(ADMIN) == [*public, Server(SERVER, "K", guarded=True)]
        judge("b", api_key_env="K", **own)
        judge("c", api_key_env="K", **guarded)
        judge("d", **guarded)
        expected = [*public, Server(SERVER, "K", guarded=False), Server(SERVER, "", guarded=True)]
        assert known_servers(ADMIN) == expected

    def test_only_an_admin_adds_a_server_with_a_key_reserved_for_judges(
        self, settings: Any
    ) -> None:
        settings.TANDEM_JUDGE_HOSTS = ["127.0.0.1:9"]
        admin, other = User(role=User.Role.ADMIN), User(role=User.Role.RESEARCHER)
        assert new_server(f" {SERVER} ", "", other) == Server(SERVER, "", guarded=True)
        key = "TANDEM_KEY_ONE"
        assert new_server(SERVER, key, admin) == Server(SERVER, key, guarded=True)
        with pytest.raises(SetupError, match="only an admin"):
            new_server(SERVER, key, other)
        with pytest.raises(SetupError, match="TANDEM_KEY_…"):
            new_server(SERVER, "SECRET_KEY", admin)
        settings.TANDEM_JUDGE_HOSTS = []
        with pytest.raises(SetupError):
            new_server(SERVER, "", admin)

    def test_on_a_site_with_several_teams_only_the_keys_of_the_own_team_may_be_used(
        self, db: None
    ) -> None:
        rita = User.objects.create(username="rita", role="researcher")
        olga = User.objects.create(username="olga", role="researcher")
        own: dict[str, Any] = {"backend": "openai", "model": "m", "base_url": SERVER}
        judge("a", api_key_env="OURS", **own)
        theirs = judge("b", api_key_env="THEIRS", **own)
        assert may_use_key(rita, "THEIRS")
        assert may_use_key(User(), "THEIRS"), "the site has one team"
        moved = judge("c", api_key_env="OURS", **own)
        team = move_to_own_team(olga, name="others")
        Judge.objects.filter(pk__in=[theirs.pk, moved.pk]).update(team=team)
        Key.objects.filter(variable="THEIRS").update(team=team)
        usable = [
            [key for key in ("", "OURS", "THEIRS", "NEW") if may_use_key(user, key)]
            for user in (rita, olga, ADMIN)
        ]
        assert usable == [["", "OURS", "NEW"], ["", "THEIRS"], ["", "OURS", "THEIRS", "NEW"]]
        assert [each.api_key_env for each in known_servers(olga) if each.base_url == SERVER] == [
            "THEIRS"
        ]
        assert "OPENAI_API_KEY" not in {each.api_key_env for each in known_servers(olga)}

    def test_a_key_no_longer_shared_with_the_team_is_not_sent(
        self, tmp_path: Path, db: None
    ) -> None:
        study = campaign_of(tmp_path)
        own: dict[str, Any] = {"backend": "openai", "model": "m", "base_url": SERVER}
        model = judge("a", api_key_env="OURS", **own)
        olga = User.objects.create(username="olga", role="researcher")
        others = move_to_own_team(olga, name="others")
        check_key(model)
        Key.objects.update(team=others)
        for begin in (lifecycle.start, lambda campaign, who: try_judge(who, campaign)):
            with pytest.raises(SetupError, match="OURS is no longer shared with team"):
                begin(study, model)
        assert not JudgeRun.objects.exists()
        share_with(Key.objects.get(variable="OURS"), model.team)
        lifecycle.start(study, model)
        check_key(Judge(api_key_env="OURS"))


class TestStarting:
    def test_a_lost_lease_is_reported_as_a_takeover_by_another_process(self) -> None:
        with pytest.raises(LeasedRunError, match="another process took"), refuse_lost_lease():
            raise LostLeaseError

    def test_a_judge_file_that_reads_an_unasked_variable_is_refused(
        self, tmp_path: Path, db: None
    ) -> None:
        text = GRADED.replace("grounding-relevance", "report-coverage")
        text = text.replace("relevant", "answerable").replace("passage.text", "report.text")
        model = Judge(rater=Rater(name="j"), file=text[: text.index("[[fixture]]")])
        study = campaign_of(tmp_path)
        check_file(study, model)
        study.options = {**study.options, "variables": ["rating"]}
        with pytest.raises(SetupError, match=r"reads answerable, which .* does not ask"):
            check_file(study, model)
        with pytest.raises(SetupError, match="is from a file about grounding-relevance"):
            check_file(study, Judge(rater=Rater(name="j"), file=GRADED))


class TestLanes:
    def test_a_paused_lane_has_a_reason_and_a_time(self, db: None) -> None:
        lane, other = (Lane.objects.create(endpoint=f"http://{name}") for name in "ab")
        lanes.pause(lane, "")
        lane.refresh_from_db()
        assert lane.paused == "the server refused"
        lanes.pause(lane, "no credit")
        lane.refresh_from_db()
        other.refresh_from_db()
        assert (lane.paused, other.paused, other.paused_at) == ("no credit", "", None)
        assert lane.paused_at is not None
        lanes.pause(other, "no")
        lanes.resume(lane)
        lanes.remember_ceiling(lane, 3)
        lanes.remember_ceiling(lane, None)
        lane.refresh_from_db()
        other.refresh_from_db()
        assert (lane.paused, lane.paused_at, other.paused) == ("", None, "no")
        assert (lane.ceiling, other.ceiling) == (3, None)


class TestOpenAssignments:
    def test_open_assignments_of_one_judge_and_campaign_come_in_order(
        self, campaign: Campaign
    ) -> None:
        ledger._open_query.cache_clear()
        command("create_campaign", "other", "--protocol", "report-coverage", "--batch", "bridges")
        rater, further = judge(), judge("further")
        planning.plan(Campaign.objects.get(name="other"), rater)
        planning.plan(campaign, further)
        planning.plan(campaign, rater)
        own = [row.pk for row in ledger.assignments_of(campaign, rater).order_by("pk")]
        Strike.objects.create(assignment_id=own[1], count=2)
        Strike.objects.create(assignment_id=own[2], count=1)

        def found(count: int, struck: int = 2, after: int = 0) -> list[int]:
            rows = ledger.open_assignments(campaign.pk, rater.rater_id, count, struck, after)
            return [own.index(row.pk) for row in rows]

        assert found(0) == found(-1) == []
        assert found(1) == [0]
        assert found(9) == [0, 2, 3]
        assert found(9, struck=1) == [0, 3]
        assert found(9, struck=3) == [0, 1, 2, 3]
        assert found(9, after=own[2]) == [3]
        lease = uuid.uuid4()
        rows = ledger.open_assignments(campaign.pk, rater.rater_id, 2, 2)
        Assignment.objects.filter(pk=own[2]).update(status="done")
        assert ledger.lease_assignments([], lease) == 0
        assert ledger.lease_assignments(rows, lease) == 1
        claimed = Assignment.objects.filter(lease=lease).values_list("pk", "status")
        assert list(claimed) == [(own[0], "leased")]
        assert found(9) == [3]
        ledger.attach_items(campaign, rows)
        assert [row.item.pk for row in rows] == [row.item_id for row in rows]
        assert all(row.item.campaign is campaign for row in rows)


class TestBeginning:
    @pytest.fixture
    def rung(self, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any) -> Any:
        notified: list[int] = []
        monkeypatch.setattr(tasks, "ring", notified.append)

        def of(action: Any) -> tuple[Any, list[int]]:
            notified.clear()
            with django_capture_on_commit_callbacks(execute=True):
                made = action()
            return made, list(notified)

        return of

    def test_a_run_is_queued_with_its_limits_and_a_second_joins_it(
        self, campaign: Campaign, rung: Any
    ) -> None:
        rater = judge()
        run, notified = rung(lambda: tasks.begin(rater, campaign, {"limit": 3}))
        assert (run.queued, run.limit, notified) == (True, 3, [run.pk])
        assert lifecycle.lease_run(run)
        again, notified = rung(lambda: tasks.begin(rater, campaign, {}))
        assert (again, again.queued, notified) == (run, True, [run.pk])

    def test_no_run_begins_without_open_assignments(self, campaign: Campaign, rung: Any) -> None:
        rater = judge()
        planning.plan(campaign, rater)
        ledger.assignments_of(campaign, rater).update(status="done")
        with pytest.raises(tasks.NothingOpenError, match="nothing is open"):
            tasks.begin(rater, campaign, {})
        assert not JudgeRun.objects.exists()

    def test_resuming_a_run_unpauses_its_server_and_notifies_a_worker(
        self, campaign: Campaign, rung: Any
    ) -> None:
        run = ended_by(campaign, "a")
        plain = lifecycle.start(campaign, judge("plain"), queued=True)
        assert run.lane is not None
        lanes.pause(run.lane, "no")
        assert rung(lambda: tasks.resume(run)) == (True, [run.pk])
        assert not Lane.objects.exclude(paused="").exists()
        assert rung(lambda: tasks.resume(plain)) == (True, [plain.pk])
        lanes.pause(run.lane, "no")
        run.state = "done"
        assert rung(lambda: tasks.resume(run)) == (False, [])
        assert not Lane.objects.exclude(paused="").exists()


class TestTheEndOfARun:
    """What happens to a run, depending on how its pump ended."""

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("how", "queued", "wish", "state", "noted"),
        [
            ("finished", False, "", "done", True),
            ("fatal", False, "", "stopped", True),
            ("budget", False, "", "stopped", True),
            ("crashed", False, "", "stopped", True),
            ("stopped", False, "", "interrupted", True),
            ("stopped", True, "", "running", False),
            ("stopped", True, "stop", "interrupted", True),
            ("stopped", True, "cancel", "cancelled", True),
            ("cancelled", True, "", "cancelled", True),
            ("cancelled", True, "stop", "interrupted", True),  # the last order counts
            ("time", False, "", "running", False),
            ("time", True, "stop", "interrupted", False),
            ("finished", True, "stop", "done", True),
            ("lost", False, "", "running", False),
        ],
    )
    def test_a_released_run_is_ended_or_left_to_the_next_worker(
        self, campaign: Campaign, monkeypatch: pytest.MonkeyPatch,
        how: Any, queued: bool, wish: str, state: str, noted: bool,
    ) -> None:  # fmt: skip
        written: list[Any] = []
        monkeypatch.setattr(manifest, "end", lambda run, limits: written.append(limits))
        run = lifecycle.start(campaign, judge(), queued=queued)
        token = lifecycle.lease_run(run)
        assert token is not None
        JudgeRun.objects.update(wish=wish)
        worker._release(run, token, Ending(how, "why", limits=((1.0, 2),)))
        run.refresh_from_db()
        assert run.state == state
        assert (run.lease is not None) == (how == "lost")
        assert run.error == ("why" if noted else "")
        assert written == [((1.0, 2),)] * noted

    def test_a_lane_keeps_the_ceiling_of_its_server_and_the_reason_of_its_pause(
        self, campaign: Campaign
    ) -> None:
        run = ended_by(campaign, "a")
        ending = Ending("fatal", "no credit", pauses=True, ceiling=5)
        assert worker._note_lane(run, ending) is ending
        lane = Lane.objects.get()
        assert (lane.ceiling, lane.paused) == (5, "no credit")
        lanes.resume(lane)
        worker._note_lane(run, Ending("fatal", "no credit"))
        assert Lane.objects.get().paused == ""
        plain = lifecycle.start(campaign, judge("plain"))
        assert worker._note_lane(plain, ending) is ending

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("own", "params", "calls"), [(3, {"concurrency": 5}, 3), (None, {"concurrency": 5}, 5),
                                     (None, {}, 16)]
    )  # fmt: skip
    def test_the_concurrency_is_that_of_the_run_or_of_the_judge(
        self, campaign: Campaign, monkeypatch: pytest.MonkeyPatch,
        own: int | None, params: dict[str, Any], calls: int,
    ) -> None:  # fmt: skip
        asked: list[int] = []

        def run_engine(run: Any, lease: Any, preparer: Any, concurrency: int, *_: Any) -> Ending:
            asked.append(concurrency)
            return Ending("finished")

        monkeypatch.setattr(worker, "run_engine", run_engine)
        run = lifecycle.start(campaign, judge(params=params), concurrency=own)
        result: Any = worker._run_to_end(run, uuid.uuid4(), None, Control(), None)  # type: ignore[arg-type]
        assert (result, asked) == (Ending("finished"), [calls])

    def test_a_run_continues_while_assignments_remain_and_are_being_closed(
        self, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        rater = judge()
        run, asked = lifecycle.start(campaign, rater), []

        def run_engine(*_: Any) -> Ending:
            asked.append(1)
            first = ledger.assignments_of(campaign, rater).filter(status="open").first()
            if first is not None and len(asked) < 3:
                Assignment.objects.filter(pk=first.pk).update(status="done")
            return Ending("finished")

        monkeypatch.setattr(worker, "run_engine", run_engine)
        worker._run_to_end(run, uuid.uuid4(), None, Control(), None)  # type: ignore[arg-type]
        assert len(asked) == 3
        asked.clear()
        run.limit = 0
        worker._run_to_end(run, uuid.uuid4(), None, Control(), None)  # type: ignore[arg-type]
        assert len(asked) == 1
