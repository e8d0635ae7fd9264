"""A site with a worker, and the client of a researcher."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from datasets.api.permissions import MOST
from tandem.client import Client
from tests.client.study import BATCH, JUDGE, labels
from tests.serving.conftest import static  # noqa: F401
from tests.serving.site import Site


@pytest.fixture(scope="session")
def site(
    django_db_setup: None,
    static: dict[str, str],  # noqa: F811
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Site]:
    """Production settings and a worker; batch `b` and campaign `c` are from the command line."""
    found = Site(tmp_path_factory.mktemp("client"), {"WEB_WORKERS": "1", **static})
    found.open_campaign(2, 1, "ada", "nora", "rita")
    with found.served(), found.worker():
        yield found


def token_of(site: Site, name: str) -> str:
    scopes = [word for scope in MOST["researcher"] for word in ("--scope", scope)]
    return site.manage(("create_token", name, *scopes)).split()[-1]


@pytest.fixture(scope="session")
def token(site: Site) -> str:
    return token_of(site, "rita")


@pytest.fixture(scope="session")
def client(site: Site, token: str) -> Client:
    return Client(site.url, token, progress=False)


@pytest.fixture(scope="session")
def campaign(client: Client) -> Any:
    """A campaign with imported labels of three people and a run of a judge."""
    batch = client.load_batch("ferries", BATCH)
    made = client.create_campaign("ferries", "report-coverage", batch)
    made.import_labels(labels())
    client.create_judge(JUDGE, "lexical")
    run = made.run(JUDGE).wait(120)
    assert (run.state, run.json["failed"]) == ("done", 0)
    return made
