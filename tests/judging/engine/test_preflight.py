"""Findings before a run: refusals and warnings; and whether the server is the same at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from annotation.models import Campaign
from judging.backends.base import Answer, FatalError, Findings, Request, TransientError
from judging.backends.scripted import Scripted
from judging.engine import Control, Ending
from judging.engine.worker import work
from judging.models import Judge, JudgeRun, Lane
from judging.runs import ledger, lifecycle
from tests.judging.cast import HASTY, command, judge, run_scripted, yes

ITEMS, UNITS = 4, 12
NOTHING = Findings()


class Known(Scripted):
    """A server with a probe and a fingerprint that a test may change."""

    def __init__(self, findings: Findings | BaseException = NOTHING, **facts: Any) -> None:
        super().__init__(yes)
        self.findings, self.facts = findings, dict(facts)
        self.probes = 0

    async def probe(self) -> Findings:
        self.probes += 1
        if isinstance(self.findings, BaseException):
            raise self.findings
        return self.findings

    async def fingerprint(self, answers: bool = False) -> Mapping[str, Any]:
        shown = {name: value for name, value in self.facts.items() if name != "answers"}
        return shown | ({"answers": self.facts["answers"]} if answers else {})


def served() -> Judge:
    return judge("served", "openai", model="m", base_url="http://127.0.0.1:9/v1")


def test_the_findings_of_the_probe_are_in_the_manifest(campaign: Campaign) -> None:
    found = Findings({"version": "1.2"}, ("it ignores schemas",))
    run, ending, _ = run_scripted(campaign, judge(), backend=Known(found, model="m"))
    assert ending.how == "finished"
    assert run.manifest["probe"] == {
        "facts": {"version": "1.2"},
        "warnings": ["it ignores schemas"],
    }
    assert run.manifest["fingerprint"] == {"model": "m"}
    assert "mixed" not in run.manifest


def test_the_next_worker_gets_the_findings_of_the_first(campaign: Campaign) -> None:
    class Recalling(Known):
        recalled: Mapping[str, Any] | None = None

        def recall(self, facts: Mapping[str, Any]) -> None:
            self.recalled = facts

    run = lifecycle.start(
        campaign, judge(granularity="unit", params={"concurrency": 1}), queued=True
    )
    workers = [Recalling(Findings({"max_model_len": 4096})) for _ in range(2)]
    for worker in workers:
        worker.seconds = 0.05
        lease = lifecycle.lease_run(run)
        assert lease is not None
        assert work(run, lease, Control(seconds=0.04), worker, HASTY).how == "time"
    assert [worker.probes for worker in workers] == [1, 0]
    assert workers[1].recalled == {"max_model_len": 4096}


def test_an_unsuitable_server_is_not_asked(campaign: Campaign) -> None:
    cannot = Findings(refusal="the model takes 100 tokens, and the prompt has more")
    run, ending, backend = run_scripted(campaign, served(), backend=Known(cannot))
    assert ending == Ending("fatal", cannot.refusal)
    assert (run.state, run.error, backend.asked) == ("stopped", cannot.refusal, [])
    # Another judge of the same server may be right for it.
    assert Lane.objects.get().paused == ""


def test_a_server_that_refuses_the_probe_pauses_its_lane(campaign: Campaign) -> None:
    refuses = Known(FatalError("status-401", "the server answered 401"))
    run, ending, _ = run_scripted(campaign, served(), backend=refuses)
    assert (ending.how, run.state) == ("fatal", "stopped")
    assert Lane.objects.get().paused == "the server answered 401"


def test_a_server_unreachable_for_the_probe_may_be_back_for_the_run(campaign: Campaign) -> None:
    away = Known(TransientError("reset", "it hung up"))
    run, ending, _ = run_scripted(campaign, judge(), backend=away)
    assert (ending.how, run.done) == ("finished", ITEMS)
    assert "probe" not in run.manifest


def test_a_run_is_probed_once_by_whichever_worker_begins_it(campaign: Campaign) -> None:
    rater = judge(granularity="unit", params={"concurrency": 1})
    backend = Known(Findings({"version": "1"}), model="m")
    backend.seconds = 0.05
    run = lifecycle.start(campaign, rater, queued=True)
    for seconds in (0.1, None):
        lease = lifecycle.lease_run(run)
        assert lease
        work(run, lease, Control(seconds=seconds), backend, HASTY)
    run.refresh_from_db()
    assert (run.state, run.done, backend.probes) == ("done", UNITS, 1)


def test_a_different_model_at_a_handover_stops_the_run(campaign: Campaign) -> None:
    rater = judge(granularity="unit", params={"concurrency": 1})
    backend = Known(model="m", version="1")
    backend.seconds = 0.05
    run = lifecycle.start(campaign, rater, queued=True)
    first = lifecycle.lease_run(run)
    assert first
    work(run, first, Control(seconds=0.1), backend, HASTY)
    done = len(backend.asked)
    backend.facts["version"] = "2"
    second = lifecycle.lease_run(run)
    assert second
    ending = work(run, second, None, backend, HASTY)
    run.refresh_from_db()
    assert ending.how == "fatal"
    assert (run.state, len(backend.asked)) == ("stopped", done)
    assert run.error == "the server's version was 1 when the run began and is 2 now"
    assert run.manifest["mixed"] == run.error


def test_different_probe_answers_at_the_end_mark_the_run_as_mixed(campaign: Campaign) -> None:
    before = ["a", "b", "c", "d", "e"]
    backend = Known(Findings({"answers": before}), model="m", answers=["x", "y", "c", "d", "e"])
    run, ending, _ = run_scripted(campaign, judge(), backend=backend)
    assert (ending.how, run.state, run.done) == ("fatal", "stopped", ITEMS)
    assert "gives other answers than when the run began" in run.manifest["mixed"]


def test_one_different_probe_answer_does_not_mark_the_run(campaign: Campaign) -> None:
    before = ["a", "b", "c", "d", "e"]
    backend = Known(Findings({"answers": before}), model="m", answers=["x", "b", "c", "d", "e"])
    run, ending, _ = run_scripted(campaign, judge(), backend=backend)
    assert (ending.how, run.state) == ("finished", "done")


def test_answers_of_several_models_mark_the_run_as_mixed(campaign: Campaign) -> None:
    models = iter(["m-1", "m-1", "m-2", "m-1"])

    def script(request: Request) -> Answer:
        return Answer(yes(request), model=next(models))

    run, ending, _ = run_scripted(campaign, judge(), script)
    assert (ending.how, run.done) == ("fatal", ITEMS)
    assert run.manifest["mixed"] == "answers came from several models: m-1, m-2"


def test_a_stop_ends_the_probe(campaign: Campaign) -> None:
    class Slow(Known):
        async def probe(self) -> Findings:
            control.stop()
            await asyncio.sleep(60)
            return Findings()

    control = Control()
    run, ending, backend = run_scripted(campaign, judge(), control=control, backend=Slow())
    assert (ending.how, run.state, backend.asked) == ("stopped", "interrupted", [])


def test_a_lost_lease_ends_the_probe(campaign: Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(Known):
        async def probe(self) -> Findings:
            await asyncio.sleep(60)
            return Findings()

    monkeypatch.setattr("judging.runs.lifecycle.renew", lambda run, lease, use=None: None)
    _, ending, backend = run_scripted(campaign, judge(), backend=Slow())
    assert (ending.how, backend.asked) == ("lost", [])


def test_the_command_prints_warnings_of_the_probe(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge()
    known = Known(Findings(warnings=("it ignores schemas",)))
    monkeypatch.setattr("judging.engine.worker.build_backend", lambda judge: known)
    said = command("run_judge", "--campaign", campaign.name, "--judge", "judge")
    assert said.startswith("Note: it ignores schemas\n")
    assert ledger.count_by_status(campaign, judge()) == {"done": ITEMS}
    assert JudgeRun.objects.get().state == "done"
