"""The `measures` command on CRUX's released labels."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.analysis.conftest import ABSENT, PEOPLE, SHARED, run

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(not SHARED.is_dir(), reason=ABSENT),
]

SETTINGS = ("oracle", "bm25", "dr_rankfirst")


@pytest.fixture(scope="module")
def measures(crux: Any, django_db_blocker: Any) -> dict[str, Any]:
    with django_db_blocker.unblock():
        text = run("measures", "--campaign", crux.name, "--resamples", "2")
    found: dict[str, Any] = json.loads(text)["measures"]
    return found


@pytest.mark.parametrize("setting", SETTINGS)
def test_coverage_of_reports_is_the_published_one_of_each_person(
    setting: str, measures: dict[str, Any], expected: dict[str, dict[str, Any]]
) -> None:
    stated = expected[f"crux.t1.coverage_mean.{setting}"]
    raters = measures["Cov(y)"]["systems"][setting]["raters"]
    for person in PEOPLE:
        found = raters[person]["value"]
        assert found == pytest.approx(stated["value"][person], abs=stated["tolerance"])


@pytest.mark.parametrize("setting", SETTINGS)
def test_what_most_people_say_is_covered_as_published(
    setting: str, measures: dict[str, Any], expected: dict[str, dict[str, Any]]
) -> None:
    stated = expected["crux.t1.majority_coverage_mean"]
    found = measures["Cov(y)"]["systems"][setting]["people"]["value"]
    assert found == pytest.approx(stated["value"][setting], abs=stated["tolerance"])
