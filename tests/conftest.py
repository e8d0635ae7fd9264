"""What all tests share; the environment they run in is `tests.settings`."""

from __future__ import annotations

import gc
import importlib
import os
import random
import sys
from collections import defaultdict
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path

import pytest
from django.test import TransactionTestCase
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from pytest_django import DjangoDbBlocker
from pytest_django.fixtures import Settings
from pytest_django.plugin import blocking_manager_key

from analysis.crosscheck import process
from config import middleware
from tests import cast, databases
from tests.databases import ON_POSTGRESQL
from tests.extent import Extent
from tests.once import Kept
from tests.patience import PATIENCE
from tests.workers import NAME

# Another process for each report is a second each; tests/analysis/crosscheck has it on.
process.IS_ON = False
# jsonschema would build a grammar of the formats `iri` and `iri-reference`, which no schema of ours
# has, for two seconds whenever it is imported.
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]

CASES = 2  # of a test's cases, where it is marked neither "every_case" nor "first_case"

# Imported where a test first needs them, which takes each worker that does some seconds.
LARGE = (
    "markdown_it", "pandas", "scipy.optimize", "scipy.stats", "statsmodels.stats.inter_rater",
    "statsmodels.stats.multitest",
)  # fmt: skip


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="every case, and what takes minutes")
    parser.addoption("--quick", action="store_true", help="two cases even where all matter")


def pytest_configure(config: pytest.Config) -> None:
    Extent.everything = config.getoption("--all")
    # A deadline would fail on a slow machine, and examples drawn anew on an unchanged commit.
    settings.register_profile(
        "tandem",
        deadline=None,
        derandomize=not Extent.everything,
        max_examples=100 if Extent.everything else 40,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("tandem")
    if not Extent.everything:
        # Hypothesis also draws constants that it reads in all modules of ours, for seconds: which
        # examples a test has would depend on every other line.
        providers.is_local_module_file = lambda path: False  # type: ignore[assignment]


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """On PostgreSQL `make test` asks for few tests: modules without any are not even imported."""
    if not ON_POSTGRESQL or Extent.everything or collection_path.suffix != ".py":
        return None
    if not collection_path.name.startswith("test_"):
        return None
    return "mark.postgresql" not in collection_path.read_text("utf-8") or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = {item for item in items if not _runs(item)}
    if not Extent.everything:
        left_out |= _further_cases([item for item in items if item not in left_out], config)
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]


def _runs(item: pytest.Item) -> bool:
    if ON_POSTGRESQL and not _differs_between_databases(item):
        return False
    if Extent.everything:
        return True
    mark = item.get_closest_marker("postgresql")
    wanted = mark is not None if ON_POSTGRESQL else not (mark and mark.kwargs.get("only"))
    return wanted and not item.get_closest_marker("long")


def _further_cases(items: Sequence[pytest.Item], config: pytest.Config) -> set[pytest.Item]:
    """Return the cases beyond the first and the last of a test; beyond the first of a slow one."""
    functions: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if config.getoption("--quick") or not item.get_closest_marker("every_case"):
            functions[item.nodeid.partition("[")[0]].append(item)
    further: set[pytest.Item] = set()
    for cases in functions.values():
        last = len(cases) - 1
        count = 1 if cases[0].get_closest_marker("first_case") else CASES
        further |= set(cases) - {cases[n * last // (CASES - 1)] for n in range(count)}
    return further


# `db` and its like ask for the first; the last two are of processes.
WITH_DATABASE = {"django_db_setup", "live_server", "house", "site"}
WITH_PROCESSES = ("browser", "processes", "containers")


def _differs_between_databases(item: pytest.Item) -> bool:
    """Whether a test may end otherwise on PostgreSQL than on SQLite, where all of them run."""
    if item.get_closest_marker("once"):
        return False
    fixtures = set(getattr(item, "fixturenames", ()))
    marked = any(map(item.get_closest_marker, ("django_db", *WITH_PROCESSES)))
    return marked or bool(fixtures & WITH_DATABASE)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Pauses of retries, mocks' choices: the same for a test each time, whatever ran before it."""
    if not Extent.everything:
        random.seed(item.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_run_workers(session: pytest.Session) -> Generator[None, bool, bool]:
    """The database is migrated and large libraries are imported once, for all workers."""
    gc.freeze()  # what was collected stays to the end
    for name in LARGE:
        importlib.import_module(name)
    blocker = session.config.stash[blocking_manager_key]
    with blocker.unblock(), databases.migrated():
        databases.disconnect()
        # In the forks, too, a test without the mark would leave behind what it writes.
        with blocker.block():
            return (yield)


@pytest.fixture(scope="session")
def django_db_setup(
    django_test_environment: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[None]:
    """The migrated test database: in a worker its copy, else one that is made here."""
    made = databases.migrated(os.environ.get(NAME))
    with django_db_blocker.unblock():
        made.__enter__()
    # Blocked meanwhile: a test without the mark would leave behind what it writes.
    yield
    with django_db_blocker.unblock():
        made.__exit__(None, None, None)


@pytest.fixture(scope="session", autouse=True)
def _statements_may_be_slow() -> Iterator[None]:
    """A page's limit would stay on the connection that it shares with its test, whose own
    statements then fail on a machine that does much else besides."""
    with pytest.MonkeyPatch.context() as patch:
        for limit in ("SHORT", "LONG"):
            patch.setattr(middleware, limit, f"{PATIENCE:.0f}s")
        yield


@pytest.fixture(scope="session", autouse=True)
def _emptied_quickly() -> Iterator[None]:
    """Tests that commit leave the database as it was migrated."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda _: databases.empty())
        yield


@pytest.fixture(scope="module")
def kept(
    request: pytest.FixtureRequest,
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Kept]:
    """See `tests.once`."""
    kept = Kept()
    if "transaction=True" in request.path.read_text("utf-8"):
        yield kept
        return
    with databases.rolled_back(django_db_blocker):
        kept.make(request, tmp_path_factory.mktemp("once"))
        yield kept


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
def house(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a migrated database, batch `b` and campaign `c`, for real commands."""
    folder = tmp_path_factory.mktemp("house")
    databases.environment(folder, migrated=True)
    path = cast.write_lines(folder / "b.jsonl", cast.BATCH)
    done = cast.manage_all(
        folder,
        ("load_batch", path, "--name", "b"),
        ("create_campaign", "c", "--protocol", "report-coverage", "--batch", "b"),
    )
    assert done.returncode == 0, done.stderr
    return folder
