"""People can save while every thread in which a request may wait for a report is taken."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.db import connection
from pytest_django.fixtures import Settings

from datasets.models import Job
from datasets.work import requests
from tests import queue_cast
from tests.api.cast import script_of
from tests.page_cast import answers, client_of, make_study, page


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_a_save_is_answered_while_all_threads_for_reports_are_taken(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test uses no clock, and one more thread than may wait for reports.

    No worker runs, so each waiting request waits until the test ends it.
    """
    queue_cast.set_up(settings, tmp_path / "data", monkeypatch)
    monkeypatch.setattr(requests, "WAIT_SECONDS", float("inf"))
    study = make_study()
    mine, ada = study.assignment(study.ada), client_of(study.ada)
    root = script_of(study.root)
    held, over = threading.Semaphore(0), threading.Event()

    def pause(seconds: float) -> None:
        held.release()
        assert over.wait(60)
        over.clear()

    monkeypatch.setattr(requests, "sleep", pause)
    address = f"/api/v1/campaigns/{study.campaign.pk}/report/?seed="

    def asks(seed: int) -> int:
        try:
            return int(root.get(f"{address}{seed}").status_code)
        finally:
            connection.close()

    form = answers("no", "no", "no", seen=0)

    def saves() -> int:
        try:
            return int(ada.post(page("submit", mine), form).status_code)
        finally:
            connection.close()

    places = settings.JOB_WAITS
    with ThreadPoolExecutor(places + 1) as threads:
        waiting = [threads.submit(asks, seed) for seed in range(places)]
        for _ in range(places):
            assert held.acquire(timeout=60)
        reports = [threads.submit(asks, 100 + n) for n in range(20)]
        assert threads.submit(saves).result() in (200, 302)
        assert not any(each.done() for each in waiting)
        assert {each.result() for each in reports} == {202}
        Job.objects.update(state="cancelled")
        over.set()
        assert {each.result() for each in waiting} == {422}
