"""Quotes of an authored answer are marked where they were taken from."""

from __future__ import annotations

from annotation.protocols.schema import schema_of
from annotation.registry import STEPS
from judging.preparation.review_form import marked_texts
from tandem.protocols.base import Text, UnitSpec

TEXT = Text("passage", "Use it only For cats or dogs, or fish.")


def marks(quote: str, start: int | None) -> list[int]:
    task = STEPS["key-points"].task
    assert task is not None
    unit = UnitSpec("passage", "p", "")
    point = {"text": "It is for cats.", "evidence": [{"quote": quote, "start": start}]}
    answer = {"p": {"holds_points": "yes", "points": [point]}}
    ((_, pieces),) = marked_texts(schema_of(task), (TEXT,), {"p": unit}, answer)
    at, found = 0, []
    for words, is_marked in pieces:
        found += [at] if is_marked else []
        at += len(words)
    return found


def test_a_quote_is_marked_at_its_start() -> None:
    assert marks("or", 30) == [30]
    assert marks("or", 29) == [30]


def test_a_quote_without_a_start_is_marked_as_a_word() -> None:
    assert marks("or", None) == [21]
