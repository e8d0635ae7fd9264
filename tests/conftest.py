"""What all tests share; the environment they run in is `tests.settings`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import cast


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="also run what takes minutes")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--long"):
        long = [item for item in items if item.get_closest_marker("long")]
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]
    # On a busy machine a browser may lose a race that no user would, and a process start too late:
    # these get a second try, and the summary says so ("rerun"). What fails twice fails; all other
    # tests get one try.
    for item in items:
        if any(item.get_closest_marker(name) for name in ("browser", "processes", "containers")):
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.fixture
def batch(db: None, tmp_path: Path) -> Path:
    """The small cast, loaded as batch `b`; the file that it came from."""
    return cast.load(tmp_path)


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
