"""Values are grouped by key in their order."""

from __future__ import annotations

from tandem.grouping import grouped


def test_keys_and_values_keep_the_order_of_the_pairs() -> None:
    found = grouped([("b", 1), ("a", 2), ("b", 0)])
    assert list(found.items()) == [("b", [1, 0]), ("a", [2])]


def test_a_key_without_values_has_an_empty_list() -> None:
    found = grouped([("a", 1)])
    assert found["b"] == []
    assert grouped([]) == {}
