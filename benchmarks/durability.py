"""Saves per second on SQLite with waiting for the disk and without.

In WAL mode, `synchronous=FULL` waits at each commit until the disk has it, and `NORMAL` does not,
so a power cut may take back the last answers. Both are measured in turns within one run, since a
machine's speed changes from minute to minute.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.material import write_tasks
from benchmarks.processes import manage, python
from benchmarks.site import production
from benchmarks.suite import temporary_folder

Figures = dict[str, Any]
LEVELS = ("FULL", "NORMAL")
WRITERS = (1, 16)
STUDY = "durability"


@dataclass(frozen=True)
class Size:
    """Answers per measurement, whatever the number of writers, and turns of each level."""

    saves: int
    turns: int


FULL = Size(saves=320, turns=3)
QUICK = Size(saves=16, turns=1)


def measure_durability(size: Size) -> Figures:
    with temporary_folder() as folder:
        env = production(folder)
        manage("migrate", "--verbosity", "0", env=env)
        tasks = size.saves * size.turns * len(LEVELS) * len(WRITERS)
        path = write_tasks(folder / "tasks.jsonl", tasks, 2, 400)
        manage("load_batch", path, "--name", STUDY, env=env)
        python("-m", "benchmarks.inside", "campaign", STUDY, STUDY, 1, env=env)
        found: dict[tuple[int, str], list[float]] = {}
        for turn in range(size.turns):
            for writers in WRITERS:
                for level in LEVELS if turn % 2 else reversed(LEVELS):
                    cost = python("-m", __name__, level, writers, size.saves, env=env)
                    found.setdefault((writers, level), []).append(cost.answer()["per_second"])
    return {str(writers): _compared(found, writers) for writers in WRITERS}


def _compared(found: Mapping[tuple[int, str], list[float]], writers: int) -> Figures:
    rates = {level: median(found[writers, level]) for level in LEVELS}
    return {**rates, "ratio": rates["FULL"] / rates["NORMAL"]}


def lines(figures: Figures) -> str:
    rows = ["writers  saves/s FULL  saves/s NORMAL  FULL / NORMAL"]
    for writers, of in figures.items():
        rates = f"{of['FULL']:12.0f}  {of['NORMAL']:14.0f}  {of['ratio']:13.2f}"
        rows.append(f"{writers:>7}  {rates}")
    return "\n".join(rows)


def save(level: str, writers: int, saves: int) -> Figures:
    """Answer items by several people at once, with commits of this level."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    import django
    from django.conf import settings

    options: Any = settings.DATABASES["default"]["OPTIONS"]
    options["init_command"] += f"PRAGMA synchronous={level};"
    django.setup()

    from annotation.models import Campaign
    from benchmarks.study import rater

    campaign, people = Campaign.objects.get(name=STUDY), [rater(n) for n in range(writers)]
    errors: list[Exception] = []
    barrier = threading.Barrier(writers + 1)
    threads = [
        threading.Thread(target=_answer, args=(campaign, who, saves // writers, barrier, errors))
        for who in people
    ]
    for thread in threads:
        thread.start()
    barrier.wait()
    began = time.perf_counter()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - began
    if errors:
        raise errors[0]
    return {"per_second": saves / seconds}


def _answer(
    campaign: Any, who: int, saves: int, barrier: threading.Barrier, errors: list[Exception]
) -> None:
    from django.db import connection

    from annotation.answers.submission import submit
    from annotation.assignments.queue import next_assignment
    from annotation.models import Rater

    rater = Rater.objects.get(pk=who)
    barrier.wait()
    try:
        for _ in range(saves):
            mine = next_assignment(campaign, rater)
            assert mine is not None, "the campaign has too few items"
            units = {unit: {"answerable": "no", "evidence": []} for unit in mine.asked}
            submit(mine, {"units": units, "comment": None}, "page")
    except Exception as error:
        errors.append(error)
    finally:
        connection.close()


if __name__ == "__main__":
    print(json.dumps(save(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
