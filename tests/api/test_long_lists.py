"""Listing many answered items takes no more database queries than listing few."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.cast import body, script_of
from tests.api.test_work import next_item
from tests.page_cast import Study, make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(db: None) -> Study:
    return make_study(reports=12)


def test_the_list_takes_the_same_queries_however_long_it_is(
    study: Study, django_assert_max_num_queries: Any
) -> None:
    ada = script_of(study.ada)
    for _ in range(12):
        item = next_item(ada, study)
        ada.put(f"assignments/{item['uid']}/response/", body("no", "no", "no"))
    with django_assert_max_num_queries(6):
        listed = ada.get("assignments/?page_size=12").json()
    assert len(listed["results"]) == 12
