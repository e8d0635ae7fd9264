"""Tandem's own processes for tests: commands and a worker, over a separate file database."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg

from tests.commands import command_line
from tests.databases import FILE, ON_POSTGRESQL, environment
from tests.forks import Process
from tests.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
REPORTS, QUESTIONS = 20, 10
UNITS = REPORTS * QUESTIONS
CONCURRENCY = 8
# A run may send this many requests in addition to its units', to probe the server.
PROBES = 20
RUN = ("run_judge", "--campaign", "c", "--judge", "j")


class House:
    """A data folder with a loaded campaign, and the processes that work on it.

    A new folder has the tables that a campaign needs.
    """

    def __init__(self, folder: Path, copy_of: Path | None = None) -> None:
        self.folder = folder
        self.env = environment(folder, copy_of, migrated=copy_of is None)

    def start(
        self, *command: str, limited: Callable[[], None] | None = None
    ) -> subprocess.Popen[str]:
        """Start a process of Tandem's, which calls `limited` first."""
        return Process(
            [sys.executable, *command],
            cwd=ROOT,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            preexec_fn=limited,
        )

    def hurried(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a command whose leases last two seconds."""
        return self.start("-m", "tests.judging.hurried", *arguments)

    def manage(self, *arguments: str) -> str:
        return self.manage_all(arguments)

    def manage_all(self, *commands: Sequence[str]) -> str:
        """Run commands in sequence in one process; return their output."""
        process = self.start(*command_line(commands)[1:])
        out, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, out
        return out

    def asked(self, query: str) -> list[tuple[Any, ...]]:
        """The current rows of an SQL query."""
        if ON_POSTGRESQL:
            with psycopg.connect(self.env["DATABASE_URL"]) as server:
                return server.execute(query.encode()).fetchall()
        with closing(sqlite3.connect(self.folder / FILE, timeout=PATIENCE)) as file:
            return file.execute(query).fetchall()

    def open_campaign(
        self, url: str, *params: str, batch: Sequence[dict[str, object]] = ()
    ) -> None:
        queries = batch or [query(number) for number in range(REPORTS)]
        file = self.folder / "batch.jsonl"
        file.write_text("".join(json.dumps(each) + "\n" for each in queries), "utf-8")
        self.manage_all(
            ("load_batch", str(file), "--name", "b"),
            ("create_campaign", "c", "--protocol", "report-coverage", "--batch", "b"),
            ("create_judge", "j", "--backend", "openai", "--model", "fake-judge",
             "--base-url", url, "--granularity", "unit", *params),
        )  # fmt: skip

    def labels(self, *checking: str) -> Counter[tuple[str, str]]:
        """The number of labels of each unit, after checking all invariants."""
        out = self.folder / "labels.jsonl"
        out.unlink(missing_ok=True)
        said = self.manage_all(
            ("check_invariants", *checking),
            ("export", "--campaign=c", "--what=labels", f"--output={out}"),
        )
        assert "The invariants hold." in said
        rows = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
        return Counter((row["item"], row["unit"]) for row in rows if row.get("value"))

    def labelled(self) -> int:
        """The number of labels."""
        return int(self.asked("SELECT count(*) FROM annotation_label")[0][0])

    @contextmanager
    def worker(self, *options: str, hurried: bool = False) -> Iterator[subprocess.Popen[str]]:
        with self.celery("worker", "--concurrency", "1", *options, hurried=hurried) as process:
            yield process

    @contextmanager
    def celery(self, *arguments: str, hurried: bool = False) -> Iterator[subprocess.Popen[str]]:
        """Start a worker or a beat, and kill it at the end; its output is in the folder's log."""
        celery = ("tests.judging.hurried", "celery") if hurried else ("celery", "-A", "config")
        with (self.folder / "celery.log").open("a") as log:
            process = Process(
                [sys.executable, "-m", *celery, *arguments, "--loglevel", "INFO"],
                cwd=ROOT, env=self.env, stdout=log, stderr=log, start_new_session=True, text=True,
            )  # fmt: skip
            try:
                yield process
            except BaseException:
                print(self.log()[-5000:])  # pytest shows it with the failure
                raise
            finally:
                kill_9(process)

    def log(self) -> str:
        return (self.folder / "celery.log").read_text("utf-8")

    def runs(self) -> list[tuple[str, bool]]:
        """The state of each run, and whether it is leased."""
        found = self.asked("SELECT state, lease IS NOT NULL FROM judging_judgerun ORDER BY id")
        return [(state, bool(held)) for state, held in found]

    def ring(self, times: int) -> None:
        """Send the same message several times."""
        script = f"from judging import tasks\nfor _ in range({times}): tasks.leave_to_workers(1)"
        self.manage("shell", "--no-imports", "-c", script)


def each_once(house: House, url: str = "", kills: int = 0) -> bool:
    """Whether every unit has exactly one label, and all invariants hold.

    With the address of a server, the labels are compared with its counts.
    """
    labels = house.labels(*(("--server", url, "--kills", str(kills)) if url else ()))
    return len(labels) == UNITS and set(labels.values()) == {1}


def query(number: int, asked: int = QUESTIONS) -> dict[str, object]:
    questions = [{"id": f"q{number}:{n}", "text": f"What is {n}?"} for n in range(asked)]
    report = {"id": f"r{number}", "text": f"Report {number}: all is well 🌉.", "system": "s"}
    return {"id": f"q{number}", "text": "Tell all.", "questions": questions, "reports": [report]}


def kill_9(process: subprocess.Popen[Any]) -> None:
    """Kill the process with all its children, without a chance to clean up."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def asking_processes(process: subprocess.Popen[str]) -> list[int]:
    """Return the processes that ask the server for a `run_judge` (`judging.engine.apart`)."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    return [int(each) for each in children.split()]


def freeze(house: House, process: subprocess.Popen[str]) -> None:
    """Stop a process between two of its writes, since within one it would block others."""
    for _ in range(100):
        process.send_signal(signal.SIGSTOP)
        if can_write(house):
            return
        process.send_signal(signal.SIGCONT)
        time.sleep(0.03)
    raise AssertionError("the process writes all the time")


def freeze_all(house: House, process: subprocess.Popen[str]) -> list[int]:
    """Stop a process and its descendants between two writes of theirs; return their numbers.

    On PostgreSQL other processes write meanwhile, and a transaction that froze is ended there.
    """
    for _ in range(100):
        stopped: list[int] = []
        for pid in descendants(process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
                stopped.append(pid)
        if ON_POSTGRESQL or can_write(house):
            return stopped
        wake(stopped)
        time.sleep(0.03)
    raise AssertionError("the processes write all the time")


def wake(stopped: Sequence[int]) -> None:
    for pid in stopped:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def descendants(pid: int) -> list[int]:
    """The numbers of a process and of all that it started, parents first."""
    path = Path(f"/proc/{pid}/task/{pid}/children")
    if not path.exists():
        return [pid]
    children = [int(child) for child in path.read_text().split()]
    return [pid, *(each for child in children for each in descendants(child))]


def can_write(house: House) -> bool:
    if ON_POSTGRESQL:
        with psycopg.connect(house.env["DATABASE_URL"]) as server:
            open_writes = (
                "SELECT count(*) FROM pg_stat_activity WHERE state LIKE %s AND datname = %s"
            )
            found = server.execute(open_writes, ("idle in%", server.info.dbname)).fetchone()
            return found == (0,)
    with closing(sqlite3.connect(house.folder / FILE, timeout=0.1)) as file:
        try:
            file.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return False
        return True


def until(holds: Callable[[], bool], what: str, seconds: float = PATIENCE) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.05)
