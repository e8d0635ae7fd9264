"""The process that works on an upload: started for real, within limits, killed in the middle."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from tests.cast import BATCH, ROOT, manage, write_lines
from tests.databases import environment

pytestmark = pytest.mark.processes

SEND = """
import json, sys
from datasets.uploads import deciding, launching
from datasets.uploads.receiving import receive
from datasets.models import Batch, Upload
from annotation.models import User
from tests.datasets.upload_cast import received
from pathlib import Path
launching.start = lambda key: None
user, _ = User.objects.get_or_create(username="rita", role="researcher")
"""
SENT = SEND + "print(receive(user, [received(Path({path!r}).read_bytes())], 'pilot', '').key)"
TURN = str(uuid.UUID(int=1))
KEEP = SEND + "u = Upload.objects.get(key={key!r}); deciding.keep(u, u.digest, '')"
TOLD = SEND + (
    "u = Upload.objects.get(key={key!r});"
    "there = Batch.objects.filter(name='pilot').exists();"
    "print(json.dumps([u.state, u.error, u.turn is None, there]))"
)
# What the limits are set to, and then what asks for more.
GREEDY = """
import os, sys
import datasets.uploads.__main__ as program
program.MEMORY, program.SECONDS = {memory}, {seconds}
sys.argv = ["x", {key!r}, {turn!r}]
import django
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()
from datasets.uploads import working
def understand(*_):
    {greed}
working.understand = understand
program.main()
"""


def shell(house: Path, script: str, **values: str) -> str:
    done = manage(house, "shell", "--no-imports", "-c", script.format(**values))
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().rpartition("\n")[2]


def told(house: Path, key: str) -> list[object]:
    found: list[object] = json.loads(shell(house, TOLD, key=key))
    return found


def worked_on(house: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=environment(house), capture_output=True,
        text=True, timeout=120, check=False,
    )  # fmt: skip


@pytest.fixture
def key(house: Path, tmp_path: Path) -> str:
    gone = "Upload.objects.all().delete(); Batch.objects.filter(name='pilot').delete()"
    shell(house, SEND + gone)
    return shell(house, SENT, path=str(write_lines(tmp_path / "s.jsonl", BATCH[:2])))


def test_it_looks_through_and_then_loads(house: Path, key: str) -> None:
    done = worked_on(house, "-m", "datasets.uploads", key, TURN)
    assert done.returncode == 0, done.stderr
    assert told(house, key) == ["ready", "", True, False]
    shell(house, KEEP, key=key)
    worked_on(house, "-m", "datasets.uploads", key, TURN)
    assert told(house, key) == ["kept", "", True, True]


@pytest.mark.parametrize(
    ("limits", "greed"),
    [
        ({"memory": "400 * 1024**2", "seconds": "60"}, "bytearray(500 * 1024**2)"),
        ({"memory": "2 * 1024**3", "seconds": "1"}, "while True: pass"),
    ],
    ids=["memory", "time"],
)
def test_what_takes_too_much_is_ended_and_told(
    house: Path, key: str, limits: dict[str, str], greed: str
) -> None:
    done = worked_on(house, "-c", GREEDY.format(key=key, turn=TURN, greed=greed, **limits))
    assert done.returncode == 0, done.stderr
    state, error, ended, _ = told(house, key)
    assert (state, ended) == ("refused", True)
    assert "more memory or time" in str(error)


def test_one_that_is_killed_is_told_by_who_started_it(house: Path, key: str) -> None:
    kill = GREEDY.format(
        key=key,
        turn=TURN,
        memory="2 * 1024**3",
        seconds="60",
        greed="import signal; os.kill(os.getpid(), 9)",
    )
    assert worked_on(house, "-c", kill).returncode == -9
    assert told(house, key)[0] == "reading"
    died = (
        "import uuid; from datasets.uploads.apart import died; died({key!r}, uuid.UUID({turn!r}))"
    )
    shell(house, SEND + died, key=key, turn=TURN)
    assert told(house, key)[0] == "refused"


def test_whoever_started_it_waits_for_its_end(house: Path, key: str) -> None:
    """As a worker's task does, and the thread beside the web server."""
    shell(
        house, SEND + "from datasets.tasks import work_on_upload; work_on_upload({key!r})", key=key
    )
    assert told(house, key) == ["ready", "", True, False]
    assert (house / "uploads" / key / "0.jsonl").exists()
