"""The queue shares computations, gives turns, cancels, leases, and stores results."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import IntegrityError, connection
from django.utils import timezone
from pytest_django.fixtures import Settings

from annotation.models import User
from datasets.models import Job, Worker
from datasets.work import TooManyError, ask, queue, results
from tests.datasets.work.conftest import HEAVY, SUM, Asking, Labels
from tests.queue_cast import reload_job, run_due_jobs

pytestmark = pytest.mark.django_db
on_both = pytest.mark.postgresql


@on_both
def test_two_people_with_the_same_question_share_one_job(
    asked: Asking, labels: Labels, ada: User, ben: User
) -> None:
    first, second = asked("kappa", ada), asked("kappa", ben)
    assert first == second
    assert run_due_jobs() == 1
    assert labels.computed == ["kappa"]
    assert results.value(reload_job(first)) == {"name": "kappa", "newest": 1}
    assert asked("kappa", ben) == first
    assert run_due_jobs() == 0


def test_the_order_of_options_does_not_change_the_question(
    asked: Asking, ada: User, ben: User
) -> None:
    asked("alpha", ada)
    first = asked("kappa", ada, of="a", by="b")
    assert asked("kappa", ben, by="b", of="a") == first
    assert asked("kappa", ben, by="a", of="b") != first


def test_new_labels_make_a_new_job_beside_the_last_result(
    asked: Asking, labels: Labels, ada: User
) -> None:
    old = asked("kappa", ada)
    run_due_jobs()
    labels.newest = 2
    found = ask(SUM, {"name": "kappa"}, ada)
    assert not found.is_current
    assert found.last == old
    assert found.job.state == "waiting"
    run_due_jobs()
    found = ask(SUM, {"name": "kappa"}, ada)
    assert found.is_current
    assert found.last is not None
    assert results.value(found.last)["newest"] == 2
    assert ask(SUM, {"name": "alpha"}, ada).last is None


def test_a_waiting_job_uses_the_labels_at_the_time_it_runs(
    asked: Asking, labels: Labels, ada: User, ben: User
) -> None:
    job = asked("kappa", ada)
    labels.newest = 2
    assert asked("kappa", ben) == job
    run_due_jobs()
    assert asked("kappa", ada) == job
    assert labels.computed == ["kappa"]


def test_people_take_turns_however_many_jobs_one_of_them_has(
    asked: Asking, labels: Labels, ada: User, ben: User
) -> None:
    for name in ("a1", "a2", "a3"):
        asked(name, ada)
    for name in ("b1", "b2"):
        asked(name, ben)
    assert queue.position(Job.objects.get(options__name="b1")) == 2
    assert queue.position(Job.objects.get(options__name="a3")) == 5
    run_due_jobs()
    assert labels.computed == ["a1", "b1", "a2", "b2", "a3"]


def test_the_next_turn_goes_to_the_person_served_longest_ago() -> None:
    ada, ben, cleo = 1, 2, 3
    asked = [(11, ada), (12, ada), (21, ben), (31, cleo)]
    order = queue.turns(asked, {ada: 10, ben: 5}, Counter())
    assert order == [(31, cleo), (21, ben), (11, ada), (12, ada)]


def test_a_person_with_two_running_jobs_comes_after_the_others() -> None:
    ada, ben = 1, 2
    asked = [(11, ada), (21, ben)]
    assert queue.turns(asked, {}, Counter({ada: 1})) == [(11, ada), (21, ben)]
    assert queue.turns(asked, {}, Counter({ada: 2})) == [(21, ben), (11, ada)]


def test_the_turn_of_a_shared_job_goes_to_a_person_still_waiting_for_it(
    asked: Asking, ada: User, ben: User
) -> None:
    shared = asked("kappa", ada)
    assert asked("kappa", ben) == shared
    queue.cancel(shared, ada)
    held = queue.take()
    assert held is not None
    assert (held, held.user) == (shared, ben)
    assert queue.finish(held, {})
    assert queue.position(asked("alpha", ben)) == 1


def test_a_person_with_two_running_jobs_waits_behind_one_served_later(
    asked: Asking, ada: User, ben: User
) -> None:
    for name in ("a1", "a2"):
        asked(name, ada)
        assert queue.take()
    asked("b1", ben)
    last = queue.take()
    assert last is not None
    assert queue.finish(last, {})
    third, second = asked("a3", ada), asked("b2", ben)
    assert [queue.position(each) for each in (third, second)] == [2, 1]
    assert queue.take() == second
    assert queue.take() is None


def test_cancelling_ends_only_that_job(asked: Asking, ada: User, ben: User) -> None:
    done = asked("done", ada)
    run_due_jobs()
    job, kept, of_ben = asked("kappa", ada), asked("alpha", ada), asked("beta", ben)
    queue.cancel(job, ada)
    queue.cancel(done, ada)
    assert job.ended_at is not None
    states = [reload_job(each).state for each in (job, done, kept, of_ben)]
    assert states == ["cancelled", "done", "waiting", "waiting"]
    assert [asker.withdrawn for asker in kept.askers.all()] == [False]


def test_a_question_counts_as_asked_while_its_job_waits_or_has_a_result(
    asked: Asking, ada: User, ben: User
) -> None:
    def who_asked(name: str, **more: str) -> list[User]:
        return [
            user for user in (ada, ben) if queue.is_requested(SUM, {"name": name, **more}, user)
        ]

    asked("kappa", ada)
    asked("alpha", ben, do="refuse")
    assert (who_asked("kappa"), who_asked("alpha", do="refuse")) == ([ada], [ben])
    held = queue.take()
    assert held is not None
    assert (held.options["name"], who_asked("kappa")) == ("kappa", [ada])
    queue.release(held)
    run_due_jobs()
    assert (who_asked("kappa"), who_asked("alpha", do="refuse")) == ([ada], [])
    assert [job.options["name"] for job in queue.jobs_of(ben)] == ["alpha"]


def test_asking_for_a_running_job_joins_it(asked: Asking, ada: User, ben: User) -> None:
    asked("kappa", ada)
    running = queue.take()
    assert running is not None
    queue.set_digest(running)
    assert asked("kappa", ben) == running
    assert [asker.user for asker in running.askers.order_by("pk")] == [ada, ben]
    queue.cancel(running, ada)
    assert running.state == "running"
    queue.cancel(running, ben)
    assert (running.state, running.turn, running.lease_until) == ("cancelled", None, None)


def test_a_job_and_its_first_asker_are_stored_together_or_not_at_all(
    asked: Asking, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ConnectionError

    monkeypatch.setattr(queue, "_add_asker", fail)
    with pytest.raises(ConnectionError):
        asked("kappa", ada)
    assert not Job.objects.exists()


def test_a_person_who_joined_a_job_as_it_was_cancelled_gets_a_new_job(
    asked: Asking, ada: User, ben: User
) -> None:
    job = asked("kappa", ada)
    queue.cancel(job, ada)
    job.askers.create(user=ben)  # at the same moment, in another process
    assert asked("kappa", ben) != job


def test_the_last_result_is_kept_however_many_later_jobs_are_cancelled(
    asked: Asking, labels: Labels, ada: User
) -> None:
    done = asked("kappa", ada)
    run_due_jobs()
    for newest in (2, 3, 4, 5):
        labels.newest = newest
        queue.cancel(asked("kappa", ada), ada)
    assert queue.last_finished(done.question) == done
    labels.newest = 6
    newer = asked("kappa", ada)
    run_due_jobs()
    assert queue.last_finished(done.question) == newer
    results.remove(reload_job(newer).result["file"])
    assert queue.last_finished(done.question) == done


def test_a_shared_job_runs_at_the_earliest_turn_of_its_askers() -> None:
    ada, ben = 1, 2
    asked = [(11, ada), (12, ada), (13, ada), (13, ben)]
    assert queue.turns(asked, {}, Counter()) == [(11, ada), (13, ben), (12, ada)]


@on_both
def test_a_person_has_at_most_two_running_jobs_while_others_wait(
    asked: Asking, ada: User, ben: User
) -> None:
    for name in ("a1", "a2", "a3"):
        asked(name, ada)
    asked("b1", ben)
    taken = [queue.take() for _ in range(5)]
    names = [job.options["name"] for job in taken if job]
    assert sorted(names) == ["a1", "a2", "b1"]
    first = next(job for job in taken if job and job.options["name"] == "a1")
    queue.finish(first, {})
    following = queue.take()
    assert following is not None
    assert following.options["name"] == "a3"


def test_heavy_and_light_jobs_have_turns_of_their_own(asked: Asking, ada: User, ben: User) -> None:
    for name in ("one", "two", "three"):
        ask(HEAVY, {"name": name}, ada)
    assert (queue.take(), queue.is_due(heavy=False)) == (None, False)
    running = [queue.take(heavy=True), queue.take(heavy=True)]
    assert [job.options["name"] for job in running if job] == ["one", "two"]
    assert queue.take(heavy=True) is None, "a person has two running"
    light, of_ben = asked("light", ada), asked("of ben", ben)
    assert [queue.position(light), queue.position(of_ben)] == [1, 2], "none of them waits for three"
    assert [queue.take(), queue.take()] == [light, of_ben]
    Job.objects.filter(pk=light.pk).update(lease_until="2020-01-01T00:00:00Z")
    assert queue.take(heavy=True) is None, "a lost job is taken up at its own places"
    assert queue.take() == light


@on_both
def test_two_jobs_for_one_question_never_run_at_the_same_time(
    asked: Asking, labels: Labels, ada: User
) -> None:
    asked("kappa", ada)
    running = queue.take()
    assert running is not None
    queue.set_digest(running)
    labels.newest = 2
    newer = asked("kappa", ada)
    assert newer != running
    assert queue.take() is None
    other = asked("alpha", ada)
    assert queue.take() == other
    queue.finish(running, {})
    assert queue.take() == newer


def test_a_chosen_job_does_not_start_if_its_question_or_person_became_busy(
    asked: Asking, labels: Labels, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked("kappa", ada)
    first = queue.take()
    labels.newest = 2
    assert first is not None
    assert queue.set_digest(first)
    labels.newest = 3
    newer = asked("kappa", ada)
    monkeypatch.setattr(queue, "_next", lambda heavy: (newer.pk, ada.pk))
    assert queue.take() is None, "its question is being computed"
    assert queue.finish(first, {})
    monkeypatch.undo()
    others = [asked(name, ada) for name in ("alpha", "beta")]
    Job.objects.filter(pk__in=[job.pk for job in others]).update(state="running", user=ada)
    assert queue._may_begin(newer.pk, ada.pk, heavy=False), "nobody works on the two"
    Job.objects.filter(state="running").update(lease_until=timezone.now() + timedelta(hours=1))
    assert not queue._may_begin(newer.pk, ada.pk, heavy=False)
    assert queue._may_begin(newer.pk, ada.pk, heavy=True), "the two are light"


def test_joining_a_job_as_it_is_cancelled_adds_a_new_job(
    asked: Asking, ada: User, ben: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = asked("kappa", ada)

    def meanwhile(*_: object) -> bool:
        queue.cancel(job, ada)
        return False

    monkeypatch.setattr(queue, "_has_asked", meanwhile)
    newer = asked("kappa", ben)
    assert (newer.state, job.state) == ("waiting", "cancelled")
    assert [asker.user for asker in newer.askers.all()] == [ben]
    assert queue.take() == newer


def test_a_job_cancelled_after_it_was_chosen_does_not_start(
    asked: Asking, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, other = asked("kappa", ada), asked("alpha", ada)
    chosen = queue._next(heavy=False)
    queue.cancel(job, ada)
    looks = iter([chosen, chosen, chosen])
    monkeypatch.setattr(queue, "_next", lambda heavy: next(looks))
    assert queue.take() is None
    assert [reload_job(each).state for each in (job, other)] == ["cancelled", "waiting"]
    looks = iter([chosen, (other.pk, ada.pk)])
    assert queue.take() == other


def test_a_cancelled_job_is_not_computed_and_a_page_reload_does_not_restart_it(
    asked: Asking, labels: Labels, ada: User, ben: User
) -> None:
    job = asked("kappa", ada)
    queue.cancel(job, ada)
    assert job.state == "cancelled"
    assert run_due_jobs() == 0
    assert asked("kappa", ada) == job
    other = asked("kappa", ben)
    assert other != job
    assert asked("kappa", ada, again=True) == other


def test_a_failed_job_is_repeated_only_after_its_labels_change(
    asked: Asking, labels: Labels, ada: User
) -> None:
    job = asked("kappa", ada, do="refuse")
    run_due_jobs()
    assert reload_job(job).state == "failed"
    assert asked("kappa", ada, do="refuse") == job
    labels.newest = 2
    newer = asked("kappa", ada, do="refuse")
    assert newer != job
    assert newer.state == "waiting"


def test_cancelling_keeps_a_job_that_another_person_waits_for(
    asked: Asking, ada: User, ben: User
) -> None:
    job = asked("kappa", ada)
    asked("kappa", ben)
    queue.cancel(job, ada)
    assert job.state == "waiting"
    run_due_jobs()
    assert reload_job(job).state == "done"


def test_a_person_who_withdrew_can_ask_again_from_another_page(
    asked: Asking, ada: User, ben: User
) -> None:
    def of_ada(page: str) -> tuple[Job, bool, str]:
        job = ask(SUM, {"name": "kappa"}, ada, page).job
        row = job.askers.get(user=ada)
        return job, row.withdrawn, row.address

    job = asked("kappa", ben)
    assert of_ada("/results/") == (job, False, "/results/")
    queue.cancel(job, ada)
    assert of_ada("/results/") == (job, False, "/results/")
    assert of_ada("/paper/") == (job, False, "/paper/")


def test_a_job_fails_after_its_worker_has_died_three_times(asked: Asking, ada: User) -> None:
    job = asked("kappa", ada)
    for _ in range(3):
        assert queue.take() == job
        Job.objects.update(lease_until="2020-01-01T00:00:00Z")
    assert queue.take() is None
    assert reload_job(job).state == "failed"
    assert "ended three times" in job.error
    assert (job.turn, job.lease_until) == (None, None)
    assert job.ended_at is not None


@on_both
def test_an_attempt_that_lost_its_lease_changes_nothing(asked: Asking, ada: User) -> None:
    asked("kappa", ada)
    late = queue.take()
    assert late is not None
    Job.objects.update(lease_until="2020-01-01T00:00:00Z")
    current = queue.take()
    assert current is not None
    assert not queue.renew(late, 1, 2)
    assert not queue.finish(late, {"file": "late"})
    assert queue.finish(current, {"file": "current"})
    assert reload_job(current).result == {"file": "current"}


def test_a_job_fails_if_its_askers_have_lost_access(
    asked: Asking, labels: Labels, ada: User
) -> None:
    job = asked("kappa", ada)
    labels.hidden_from.add("ada")
    run_due_jobs()
    assert reload_job(job).state == "failed"
    assert labels.computed == []


def test_a_result_whose_file_was_deleted_is_computed_again(
    asked: Asking, labels: Labels, ada: User
) -> None:
    job = asked("kappa", ada)
    run_due_jobs()
    results.remove(reload_job(job).result["file"])
    assert asked("kappa", ada) != job


def test_a_person_may_have_at_most_fifty_waiting_jobs(asked: Asking, ada: User, ben: User) -> None:
    for number in range(50):
        asked(f"n{number}", ada)
    with pytest.raises(TooManyError, match="let some finish or cancel"):
        asked("one more", ada)
    asked("n1", ada)
    asked("one more", ben)


def test_withdrawing_from_a_shared_job_frees_a_place_under_the_limit(
    asked: Asking, ada: User, ben: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue, "MOST_WAITING", 1)
    shared = asked("kappa", ada)
    assert asked("kappa", ben) == shared
    with pytest.raises(TooManyError):
        asked("alpha", ada)
    queue.cancel(shared, ada)
    assert shared.state == "waiting"
    assert asked("alpha", ada).state == "waiting"
    with pytest.raises(TooManyError):
        asked("alpha of ben", ben)
    run_due_jobs()
    assert asked("alpha of ben", ben).state == "waiting", "what is computed waits no more"


def test_results_that_are_old_or_exceed_the_disk_limit_are_deleted(
    asked: Asking, ada: User, settings: Settings
) -> None:
    for name in ("old", "read", "big", "new"):
        asked(name, ada)
        run_due_jobs()
    jobs = {job.options["name"]: job for job in Job.objects.all()}
    paths = {name: results.folder() / job.result["file"] for name, job in jobs.items()}
    week = time.time() - 8 * 24 * 3600
    for name in ("old", "read"):
        os.utime(paths[name], (week, week))
    Job.objects.filter(options__name__in=["old", "read"]).update(ended_at="2020-01-01T00:00:00Z")
    results.value(jobs["read"])
    assert results.sweep() == 1
    assert not paths["old"].exists()
    os.truncate(paths["big"], 3 << 20)
    two_hours = time.time() - 2 * 3600
    os.utime(paths["big"], (two_hours, two_hours))
    settings.TANDEM_JOB_RESULTS_MB = 2
    assert results.sweep() == 1
    assert sorted(Job.objects.values_list("options__name", flat=True)) == ["new", "read"]


def test_a_job_that_is_taken_starts_with_fresh_progress(asked: Asking, ada: User) -> None:
    job = asked("kappa", ada)
    assert queue.position(job) == 1
    Job.objects.update(done=3, total=5)
    held = queue.take()
    assert held is not None
    assert (held.done, held.total, held.attempts, held.state) == (0, 0, 1, "running")
    assert queue.position(held) == 1


def test_a_question_added_concurrently_by_others_is_looked_up_again(
    asked: Asking, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, failures = queue._create_job, [2]

    def clashes(*arguments: Any) -> Job:
        if failures[0]:
            failures[0] -= 1
            raise IntegrityError
        return whole(*arguments)

    monkeypatch.setattr(queue, "_create_job", clashes)
    assert asked("kappa", ada).state == "waiting"
    failures[0] = 3
    with pytest.raises(RuntimeError, match="can be neither found nor added"):
        asked("alpha", ada)


def test_deleting_the_only_asker_cancels_waiting_jobs_and_keeps_results(
    asked: Asking, ada: User, ben: User
) -> None:
    done = asked("done", ada)
    run_due_jobs()
    job, running = asked("kappa", ada), asked("alpha", ben)
    ada.delete()
    assert queue.take() == running
    assert reload_job(job).state == "waiting"
    assert queue.take() is None
    states = [reload_job(each).state for each in (job, running, done)]
    assert states == ["cancelled", "running", "done"]
    assert job.ended_at is not None


def test_reporting_progress_renews_the_lease_and_finishing_ends_it(
    asked: Asking, ada: User
) -> None:
    asked("kappa", ada)
    held = queue.take()
    assert held is not None
    Job.objects.update(lease_until=timezone.now() + timedelta(seconds=1), error="before")
    assert queue.renew(held, 1, 3)
    held.refresh_from_db()
    assert (held.done, held.total, held.state) == (1, 3, "running")
    assert held.lease_until is not None
    left = (held.lease_until - timezone.now()).total_seconds()
    assert 15 < left <= 20
    assert queue.finish(held, {"file": "f"})
    assert (reload_job(held).state, held.error, held.result) == ("done", "", {"file": "f"})
    assert (held.turn, held.lease_until) == (None, None)
    assert held.ended_at is not None
    assert not queue.fail(held, "too late")
    asked("alpha", ada)
    other = queue.take()
    assert other is not None
    assert queue.fail(other, "one\n  line")
    assert (reload_job(other).state, other.error, other.turn) == ("failed", "one line", None)
    assert reload_job(held).error == ""


def test_a_job_given_back_is_due_at_once_and_the_attempt_does_not_count(
    asked: Asking, ada: User
) -> None:
    assert not queue.is_due()
    asked("kappa", ada)
    assert queue.is_due()
    held = queue.take()
    assert held is not None
    assert not queue.is_due()
    queue.release(held)
    assert queue.is_due()
    again = queue.take()
    assert again is not None
    assert (again, again.attempts) == (held, 1)
    assert again.turn != held.turn
    queue.release(held)
    assert not queue.is_due(), "it is another's by now"


def test_a_worker_counts_as_running_for_fifteen_seconds_after_its_last_sign() -> None:
    def seen(name: str, **ago: float) -> None:
        Worker.objects.filter(name=name).update(seen_at=timezone.now() - timedelta(**ago))

    assert not queue.has_worker()
    queue.note_worker("one", 2)
    assert queue.has_worker()
    seen("one", seconds=13)
    assert queue.has_worker()
    seen("one", seconds=15.1)
    assert not queue.has_worker()
    queue.note_worker("one", 3)
    assert queue.has_worker()
    queue.note_worker("two", 1)
    seen("one", hours=23)
    seen("two", hours=25)
    queue.note_worker("three", 1)
    assert dict(Worker.objects.values_list("name", "places")) == {"one": 3, "three": 1}
    queue.forget_worker("three")
    queue.note_worker("two", 0)
    seen("one", minutes=1)
    assert not queue.has_worker(), "one for light jobs only is not enough"
    queue.forget_worker("two")
    assert list(Worker.objects.values_list("name", flat=True)) == ["one"]


def test_a_job_is_stuck_after_waiting_ten_seconds_without_a_worker(
    asked: Asking, ada: User, ben: User
) -> None:
    job = asked("kappa", ada)
    assert not queue.is_stuck(job)
    Job.objects.update(created_at=timezone.now() - timedelta(seconds=11))
    assert queue.is_stuck(job)
    other = asked("alpha", ben)
    assert not queue.is_stuck(other)
    queue.note_worker("one", 1)
    assert not queue.is_stuck(job)
    queue.forget_worker("one")
    held = queue.take()
    assert held == job
    assert not queue.is_stuck(job)
    Job.objects.update(created_at=timezone.now() - timedelta(seconds=11))
    assert not queue.is_stuck(other), "another is being computed"
    assert queue.finish(held, {})
    assert queue.is_stuck(other)
    assert not queue.is_stuck(job)


def test_a_job_carried_out_at_once_belongs_to_the_first_asker(
    asked: Asking, ada: User, ben: User
) -> None:
    job = asked("kappa", ben)
    assert asked("kappa", ada) == job
    Job.objects.update(attempts=2)
    held = queue.lease_now(job)
    assert (held, held.user, held.attempts, held.state) == (job, ben, 1, "running")
    assert held.started_at is not None


def test_a_job_without_askers_is_cancelled_even_if_no_other_job_can_start(
    asked: Asking, ada: User, ben: User
) -> None:
    for name in ("a1", "a2"):
        asked(name, ada)
        assert queue.take()
    third, of_ben = asked("a3", ada), asked("b1", ben)
    ben.delete()
    assert queue.take() is None
    assert [reload_job(each).state for each in (third, of_ben)] == ["waiting", "cancelled"]


def test_a_lease_lasts_exactly_twenty_seconds(
    asked: Asking, ada: User, ben: User, noon: datetime
) -> None:
    asked("kappa", ada)
    held = queue.take()
    assert held is not None
    assert held.lease_until == noon + timedelta(seconds=20)
    other = asked("alpha", ben)
    Job.objects.filter(pk=other.pk).update(created_at=noon - timedelta(minutes=1))
    Job.objects.filter(pk=held.pk).update(lease_until=noon)
    assert not queue.is_stuck(other), "somebody works until now"
    assert queue.take() == other
    assert not queue.is_due()
    assert queue.take() is None
    Job.objects.filter(pk=held.pk).update(lease_until=noon - timedelta(seconds=1))
    assert queue.is_due()
    assert queue.take() == held
    assert not queue.is_due()


def test_a_job_whose_worker_died_no_longer_counts_against_its_person(
    asked: Asking, ada: User
) -> None:
    for name in ("a1", "a2"):
        asked(name, ada)
        assert queue.take()
    third = asked("a3", ada)
    assert queue._next(heavy=False) is None
    Job.objects.filter(options__name="a2").update(lease_until="2020-01-01T00:00:00Z")
    assert queue._next(heavy=False) == (third.pk, ada.pk)


def test_the_limits_for_lost_workers_and_stuck_jobs_are_exact(
    asked: Asking, ada: User, noon: datetime
) -> None:
    queue.note_worker("one", 1)
    Worker.objects.update(seen_at=noon - queue.WORKER_TIMEOUT)
    assert queue.has_worker()
    Worker.objects.update(seen_at=noon - timedelta(days=1))
    queue.note_worker("new", 1)
    assert sorted(Worker.objects.values_list("name", flat=True)) == ["new", "one"]
    Worker.objects.all().delete()
    job = asked("kappa", ada)
    Job.objects.update(created_at=noon - queue.PATIENCE)
    assert not queue.is_stuck(job)
    Job.objects.update(created_at=noon - queue.PATIENCE - timedelta(seconds=1))
    assert queue.is_stuck(job)


def test_workers_choose_jobs_one_at_a_time_and_lock_the_chosen_job(
    asked: Asking, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    locks: list[tuple[str, list[int]]] = []
    locked: list[int] = []

    class Cursor:
        def __enter__(self) -> Cursor:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def execute(self, statement: str, values: list[int]) -> None:
            locks.append((statement, values))

    postgresql = SimpleNamespace(vendor="postgresql", cursor=Cursor)
    with monkeypatch.context() as patch:
        patch.setattr("datasets.db.locks.connection", postgresql)
        queue.wait_for_turn(queue.LOCK)
    same = 0x7A6E_0A0E  # as in other versions, whose workers may still be at work
    assert locks == [("SELECT pg_advisory_xact_lock(%s)", [same])]
    outside = len(connection.savepoint_ids)
    monkeypatch.setattr(
        queue, "wait_for_turn", lambda lock: locked.append(len(connection.savepoint_ids))
    )
    job = asked("kappa", ada)
    assert queue.take() == job
    queue.cancel(job, ada)
    assert locked == [outside + 1] * 2, "the lock ends with the transaction"


def test_writes_by_workers_wait_for_the_writer_of_sqlite(asked: Asking, ada: User) -> None:
    asked("kappa", ada)
    held = queue.take()
    assert held is not None
    outside, depths = len(connection.savepoint_ids), []

    def note(execute: Callable[..., Any], statement: str, *more: Any) -> Any:
        if statement.startswith(("INSERT", "UPDATE", "DELETE")):
            depths.append(len(connection.savepoint_ids))
        return execute(statement, *more)

    with connection.execute_wrapper(note):
        queue.note_worker("one", 1)
        queue.renew(held, 1, 2)
        queue.release(held)
    assert len(depths) >= 3
    assert min(depths) > outside
