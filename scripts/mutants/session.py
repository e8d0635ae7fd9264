"""The job of a server's fork: run chosen tests with pytest, or create a migrated database."""

from __future__ import annotations

import faulthandler
import json
import os
import shutil
import time
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Any

import coverage
import pytest
from coverage.numbits import nums_to_numbits

NAME = "TANDEM_MUTANTS_TEST"  # names the current test in the environment of its child processes
Job = dict[str, Any]
Covered = dict[str, dict[str, set[int]]]  # test, path, lines


def tests(job: Job) -> int:
    """Run the tests; `wanted` are the ones of the `modules` to run, in order."""
    if job["template"]:
        _copy_instead_of_migrating(Path(job["template"]))
    tracing = Tracing(job) if job["trace"] else None
    options = ["-q", "-p", "no:cacheprovider", "--hypothesis-seed=1", "--tb=short"]
    # A process has only one timer, which we need for our own limits.
    options += ["-o", "faulthandler_timeout=0"]
    options += [] if job["trace"] else ["-x"]
    options += [f"--basetemp={job['folder']}/t", *job["modules"]]
    status = pytest.main(options, plugins=[TestSelection(job, tracing)])
    if tracing:
        tracing.keep()
    return int(status)


def database(job: Job) -> int:
    """Migrate a test database and copy it to `template`."""
    tracing = Tracing(job) if job["trace"] else None
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    import django

    django.setup()
    from django.db import connection

    connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    connection.close()
    shutil.copy(connection.settings_dict["NAME"], job["template"])
    if tracing:
        tracing.keep()
    return 0


def _copy_instead_of_migrating(template: Path) -> None:
    from django.conf import settings
    from django.db.backends.sqlite3.creation import DatabaseCreation

    def copied(self: Any, *_: object, **__: object) -> str:
        name = str(self._get_test_db_name())
        self.connection.close()
        shutil.copy(template, name)
        settings.DATABASES[self.connection.alias]["NAME"] = name
        self.connection.settings_dict["NAME"] = name
        return name

    DatabaseCreation.create_test_db = copied  # type: ignore[method-assign]


class Tracing:
    """The lines that each test ran, in this process and in Python processes that it started."""

    def __init__(self, job: Job) -> None:
        self.root, self.trace_file = Path(job["root"]), Path(job["trace"])
        self.others = Path(job["folder"], "others")
        self.others.mkdir()
        ours = [f"{self.root}/{app}/*" for app in job["product"]]
        self.coverage = coverage.Coverage(
            data_file=None, config_file=False, include=ours, messages=False
        )
        if job["processes"]:
            settings = Path(job["folder"], "coverage.ini")
            settings.write_text(
                "[run]\nparallel = true\nsigterm = true\npatch =\n    _exit\n    fork\n"
                f"context = ${{{NAME}-}}\ndata_file = {self.others}/one\n"
                "include =\n" + "".join(f"    {path}\n" for path in ours),
                "utf-8",
            )
            os.environ["COVERAGE_PROCESS_START"] = str(settings)
        self.coverage.start()

    def switch(self, test: str) -> None:
        os.environ[NAME] = test
        self.coverage.switch_context(test)

    def keep(self) -> None:
        self.coverage.stop()
        covered: Covered = {}
        self._add(covered, self.coverage.get_data())
        for path in self.others.iterdir():
            data = coverage.CoverageData(basename=str(path))
            try:
                data.read()
                self._add(covered, data)
            except Exception as error:  # written by a process that was killed meanwhile
                print(f"{path.name} cannot be read: {error}")
        rows = {
            test: {path: nums_to_numbits(lines).hex() for path, lines in paths.items()}
            for test, paths in covered.items()
        }
        self.trace_file.write_text(json.dumps(rows), "utf-8")

    def _add(self, covered: Covered, data: coverage.CoverageData) -> None:
        for name in data.measured_files():
            path = Path(name).relative_to(self.root).as_posix()
            for line, contexts in data.contexts_by_lineno(name).items():
                for test in contexts:
                    covered.setdefault(test, {}).setdefault(path, set()).add(line)


class TestSelection:
    """Selects and orders the wanted tests, and logs their results."""

    def __init__(self, job: Job, tracing: Tracing | None) -> None:
        self.tracing = tracing
        self.wanted = {test: number for number, test in enumerate(job["wanted"] or ())}
        self.all = job["wanted"] is None
        self.limits: dict[str, float] = job["limits"]
        self.log = Path(job["folder"], "log")
        self.within = 0.0

    def note(self, **what: object) -> None:
        with self.log.open("a", encoding="utf-8") as log:
            print(json.dumps(what), file=log)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        if self.all:
            return
        config.hook.pytest_deselected(items=[i for i in items if i.nodeid not in self.wanted])
        ours = [item for item in items if item.nodeid in self.wanted]
        items[:] = sorted(ours, key=lambda item: self.wanted[item.nodeid])

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.note(what="collection", test=report.nodeid, how=_brief(report.longrepr))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self.note(what="begin", test=item.nodeid)
        faulthandler.dump_traceback_later(self.limits.get(item.nodeid, 120), exit=True)
        if self.tracing:
            self.tracing.switch(item.nodeid)
        began, self.within = time.monotonic(), 0.0
        try:
            return (yield)
        finally:
            faulthandler.cancel_dump_traceback_later()
            if self.tracing:
                self.tracing.switch("")
            seconds = time.monotonic() - began - self.within
            far = any(map(item.get_closest_marker, ("processes", "browser")))
            self.note(
                what="end",
                test=item.nodeid,
                seconds=round(seconds, 3),
                fixtures=sorted(_shared(item)),
                processes=far,
            )

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any]
    ) -> Generator[None, object, object]:
        began = time.monotonic()
        try:
            return (yield)
        finally:
            seconds = time.monotonic() - began
            if fixturedef.scope != "function":
                self.within += seconds
            if fixturedef.scope != "function" and seconds > 0.05:
                name = f"{fixturedef.baseid}:{fixturedef.argname}"
                self.note(what="fixture", test=name, seconds=round(seconds, 3))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.note(what="failed", test=report.nodeid, how=_brief(report.longrepr))
        elif report.when == "call" or report.skipped:
            self.note(what="passed" if report.passed else "skipped", test=report.nodeid)

    def pytest_internalerror(self, excrepr: object) -> None:
        self.note(what="collection", test="", how=_brief(excrepr))


def _shared(item: pytest.Item) -> Iterable[str]:
    """Return the fixtures of a test that others may share, as recorded at their setup."""
    known: dict[str, Any] = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
    for definitions in known.values():
        if definitions and definitions[-1].scope != "function":
            yield f"{definitions[-1].baseid}:{definitions[-1].argname}"


def _brief(problem: object) -> str:
    lines = [line for line in str(problem).splitlines() if line.startswith("E ")]
    return (lines or str(problem).splitlines() or [""])[0].strip()[:200]
