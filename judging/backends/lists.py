"""Lists of points from token overlap, for the lexical baseline: sentences, and their matches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from judging.backends.base import JSON, AskedUnit
from judging.backends.words import ENOUGH, content_words

MOST = 5


def listed_points(query: str, sentences: Sequence[Sequence[str]]) -> list[JSON]:
    """The sentences that share most words with the query, as points, in reading order."""
    wanted = content_words(query)
    every = [sentence.strip() for text in sentences for sentence in text]
    best = sorted(every, key=lambda sentence: -len(wanted & content_words(sentence)))[:MOST]
    return [
        {"text": sentence, "evidence": [{"quote": sentence, "start": None}]}
        for sentence in every
        if sentence in best
    ]


def match_lists(units: Sequence[AskedUnit], answers: Mapping[str, JSON]) -> None:
    """Matches the units to the list in the same answers; without one their own label stands."""
    lists = [answers[unit.name][unit.listed] or [] for unit in units if unit.listed]
    for unit in units:
        if unit.matches is None:
            continue
        key, variable, code = unit.matches
        answer = answers[unit.name]
        answer[key] = _numbers(unit.text, lists[0]) if lists else []
        if lists:
            answer[variable] = code if answer[key] else _other(unit, variable, code)


def _numbers(text: str, points: Sequence[JSON]) -> list[int]:
    words = content_words(text)
    return [
        number
        for number, point in enumerate(points, start=1)
        if words and len(words & content_words(point["text"])) / len(words) >= ENOUGH
    ]


def _other(unit: AskedUnit, variable: str, code: str) -> str:
    codes = next(each.codes for each in unit.variables if each.name == variable)
    return next(each for each in codes if each != code)
