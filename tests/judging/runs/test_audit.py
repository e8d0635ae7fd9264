"""Changes of runs have events with their facts, and are undone if none can be recorded."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import pytest
from django.db import transaction

from annotation.models import Campaign
from audit.models import Event
from judging import lanes, tasks
from judging.models import Judge, JudgeRun, Lane, Strike
from judging.runs import ledger, lifecycle, prompts
from tests.databases import rolling_back, state
from tests.judging.cast import judge
from tests.judging.runs.test_runs import SERVER, fresh, held, run_out

Act = Callable[[], object]
ITEMS = 4


def served() -> Judge:
    return judge("served", "openai", model="m", base_url=SERVER)


class Change(NamedTuple):
    """An action with its preparation, and the events that it records, with their facts."""

    act: Callable[[Campaign], Act]
    events: tuple[tuple[str, dict[str, Any]], ...]
    module: ModuleType = lifecycle


def starting(campaign: Campaign) -> Act:
    return lambda: lifecycle.start(campaign, served(), 3)


def without_a_server(campaign: Campaign) -> Act:
    return lambda: lifecycle.start(campaign, served(), offline=True)


def after_a_death(campaign: Campaign) -> Act:
    run, token = held(campaign, served())
    ledger.claim(campaign, run.judge, token, 2)
    run_out(run)
    return lambda: lifecycle.start(campaign, served())


def queueing(campaign: Campaign) -> Act:
    run, _ = held(campaign, served())
    return lambda: lifecycle.queue_active(campaign, run.judge)


def queueing_again(campaign: Campaign) -> Act:
    run = lifecycle.start(campaign, served(), queued=True)
    return lambda: lifecycle.queue_active(campaign, run.judge)


def stopping(campaign: Campaign) -> Act:
    run, _ = held(campaign, served())
    return lambda: lifecycle.ask_to_stop(run)


def cancelling(campaign: Campaign) -> Act:
    run, _ = held(campaign, served())
    return lambda: lifecycle.ask_to_cancel(run)


def cancelling_unheld(campaign: Campaign) -> Act:
    run = lifecycle.start(campaign, served())
    return lambda: lifecycle.ask_to_cancel(run)


def heeding(campaign: Campaign) -> Act:
    run, _ = held(campaign, served())
    lifecycle.ask_to_stop(run)
    run_out(run)
    return lifecycle.apply_wishes


def taking_what_was_to_stop(campaign: Campaign) -> Act:
    run, _ = held(campaign, served())
    lifecycle.ask_to_cancel(run)
    run_out(run)
    return lambda: lifecycle.lease_run(run)


def finishing(campaign: Campaign) -> Act:
    run, token = held(campaign, served())
    ledger.claim(campaign, run.judge, token, 2)
    return lambda: lifecycle.finish(run, token, "stopped", "why")


def finishing_cancelled(campaign: Campaign) -> Act:
    run, token = held(campaign, served())
    lifecycle.ask_to_cancel(run)
    return lambda: lifecycle.finish(run, token, "done")


def faster(campaign: Campaign) -> Act:
    run = lifecycle.start(campaign, served())
    return lambda: lifecycle.set_concurrency(run, 5)


def at_least_one(campaign: Campaign) -> Act:
    run = lifecycle.start(campaign, served())
    return lambda: lifecycle.set_concurrency(run, -1)


def resuming(campaign: Campaign) -> Act:
    run = lifecycle.start(campaign, served())
    assert run.lane
    lanes.pause(run.lane, "no credit")
    return lambda: tasks.resume(run)


def resuming_after_the_end(campaign: Campaign) -> Act:
    resuming(campaign)
    JudgeRun.objects.update(state="done")
    run = JudgeRun.objects.get()
    return lambda: tasks.resume(run)


STARTED = ("run.started", {"limit": None, "offline": False})
CHANGES = {
    "started": Change(starting, (("run.started", {"limit": 3, "offline": False}),)),
    "offline": Change(without_a_server, (("run.started", {"limit": None, "offline": True}),)),
    "after a death": Change(after_a_death, (("run.ended", {"state": "interrupted"}), STARTED)),
    "queued": Change(queueing, (("run.changed", {"queued": True}),)),
    "stopped": Change(stopping, (("run.stopped", {"wish": "stop"}),)),
    "cancelled": Change(cancelling, (("run.stopped", {"wish": "cancel"}),)),
    "cancelled at once": Change(cancelling_unheld, (("run.stopped", {"wish": "cancel"}),)),
    "heeded": Change(heeding, (("run.ended", {"state": "interrupted"}),)),
    "not taken": Change(taking_what_was_to_stop, (("run.ended", {"state": "cancelled"}),)),
    "finished": Change(finishing, (("run.ended", {"state": "stopped"}),)),
    "cancelled last": Change(finishing_cancelled, (("run.ended", {"state": "cancelled"}),)),
    "faster": Change(faster, (("run.changed", {"concurrency": 5}),)),
    "at least one": Change(at_least_one, (("run.changed", {"concurrency": 1}),)),
    "resumed": Change(resuming, (("run.changed", {"resumed": True}),), tasks),
    "resumed late": Change(resuming_after_the_end, (("run.changed", {"resumed": True}),), tasks),
}


@pytest.mark.every_case
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_without_its_event_is_undone(campaign: Campaign, change: Change) -> None:
    def full(*_: object, **__: object) -> None:
        raise RuntimeError("the trail is full")

    lifecycle.plan(campaign, served())
    lanes.lanes_of(served())
    act = change.act(campaign)
    other, theirs = held(campaign, judge("other"))
    ledger.claim(campaign, other.judge, theirs, 1)
    JudgeRun.objects.filter(pk=other.pk).update(wish="cancel", in_flight=3)
    before, known = state(), set(Event.objects.values_list("pk", flat=True))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(change.module, "record", full)
        with pytest.raises(RuntimeError, match="the trail is full"):
            act()
    assert state() == before
    act()
    events = list(Event.objects.exclude(pk__in=known).order_by("pk"))
    assert [(each.event, each.facts) for each in events] == list(change.events)
    run = JudgeRun.objects.exclude(pk=other.pk).latest("pk")
    assert {each.campaign for each in events} == {campaign.pk}
    assert (events[-1].object_kind, events[-1].object_id) == ("judgerun", str(run.pk))
    assert [bool(each.after) for each in events] == [each.event == "run.started" for each in events]
    assert not any(each.before for each in events)
    untouched = JudgeRun.objects.filter(pk=other.pk).values("state", "lease", "wish", "in_flight")
    assert untouched.get() == {
        "state": "running", "lease": theirs, "wish": "cancel", "in_flight": 3,
    }  # fmt: skip
    assert ledger.count_by_status(campaign, other.judge) == {"leased": 1, "open": ITEMS - 1}


def handing_over(campaign: Campaign) -> Act:
    run, token = held(campaign, served())
    return lambda: lifecycle.hand_over(run, token)


def taking(campaign: Campaign) -> Act:
    run = lifecycle.start(campaign, served())
    return lambda: lifecycle.lease_run(run)


def taking_a_batch(campaign: Campaign) -> Act:
    run = lifecycle.start(campaign, served())
    JudgeRun.objects.update(manifest={"batch": {"files": []}})
    return lambda: lifecycle.lease_run(run)


def counting_the_poisoned(campaign: Campaign) -> Act:
    run, token = held(campaign, served())
    (row,) = ledger.claim(campaign, run.judge, token, 1)
    Strike.objects.create(assignment=row, count=ledger.POISONED - 1)
    run_out(run)
    return lambda: lifecycle.lease_run(run)


def cancelled_while_unheld(campaign: Campaign) -> Act:
    run, _ = held(campaign, served())
    lifecycle.ask_to_cancel(run)
    run_out(run)
    return lambda: lifecycle.has_ended(run)


def test_a_change_whose_last_step_fails_is_undone(campaign: Campaign) -> None:
    def wrong(*_: object, **__: object) -> None:
        raise RuntimeError("wrong")

    table: list[tuple[Callable[[Campaign], Act], ModuleType, str]] = [
        (handing_over, ledger, "give_back"),
        (finishing, ledger, "reopen"),
        (finishing_cancelled, ledger, "cancel"),
        (cancelled_while_unheld, ledger, "cancel"),
        (heeding, ledger, "reopen"),
        (taking, ledger, "take_over"),
        (taking_a_batch, ledger, "reopen"),
        (counting_the_poisoned, lifecycle, "_count_poisoned"),
        (after_a_death, ledger, "revive"),
    ]
    for prepared, module, name in table:
        with rolling_back(), pytest.MonkeyPatch.context() as patched:
            act = prepared(campaign)
            before = state()
            patched.setattr(module, name, wrong)
            with pytest.raises(RuntimeError, match="wrong"):
                act()
            assert state() == before, name


class TestAPausedLane:
    def test_a_run_on_it_cannot_be_leased(self, campaign: Campaign) -> None:
        run = lifecycle.start(campaign, served())
        Lane.objects.update(paused="no credit")
        before = state()
        assert lifecycle.lease_run(run) is None
        assert state() == before

    def test_queueing_a_queued_run_changes_nothing(self, campaign: Campaign) -> None:
        act = queueing_again(campaign)
        before = state()
        act()
        assert state() == before

    def test_an_order_to_cancel_takes_effect_when_the_run_is_handed_over(
        self, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        run, token = held(campaign, served())
        assert lifecycle.ask_to_cancel(run)
        assert lifecycle.wished_state(run) == "cancelled"
        assert not lifecycle.has_ended(run)
        lifecycle.hand_over(run, token)
        assert (fresh(run).state, fresh(run).wish) == ("cancelled", "cancel")
        assert fresh(run).ended_at is not None
        assert ledger.count_by_status(campaign, run.judge) == {"cancelled": ITEMS}
        assert not lifecycle.ask_to_stop(run)
        assert fresh(run).wish == "cancel"


def test_a_run_stores_the_options_of_its_start(campaign: Campaign) -> None:
    rater = served()
    plain = lifecycle.start(campaign, rater)
    kept = ("limit", "queued", "most_tokens", "most_cost", "concurrency", "reuse", "state", "wish")
    assert [getattr(fresh(plain), name) for name in kept] == [
        None, False, None, None, None, "never", plain.state, "",
    ]  # fmt: skip
    assert plain.prompt_sha256 == lifecycle.sha256_of(prompts.prompt_for(rater, campaign))
    JudgeRun.objects.update(state="done")
    terms: dict[str, Any] = {"most_tokens": 5, "most_cost": 2, "concurrency": 3, "reuse": "all"}
    given = fresh(lifecycle.start(campaign, rater, 7, True, **terms))
    assert [getattr(given, name) for name in kept[:-2]] == [7, True, 5, 2, 3, "all"]
    assert (given.lane, given.judge, given.campaign) == (plain.lane, rater, campaign)


def test_a_start_reopens_cancelled_assignments_and_resumes_a_paused_server(
    campaign: Campaign,
) -> None:
    run = lifecycle.start(campaign, served())
    assert run.lane
    lifecycle.ask_to_cancel(run)
    lanes.pause(run.lane, "no credit")
    lifecycle.start(campaign, served())
    assert ledger.count_by_status(campaign, served()) == {"open": ITEMS}
    assert Lane.objects.get().paused == ""


def test_a_refused_start_says_what_the_active_run_has_done(campaign: Campaign) -> None:
    run, _ = held(campaign, served())
    JudgeRun.objects.update(done=2, failures={"error": 1})
    with pytest.raises(lifecycle.LeasedRunError, match=r"is at work, 2 done and 1 failed so far$"):
        lifecycle.start(campaign, served())
    assert fresh(run).state == "running"


def test_a_worker_is_notified_only_after_the_commit(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    notified: list[int] = []
    monkeypatch.setattr(tasks, "ring", notified.append)
    with django_capture_on_commit_callbacks(execute=True):
        with transaction.atomic():
            run = tasks.begin(served(), campaign, {"limit": 2, "most_tokens": 9})
        assert notified == []
    assert notified == [run.pk]
    assert (fresh(run).queued, fresh(run).limit, fresh(run).most_tokens) == (True, 2, 9)
