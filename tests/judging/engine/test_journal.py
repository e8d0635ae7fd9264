"""What a killed engine was answered is in its journal, and is not paid for again."""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db.models.functions import Now

from annotation.answers.submission import LostLeaseError
from annotation.models import Campaign
from judging.answers.calls import Call
from judging.answers.results import Result, record
from judging.backends.base import Answer
from judging.backends.scripted import Scripted
from judging.engine import journal
from judging.engine.journal import Journal, store_left
from judging.engine.persistence import GROUP, LARGE_GROUP, Writer
from judging.engine.worker import work
from judging.models import JudgeCall, JudgeRun
from judging.prompts.request import Preparer
from judging.runs import ledger, lifecycle, prompts
from tests.judging.cast import HASTY, judge, yes
from tests.judging.virtual import in_virtual_time, rows

LEASE = uuid.UUID(int=1)
ASKED = datetime(2026, 5, 4, 9, 30, 0, 123456, tzinfo=UTC)
USED = {"prompt_tokens": 900, "completion_tokens": 7, "total_tokens": 907}


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "DATA_DIR", tmp_path)


@pytest.fixture
def run(campaign: Campaign) -> JudgeRun:
    return lifecycle.start(campaign, judge(granularity="unit"), queued=True)


def files() -> list[Path]:
    return sorted((Path(settings.DATA_DIR) / journal.FOLDER).glob("*"))


def results(run: JudgeRun, count: int) -> list[Result]:
    """Answers to the run's first requests, which its database does not have."""
    ledger_rows = list(ledger.assignments_of(run.campaign, run.judge).order_by("pk")[:count])
    ledger.attach_items(run.campaign, ledger_rows)
    prepare = Preparer(run.campaign, run.judge, prompts.prompt_of(run), Scripted(yes)).prepare_all
    return [
        Result(one, [Call("answered", ASKED, 0.5, answer=Answer(yes(one.request), usage=USED))])
        for one in prepare(ledger_rows)
    ]


def left_by_a_kill(run: JudgeRun, kept: list[Result]) -> Path:
    """Keep results as an engine would, and let go of the file as the kernel would for it."""
    killed = Journal(run, LEASE)
    for result in kept:
        killed.add(result)
    killed.close()
    (path,) = files()
    return path


@pytest.mark.django_db
def test_answers_that_a_killed_engine_left_are_stored_and_not_paid_for_again(run: JudgeRun) -> None:
    path = left_by_a_kill(run, results(run, 5))
    lease = lifecycle.lease_run(run)
    assert lease is not None
    backend = Scripted(yes)
    assert work(run, lease, None, backend, HASTY).how == "finished"
    run.refresh_from_db()
    assert (run.done, run.calls, len(backend.asked)) == (12, 12, 7)
    assert (run.prompt_tokens, run.completion_tokens) == (4500, 35)
    assert not path.exists()


@pytest.mark.django_db
def test_a_call_is_kept_whole(run: JudgeRun) -> None:
    (result,) = results(run, 1)
    said = Answer("{}\0 ne\u0301e 🙂 \ud800", "length", {"a": [1]}, "m", 200, {"x": 0.5}, "why")
    spent = Call("answered", ASKED, 0.25, "d", 200, "b", said, True, Decimal("0.000123"), address=1)
    left_by_a_kill(run, [replace(result, calls=[spent])])
    assert store_left() == 1
    call = JudgeCall.objects.get(run=run)
    assert (call.completion, call.reasoning) == ("{}\\u0000 ne\u0301e 🙂 \\ud800", "why")
    assert (call.sent_at, call.seconds, call.cost) == (ASKED, 0.25, Decimal("0.000123"))
    assert (call.usage, call.logprobs, call.finish_reason) == ({"a": [1]}, {"x": 0.5}, "length")
    assert (call.address, call.repair, call.http_status, call.attempt) == (1, True, 200, 1)
    assert call.request_hash == result.prepared.request_hash


@pytest.mark.django_db
def test_calls_that_were_stored_before_the_kill_are_not_stored_twice(
    run: JudgeRun,
) -> None:
    path = left_by_a_kill(run, results(run, 3))
    again = path.read_bytes()
    assert store_left() == 3
    path.write_bytes(again)
    assert store_left() == 0
    assert JudgeCall.objects.filter(run=run).count() == 3


@pytest.mark.django_db
def test_a_line_that_was_cut_off_is_left_out(run: JudgeRun) -> None:
    path = left_by_a_kill(run, results(run, 2))
    path.write_bytes(path.read_bytes()[:-40])
    assert store_left() == 1


@pytest.mark.django_db
def test_the_file_of_an_engine_that_lives_is_left_alone(run: JudgeRun) -> None:
    lease = lifecycle.lease_run(run)
    assert lease is not None
    living = Journal(run, lease)
    living.add(results(run, 1)[0])
    assert store_left() == 0
    assert len(files()) == 1
    living.stored(1)
    living.close()
    assert files() == []


@pytest.mark.django_db
def test_an_engine_that_goes_on_after_its_lease_was_taken_over_stores_no_call_twice(
    run: JudgeRun,
) -> None:
    lease, kept = lifecycle.lease_run(run), results(run, 2)
    assert lease is not None
    still = Journal(run, lease)
    still.add(kept[0])
    JudgeRun.objects.filter(pk=run.pk).update(lease_until=Now())
    assert lifecycle.lease_run(run) is not None
    assert store_left() == 1
    schema = kept[0].prepared.schema
    with pytest.raises(LostLeaseError):
        record(run, lease, schema, [replace(each, outcome=each.calls[0].answer) for each in kept])
    run.refresh_from_db()
    assert (JudgeCall.objects.filter(run=run).count(), run.calls) == (2, 2)


@pytest.mark.django_db
def test_the_file_of_a_run_that_was_deleted_is_deleted(run: JudgeRun) -> None:
    left_by_a_kill(run, results(run, 1))
    # Another run may get its number.
    JudgeRun.objects.filter(pk=run.pk).update(started_at=ASKED)
    assert store_left() == 0
    assert (files(), JudgeCall.objects.count()) == ([], 0)


@pytest.mark.django_db
def test_a_file_that_no_database_takes_is_kept_aside(
    run: JudgeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = left_by_a_kill(run, results(run, 1))
    content = path.read_bytes()

    def refuse(*given: Any) -> None:
        raise ValueError("too long")

    monkeypatch.setattr(journal, "store_late", refuse)
    assert store_left() == 0
    assert [(each.suffix, each.read_bytes()) for each in files()] == [(".failed", content)]


def test_files_go_as_soon_as_all_of_their_results_are_stored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(journal, "FILE_RESULTS", 10)
    kept, result = Journal(JudgeRun(pk=7, started_at=ASKED), LEASE), Result(rows(1)[0])
    for _ in range(25):
        kept.add(result)
    counts = [len(files())]
    for stored in (9, 1, 10, 4, 1):
        kept.stored(stored)
        counts.append(len(files()))
    assert counts == [3, 3, 2, 1, 1, 1]
    kept.close()
    assert files() == []


def test_groups_are_small_where_no_file_can_be_written(tmp_path: Path) -> None:
    (tmp_path / journal.FOLDER).write_text("in the way")
    kept = Journal(JudgeRun(pk=7, started_at=ASKED), LEASE)
    sizes, at_risk = groups(kept)
    assert not kept.works
    assert (max(sizes), at_risk) == (GROUP, 200)


def test_groups_are_large_and_nothing_is_at_risk_with_a_journal() -> None:
    sizes, at_risk = groups(Journal(JudgeRun(pk=7, started_at=ASKED), LEASE))
    assert (max(sizes), at_risk) == (LARGE_GROUP, 0)


def test_groups_are_small_where_people_wait_for_them() -> None:
    sizes, at_risk = groups(Journal(JudgeRun(pk=7, started_at=ASKED), LEASE), small=True)
    assert (max(sizes), at_risk) == (GROUP, 0)


def groups(kept: Journal, small: bool = False) -> tuple[list[int], int]:
    """Return the sizes of the groups of 200 results, and how many were at risk."""
    sizes: list[int] = []

    async def write(group: list[Result]) -> None:
        sizes.append(len(group))

    async def job() -> int:
        writer, result = Writer(write, lambda: None, kept, small), Result(rows(1)[0])
        for _ in range(200):
            writer.add(result)
        at_risk = writer.at_risk
        writing = asyncio.create_task(writer.run())
        writer.close()
        await writing
        return at_risk

    return sizes, in_virtual_time(job)
