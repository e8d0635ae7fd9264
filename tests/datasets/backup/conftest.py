"""Sites in folders of their own, each with its own database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from tests import databases

Place = Callable[[str], AbstractContextManager[Path]]


@pytest.fixture
def place(
    django_db_setup: None, django_db_blocker: Any, settings: Settings, tmp_path: Path
) -> Place:
    """Return a function that makes this process a site in a folder, new or as it was left.

    The site named "old" has tables; others are empty.
    """

    @contextmanager
    def entered(name: str) -> Iterator[Path]:
        folder = tmp_path / name
        databases.environment(folder, migrated=name == "old")
        folder.mkdir(exist_ok=True)
        database = databases._name(folder) if databases.ON_POSTGRESQL else folder / databases.FILE
        settings.DATA_DIR = folder
        settings.STATIC_ROOT = folder / "static"
        with databases.other_database(django_db_blocker, str(database)):
            yield folder

    return entered
