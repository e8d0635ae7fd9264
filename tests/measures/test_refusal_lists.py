"""A list of refusals that was shipped never changes: a new one gets the next number."""

from __future__ import annotations

from hashlib import sha256

import pytest

from analysis.measures.answers.refusal_lists import FOLDER, refusal_lists

pytestmark = pytest.mark.every_case

SHIPPED = {"plain-1": "0257e09bc5a6a4d3c096dbf4d840589d2d95896a3da21c672030b94680c9de65"}


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_list_is_word_for_word_what_it_was(name: str) -> None:
    content = (FOLDER / f"{name}.toml").read_bytes()
    assert sha256(content).hexdigest() == SHIPPED[name], "make a new list with the next number"


def test_every_list_is_guarded() -> None:
    assert set(refusal_lists()) == set(SHIPPED), "put the new list's digest here"
