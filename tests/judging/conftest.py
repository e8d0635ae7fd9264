"""The campaign that most tests of judges run over."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import DjangoDbBlocker

from annotation.models import Campaign
from scripts.services import Valkey, valkey
from tests.databases import rolled_back
from tests.fake_openai.running import Running, fake_openai
from tests.judging.cast import campaign_of
from tests.judging.processes import CONCURRENCY, House


@pytest.fixture(scope="module")
def made_once(
    request: pytest.FixtureRequest,
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[int | None]:
    """The campaign that a module's tests share and restore; none if they commit."""
    if "transaction=True" in request.path.read_text("utf-8"):
        yield None
        return
    with rolled_back(django_db_blocker):
        yield campaign_of(tmp_path_factory.mktemp("campaign")).pk


@pytest.fixture
def campaign(made_once: int | None, db: None, tmp_path: Path) -> Campaign:
    """Report coverage: 4 items, 12 units."""
    return campaign_of(tmp_path) if made_once is None else Campaign.objects.get(pk=made_once)


@pytest.fixture(scope="session")
def only_server() -> Iterator[Running]:
    with fake_openai() as running:
        yield running


@pytest.fixture
def server(only_server: Running) -> Iterator[Running]:
    only_server.behave(reset=True)
    yield only_server
    only_server.behave()  # so that it releases held calls


@pytest.fixture(scope="session")
def furnished(
    only_server: Running, tmp_path_factory: pytest.TempPathFactory, django_db_setup: None
) -> Path:
    folder = tmp_path_factory.mktemp("furnished")
    param = ("--param", f"concurrency={CONCURRENCY}")
    House(folder).open_campaign(only_server.url, *param)
    return folder


@pytest.fixture
def house(furnished: Path, tmp_path: Path) -> House:
    """A copy of the same campaign for each test."""
    return House(Path(shutil.copytree(furnished, tmp_path / "house")), copy_of=furnished)


@pytest.fixture(scope="session")
def valkey_server() -> Iterator[Valkey]:
    with valkey() as server:
        yield server
