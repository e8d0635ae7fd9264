"""A baseline from word overlap, without a model or a network. A judge has to beat it.

A unit's share is the share of its content words that occur in the best sentence, or pair of
adjacent sentences, of the texts. A *yes* needs a share of at least `MATCH_SHARE`, an ordered scale
is cut into equal parts, and any other unit gets its first code.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from judging.backends.base import (
    JSON,
    Answer,
    AskedUnit,
    AskedVariable,
    Conditions,
    Facts,
    Findings,
    Quotable,
    Request,
    Serverless,
    Setup,
)
from tandem.protocols.base import names_code

_WORD = re.compile(r"\w+")
_ENDINGS = ("ings", "ing", "ies", "ed", "ly", "s")
_SHORTEST = 4
VERSION = "2"
MAX_POINTS = 5
MATCH_SHARE = 0.6
"""The share of words from which one text counts as contained in another."""
STOP_WORDS = frozenset((Path(__file__).parent / "stop_words.txt").read_text("utf-8").split())


@lru_cache(maxsize=4096)
def content_words(text: str) -> frozenset[str]:
    """Return a text's words without stop words, each cut to a rough stem."""
    words = _WORD.findall(text.casefold())
    return frozenset(_stem(word) for word in words if word not in STOP_WORDS)


def _stem(word: str) -> str:
    """Remove one ending, and then a final e or y."""
    ending = next((e for e in _ENDINGS if word.endswith(e) and len(word) >= len(e) + _SHORTEST), "")
    stem = word.removesuffix(ending)
    return stem[:-1] if stem[-1] in "ey" and len(stem) > _SHORTEST else stem


def list_points(query: str, sentences: Sequence[Sequence[str]]) -> list[JSON]:
    """Return the sentences that share most words with the query, as points, in reading order."""
    words = content_words(query)
    every = [sentence.strip() for text in sentences for sentence in text]
    best = sorted(every, key=lambda sentence: -len(words & content_words(sentence)))[:MAX_POINTS]
    return [
        {"text": sentence, "evidence": [{"quote": sentence, "start": None}]}
        for sentence in every
        if sentence in best
    ]


def match_lists(units: Sequence[AskedUnit], answers: Mapping[str, JSON]) -> None:
    """Match the units to the list in the same answers. Without a list their labels stay."""
    lists = [answers[unit.name][unit.listed] or [] for unit in units if unit.listed]
    for unit in units:
        if unit.matches is None:
            continue
        key, variable, code = unit.matches
        answer = answers[unit.name]
        answer[key] = _matching_points(unit.text, lists[0]) if lists else []
        if lists:
            answer[variable] = code if answer[key] else _other_code(unit, variable, code)


def _matching_points(text: str, points: Sequence[JSON]) -> list[int]:
    words = content_words(text)
    return [
        number
        for number, point in enumerate(points, start=1)
        if words and len(words & content_words(point["text"])) / len(words) >= MATCH_SHARE
    ]


def _other_code(unit: AskedUnit, variable: str, code: str) -> str:
    codes = next(each.codes for each in unit.variables if each.name == variable)
    return next(each for each in codes if each != code)


@dataclass(frozen=True)
class Match:
    """The share of words found close together in a text, and the sentence with most of them."""

    share: float
    quote: str


class Lexical(Serverless):
    """Answers from the request's facts only. Equal requests get equal answers."""

    def __init__(self, setup: Setup) -> None:
        self.split = setup.split_sentences

    def identity(self, request: Request) -> JSON:
        facts = request.facts
        units = [
            # Without text numbers, masked units with equal words would be identical.
            [u.name, u.kind, u.text, [v.name for v in u.variables]]
            + ([u.about, u.answer] if u.answer is not None else [])
            + list(u.contradictions)
            for u in facts.units
        ]
        asked = {"query": facts.query, "texts": facts.texts, "units": units}
        return {"backend": "lexical", "version": VERSION, "schema": request.schema} | asked

    async def ask(self, request: Request) -> Answer:
        answers = self.answers(request.facts)
        reply: Any = next(iter(answers.values())) if request.facts.unit_by_unit else answers
        return Answer(json.dumps(reply, ensure_ascii=False), model=f"lexical-{VERSION}")

    async def probe(self) -> Findings:
        return Findings()

    def answers(self, facts: Facts) -> dict[str, JSON]:
        """Return the answer to each unit by the unit's name."""
        sentences = [self.sentences(text) for text in facts.texts]
        answers = {u.name: self.answer(u, facts, sentences) for u in facts.units}
        match_lists(facts.units, answers)
        return answers

    def sentences(self, text: str) -> list[str]:
        return [text[start:end] for start, end in self.split(text) if text[start:end].strip()]

    def answer(self, unit: AskedUnit, facts: Facts, sentences: Sequence[list[str]]) -> JSON:
        match = best_match(unit, facts, sentences)
        answer: JSON = {"evidence": []} if unit.evidence else {}
        for variable in unit.variables:
            asked = _applies(variable.asked_if, answer)
            answer[variable.name] = _choose_value(variable, unit, match, facts) if asked else None
        _resolve_contradictions(unit, answer)
        if unit.evidence and _is_quoted(unit.evidence, answer, match):
            of_two = _quotes_of_two(unit, answer[unit.evidence[0]], sentences)
            of_one = [{"quote": match.quote, "start": None}]
            answer["evidence"] = of_two if unit.quotable else of_one
        if unit.written:
            prose = {"text": match.quote or facts.query or unit.text, "citations": []}
            answer[unit.written] = prose if _applies(unit.written_if, answer) else None
        if unit.listed:
            points = list_points(facts.query, sentences)
            answer[unit.listed] = points if _applies(unit.listed_if, answer) else None
        return answer


def _resolve_contradictions(unit: AskedUnit, answer: JSON) -> None:
    """Change the first variable of each contradiction in an answer to its next possible code."""
    codes = {variable.name: variable.codes for variable in unit.variables}
    for each in unit.contradictions:
        if all(names_code(answer.get(name), held) for name, held in each.items()):
            first = next(iter(each))
            if isinstance(answer[first], list):
                answer[first] = [code for code in answer[first] if code not in each[first]]
            else:
                answer[first] = next(code for code in codes[first] if code not in each[first])


def has_rule(codes: Sequence[str], level: str, kind: str) -> bool:
    """Whether overlap can answer a variable: yes or no, an ordered scale, or a pair of texts.

    Other variables get their first code, and those that take several codes none, whatever the texts
    say.
    """
    return {"yes", "no"} <= set(codes) or level != "nominal" or kind == "pair"


def best_match(unit: AskedUnit, facts: Facts, sentences: Sequence[list[str]]) -> Match:
    """Search the texts for the unit's words.

    If the unit is a text, or a sentence of a source, search it for the query's words instead.
    Search for a sentence of an answer in the other texts. For a passage beside an answer, search
    the passage for each of the answer's sentences and return the best match.
    """
    if unit.about is None:
        return _best_window(unit.text, sentences)
    if unit.answer is not None:
        found = [_best_window(each, [sentences[unit.about]]) for each in sentences[unit.answer]]
        return max(found, key=lambda match: match.share, default=Match(0.0, ""))
    if unit.kind == "sentence":
        return _best_window(unit.text, [s for n, s in enumerate(sentences) if n != unit.about])
    own = [unit.text] if unit.kind.endswith("sentence") else sentences[unit.about]
    return _best_window(facts.query, [[" ".join(own)]])


def _best_window(text: str, texts: Sequence[Sequence[str]]) -> Match:
    """Return the best sentence, or the best two adjacent ones if they contain more of the words."""
    words = content_words(text)
    best = Match(0.0, next((s for text in texts for s in text), ""))
    for sentences in texts:
        found = [words & content_words(sentence) for sentence in sentences]
        for n, sentence in enumerate(sentences):
            best = _better_match(best, len(found[n]), sentence, words)
        for n in range(len(sentences) - 1):
            together = found[n] | found[n + 1]
            longer = sentences[n] if len(found[n]) >= len(found[n + 1]) else sentences[n + 1]
            best = _better_match(best, len(together), longer, words)
    return best


def _better_match(best: Match, found: int, sentence: str, words: frozenset[str]) -> Match:
    share = found / len(words) if words else 0.0
    return Match(share, sentence) if share > best.share else best


def _choose_value(
    variable: AskedVariable, unit: AskedUnit, match: Match, facts: Facts
) -> str | list[str]:
    return [] if variable.several else _choose_code(variable, unit, match, facts)


def _choose_code(variable: AskedVariable, unit: AskedUnit, match: Match, facts: Facts) -> str:
    codes = [code for code in variable.codes if code not in variable.escapes]
    if not facts.texts:
        return codes[0]
    if "yes" in codes and "no" in codes:
        return "yes" if match.share >= MATCH_SHARE else "no"
    if variable.level != "nominal":
        return codes[min(int(match.share * len(codes)), len(codes) - 1)]
    if unit.kind == "pair" and len(facts.texts) == 2:
        first, second = (_overlap(facts.query, text) for text in facts.texts)
        return codes[0] if first >= second else codes[1]
    return codes[0]


def _overlap(query: str, text: str) -> float:
    words = content_words(query)
    return len(words & content_words(text)) / len(words) if words else 0.0


def _is_quoted(rule: tuple[str, tuple[str, ...]], answer: Mapping[str, Any], match: Match) -> bool:
    variable, owed_if = rule
    if not match.quote:
        return False
    return names_code(answer[variable], owed_if) if owed_if else match.share >= MATCH_SHARE


def _quotes_of_two(
    unit: AskedUnit, value: str | list[str] | None, sentences: Sequence[list[str]]
) -> list[JSON]:
    """Return a quote of each text from which the value requires one, with the text's name."""
    return [
        {"quote": quote, "start": None, "field": field}
        for rule in unit.quotable
        if names_code(value, rule.codes)
        for field, quote in _best_quote(unit, rule, sentences)
    ]


def _best_quote(
    unit: AskedUnit, rule: Quotable, sentences: Sequence[list[str]]
) -> list[tuple[str, str]]:
    """Return the text that shares most words with the unit, and its quote."""
    found = [(field, _best_window(unit.text, [sentences[n]])) for field, n in rule.fields]
    if not found:
        return []
    field, match = max(found, key=lambda each: each[1].share)
    return [(field, unit.text if rule.within else match.quote)]


def _applies(conditions: Conditions, answer: Mapping[str, Any]) -> bool:
    return all(names_code(answer.get(name), codes) for name, codes in conditions.items())
