"""What a process keeps in memory: no more than it may, and nothing that may differ."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.models import Item
from annotation.presentation import Kept, present, stored_units
from tests.page_cast import make_study


class TestKept:
    def test_it_keeps_what_was_asked_for_last(self) -> None:
        kept = Kept[str](2, 100, len)
        for key in "ab":
            kept.keep(key, key * 3)
        assert kept.get("a") == "aaa"
        kept.keep("c", "ccc")
        assert [kept.get(key) for key in "abc"] == ["aaa", None, "ccc"]

    def test_it_keeps_no_more_than_the_weight(self) -> None:
        kept = Kept[str](100, 10, len)
        for key in "abcd":
            kept.keep(key, key * 4)
        assert [kept.get(key) for key in "abcd"] == [None, None, "cccc", "dddd"]
        assert kept.keep("e", "e" * 11) == "e" * 11
        assert len(kept) == 0

    def test_it_weighs_a_thing_once_however_often_it_comes(self) -> None:
        kept = Kept[str](100, 10, len)
        for _ in range(9):
            kept.keep("a", "aaaa")
        kept.keep("b", "bbbb")
        assert kept.get("a") == "aaaa"

    def test_threads_may_share_it(self) -> None:
        kept = Kept[str](5, 50, len)
        wrong: list[str] = []

        def work() -> None:
            for n in range(2000):
                key = n % 9
                wrong.extend(
                    x for x in [kept.get(key) or kept.keep(key, str(key))] if x != str(key)
                )

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []
        assert len(kept) == 5


@pytest.mark.django_db
class TestItems:
    def test_an_item_is_made_of_its_material_once(self) -> None:
        study = make_study()
        item = Item.objects.select_related("campaign", "query").get(position=0)
        spec, units = present(item), stored_units(item)
        with CaptureQueriesContext(connection) as captured:
            assert (present(item), stored_units(item)) == (spec, units)
        assert len(captured) == 0
        assert list(units) == list(item.units.order_by("position").values_list("name", flat=True))
        assert study.campaign.pk == item.campaign_id

    def test_another_study_in_its_place_is_not_mistaken_for_it(self) -> None:
        """As after a restored backup: the same keys, and another time of making."""
        make_study()
        item = Item.objects.select_related("campaign", "query").get(position=0)
        present(item), stored_units(item)
        item.campaign.created_at += timedelta(microseconds=1)
        with CaptureQueriesContext(connection) as captured:
            present(item), stored_units(item)
        assert len(captured) > 1
