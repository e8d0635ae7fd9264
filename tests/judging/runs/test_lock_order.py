"""A run is locked before its assignments, and only briefly, so no process waits forever."""

from __future__ import annotations

import threading
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import Error, connection
from django.db.models.functions import Now

from datasets.db import locks
from judging.answers import results
from judging.answers.calls import Call
from judging.answers.results import Result, record
from judging.backends.base import Answer
from judging.backends.scripted import Scripted
from judging.batch_api.requests import build_preparer
from judging.models import JudgeCall, JudgeRun, Shard
from judging.runs import ledger, lifecycle, shards
from tests.databases import ON_POSTGRESQL
from tests.judging.cast import campaign_of, judge, yes
from tests.patience import PATIENCE

pytestmark = pytest.mark.postgresql

ON_A_SERVER = pytest.mark.skipif(not ON_POSTGRESQL, reason="a file has one lock")


@ON_A_SERVER
@pytest.mark.django_db(transaction=True)
def test_storing_results_during_a_takeover_causes_no_deadlock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign, rater = campaign_of(tmp_path), judge()
    run = lifecycle.start(campaign, rater)
    lease = lifecycle.lease_run(run)
    assert lease is not None
    rows = ledger.claim(campaign, rater, lease, 4)
    preparer = build_preparer(campaign, rater, Scripted(yes))
    prepared = [preparer.prepare(row) for row in rows]
    JudgeRun.objects.update(lease_until=Now() - timedelta(seconds=1))
    stored, wrong, taken = threading.Event(), [], []
    store_calls = results.store_calls

    def slowly(*args: Any) -> Any:
        tally = store_calls(*args)
        stored.set()
        taking.join(1.5)
        return tally

    def take() -> None:
        stored.wait(PATIENCE)
        try:
            taken.append(lifecycle.lease_run(run))
        except Exception as error:
            wrong.append(error)
        finally:
            connection.close()

    monkeypatch.setattr(results, "store_calls", slowly)
    taking = threading.Thread(target=take)
    taking.start()
    given = [
        Result(each, (Call("answered", run.started_at, 0.1),), Answer(yes(each.request)))
        for each in prepared
    ]
    assert record(run, lease, preparer.schema, given) == 4
    taking.join(PATIENCE)
    assert wrong == []
    assert JudgeCall.objects.filter(run=run, state="answered").count() == 4
    assert ledger.count_by_status(campaign, rater) == {"done": 4}
    assert taken


@ON_A_SERVER
@pytest.mark.django_db(transaction=True)
def test_a_process_that_sleeps_within_a_transaction_blocks_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign, rater = campaign_of(tmp_path), judge()
    run = lifecycle.start(campaign, rater)
    monkeypatch.setattr(locks, "IDLE_SECONDS", 1)
    asleep, over = threading.Event(), threading.Event()
    woken: list[bool] = []

    def sleep() -> None:
        try:
            with locks.brief_transaction():
                JudgeRun.objects.select_for_update().get(pk=run.pk)
                asleep.set()
                woken.append(over.wait(PATIENCE))
        except Error:
            pass
        finally:
            connection.close()

    sleeper = threading.Thread(target=sleep)
    sleeper.start()
    assert asleep.wait(PATIENCE)
    assert lifecycle.lease_run(run) is not None
    over.set()
    sleeper.join()
    assert woken == [True], "the run could be taken only when the sleeper was awake again"


@ON_A_SERVER
@pytest.mark.django_db(transaction=True)
def test_a_leader_that_freezes_while_it_renews_its_lease_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign, rater = campaign_of(tmp_path), judge()
    run = lifecycle.start(campaign, rater)
    lease = lifecycle.lease_run(run)
    assert lease is not None
    past = {"lease_until": Now() - timedelta(seconds=1)}
    JudgeRun.objects.update(**past)
    Shard.objects.update(**past)
    monkeypatch.setattr(locks, "IDLE_SECONDS", 1)
    frozen, over = threading.Event(), threading.Event()
    renewed: list[object] = []

    def freeze(of: JudgeRun) -> dict[str, int]:
        frozen.set()
        over.wait(PATIENCE)
        return {}

    def renew() -> None:
        with suppress(Error):
            renewed.append(lifecycle.renew(run, lease))
        connection.close()

    monkeypatch.setattr(shards, "sums", freeze)
    leader = threading.Thread(target=renew)
    leader.start()
    assert frozen.wait(PATIENCE)
    assert lifecycle.lease_run(run) is not None
    assert not over.is_set()
    over.set()
    leader.join()
    assert renewed == []
