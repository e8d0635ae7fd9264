"""The word difference of two texts, in the browser that runs it."""

from __future__ import annotations

import random

import pytest
from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
COMPARE = """async ([pairs]) => {
  const { difference } = await import("/static/js/difference.js");
  return pairs.map(([one, other]) => difference(one, other));
}"""
WORDS = [
    *("the", "a", "of", "bridge", "river", "1901", "don't", ".", ",", "\r\n", "\t"),
    *("🌉", "👩‍👩‍👧", "אבג", "café", "cafe\u0301", "桥梁"),
]


@pytest.fixture
def page(errors: list[str], page: Page, transactional_db: None) -> Page:
    page.goto("/login/")
    return page


def compare(page: Page, *pairs: tuple[str, str]) -> list[list[dict[str, str]]]:
    found: list[list[dict[str, str]]] = page.evaluate(COMPARE, [pairs])
    return found


def sides(pieces: list[dict[str, str]]) -> dict[str, list[str]]:
    names = ("both", "first", "second")
    return {name: [p["text"] for p in pieces if p["side"] == name] for name in names}


def joined(pieces: list[dict[str, str]], side: str) -> str:
    return "".join(piece["text"] for piece in pieces if piece["side"] in ("both", side))


def test_the_pieces_of_a_side_joined_are_its_text(page: Page) -> None:
    draw = random.Random(7)

    def made() -> str:
        return draw.choice(" -").join(draw.choices(WORDS, k=draw.randrange(60)))

    pairs = [(made(), made()) for _ in range(400)]
    for pair, pieces in zip(pairs, compare(page, *pairs), strict=True):
        assert (joined(pieces, "first"), joined(pieces, "second")) == pair


def test_only_what_changed_is_told_apart(page: Page) -> None:
    one = "It opened in 1901. Anna Lee built it."
    changed, added, same, empty, other = compare(
        page,
        (one, "It opened in 1902. Anna Lee built it."),
        (one, one + " By hand."),
        (one, one),
        ("", "Both."),
        ("One two.", "Three four!"),
    )
    assert sides(changed)["first"] == ["1901"]
    assert sides(changed)["second"] == ["1902"]
    assert sides(added) == {"both": [one], "first": [], "second": [" By hand."]}
    assert sides(same) == {"both": [one], "first": [], "second": []}
    assert empty == [{"text": "Both.", "side": "second"}]
    assert sides(other)["first"] == ["One two."]


def test_words_changed_one_by_one_are_one_change_and_no_letter_is_cut(page: Page) -> None:
    each, awkward = compare(
        page,
        ("He saw red old boats there.", "He saw blue new ships there."),
        ("A 👩‍👩‍👧 at the cafe\u0301 in שלום", "A 👩‍👩‍👦 at the cafe in שלום"),
    )
    assert sides(each)["first"] == ["red old boats"]
    assert sides(each)["second"] == ["blue new ships"]
    assert sides(awkward)["first"] == ["👩‍👩‍👧", "cafe\u0301"]
    assert sides(awkward)["second"] == ["👩‍👩‍👦", "cafe"]


def test_long_texts_are_compared_whole(page: Page) -> None:
    draw = random.Random(3)
    words = [f"word{n}" for n in range(900)]
    text = draw.choices(words, k=2000)
    edited = [draw.choice(words) if draw.random() < 0.2 else word for word in text]
    foreign = draw.choices(["again", "and", "over", "the", "same"], k=2000)
    pairs = [(" ".join(text), " ".join(b)) for b in (edited, foreign)]
    pairs.append((" ".join(foreign), " ".join(foreign[::-1])))
    for pair, pieces in zip(pairs, compare(page, *pairs), strict=True):
        assert (joined(pieces, "first"), joined(pieces, "second")) == pair
