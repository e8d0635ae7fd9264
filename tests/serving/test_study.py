"""A whole study over HTTP, whose web processes are killed repeatedly, loses no answer.

Twenty people at once on PostgreSQL, five on SQLite. Each sends its answer until it is acknowledged,
with the same key, as the page does.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.databases import ON_POSTGRESQL
from tests.judging.processes import until
from tests.patience import PATIENCE
from tests.serving.site import Person, Site

pytestmark = pytest.mark.processes

OVERLAP = 3
PEOPLE = 20 if ON_POSTGRESQL else 5

STORED = """
import json
from django.db.models import Sum
from annotation.models import Assignment, Campaign, Item, Label, Response, Tally
from annotation.progress.counts import with_counts
rows = Assignment.objects.values_list("item", "rater", "slot", "status", "uid")
answers = Response.objects.values_list("assignment__uid", "revision", "current")
print(json.dumps({
    "assignments": [[*row[:4], str(row[4])] for row in rows],
    "answers": [[str(uid), *row] for uid, *row in answers],
    "taken": list(Item.objects.values_list("taken", flat=True)),
    "labels": Label.objects.count(),
    "listed": list(with_counts(Campaign.objects.all()).values_list("places_done", "people")),
    # On PostgreSQL rows that come to nothing together may be gone.
    "free": Tally.objects.filter(what="free/study").aggregate(n=Sum("number"))["n"] or 0,
}))
"""


@pytest.mark.parametrize(
    ("items", "often"), [(20, False), pytest.param(200, True, marks=pytest.mark.long)]
)
def test_a_study_loses_and_duplicates_no_answer_when_web_processes_are_killed(
    django_db_setup: None, static: dict[str, str], tmp_path: Path, items: int, often: bool
) -> None:
    study, places, failures = Site(tmp_path, static), items * OVERLAP, list[str]()
    study.open_campaign(items, OVERLAP, *(f"p{n}" for n in range(PEOPLE)))
    with study.served() as process:
        people = [Person(study, f"p{n}").come_in() for n in range(PEOPLE)]
        threads = [threading.Thread(target=_work, args=(each, failures)) for each in people]
        for thread in threads:
            thread.start()
        _wait_for(people, places // 6)
        _kill(study.serving(process)[:1])
        if often:
            _wait_for(people, places // 3)
            _kill(study.serving(process))
        _wait_for(people, places // 2)
    # The whole site stopped at the end of that block, and starts again at the same address.
    with study.served() as process:
        if often:
            _wait_for(people, places * 2 // 3)
            _kill(study.serving(process))
        for thread in threads:
            thread.join(PATIENCE)
    assert failures == []
    assert [status for person in people for status in person.odd] == []
    acknowledged = [uid for person in people for uid in person.acknowledged]
    _assert_exact(study.ask(STORED), items, acknowledged)


def _assert_exact(stored: dict[str, Any], items: int, acknowledged: Sequence[str]) -> None:
    assignments, places = stored["assignments"], items * OVERLAP
    assert len(assignments) == places
    assert {status for _, _, _, status, _ in assignments} == {"done"}
    assert stored["taken"] == [OVERLAP] * items
    assert set(Counter(item for item, *_ in assignments).values()) == {OVERLAP}
    assert len({(item, rater) for item, rater, *_ in assignments}) == places
    assert {slot for _, _, slot, *_ in assignments} == {1, 2, 3}
    # Exactly the acknowledged answers are stored, each once.
    assert len(acknowledged) == len(set(acknowledged)) == places
    assert sorted(stored["answers"]) == sorted([uid, 1, True] for uid in acknowledged)
    assert stored["labels"] == places
    assert stored["listed"] == [[places, PEOPLE]]
    assert stored["free"] == 0


def _work(person: Person, failures: list[str]) -> None:
    try:
        person.work()
    except Exception as error:
        failures.append(f"{person.name}: {error!r}")


def _wait_for(people: Sequence[Person], answers: int) -> None:
    until(lambda: sum(len(p.acknowledged) for p in people) >= answers, f"{answers} answers")


def _kill(processes: Sequence[int]) -> None:
    assert processes
    for pid in processes:
        os.kill(pid, signal.SIGKILL)
