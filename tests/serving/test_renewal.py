"""Web processes are forked with the application loaded, and HUP brings new code without a gap."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from config.front import renewal
from tests.judging.processes import kill_9, until
from tests.patience import PATIENCE
from tests.serving.site import ROOT, Person, Site

pytestmark = [pytest.mark.processes, pytest.mark.once]


@pytest.fixture(scope="module")
def own(
    django_db_setup: None, static: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Site, subprocess.Popen[bytes]]]:
    """A site whose processes start as on a server."""
    processes = {"WEB_WORKERS": "2", "WEB_OTHER_WORKERS": "1"}
    site = Site(tmp_path_factory.mktemp("renewed"), {**processes, **static})
    site.env["OPENBLAS_NUM_THREADS"] = "1"
    site.open_campaign(400, 2, "ada", "ben")
    command = [sys.executable, "-m", "gunicorn", *site.command[:-1], "tests.serving.announced"]
    with (site.folder / "site.log").open("ab") as log:
        process = subprocess.Popen(
            command, cwd=ROOT, env=site.env, stdout=log, stderr=log, start_new_session=True
        )
        try:
            until(lambda: process.poll() is not None or site.is_ready(), "the site is ready")
            assert process.poll() is None, (site.folder / "site.log").read_text("utf-8")
            yield site, process
        finally:
            kill_9(process)


def save(person: Person, uid: str) -> str:
    following = person.answer(uid)
    assert following is not None
    return following


def until_replaced(site: Site, process: subprocess.Popen[bytes], before: list[int]) -> None:
    """Wait until the main process has reaped its killed child, which is listed until then."""

    def is_replaced() -> bool:
        serving = site.serving(process)
        return len(serving) == 3 and set(before).isdisjoint(serving)

    until(is_replaced, "all are there again")


def test_a_killed_process_is_replaced_without_loading_the_application_again(
    own: tuple[Site, subprocess.Popen[bytes]],
) -> None:
    site, process = own
    ada = Person(site, "ada").come_in()
    uid = ada.take_next()
    assert uid is not None
    for kept in (1, 0):
        killed = site.serving(process)[kept:]
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        uid = save(ada, uid)
        until_replaced(site, process, killed)
    assert ada.odd == []
    log = (site.folder / "site.log").read_text("utf-8").splitlines()
    loaded = [line for line in log if line.startswith("loaded by ")]
    assert loaded == [f"loaded by {process.pid}"]


def test_the_main_process_has_no_connection_or_thread_that_a_fork_could_inherit(
    own: tuple[Site, subprocess.Popen[bytes]],
) -> None:
    _, process = own
    files = Path(f"/proc/{process.pid}/fd")
    if not files.exists():
        pytest.skip("this system does not say which files a process has open")
    opened = [str(file.readlink()) for file in files.iterdir() if file.exists()]
    assert not [path for path in opened if "sqlite3" in path]
    threads = Path(f"/proc/{process.pid}/task")
    names = [(each / "comm").read_text().strip() for each in threads.iterdir()]
    # A library's allocator starts its own thread again in each fork; Python starts none.
    assert len([name for name in names if name != "jemalloc_bg_thd"]) == 1


def test_hup_loads_new_code_while_people_save(
    own: tuple[Site, subprocess.Popen[bytes]],
) -> None:
    site, process = own
    before, over = site.serving(process), threading.Event()
    ben = Person(site, "ben").come_in()

    def work() -> None:
        uid = ben.take_next()
        while uid and not over.wait(0.03):
            uid = ben.answer(uid)

    saving = threading.Thread(target=work)
    saving.start()
    process.send_signal(signal.SIGHUP)
    until_replaced(site, process, before)
    over.set()
    saving.join(PATIENCE)
    assert ben.odd == []
    assert process.poll() is None
    stored = site.ask(
        "import json\nfrom annotation.models import Assignment\n"
        "rows = Assignment.objects.filter(status='done', rater__user__username='ben')\n"
        "print(json.dumps([str(each) for each in rows.values_list('uid', flat=True)]))"
    )
    assert sorted(ben.acknowledged) == sorted(stored)


@pytest.mark.long
def test_a_signal_to_stop_is_heeded_even_during_a_restart(
    own: tuple[Site, subprocess.Popen[bytes]],
) -> None:
    _, process = own
    process.send_signal(signal.SIGHUP)
    until(lambda: _waits_for_signals(process), "it is about to start again")
    process.terminate()
    assert process.wait(PATIENCE) == 0


def _waits_for_signals(process: subprocess.Popen[bytes]) -> bool:
    status = Path(f"/proc/{process.pid}/status")
    if not status.exists():
        pytest.skip("this system does not say which signals a process blocks")
    blocked = next(line for line in status.read_text().splitlines() if line.startswith("SigBlk:"))
    return bool(int(blocked.split()[1], 16) >> (signal.SIGTERM - 1) & 1)


def test_invalid_settings_prevent_the_restart_and_are_logged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[str] = []
    log = SimpleNamespace(error=lambda text, *more: said.append(text % more))
    server = SimpleNamespace(log=log)
    monkeypatch.setattr(os, "execve", lambda *_: pytest.fail("it has started again"))
    renewal.renew_on_hup(server, lambda: "ALLOWED_HOSTS must not be empty")
    server.handle_hup()
    assert said == ["Not reloaded: ALLOWED_HOSTS must not be empty"]
