"""The cache of items: limited in size, and never stale."""

from __future__ import annotations

import threading
from copy import copy
from datetime import UTC, datetime, timedelta

import pytest
from cachetools import LRUCache
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation import presentation
from annotation.models import Campaign, Item
from annotation.presentation import preload, present, stored_units
from datasets.models import Query
from tandem.files.rows import Turn
from tests.page_cast import make_study


@pytest.mark.django_db
class TestItems:
    def test_an_item_is_built_from_its_texts_once(self) -> None:
        study = make_study()
        item = Item.objects.select_related("campaign", "query").get(position=0)
        spec, units = present(item), stored_units(item)
        with CaptureQueriesContext(connection) as captured:
            assert (present(item), stored_units(item)) == (spec, units)
        assert len(captured) == 0
        assert list(units) == list(item.units.order_by("position").values_list("name", flat=True))
        assert study.campaign.pk == item.campaign_id

    def test_an_item_of_a_recreated_campaign_is_not_taken_from_the_cache(self) -> None:
        """As after a restored backup: the same keys, and another time of creation."""
        make_study()
        item = Item.objects.select_related("campaign", "query").get(position=0)
        present(item), stored_units(item)
        item.campaign.created_at += timedelta(microseconds=1)
        with CaptureQueriesContext(connection) as captured:
            present(item), stored_units(item)
        assert len(captured) > 1

    def test_an_item_larger_than_the_cache_is_shown_but_not_cached(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        make_study()
        item = Item.objects.select_related("campaign", "query").get(position=0)
        spec = present(item)
        small: LRUCache[object, presentation.ItemSpec] = LRUCache(1, presentation._size)
        monkeypatch.setattr(presentation, "_specs", small)
        assert present(item) == spec
        assert len(small) == 0

    def test_the_least_recently_used_item_is_dropped_first(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        make_study()
        first, second = Item.objects.select_related("campaign", "query")[:2]
        third = copy(first)
        third.pk = 999
        two: LRUCache[object, presentation.ItemSpec] = LRUCache(2, lambda _: 1)
        monkeypatch.setattr(presentation, "_specs", two)
        present(first), present(second), present(first), present(third)
        assert set(two) == {presentation._identity(first), presentation._identity(third)}

    def test_several_items_are_loaded_at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        study = make_study()
        items = list(Item.objects.select_related("campaign", "query"))
        monkeypatch.setattr(presentation, "_specs", LRUCache(100, lambda _: 1))
        monkeypatch.setattr(presentation, "_unit_keys", LRUCache(100, lambda _: 1))
        preload(study.campaign, items)
        with CaptureQueriesContext(connection) as captured:
            assert [present(item).key for item in items] == [item.key for item in items]
            assert all(stored_units(item) for item in items)
        assert len(captured) == 0

    def test_items_loaded_together_equal_those_loaded_one_by_one(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        study = make_study(reports=3)
        items = list(Item.objects.select_related("campaign", "query").order_by("position"))
        Item.objects.get(pk=items[1].pk).units.filter(position=0).update(position=9)
        alone = [(present(item), list(stored_units(item).items())) for item in items]
        specs: LRUCache[object, presentation.ItemSpec] = LRUCache(100, lambda _: 1)
        monkeypatch.setattr(presentation, "_specs", specs)
        monkeypatch.setattr(presentation, "_unit_keys", LRUCache(100, lambda _: 1))
        present(items[0]), stored_units(items[0])
        present(items[2])
        with CaptureQueriesContext(connection) as captured:
            preload(study.campaign, items[:1])
            preload(study.campaign, [])
        assert len(captured) == 0
        kept = specs[presentation._identity(items[0])]
        preload(study.campaign, items)
        assert specs[presentation._identity(items[0])] is kept
        together = [(present(item), list(stored_units(item).items())) for item in items]
        assert together == alone
        names = list(items[1].units.order_by("position").values_list("name", "pk"))
        assert (
            together[1][1] == names != list(items[1].units.order_by("pk").values_list("name", "pk"))
        )

    def test_an_item_that_its_batch_no_longer_gives_is_named(self) -> None:
        make_study()
        item = Item.objects.select_related("campaign", "query").get(position=0)
        item.pk, item.key = 10**6, "gone"
        with pytest.raises(presentation.ForgottenItemError, match="item 'gone' of campaign 'Pil"):
            present(item)

    def test_earlier_turns_are_part_of_an_item(self) -> None:
        study = make_study()
        Query.objects.update(history=[{"role": "user", "text": "And before?"}])
        item = Item.objects.select_related("campaign", "query").get(position=1)
        spec = present(item)
        assert [turn.text for turn in spec.earlier] == ["And before?"]
        assert study.campaign.items.count() == 2


class TestSize:
    def test_the_caches_are_limited_in_size(self) -> None:
        tiny = presentation.ItemSpec("a", (), ())
        assert presentation._size(tiny) == 4_000_000 // 256
        assert presentation._size_of_names({}) == 1_000_000 // 1024
        assert presentation._size_of_names({"a" * 600: 1, "b" * 400: 2}) == 1000
        assert presentation._specs.maxsize == 4_000_000
        assert presentation._unit_keys.maxsize == 1_000_000

    def test_the_cache_is_limited_in_the_number_of_items(self) -> None:
        tiny = presentation.ItemSpec("a", (), ())
        most = presentation.MAX_CHARACTERS // presentation._size(tiny)
        assert most == presentation.MAX_ITEMS

    def test_an_items_size_is_that_of_its_texts_units_and_turns(self) -> None:
        text = presentation.Text("report:a", "x" * 40_000, suggested=("y" * 10,))
        unit = presentation.UnitSpec("report", "a", "z" * 5)
        assert presentation._size(presentation.ItemSpec("a", (unit,), (text,))) == 40_015
        turn = Turn("user", "t" * 7)
        spec = presentation.ItemSpec("a", (unit,), (text,), earlier=(turn,))
        assert presentation._size(spec) == 40_022

    def test_an_items_cache_key_has_everything_that_identifies_it(self) -> None:
        now = datetime(2026, 3, 1, tzinfo=UTC)
        item = Item(pk=1, query_id=2, key="k", campaign=Campaign(pk=3, created_at=now))
        assert presentation._identity(item) == (3, now, 1, 2, "k")


def test_threads_can_share_the_cache() -> None:
    """Without a lock, a cache that drops entries raises KeyError under load."""
    few: LRUCache[object, str] = LRUCache(5)
    items = [Item(pk=n, query_id=1, key=str(n), campaign=Campaign(pk=1)) for n in range(9)]
    wrong: list[object] = []

    def work() -> None:
        try:
            for n in range(2000):
                item = items[n % 9]
                found = presentation._recall(few, item)
                found = found or presentation._remember(few, item, item.key)
                wrong.extend([found] if found != item.key else [])
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(few) == 5


@pytest.mark.django_db
def test_a_campaign_asks_the_variables_that_it_chose() -> None:
    batch = make_study().campaign.batch
    for name, variables in (("all", []), ("some", ["selected"])):
        options = {"variables": variables}
        Campaign.objects.create(name=name, batch=batch, protocol="grounded-answer", options=options)
    asked = {name: presentation._asks(name, "deflected") for name in ("all", "some", "none")}
    assert asked == {"all": True, "some": False, "none": True}
