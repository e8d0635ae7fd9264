"""Writers of batch files may die at any point, and another process can continue."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fake_openai.running import Running
from tests.judging.batch_api.test_batches import answered, lines_of, write
from tests.judging.processes import RUN, UNITS, House, each_once
from tests.patience import PATIENCE

pytestmark = pytest.mark.processes

# Its lease ends as soon as it is taken, so the next process finds it dead.
DIES = """
import os, sys
from datetime import timedelta
from django.core.management import call_command
from judging.batch_api import format as parts
from judging.batch_api import requests
from judging.runs import shards

shards.LEASE = timedelta(0)
{dying}
call_command("run_judge", "--campaign", "c", "--judge", "j", "--batch-file", {path!r})
"""
BEFORE_IT_TOLD = """
parts.Files.close = lambda self: os._exit(9)
"""
BEFORE_THE_FILE_IS_IN_PLACE = """
parts.Files.move_into_place = lambda self: os._exit(9)
"""
BETWEEN_TWO_FILES = """
parts.MAX_REQUESTS = 120
place = parts.Part.move_into_place
parts.Part.move_into_place = lambda self: os._exit(9) if ".2." in self.path.name else place(self)
"""
BEFORE_THE_RUN_IS_OUT = """
requests._record_files = lambda *_: os._exit(9)
"""


def dies(house: House, path: Path, dying: str) -> None:
    script = DIES.format(dying=dying, path=str(path))
    process = house.start("manage.py", "shell", "--no-imports", "-c", script)
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 9, out


def exchange(house: House, path: Path) -> str:
    return house.manage(*RUN, "--batch-file", str(path))


@pytest.mark.parametrize(
    ("dying", "says"),
    [
        pytest.param(BEFORE_IT_TOLD, "Wrote 200 requests of run 2 to", marks=pytest.mark.long),
        pytest.param(
            BEFORE_THE_FILE_IS_IN_PLACE,
            "Wrote 200 requests of run 1 to",
            marks=pytest.mark.long,
        ),
        (BETWEEN_TWO_FILES, "has the requests of run 1, which wait for results."),
        pytest.param(
            BEFORE_THE_RUN_IS_OUT,
            "has the requests of run 1, which wait for results.",
            marks=pytest.mark.long,
        ),
    ],
    ids=["before it told", "before the file is in place", "between two files", "before it is out"],
)
def test_a_batch_whose_writer_was_killed_can_be_continued(
    house: House, server: Running, tmp_path: Path, dying: str, says: str
) -> None:
    folder = tmp_path / "batch"
    folder.mkdir()
    path = folder / "requests.jsonl"
    dies(house, path, dying)
    assert says in exchange(house, path)
    assert not list(folder.glob(".*"))
    asked = [line for part in sorted(folder.iterdir()) for line in lines_of(part)]
    assert len({line["custom_id"] for line in asked}) == len(asked) == UNITS
    assert house.runs()[-1] == ("queued", False)
    said = exchange(house, write(tmp_path / "results.jsonl", answered(server, asked)))
    assert f"{UNITS} done, 0 failed" in said
    assert house.asked("SELECT count(*) FROM judging_strike") == [(0,)]
    assert each_once(house)


@pytest.mark.long
def test_an_online_run_says_how_to_continue_a_killed_writers_batch(
    house: House, server: Running, tmp_path: Path
) -> None:
    path = tmp_path / "requests.jsonl"
    dies(house, path, BEFORE_THE_FILE_IS_IN_PLACE)
    out, _ = (process := house.start("manage.py", *RUN)).communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert "run 1 was writing requests.jsonl when its process ended" in out
    assert f"give --batch-file {path} to continue, or abandon it with --stop" in out
    house.manage(*RUN, "--stop")
    assert f"{UNITS} done" in house.manage(*RUN)


@pytest.mark.long
def test_a_writer_that_dies_repeatedly_gives_no_strikes(
    house: House, server: Running, tmp_path: Path
) -> None:
    for _ in range(3):
        dies(house, tmp_path / "requests.jsonl", BEFORE_IT_TOLD)
    assert f"{UNITS} done, 0 failed" in house.manage(*RUN)
    assert house.asked("SELECT count(*) FROM judging_strike") == [(0,)]
