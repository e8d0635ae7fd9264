"""`--workers N`: tests are collected and the database is migrated once, then N forks share them.

Collecting costs twenty seconds of processor time, which each new worker process would spend again.
A fork inherits the result: it copies the migrated database, takes chunks of tests from the parent
until none are left, and sends its reports back. A system that cannot fork runs the tests in one
process.
"""

from __future__ import annotations

import atexit
import gc
import logging
import os
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import pytest

# Folders with the slowest tests come first, so that no worker is left with them at the end.
FIRST = (
    "tests/browser",
    "tests/serving",
    "tests/program",
    "tests/client",
    "tests/judging",
    "tests/security",
)
CHUNK = 120  # tests of one module; a larger module is split, and each part creates its fixtures
# Folders whose modules share a site for the session, which each worker would start again.
TOGETHER = ("tests/client",)
BRIEF = 0.005  # seconds of a passed set-up or tear-down that are not reported: most are as short
GARBAGE = (
    20_000  # new objects between two collections of garbage; Python's own 700 cost more in a test
)
NAME = "TANDEM_TEST_WORKER"  # in the environment of a worker and of its child processes


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--workers", type=_count, default=0, metavar="N",
        help="forks that share the tests, 0 for none; auto: one more than there are processors",
    )  # fmt: skip


def _count(text: str) -> int:
    """Return the number of workers.

    It is one more than that of processors, since many tests wait for other processes.
    """
    return (os.cpu_count() or 1) + 1 if text == "auto" else int(text)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Iterator[None]:
    """Turn off garbage collection, which finds hardly anything and takes a sixth of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    count = min(session.config.getoption("--workers"), len(session.items))
    if count < 1 or session.config.option.collectonly or not hasattr(os, "fork"):
        return None
    if session.testsfailed and not session.config.option.continue_on_collection_errors:
        raise session.Interrupted(f"{session.testsfailed} errors during collection")
    session.config.hook.pytest_run_workers(session=session, count=count)
    return True


@pytest.hookimpl(trylast=True)
def pytest_run_workers(session: pytest.Session, count: int) -> bool:
    session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]  # one for all
    gc.freeze()  # the collected tests are shared by all workers and kept until the end
    gc.set_threshold(GARBAGE)
    Parent(session, count).run()
    return True


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    pluginmanager.add_hookspecs(Hooks)


class Hooks:
    """Hooks with which the parent and its workers notify other plugins."""

    @staticmethod
    @pytest.hookspec(firstresult=True)
    def pytest_run_workers(session: pytest.Session, count: int) -> bool:
        """Called in the parent after collection. A wrapper creates the data that workers copy."""
        raise NotImplementedError

    @staticmethod
    def pytest_worker_ready(config: pytest.Config, number: int) -> None:
        """Called in a worker, before its first test."""

    @staticmethod
    def pytest_worker_over(config: pytest.Config, number: int) -> None:
        """Called in a worker, after its last test."""


def chunks(items: Sequence[pytest.Item]) -> list[list[int]]:
    """Return the positions of the tests in chunks by module, or by folder if it shares a site.

    The slowest chunks come last, since chunks are taken from the end.
    """

    def urgency(chunk: list[int]) -> tuple[int, int]:
        path = items[chunk[0]].nodeid
        first = next((n for n, folder in enumerate(FIRST) if path.startswith(folder)), len(FIRST))
        return -first, len(chunk)

    def place(number: int) -> str:
        path = items[number].nodeid.partition("::")[0]
        return next((folder for folder in TOGETHER if path.startswith(folder)), path)

    made: list[list[int]] = []
    for name, group in groupby(range(len(items)), place):
        numbers = list(group)
        size = len(numbers) if name in TOGETHER else CHUNK
        made += [numbers[start : start + size] for start in range(0, len(numbers), size)]
    return sorted(made, key=urgency)


@dataclass
class Hand:
    """A worker from its parent's view: the tests that it was given, and the current one."""

    pid: int
    pipe: Connection
    given: list[int] = field(default_factory=list)
    at: int | None = None


class Parent:
    def __init__(self, session: pytest.Session, count: int) -> None:
        self.session, self.config, self.count = session, session.config, count
        self.left = chunks(session.items)
        self.hands: list[Hand] = []
        self.numbers = iter(range(10_000))
        self.stopping = ""

    def run(self) -> None:
        try:
            self.hands = [self._fork() for _ in range(self.count)]
            while self.hands:
                ready = wait([hand.pipe for hand in self.hands])
                for hand in [hand for hand in self.hands if hand.pipe in ready]:
                    self._hear(hand)
        finally:
            for hand in self.hands:
                os.kill(hand.pid, 15)
        if self.stopping:
            raise self.session.Failed(self.stopping)

    def _fork(self) -> Hand:
        ours, theirs = Pipe()
        number = next(self.numbers)
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid:
            theirs.close()
            return Hand(pid, ours)
        ours.close()
        for hand in self.hands:
            hand.pipe.close()
        Worker(self.session, theirs, number).run_and_exit()
        raise AssertionError("a worker never returns")

    def _hear(self, hand: Hand) -> None:
        try:
            what, *news = hand.pipe.recv()
        except EOFError:
            self._over(hand)
            return
        if what == "more":
            self._give(hand)
        elif what == "begin":
            (hand.at,) = news
            item = self.session.items[hand.at]
            self.config.hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        elif what == "report":
            self._log(*news)
        elif what == "end":
            hand.given.remove(hand.at or 0)
            hand.at = None

    def _give(self, hand: Hand) -> None:
        chunk = self.left.pop() if self.left and not self.stopping else []
        hand.given += chunk
        hand.pipe.send(chunk)

    def _log(self, data: dict[str, Any]) -> None:
        report = self.config.hook.pytest_report_from_serializable(config=self.config, data=data)
        self.config.hook.pytest_runtest_logreport(report=report)
        limit = self.config.getvalue("maxfail")
        if limit and self.session.testsfailed >= limit:
            self.stopping = f"stopping after {self.session.testsfailed} failures"

    def _over(self, hand: Hand) -> None:
        """Handle the end of a worker. If tests are left, it died at its current one."""
        self.hands.remove(hand)
        _, status = os.waitpid(hand.pid, 0)
        if status and hand.at is None and not hand.given:
            code = os.waitstatus_to_exitcode(status)
            raise self.session.Interrupted(f"a worker ended with exit code {code}")
        if hand.at is not None:
            item = self.session.items[hand.at]
            said = f"the worker died of this test, with {os.waitstatus_to_exitcode(status)}"
            report = pytest.TestReport(
                item.nodeid, item.location, dict.fromkeys(item.keywords, 1), "failed", said, "call"
            )
            self.config.hook.pytest_runtest_logreport(report=report)
            hand.given.remove(hand.at)
        if hand.given:
            self.left.append(hand.given)
        if self.left and not self.stopping:
            self.hands.append(self._fork())


class Worker:
    def __init__(self, session: pytest.Session, pipe: Connection, number: int) -> None:
        self.session, self.config, self.pipe, self.number = session, session.config, pipe, number

    def run_and_exit(self) -> None:
        """Run the parent's chunks, and exit without the parent's own cleanup."""
        status = 1
        try:
            atexit._clear()
            os.environ[NAME] = f"w{self.number}"
            self._settle()
            self.config.hook.pytest_worker_ready(config=self.config, number=self.number)
            self._work()
            self.config.hook.pytest_worker_over(config=self.config, number=self.number)
            atexit._run_exitfuncs()
            status = 0
        except BaseException:
            traceback.print_exc(file=sys.__stderr__)
        finally:
            self.pipe.close()
            os._exit(status)

    def _settle(self) -> None:
        """Give the worker its own captured output and folder, and a silent terminal."""
        plugins = self.config.pluginmanager
        capture: Any = plugins.getplugin("capturemanager")
        before = _captured(capture)
        capture.stop_global_capturing()
        capture.start_global_capturing()
        for old, new in zip(before, _captured(capture), strict=True):
            for handler in filter(None, (each() for each in vars(logging)["_handlerList"])):
                if vars(handler).get("stream") is old:
                    handler.stream = new
        for name in ("terminalreporter", "junitxml", "lastfailed", "stepwiseplugin"):
            if plugins.has_plugin(name):
                plugins.unregister(name=name)
        factory: Any = self.config._tmp_path_factory  # type: ignore[attr-defined]
        factory._basetemp = Path(factory.getbasetemp()) / f"w{self.number}"
        factory._basetemp.mkdir()
        plugins.register(self)

    def _work(self) -> None:
        tests = self._tests()
        test = next(tests, None)
        while test is not None:
            following = next(tests, None)
            self.pipe.send(("begin", test))
            item = self.session.items[test]
            after = None if following is None else self.session.items[following]
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            self.pipe.send(("end",))
            test = following

    def _tests(self) -> Iterator[int]:
        while chunk := self._ask():
            yield from chunk

    def _ask(self) -> list[int]:
        self.pipe.send(("more",))
        return list(self.pipe.recv())

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        config = self.config
        if report.passed and report.when != "call" and report.duration < BRIEF:
            return
        data = config.hook.pytest_report_to_serializable(config=config, report=report)
        data["worker"] = self.number
        data["sent_at"] = time.time()
        self.pipe.send(("report", data))


def _captured(manager: Any) -> list[Any]:
    """The files that capture output, which log handlers created during collection also refer to."""
    capture = manager._global_capturing
    return [each.tmpfile for each in (capture.out, capture.err) if hasattr(each, "tmpfile")]
