"""A forked process behaves as one that is started: each case is carried out in both ways."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cast import ROOT
from tests.forks import LIBRARIES, Process, can_fork, run
from tests.patience import PATIENCE

pytestmark = pytest.mark.processes

ENV = os.environ | {"OF_ITS_OWN": "x"}
SCRIPT = """
import atexit, os, sys
atexit.register(lambda: print("over", file=sys.stderr))
print(os.getcwd(), os.environ.get("OF_ITS_OWN"), os.environ.get("HOME"), sys.argv, __name__)
print(input())
sys.exit(7)
"""


@pytest.mark.parametrize("way", ["-c", "file", "-m"])
def test_it_reads_and_says_what_a_started_one_does(way: str, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT, "utf-8")
    words = {"-c": ["-c", SCRIPT], "file": ["script.py"], "-m": ["-m", "script"]}[way]
    command = [sys.executable, *words, "a", "b"]
    forked = run(command, timeout=PATIENCE, said="heard\n", env=ENV, cwd=tmp_path)
    started = subprocess.run(
        command, input="heard\n", env=ENV, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert can_fork(command, ENV)
    assert vars(forked) == vars(started)
    assert (forked.returncode, forked.stderr) == (7, "over\n")


@pytest.mark.parametrize("kind", [Process, subprocess.Popen])
def test_it_is_killed_with_its_session(kind: type[subprocess.Popen[Any]]) -> None:
    sleeps = "import subprocess; print(1, flush=True); subprocess.run(['sleep', '300'])"
    with kind([sys.executable, "-c", sleeps], stdout=subprocess.PIPE, start_new_session=True) as it:
        assert it.stdout is not None
        assert it.stdout.readline() == b"1\n"
        assert it.poll() is None
        assert os.getpgid(it.pid) == it.pid != os.getpgid(0)
        with pytest.raises(subprocess.TimeoutExpired):
            it.wait(0.1)
        os.killpg(it.pid, signal.SIGKILL)
        assert it.stdout.read() == b""  # no child of its own holds the pipe any more
        assert it.wait(PATIENCE) == -signal.SIGKILL


@pytest.mark.parametrize("kind", [Process, subprocess.Popen])
def test_one_that_ended_keeps_its_number_until_it_is_looked_at(
    kind: type[subprocess.Popen[Any]],
) -> None:
    process = kind([sys.executable, "-c", "print(1)"], stdout=subprocess.PIPE)
    with process:
        assert process.stdout is not None
        process.stdout.read()
        os.kill(process.pid, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)


def test_what_a_fork_cannot_be_is_started() -> None:
    command = [sys.executable, "-c", ""]
    assert not can_fork(command, os.environ | {"PYTHONSAFEPATH": "1"})
    assert not can_fork(command, os.environ | {"COVERAGE_PROCESS_START": "x"})
    assert not can_fork([sys.executable, "-I", "-c", ""], os.environ)
    assert not can_fork(["sh", "-c", ""], os.environ)


def test_no_library_reads_the_settings_or_stores_models() -> None:
    imports = "".join(f"import {name}\n" for name in LIBRARIES)
    say = "import sys, django.apps as d; print(d.apps.ready, 'config.settings' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", imports + say],
        cwd=ROOT, env=ENV, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("False False\n", "")
