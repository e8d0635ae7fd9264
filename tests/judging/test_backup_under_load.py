"""A backup that is taken while answers arrive is restored elsewhere, and its data hold there."""

from __future__ import annotations

import copy
import random
import time
from pathlib import Path

import pytest

from tests.databases import FILE, environment
from tests.fake_openai.running import Running
from tests.judging.processes import RUN, UNITS, House, each_once, kill_9, until
from tests.patience import PATIENCE

pytestmark = [pytest.mark.processes, pytest.mark.postgresql]


def elsewhere(house: House, folder: Path) -> House:
    """An empty place: no tables, and no files."""
    other = copy.copy(house)
    other.folder, other.env = folder, environment(folder)
    folder.mkdir()
    return other


def test_a_backup_in_mid_run_is_restored_elsewhere_where_the_run_continues(
    house: House, server: Running, tmp_path: Path
) -> None:
    server.behave(latency=0.3)
    process = house.hurried(*RUN)
    until(lambda: house.labelled() > 0, "it is in mid-run")
    at_first = house.labelled()
    path = tmp_path / "b.zip"
    house.manage("backup", str(path))
    server.behave()
    said, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, said
    assert each_once(house)

    other = elsewhere(house, tmp_path / "elsewhere")
    assert "Everybody is logged out." in other.manage("restore", str(path))
    assert "The invariants hold." in other.manage("check_invariants")
    assert at_first <= other.labelled() <= UNITS
    # The run's lease was copied, too, and ends by itself.
    until(lambda: "expired" in _lease(other), "the lease has ended")
    other.manage(*RUN)
    assert each_once(other)


def _lease(house: House) -> str:
    waits = "SELECT count(*) FROM judging_judgerun WHERE lease_until > CURRENT_TIMESTAMP"
    return "held" if house.asked(waits)[0][0] else "expired"


def test_a_restore_that_is_killed_at_any_moment_is_whole_or_can_be_repeated(
    house: House, tmp_path: Path
) -> None:
    path = tmp_path / "b.zip"
    (house.folder / "uploads" / "KEY").mkdir(parents=True)
    (house.folder / "uploads" / "KEY" / "0.jsonl").write_bytes(random.Random(0).randbytes(10**7))
    house.manage("backup", str(path))
    other = elsewhere(house, tmp_path / "elsewhere")
    chance = random.Random(1)
    for _ in range(3):
        process = other.start("manage.py", "restore", str(path))
        until(lambda: any(other.folder.glob(".restore.*")), "it has begun", PATIENCE)
        time.sleep(chance.random() / 10)
        kill_9(process)
        if _is_restored(other):
            break
    else:
        other.manage("restore", str(path))
    assert "The invariants hold." in other.manage("check_invariants")
    assert (other.folder / "uploads/KEY/0.jsonl").stat().st_size == 10**7


def _is_restored(house: House) -> bool:
    if "DATABASE_URL" not in house.env and not (house.folder / FILE).exists():
        return False
    try:
        return bool(house.asked("SELECT count(*) FROM django_migrations"))
    except Exception:  # no such table, in the words of either database
        return False
