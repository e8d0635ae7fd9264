"""Garbage collection is off while labels are read, and as before afterwards."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tandem.labels.frame import without_garbage_collection


@pytest.fixture(autouse=True)
def _collecting() -> Iterator[None]:
    gc.enable()
    yield
    gc.enable()


def test_collection_is_off_within_the_block_and_on_after_it() -> None:
    with without_garbage_collection():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_collection_is_on_again_after_an_error() -> None:
    with pytest.raises(ValueError, match="wrong"), without_garbage_collection():
        raise ValueError("wrong")
    assert gc.isenabled()


def test_collection_that_was_off_before_stays_off() -> None:
    gc.disable()
    with without_garbage_collection():
        pass
    assert not gc.isenabled()


def test_an_inner_block_does_not_turn_collection_on() -> None:
    with without_garbage_collection():
        with without_garbage_collection():
            pass
        assert not gc.isenabled()


def test_of_two_threads_the_first_to_leave_turns_collection_on() -> None:
    first, second = ExitStack(), ExitStack()
    first.enter_context(without_garbage_collection())
    second.enter_context(without_garbage_collection())
    first.close()
    assert gc.isenabled()
    second.close()
    assert gc.isenabled()
