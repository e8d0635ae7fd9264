"""Nothing that was acknowledged is lost: the database and a worker are killed under load.

People answer over HTTP while a judge runs in a worker, on PostgreSQL and Valkey of the test's own.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from scripts.services import Postgres, postgres, valkey
from tests.databases import ON_POSTGRESQL
from tests.fake_openai.running import Running, fake_openai
from tests.judging.processes import until
from tests.patience import PATIENCE
from tests.serving.site import Person, Site

pytestmark = [
    pytest.mark.processes,
    pytest.mark.postgresql,
    pytest.mark.skipif(not ON_POSTGRESQL, reason="once is enough: with the PostgreSQL suite"),
]

QUOTA, AT_ONCE = 3, 4


@dataclass(frozen=True)
class Crowd:
    people: int
    items: int


@pytest.fixture(scope="module")
def crowd(request: pytest.FixtureRequest) -> Crowd:
    return Crowd(20, 80) if request.config.getoption("--all") else Crowd(8, 20)


@pytest.fixture(scope="module")
def database() -> Iterator[Postgres]:
    # Separate servers, since these are killed.
    with postgres(hurried=True) as server:
        yield server


@pytest.fixture(scope="module")
def judge_server() -> Iterator[Running]:
    with fake_openai() as running:
        yield running


@pytest.fixture(scope="module")
def site(
    crowd: Crowd,
    database: Postgres,
    judge_server: Running,
    static: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Site]:
    with valkey() as broker:
        stores = {"DATABASE_URL": database.url(), "CELERY_BROKER_URL": broker.url}
        site = Site(tmp_path_factory.mktemp("faults"), stores | static)
        names = [f"p{n}" for n in range(crowd.people)]
        site.open_campaign(crowd.items, QUOTA, *names, "late")
        site.manage(
            ("create_judge", "j", "--backend", "openai", "--model", "fake-judge", "--base-url",
             judge_server.url, "--param", f"concurrency={AT_ONCE}"),
        )  # fmt: skip
        yield site


def work(person: Person, failures: list[str]) -> None:
    try:
        while uid := person.take_next():
            person.answer(uid)
    except Exception as error:
        failures.append(f"{person.name}: {error!r}")


def stored(site: Site) -> dict[str, int]:
    """The number of current responses of each assignment of a person."""
    return dict(
        site.ask(
            "import json; from django.db.models import Count; from annotation.models import *\n"
            "rows = Response.objects.filter(current=True, door='page')\n"
            "rows = rows.values_list('assignment__uid').annotate(n=Count('pk'))\n"
            "print(json.dumps([(str(uid), n) for uid, n in rows]))"
        )
    )


def judged(site: Site) -> list[str]:
    script = (
        "import json; from annotation.models import *\n"
        "rows = Response.objects.filter(door='judge').values_list('assignment__item__key')\n"
        "print(json.dumps([key for key, in rows]))"
    )
    return list(site.ask(script))


def test_a_database_and_a_worker_killed_under_load_lose_nothing(
    site: Site, database: Postgres, judge_server: Running, crowd: Crowd
) -> None:
    failures: list[str] = []
    judge_server.behave(reset=True, holds_after=AT_ONCE)
    with site.served():
        people = [Person(site, f"p{n}").come_in() for n in range(crowd.people)]
        site.manage(("run_judge", "--campaign", "c", "--judge", "j", "--queue"))
        threads = [threading.Thread(target=work, args=(p, failures)) for p in people]
        with site.worker():
            until(judge_server.holds, "the judge is in the middle")
            for thread in threads:
                thread.start()
            begun = crowd.people
            until(lambda: sum(len(p.acknowledged) for p in people) >= begun, "people have begun")
            database.restart("immediate")
            acknowledged = sum(len(p.acknowledged) for p in people)
            until(
                lambda: sum(len(p.acknowledged) for p in people) > acknowledged,
                "people go on after the restart",
            )
            judge_server.behave(holds_after=crowd.items // 2)
            until(judge_server.holds, "so does the judge")
        judge_server.behave()
        with site.worker():
            for thread in threads:
                thread.join(PATIENCE)
            until(lambda: len(judged(site)) >= crowd.items, "the judge has answered every item")
    assert failures == []
    said = [uid for person in people for uid in person.acknowledged]
    there = stored(site)
    assert len(said) == len(set(said)) == crowd.items * QUOTA
    assert set(said) == set(there)
    assert set(there.values()) == {1}
    assert sorted(judged(site)) == sorted(f"r{n}" for n in range(crowd.items))
    assert [status for person in people for status in person.odd] == []
    # There is one pump at a time, so only calls under way at the restart and at the worker's end
    # are repeated.
    assert judge_server.stats()["calls"] <= crowd.items + 2 * (AT_ONCE + 32)


@pytest.mark.long
def test_a_long_outage_ends_when_the_database_is_back(site: Site, database: Postgres) -> None:
    """A pool that retries at growing intervals would stay closed for as long again."""
    with site.served():
        person = Person(site, "late").come_in()
        database.stop("immediate")
        until(lambda: not site.is_ready(), "the outage is noticed")
        time.sleep(30)
        database.start()
        # Even on a slow machine, this is sooner than such a pool would reopen.
        until(lambda: _opens(person, site), "the page opens again", seconds=20)


def _opens(person: Person, site: Site) -> bool:
    return person.session.get(f"{site.url}/tasks/", timeout=PATIENCE).status_code == 200


def test_during_an_outage_people_get_503_with_a_time_to_retry(
    site: Site, database: Postgres
) -> None:
    """While the database is unreachable, every response is a 503 that says when to retry."""
    with site.served():
        person = Person(site, "late").come_in()
        database.stop("immediate")
        try:
            answer = person.session.get(f"{site.url}/tasks/", timeout=PATIENCE)
            assert answer.status_code == 503
            assert answer.headers["Retry-After"] == "5"
            assert answer.headers["X-Request-ID"] in answer.text
            assert not site.is_ready()
        finally:
            database.start()
        until(lambda: _opens(person, site), "the page opens again")
        assert site.is_ready()
