"""The ledger and its leases: every change is conditional, so a late worker changes nothing."""

from __future__ import annotations

import uuid
from datetime import timedelta
from pathlib import Path

import pytest
from django.db.models.functions import Now

from annotation.models import Assignment, Campaign
from judging.models import FrozenError, Judge, JudgeCall, JudgeRun, Strike
from judging.runs import ledger, lifecycle, planning, prompts
from tests.judging.cast import campaign_of, judge, run_scripted

UNITS, ITEMS = 12, 4


def let_the_lease_run_out(run: JudgeRun) -> None:
    JudgeRun.objects.filter(pk=run.pk).update(lease_until=Now() - timedelta(seconds=1))


def test_reopening_affects_only_the_judge_and_campaign(campaign: Campaign, tmp_path: Path) -> None:
    mine, other = judge(), judge("other")
    elsewhere = campaign_of(tmp_path, "rubric-passage")
    for where, who in ((campaign, mine), (campaign, other), (elsewhere, mine)):
        planning.plan(where, who)
        assert ledger.claim(where, who, uuid.uuid4(), 1)
    ledger.reopen(campaign, mine)
    assert ledger.count_by_status(campaign, mine) == {"open": ITEMS}
    assert ledger.count_by_status(campaign, other)["leased"] == 1
    assert ledger.count_by_status(elsewhere, mine)["leased"] == 1
    ledger.cancel(campaign, mine)
    assert ledger.count_by_status(campaign, mine) == {"cancelled": ITEMS}
    assert set(ledger.count_by_status(campaign, other)) == {"leased", "open"}
    ledger.cancel(campaign, other)
    ledger.revive(campaign, mine)
    assert ledger.count_by_status(campaign, other) == {"cancelled": ITEMS}
    assert ledger.count_waiting(campaign, mine) == ledger.count_unfinished(
        {"open": 3, "leased": 1, "done": 9}
    )


def test_a_whole_item_is_asked_in_its_stored_order(campaign: Campaign) -> None:
    rater = judge()
    planning.plan(campaign, rater)
    for row in ledger.assignments_of(campaign, rater):
        assert row.asked == list(row.item.units.values_list("name", flat=True))
        assert (row.scope, row.slot) == ("", None)


def test_judges_take_no_slots_of_annotators(campaign: Campaign) -> None:
    planning.plan(campaign, judge())
    assert set(campaign.items.values_list("taken", flat=True)) == {0}


@pytest.mark.postgresql
def test_two_claims_never_get_the_same_assignment(campaign: Campaign) -> None:
    rater = judge(granularity="unit")
    planning.plan(campaign, rater)
    first = ledger.claim(campaign, rater, uuid.uuid4(), 7)
    second = ledger.claim(campaign, rater, uuid.uuid4(), 7)
    assert (len(first), len(second)) == (7, UNITS - 7)
    assert not {r.pk for r in first} & {r.pk for r in second}


@pytest.mark.postgresql
def test_assignments_are_claimed_in_campaign_order(campaign: Campaign) -> None:
    rater = judge()
    planning.plan(campaign, rater)
    rows = ledger.claim(campaign, rater, uuid.uuid4(), 10)
    assert [r.item.position for r in rows] == sorted(r.item.position for r in rows)


@pytest.mark.postgresql
def test_only_one_process_has_a_lease(campaign: Campaign) -> None:
    run = lifecycle.start(campaign, judge())
    assert lifecycle.lease_run(run)
    assert lifecycle.lease_run(run) is None


def test_a_second_run_waits_while_the_first_is_at_work(campaign: Campaign) -> None:
    rater = judge()
    lifecycle.lease_run(lifecycle.start(campaign, rater))
    with pytest.raises(lifecycle.LeasedRunError):
        lifecycle.start(campaign, rater)


@pytest.mark.postgresql
def test_a_dead_run_is_closed_and_its_assignments_reopened(campaign: Campaign) -> None:
    rater = judge()
    dead = lifecycle.start(campaign, rater)
    lease = lifecycle.lease_run(dead)
    assert lease
    ledger.claim(campaign, rater, lease, 3)
    let_the_lease_run_out(dead)
    run = lifecycle.start(campaign, rater)
    assert lifecycle.lease_run(run)
    dead.refresh_from_db()
    assert (dead.state, dead.lease) == ("interrupted", None)
    assert dead.ended_at
    assert ledger.count_by_status(campaign, rater) == {"open": ITEMS}
    assert not lifecycle.renew(dead, lease)
    assert not lifecycle.finish(dead, lease, "done")


def test_two_campaigns_of_one_judge_do_not_wait_for_each_other(
    campaign: Campaign, tmp_path: Path
) -> None:
    rater = judge()
    other = campaign_of(tmp_path, "rubric-passage")
    assert lifecycle.lease_run(lifecycle.start(campaign, rater))
    assert lifecycle.lease_run(lifecycle.start(other, rater))


def test_a_changed_prompt_needs_a_new_judge(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    rater = judge()
    run = lifecycle.start(campaign, rater)
    lifecycle.finish(run, lifecycle.lease_run(run) or uuid.uuid4(), "done")
    monkeypatch.setattr(lifecycle, "prompt_for", lambda judge, campaign: "another")
    with pytest.raises(prompts.ChangedPromptError, match="create a new judge"):
        lifecycle.start(campaign, rater)


def test_a_limit_counts_the_assignments_that_the_run_has_closed(campaign: Campaign) -> None:
    run = lifecycle.start(campaign, judge(), limit=10)
    assert lifecycle.remaining_assignments(run) == 10
    JudgeRun.objects.filter(pk=run.pk).update(done=4, failures={"error": 3})
    assert lifecycle.remaining_assignments(run) == 3


@pytest.mark.postgresql
def test_judges_and_calls_are_never_changed(campaign: Campaign) -> None:
    rater = judge()
    rater.model = "another"
    with pytest.raises(FrozenError):
        rater.save()


class TestStrikes:
    """Assignments at which workers die are first asked alone, then closed."""

    def die(self, campaign: Campaign, rater: Judge, rows: int = 12) -> JudgeRun:
        """A run whose worker leases rows and dies."""
        run = lifecycle.start(campaign, rater)
        lease = lifecycle.lease_run(run)
        assert lease
        ledger.claim(campaign, rater, lease, rows)
        let_the_lease_run_out(run)
        return run

    def struck(self) -> dict[int, int]:
        return dict(Strike.objects.values_list("assignment", "count"))

    def claim(self, campaign: Campaign, rater: Judge) -> tuple[uuid.UUID, list[Assignment]]:
        lease = lifecycle.lease_run(lifecycle.start(campaign, rater))
        assert lease
        return lease, ledger.claim(campaign, rater, lease, 12)

    def test_an_orderly_end_of_a_run_gives_no_strikes(self, campaign: Campaign) -> None:
        rater = judge()
        for end in (
            lifecycle.hand_over,
            lambda run, lease: lifecycle.finish(run, lease, "interrupted"),
        ):
            run = lifecycle.start(campaign, rater)
            lease = lifecycle.lease_run(run)
            assert lease
            ledger.claim(campaign, rater, lease, 3)
            end(run, lease)
            JudgeRun.objects.all().update(state="interrupted", lease=None)
        assert self.struck() == {}

    @pytest.mark.postgresql
    def test_a_third_strike_closes_only_its_own_assignment(self, campaign: Campaign) -> None:
        rater = judge()
        self.die(campaign, rater, rows=1)
        self.die(campaign, rater, rows=1)
        dead = self.die(campaign, rater, rows=9)
        lease, rest = self.claim(campaign, rater)
        # The third worker had leased the others, too, but these have only one strike.
        assert len(rest) == ITEMS - 1
        ledger.assignments_of(campaign, rater).filter(status="leased").update(status="done")
        (alone,) = ledger.claim(campaign, rater, lease, 9)
        JudgeRun.objects.exclude(pk=dead.pk).update(lease_until=Now() - timedelta(seconds=1))
        run = lifecycle.start(campaign, rater)
        assert lifecycle.lease_run(run)
        alone.refresh_from_db()
        assert (alone.status, alone.reason) == ("failed", "error")
        call = JudgeCall.objects.get()
        assert (call.state, call.assignment, call.run) == ("poisoned", alone, run)
        run.refresh_from_db()
        assert run.failures == {"error": 1}

    def test_an_answer_clears_the_strikes(self, campaign: Campaign) -> None:
        rater = judge()
        self.die(campaign, rater)
        run, _, _ = run_scripted(campaign, rater)
        assert run.done == ITEMS
        assert self.struck() == {}
