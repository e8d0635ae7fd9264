"""A forked process behaves like a started one: each case is run both ways."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import ready
from tests.cast import ROOT
from tests.databases import environment
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
def test_a_fork_has_the_input_output_and_status_of_a_started_process(
    way: str, tmp_path: Path
) -> None:
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
def test_a_fork_is_killed_with_its_session(kind: type[subprocess.Popen[Any]]) -> None:
    sleeps = "import subprocess; print(1, flush=True); subprocess.run(['sleep', '300'])"
    with kind([sys.executable, "-c", sleeps], stdout=subprocess.PIPE, start_new_session=True) as it:
        assert it.stdout is not None
        assert it.stdout.readline() == b"1\n"
        assert it.poll() is None
        assert os.getpgid(it.pid) == it.pid != os.getpgid(0)
        with pytest.raises(subprocess.TimeoutExpired):
            it.wait(0.1)
        os.killpg(it.pid, signal.SIGKILL)
        assert it.stdout.read() == b""  # none of its children still has the pipe
        assert it.wait(PATIENCE) == -signal.SIGKILL


@pytest.mark.parametrize("kind", [Process, subprocess.Popen])
def test_an_ended_process_keeps_its_pid_until_it_is_waited_for(
    kind: type[subprocess.Popen[Any]],
) -> None:
    process = kind([sys.executable, "-c", "print(1)"], stdout=subprocess.PIPE)
    with process:
        assert process.stdout is not None
        process.stdout.read()
        os.kill(process.pid, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)


def test_a_command_that_a_fork_cannot_imitate_is_started() -> None:
    command = [sys.executable, "-c", ""]
    assert not can_fork(command, os.environ | {"PYTHONSAFEPATH": "1"})
    assert not can_fork(command, os.environ | {"COVERAGE_PROCESS_START": "x"})
    assert not can_fork([sys.executable, "-I", "-c", ""], os.environ)
    assert not can_fork(["sh", "-c", ""], os.environ)


def test_no_preloaded_library_reads_the_settings_or_loads_models() -> None:
    imports = "".join(f"import {name}\n" for name in LIBRARIES)
    say = "import sys, django.apps as d; print(d.apps.ready, 'config.settings' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", imports + say],
        cwd=ROOT, env=ENV, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("False False\n", "")


FOUND = """
import json
from django.conf import settings
from django.contrib.staticfiles.storage import staticfiles_storage
from django.core.cache import caches
from django.core.signing import dumps
from django.db import connection
from config.celery import app
names = (name for name in dir(settings) if name.isupper())
print(json.dumps([
    {name: getattr(settings, name) for name in names}, connection.settings_dict,
    caches["reports"]._dir, staticfiles_storage.location, type(staticfiles_storage._wrapped),
    app.conf.broker_url, app.conf.broker_transport_options, connection.connection is None,
], default=lambda other: getattr(other, "__qualname__", str(other))))
"""
SHELL = [sys.executable, "manage.py", "shell", "--no-imports", "-c"]


def there(command: list[str], env: dict[str, str]) -> str:
    return ready.place_for({"words": command[1:], "cwd": str(ROOT), "env": env})


@pytest.mark.parametrize("place", ready.PLACES)
def test_a_fork_with_django_loaded_has_the_settings_of_a_started_process(
    place: str, tmp_path: Path
) -> None:
    env = environment(tmp_path) | {
        "CELERY_BROKER_URL": "redis://localhost:1/0", "TANDEM_LOG_FORMAT": "json",
        "TANDEM_STATIC_DIR": str(tmp_path / "static"), "TANDEM_WITH_WORKERS": "1",
    }  # fmt: skip
    del env["DEBUG"]
    command, env = [*SHELL, FOUND], env | ready.PLACES[place]
    assert there(command, env) == place
    forked = run(command, timeout=PATIENCE, env=env, cwd=ROOT)
    started = subprocess.run(
        command, env=env, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert str(tmp_path) in started.stdout
    assert (forked.stdout, forked.stderr) == (started.stdout, started.stderr)


def test_a_fork_with_django_loaded_refuses_invalid_settings(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    command = [sys.executable, "manage.py", "check"]
    env = os.environ | {"TANDEM_DATA_DIR": str(tmp_path / "file" / "within")}
    assert there(command, env)
    done = run(command, timeout=PATIENCE, env=env, cwd=ROOT)
    assert done.returncode == 1
    assert "within cannot be created (Not a directory); set TANDEM_DATA_DIR" in done.stderr


def test_a_command_with_other_settings_is_not_forked_with_django_loaded() -> None:
    command = [*SHELL, ""]
    assert there(command, {**os.environ})
    assert not there(command, os.environ | {"TANDEM_PASSWORDS": "0"})
    assert not there([sys.executable, "-m", "tests.fake_openai"], {**os.environ})
    assert not there([*SHELL[:1], "-c", ""], {**os.environ})
