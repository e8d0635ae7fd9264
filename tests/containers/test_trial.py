"""An image's processes start, answer and stop, through all steps of our Dockerfile."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from scripts.containers import trial
from scripts.containers.building import Builder, Image
from scripts.containers.dockerfile import DockerfileError
from scripts.containers.trial import Trial, snapshot
from tests.cast import ROOT
from tests.patience import PATIENCE

WAITING = "print('up', flush=True); import time; time.sleep(900)"
MINDFUL = "import signal, sys; signal.signal(15, lambda *a: sys.exit({})); " + WAITING
STUBBORN = "import signal; signal.signal(15, signal.SIG_IGN); " + WAITING


def python(code: str) -> list[str]:
    return ["python", "-c", code]


@pytest.fixture
def builder(tmp_path: Path) -> Builder:
    (tmp_path / "context").mkdir()
    (tmp_path / "context" / ".dockerignore").touch()
    made = Builder(tmp_path / "context", tmp_path / "work", lambda line: None)
    for name in ("app", "data", "tmp"):
        made.here(f"/{name}").mkdir(parents=True)
    return made


@pytest.fixture
def tried(builder: Builder, monkeypatch: pytest.MonkeyPatch) -> Trial:
    monkeypatch.setattr(trial, "STARTING", PATIENCE)
    monkeypatch.setattr(trial, "ENDING", PATIENCE)
    return Trial(builder, Image(folder="/app", check=python("pass")))


def test_a_trial_succeeds_when_the_health_check_does(tried: Trial) -> None:
    with tried.processes({"web": python(MINDFUL.format(0))}) as running:
        assert tried.await_health(running) > 0
        tried.await_line("web", "up")
        assert tried.stop(running) > 0
    assert running["web"].returncode == 0


def started_and_asked(tried: Trial, code: str) -> None:
    with tried.processes({"web": python(code)}) as running:
        tried.await_health(running)


def test_a_process_that_ends_by_itself_is_reported_with_its_log(tried: Trial) -> None:
    tried.image.check = python("raise SystemExit(1)")
    with pytest.raises(DockerfileError, match=r"ended by themselves: \{'web': 7\}[^$]*no key"):
        started_and_asked(tried, "print('no key'); raise SystemExit(7)")


def test_a_health_check_that_never_succeeds_is_reported(
    tried: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "STARTING", 1.0)
    tried.image.check = python("raise SystemExit(1)")
    with pytest.raises(DockerfileError, match="not healthy"):
        tried.await_health({})


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("code", "said"), [(MINDFUL.format(3), "ended with 3"), (STUBBORN, "still runs")]
)
def test_a_process_that_ends_with_an_error_is_reported(
    tried: Trial, code: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if code == STUBBORN:
        monkeypatch.setattr(trial, "ENDING", 0.5)
    with tried.processes({"web": python(code)}) as running:
        tried.await_line("web", "up")
        with pytest.raises(DockerfileError, match=f"web {said}"):
            tried.stop(running)


def test_no_process_outlives_the_trial(tried: Trial) -> None:
    with tried.processes({"web": python(STUBBORN)}) as running:
        tried.await_line("web", "up")
        assert running["web"].poll() is None
    assert running["web"].returncode == -9


def test_only_volumes_and_tmp_may_be_written(builder: Builder) -> None:
    image = Image(folder="/app", volumes=["/data"])
    before = snapshot(builder, image)
    for path in ("/data/kept", "/tmp/passing", "/app/wrong.pid"):
        builder.here(path).touch()
    assert {name for name, _ in snapshot(builder, image) ^ before} == {"app/wrong.pid"}


@pytest.mark.long
@pytest.mark.containers
def test_our_dockerfile_builds_and_its_processes_start_and_stop() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "scripts.containers"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=3 * PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    assert "all ended with 0" in done.stdout
    assert "nothing was written outside of the volumes and /tmp" in done.stdout
