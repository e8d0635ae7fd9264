"""What all tests share; the environment they run in is `tests.settings`."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from tests import cast
from tests.databases import ON_POSTGRESQL


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="also run what takes minutes")


# `db` and its like ask for the first; the last two are of processes.
WITH_DATABASE = {"django_db_setup", "live_server", "house", "site"}
WITH_PROCESSES = ("browser", "processes", "containers")


# Of a test with many cases these many run on PostgreSQL: they differ in what is sent, and not in
# what the database is asked. Where it is the other way round a test is marked "every_case".
CASES = 3


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = {item for item in items if not _runs(item, config.getoption("--long"))}
    if ON_POSTGRESQL:
        left_out |= _further_cases(item for item in items if item not in left_out)
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]
    # On a busy machine a browser may lose a race that no user would, and a process start too late:
    # these get a second try, and the summary says so ("rerun"). What fails twice fails; all other
    # tests get one try.
    for item in items:
        if any(map(item.get_closest_marker, WITH_PROCESSES)):
            item.add_marker(pytest.mark.flaky(reruns=1))


def pytest_collection_finish() -> None:
    """Ten thousand tests and all they import stay to the end: looked through for garbage again and
    again they take a twentieth of the time."""
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Why a second try was needed, since the first one's words are shown nowhere else."""
    for report in terminalreporter.getreports("rerun"):
        terminalreporter.section(f"second try of {report.nodeid}, after its {report.when}")
        terminalreporter.line(report.longreprtext)


def _runs(item: pytest.Item, long: bool) -> bool:
    if item.get_closest_marker("long") and not long:
        return False
    return not ON_POSTGRESQL or _differs_between_databases(item)


def _further_cases(items: Iterable[pytest.Item]) -> set[pytest.Item]:
    cases: Counter[str] = Counter()
    further = set()
    for item in items:
        test = item.nodeid.partition("[")[0]
        cases[test] += 1
        if cases[test] > CASES and not item.get_closest_marker("every_case"):
            further.add(item)
    return further


def _differs_between_databases(item: pytest.Item) -> bool:
    """Whether a test may end otherwise on PostgreSQL than on SQLite, where all of them run."""
    if item.get_closest_marker("once"):
        return False
    fixtures = set(getattr(item, "fixturenames", ()))
    marked = any(map(item.get_closest_marker, ("django_db", *WITH_PROCESSES)))
    return marked or bool(fixtures & WITH_DATABASE)


@pytest.fixture
def batch(db: None, tmp_path: Path) -> Path:
    """The small cast, loaded as batch `b`; the file that it came from."""
    return cast.load(tmp_path)


@pytest.fixture
def own_quarantine(settings: Settings, tmp_path: Path) -> Path:
    """A data folder of the test's own, into which nothing was sent yet."""
    incoming = tmp_path / "data" / "uploads" / "incoming"
    incoming.mkdir(parents=True)
    settings.DATA_DIR, settings.FILE_UPLOAD_TEMP_DIR = tmp_path / "data", incoming
    return tmp_path / "data"


@pytest.fixture(scope="session")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a migrated database, batch `b` and campaign `c`, for real commands."""
    folder = tmp_path_factory.mktemp("house")
    path = cast.write_lines(folder / "b.jsonl", cast.BATCH)
    for command in (
        ("migrate", "--verbosity", "0"),
        ("load_batch", path, "--name", "b"),
        ("create_campaign", "c", "--protocol", "report-coverage", "--batch", "b"),
    ):
        done = cast.manage(folder, *command)
        assert done.returncode == 0, done.stderr
    return folder
