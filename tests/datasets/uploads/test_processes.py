"""The process that works on an upload: really started, limited, and killed midway."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cast import BATCH, manage, write_lines

pytestmark = pytest.mark.processes

TURN = str(uuid.UUID(int=1))
# One process sends Rita's file and works on it.
SEND = """
import json, subprocess, sys, uuid
from pathlib import Path
from annotation.models import User
from datasets.models import Batch, Upload
from datasets.tasks import work_on_upload
from datasets.uploads import decisions, launcher
from datasets.tasks import end_turn
from datasets.uploads.receiving import receive
from tests.datasets.upload_cast import received
launcher.start = lambda key: None
Upload.objects.all().delete()
Batch.objects.filter(name="pilot").delete()
user, _ = User.objects.get_or_create(username="rita", role="researcher")
key = receive(user, [received(Path({path!r}).read_bytes())], "pilot", "").key
found = []

def worked_on(*command):
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=120)
    return [done.returncode, done.stderr]

def note_state():
    upload = Upload.objects.get(key=key)
    there = Batch.objects.filter(name="pilot").exists()
    found.append([upload.state, upload.error, upload.turn is None, there])

"""
END = "\nprint(json.dumps([str(key), found]))"
APART = f'worked_on("-m", "datasets.uploads", str(key), "{TURN}")'
# A process that sets its own limits and then exceeds them.
GREEDY = """
import os, sys
import datasets.uploads.__main__ as program
program.MEMORY_MB, program.SECONDS = {memory}, {seconds}
import django
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()
from datasets.uploads import worker
def inspect(*_):
    {greed}
worker.inspect = inspect
program.main()
"""


@dataclass
class Sender:
    """Sends a file, runs a script on the upload, and returns what the script found."""

    house: Path
    file: Path

    def send(self, script: str) -> tuple[str, list[Any]]:
        whole = SEND.format(path=str(self.file)) + script + END
        done = manage(self.house, "shell", "--no-imports", "-c", whole)
        assert done.returncode == 0, done.stderr
        key, found = json.loads(done.stdout.splitlines()[-1])
        return key, found


@pytest.fixture
def sender(house: Path, tmp_path: Path) -> Sender:
    return Sender(house, write_lines(tmp_path / "s.jsonl", BATCH[:2]))


def test_the_process_inspects_an_upload_and_later_loads_it(sender: Sender) -> None:
    keep = "upload = Upload.objects.get(key=key); decisions.keep(upload, upload.digest, '')"
    steps = (f"found.append({APART})", "note_state()", keep, APART, "note_state()")
    _, (done, *states) = sender.send("\n".join(steps))
    assert done[0] == 0, done[1]
    assert states == [["ready", "", True, False], ["kept", "", True, True]]


@pytest.mark.parametrize(
    ("limits", "greed"),
    [
        ({"memory": "400", "seconds": "60"}, "bytearray(500 * 1024**2)"),
        ({"memory": "2048", "seconds": "1"}, "while True: pass"),
    ],
    ids=["memory", "time"],
)
def test_a_process_that_exceeds_its_limits_ends_with_a_message(
    sender: Sender, limits: dict[str, str], greed: str
) -> None:
    greedy = GREEDY.format(greed=greed, **limits)
    script = f'found.append(worked_on("-c", {greedy!r}, str(key), "{TURN}"))\nnote_state()'
    _, (done, (state, error, ended, _)) = sender.send(script)
    assert done[0] == 0, done[1]
    assert (state, ended) == ("refused", True)
    assert "more memory or time" in error


def test_a_killed_process_is_reported_by_the_process_that_started_it(sender: Sender) -> None:
    killed = "import signal; os.kill(os.getpid(), 9)"
    kill = GREEDY.format(memory="2 * 1024**3", seconds="60", greed=killed)
    script = (
        f'found.append(worked_on("-c", {kill!r}, str(key), "{TURN}"))\n'
        f'note_state()\nend_turn(key, uuid.UUID("{TURN}"))\nnote_state()'
    )
    _, (done, before, after) = sender.send(script)
    assert done[0] == -9
    assert (before[0], after[0]) == ("reading", "refused")


def test_the_starting_process_waits_for_the_end_of_the_process(sender: Sender) -> None:
    """Both a worker's task and the web server's thread wait for it."""
    key, found = sender.send("work_on_upload(key)\nnote_state()")
    assert found == [["ready", "", True, False]]
    assert (sender.house / "uploads" / key / "0.jsonl").exists()
