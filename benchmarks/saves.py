"""Saves by one person and by sixteen, and how a save's time is spent.

Latencies come from a production-like site with a client in a separate process. The phases come from
the same requests within one process, without a network: each phase is the time in its functions
minus that in inner phases.
"""

from __future__ import annotations

import functools
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.material import write_tasks
from benchmarks.processes import manage, python
from benchmarks.site import production, site
from benchmarks.suite import server_of, spread, temporary_folder

Figures = dict[str, Any]
PEOPLE = (1, 16)
STUDY = "saves"

# The phases of a save, from the outside in. Functions of one phase are added up.
PHASES = {
    "request, middleware, response": (),
    "session and account": (
        "django.contrib.sessions.backends.db.SessionStore.load",
        "django.contrib.auth.middleware.get_user",
    ),
    "the item, its form, access": (
        "annotation.views.answers.ever_my_assignment",
        "annotation.views.answers._read_submission",
    ),
    "checking the answer": ("annotation.views.answers.prepare",),
    "waiting for the writer's turn": ("config.sqlite.base.DatabaseWrapper._take_turn",),
    "writing the answer": ("annotation.views.answers.store",),
    "assigning the next item": ("annotation.views.answers.next_in_transaction",),
    "commit": ("django.db.backends.base.base.BaseDatabaseWrapper._commit",),
    "waiting for the disk": ("config.sqlite.durability.Log.sync",),
}
OUTERMOST = next(iter(PHASES))


@dataclass(frozen=True)
class Size:
    """Answers at each number of people, and answers over which the phases are summed up."""

    saves: int
    phased: int


FULL = Size(saves=400, phased=200)
QUICK = Size(saves=8, phased=4)
WARM_UP = 4


def measure_saves(database: str, size: Size, static: Path) -> Figures:
    with temporary_folder() as folder, server_of(database) as url:
        env = production(folder, url) | {"TANDEM_STATIC_DIR": str(static)}
        manage("migrate", "--verbosity", "0", env=env)
        each = size.saves + max(PEOPLE) * WARM_UP
        tasks = write_tasks(
            folder / "tasks.jsonl", 2 * len(PEOPLE) * each + size.phased + 10, 2, 4000
        )
        manage("load_batch", tasks, "--name", STUDY, env=env)
        made = python("-m", "benchmarks.inside", "campaign", STUDY, STUDY, 1, env=env).answer()
        figures: Figures = {}
        with site(folder, env) as address:
            for turn, people in enumerate(PEOPLE):
                keys = _sessions(folder, env, turn * each, size.saves + people * WARM_UP)
                figures[str(people)] = _saves(address, made["made"]["id"], people, keys, env)
        cost = python("-m", __name__, made["made"]["id"], size.phased, env=env)
        return figures | {"phases": cost.answer()}


def _sessions(folder: Path, env: Mapping[str, str], first: int, count: int) -> Path:
    keys = python("-m", "benchmarks.inside", "sessions", first, count, env=env).answer()["made"]
    path = folder / "sessions.json"
    path.write_text(json.dumps(keys), "utf-8")
    return path


def _saves(
    address: str, campaign: int, people: int, sessions: Path, env: Mapping[str, str]
) -> Figures:
    answer = python(
        "-m", "benchmarks.client", address, "--campaign", campaign, "--people", people,
        "--sessions", sessions, env=env,
    ).answer()  # fmt: skip
    return spread(answer["save"]) | {"per_second": answer["per_second"][0]}


def lines(database: str, figures: Figures) -> str:
    rows = [f"{database}: saves alone", "people  median ms  95th percentile ms  saves/s"]
    for people in map(str, PEOPLE):
        of = figures[people]
        rows.append(f"{people:>6}  {of['median']:9.1f}  {of['p95']:18.1f}  {of['per_second']:7.0f}")
    rows += ["", f"{database}: one save, {figures['phases']['ms']:.1f} ms in all"]
    rows += [f"{share:>6.0%}  {name}" for name, share in figures["phases"]["shares"].items()]
    return "\n".join(rows)


class Stopwatch:
    """The time in each phase, minus that in inner phases. For one thread."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self._phases: list[str] = []
        self._since = 0.0

    def _turn(self) -> None:
        now = time.perf_counter()
        if self._phases:
            self.seconds[self._phases[-1]] += now - self._since  # type: ignore[assignment]
        self._since = now

    def within(self, phase: str, work: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(work)
        def timed(*arguments: Any, **more: Any) -> Any:
            self._turn()
            self._phases.append(phase)
            try:
                return work(*arguments, **more)
            finally:
                self._turn()
                self._phases.pop()

        return timed

    def watch(self) -> None:
        """Time the functions of `PHASES` from now on."""
        for phase, names in PHASES.items():
            for name in names:
                owner, attribute = _owner(name)
                setattr(owner, attribute, self.within(phase, getattr(owner, attribute)))


def _owner(name: str) -> tuple[Any, str]:
    path, _, attribute = name.rpartition(".")
    try:
        return import_module(path), attribute
    except ModuleNotFoundError:
        module, _, of_class = path.rpartition(".")
        return getattr(import_module(module), of_class), attribute


def phases(campaign: int, saves: int) -> Figures:
    """Return the share of each phase in the time of a save, in this process."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    import django

    django.setup()
    from django.test import Client

    from annotation.models import User
    from benchmarks.person import fill_in
    from benchmarks.study_names import name_of

    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(User.objects.get(username=name_of(0)))
    page = client.post(f"/tasks/next/{campaign}/", follow=True).content.decode()
    watch = Stopwatch()
    watch.watch()
    save = watch.within(OUTERMOST, client.post)
    for turn in range(saves + WARM_UP):
        if turn == WARM_UP:
            watch.seconds.clear()
        where, form = fill_in(page)
        answer = save(where, form, headers={"Accept": "application/json"})
        following = answer.json()["next"]
        # Opening a page also looks up session and account, which is not part of a save.
        kept = watch.seconds.copy()
        page = client.get(following).content.decode()
        watch.seconds = kept
    whole = sum(watch.seconds.values())
    shares = {phase: watch.seconds[phase] / whole for phase in PHASES}
    return {"ms": 1000 * whole / saves, "shares": shares}


if __name__ == "__main__":
    print(json.dumps(phases(*map(int, sys.argv[1:3]))))
