"""The site that most of these tests look at."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.serving.site import Person, Site


@pytest.fixture(scope="session")
def static(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The setting by which all sites share their static files, which the first one collects."""
    return {"TANDEM_STATIC_DIR": str(tmp_path_factory.mktemp("static"))}


@pytest.fixture(scope="session")
def site(
    django_db_setup: None, static: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    """Production settings, four reports for two people each; Ada and Ben label, Rita looks on."""
    site = Site(tmp_path_factory.mktemp("site"), static)
    site.open_campaign(4, 2, "ada", "ben", "rita")
    with site.served():
        yield site


@pytest.fixture(scope="session")
def ada(site: Site) -> Person:
    return Person(site, "ada").log_in()
