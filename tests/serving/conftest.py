"""The site that most of these tests look at."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.serving.site import Person, Site


@pytest.fixture(scope="package")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Production settings, four reports for two people each; Ada and Ben label, Rita looks on."""
    site = Site(tmp_path_factory.mktemp("site"))
    site.prepare()
    site.open_campaign(4, 2, "ada", "ben", "rita")
    with site.served():
        yield site


@pytest.fixture(scope="package")
def ada(site: Site) -> Person:
    return Person(site, "ada").log_in()
