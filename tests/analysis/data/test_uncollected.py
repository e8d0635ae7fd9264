"""While labels are read nothing looks for garbage; afterwards something does again."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from analysis.data.selected import without_garbage_collection


@pytest.fixture(autouse=True)
def _collecting() -> Iterator[None]:
    gc.enable()
    yield
    gc.enable()


def test_the_search_rests_within_and_goes_on_behind() -> None:
    with without_garbage_collection():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_goes_on_after_an_error_too() -> None:
    with pytest.raises(ValueError, match="wrong"), without_garbage_collection():
        raise ValueError("wrong")
    assert gc.isenabled()


def test_who_switched_it_off_keeps_it_off() -> None:
    gc.disable()
    with without_garbage_collection():
        pass
    assert not gc.isenabled()


def test_a_reading_within_another_does_not_end_the_rest() -> None:
    with without_garbage_collection():
        with without_garbage_collection():
            pass
        assert not gc.isenabled()


def test_of_two_readings_at_once_the_first_to_end_lets_it_go_on_for_good() -> None:
    first, second = ExitStack(), ExitStack()
    first.enter_context(without_garbage_collection())
    second.enter_context(without_garbage_collection())
    first.close()
    assert gc.isenabled()
    second.close()
    assert gc.isenabled()
