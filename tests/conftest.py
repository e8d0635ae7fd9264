"""Fixtures and hooks for all tests; `tests.settings` is their environment."""

from __future__ import annotations

import gc
import importlib
import os
import random
import sys
from collections import defaultdict
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from zlib import crc32

import pytest
from django.test import TransactionTestCase
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from pytest_django import DjangoDbBlocker
from pytest_django.fixtures import Settings
from pytest_django.plugin import blocking_manager_key

from config import middleware
from datasets.api import concurrency
from tandem.crosscheck import process
from tests import cast, databases, sealing
from tests.databases import ON_POSTGRESQL
from tests.extent import Extent
from tests.once import Kept
from tests.patience import PATIENCE
from tests.workers import NAME

# A process for each report takes a second; only tests/analysis/crosscheck turns this on.
process.IS_ON = False
# Importing jsonschema would take two seconds to build a grammar of the formats `iri` and
# `iri-reference`, which no schema here uses.
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]

CASES = 2  # cases of a test that is marked neither "every_case" nor "first_case"

# Otherwise each worker imports them when a test first needs them, which takes seconds.
LARGE = (
    "markdown_it", "pandas", "scipy.optimize", "scipy.stats", "statsmodels.stats.inter_rater",
    "statsmodels.stats.multitest",
)  # fmt: skip


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="every case, and what takes minutes")
    parser.addoption("--quick", action="store_true", help="two cases even where all matter")


def pytest_configure(config: pytest.Config) -> None:
    Extent.everything = config.getoption("--all")
    # A deadline would fail on a slow machine, and new random examples on an unchanged commit.
    settings.register_profile(
        "tandem",
        deadline=None,
        derandomize=not Extent.everything,
        max_examples=100 if Extent.everything else 40,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("tandem")
    if not Extent.everything:
        # Hypothesis spends seconds reading constants from all modules as examples. A test's
        # examples would then depend on every line of code.
        providers.is_local_module_file = lambda path: False  # type: ignore[assignment]


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """On PostgreSQL `make test` runs few tests. Modules without any are not even imported."""
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


# `db` and similar fixtures request the first; the last two are for processes.
WITH_DATABASE = {"django_db_setup", "live_server", "house", "site"}
WITH_PROCESSES = ("browser", "processes")


def _differs_between_databases(item: pytest.Item) -> bool:
    """Whether a test may have another result on PostgreSQL than on SQLite, where all tests run."""
    if item.get_closest_marker("once"):
        return False
    fixtures = set(getattr(item, "fixturenames", ()))
    marked = any(map(item.get_closest_marker, ("django_db", *WITH_PROCESSES)))
    return marked or bool(fixtures & WITH_DATABASE)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Random choices, such as pauses of retries, do not depend on which tests ran before."""
    if not Extent.everything:
        random.seed(item.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_run_workers(session: pytest.Session) -> Generator[None, bool, bool]:
    """Migrate the database and import large libraries once, for all workers."""
    gc.freeze()  # the collected tests are kept to the end
    for name in LARGE:
        importlib.import_module(name)
    blocker = session.config.stash[blocking_manager_key]
    with blocker.unblock(), databases.migrated():
        databases.disconnect()
        # In forks, too, a test without the mark would leave its writes behind.
        with blocker.block():
            return (yield)


@pytest.fixture(scope="session")
def django_db_setup(
    django_test_environment: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[None]:
    """The migrated test database: in a worker a copy, otherwise created here."""
    made = databases.migrated(os.environ.get(NAME))
    with django_db_blocker.unblock():
        made.__enter__()
    # Blocked by default, since a test without the mark would leave its writes behind.
    yield
    with django_db_blocker.unblock():
        made.__exit__(None, None, None)


@pytest.fixture(scope="session", autouse=True)
def _statements_may_be_slow() -> Iterator[None]:
    """Raise the time limits of pages' statements.

    A page shares its connection, and so its limit, with the test. On a busy machine the test's own
    statements would then fail.
    """
    with pytest.MonkeyPatch.context() as patch:
        for limit in ("SHORT", "LONG"):
            patch.setattr(middleware, limit, f"{PATIENCE:.0f}s")
        yield


@pytest.fixture(scope="session", autouse=True)
def _limits_stand_still() -> Iterator[None]:
    """Give each test a day of its own for the limits of requests, in which no time passes.

    Otherwise the window of a limit could end between the requests that use it up.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(concurrency, "time", SimpleNamespace(time=_own_day))
        yield


def _own_day() -> float:
    test = os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0]
    return 24 * 3600.0 * crc32(test.encode())


@pytest.fixture(scope="session", autouse=True)
def _files_of_its_own() -> Iterator[None]:
    """Give each tester its own lock for sealing and journals, since it has its own database."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("audit.sealed.sealing.FILE", f"seal-{os.getpid()}.lock")
        patch.setattr("judging.engine.journal.FOLDER", f"journals-{os.getpid()}")
        yield


@pytest.fixture(scope="session", autouse=True)
def _emptied_quickly() -> Iterator[None]:
    """Restore the migrated database after tests that commit."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda _: databases.empty())
        yield


@pytest.fixture(autouse=True)
def _untampered(request: pytest.FixtureRequest) -> Iterator[None]:
    """With `SEAL_EACH_CHANGE=1`, seal after each change, and check after each test."""
    if not sealing.ON or not {"db", "transactional_db"} & set(request.fixturenames):
        yield
        return
    request.getfixturevalue("db")
    with sealing.sealed_after_each_change():
        yield
        wrong = sealing.untampered()
    assert not wrong, "legitimate changes look like tampering:\n" + "\n".join(wrong)


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
    """Load the small cast as batch `b`; return its file."""
    return cast.load(tmp_path)


@pytest.fixture
def own_quarantine(settings: Settings, tmp_path: Path) -> Path:
    """An empty data folder for the test."""
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
        ("create_campaign", "c", "--pool", "open", "--protocol", "report-coverage", "--batch", "b"),
    )
    assert done.returncode == 0, done.stderr
    return folder
