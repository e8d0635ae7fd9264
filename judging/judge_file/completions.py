"""Completions that a judge file reads as given labels, for scripted judges.

Each is read by the file's own parser before it is used, so that a scripted judge exercises prompt
and parser as a model does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

from annotation.blinding import SWAPPED_CODES
from judging.answer_files import Write
from judging.backends.base import Answer, AskedUnit
from judging.judge_file.document import JudgeFile
from judging.judge_file.fixtures import asked_unit
from judging.judge_file.template import FileError
from judging.parsers.base import ExpectedAnswer, Parser, UnreadError
from judging.parsers.codes import Verdicts
from judging.parsers.json_path import JsonParser, Path
from judging.parsers.letter import LetterParser
from judging.parsers.regex import RegexParser, compile_pattern
from judging.parsers.tags import TagsParser
from tandem.labels.file.rows import LabelRow

Words = Mapping[str, str]
"""The word to be written for each variable that the parser reads."""
WRITABLE = "regex, letter, tags, and json without each"


def completion_for(file: JudgeFile, labels: Mapping[str, str], grades: Mapping[str, str]) -> str:
    """Return a completion that the file reads as the labels of one unit.

    Only labels of variables that its parser reads count. A grade is written unchanged. Without a
    grade, the first word that maps to the code is written. Raises FileError if no such completion
    is found.
    """
    parser, unit = file.parser, asked_unit(file, 1)
    read = {name: code for name, code in labels.items() if name in parser.reads}
    words = dict(_words(parser, unit, read, grades))
    for completion in _completions(file, parser, words):
        try:
            found = parser.read(Answer(completion), ExpectedAnswer((unit,), by_unit=True))
        except UnreadError:
            continue
        if found.units[unit.name] == read:
            return completion
    labels_text = ", ".join(f"{name} = {code}" for name, code in read.items()) or "no label"
    raise FileError(
        f"Tandem cannot write a completion that its parser reads as {labels_text}; scripted judges "
        "write for the "
        f"parsers {WRITABLE}"
    )


def _words(
    parser: Parser, unit: AskedUnit, labels: Mapping[str, str], grades: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    verdicts = getattr(parser, "verdicts", Verdicts())
    for variable in unit.variables:
        if (code := labels.get(variable.name)) is not None:
            table = verdicts.table(variable)
            of_code = [word for word, meant in table.items() if meant == code]
            grade = grades.get(variable.name, "")
            yield variable.name, grade if grade in of_code else next(iter(of_code), code)


def _completions(file: JudgeFile, parser: Parser, words: Words) -> Iterator[str]:
    if isinstance(parser, LetterParser):
        yield from words.values()
    elif isinstance(parser, TagsParser):
        marks = {name: parser.marks[name] for name in words}
        yield "\n".join(f"{marks[name][0]}{word}{marks[name][1]}" for name, word in words.items())
    elif isinstance(parser, JsonParser) and parser.each is None:
        value: dict[str, Any] = {}
        for name, word in words.items():
            _put(value, parser.paths[name], word)
        yield json.dumps(value, ensure_ascii=False)
    elif isinstance(parser, RegexParser):
        for fixture in file.fixtures:
            yield from _like(parser, fixture.completion, words)


def _put(value: dict[str, Any], path: Path, word: str) -> None:
    """Put a word at a path. At a path with numbers, the file's parser will not find it."""
    *inner, last = path
    for step in inner:
        value = value.setdefault(str(step), {})
    value[str(last)] = word


def _like(parser: RegexParser, completion: str, words: Words) -> Iterator[str]:
    """Yield a fixture's completion with the captured words replaced."""
    pattern = compile_pattern(parser.pattern)
    groups = pattern.groupindex or {parser.variables[0]: 1}
    if (match := pattern.search(completion)) is None:
        return
    places: dict[tuple[int, int], list[str]] = {}
    for name, group in groups.items():
        if name in words:
            places.setdefault(match.span(group), []).append(words[name])
    # Nested groups can capture the same text, so each variable's word is tried there.
    for chosen in product(*places.values()):
        text = completion
        for (start, end), word in sorted(zip(places, chosen, strict=True), reverse=True):
            text = text[:start] + word + text[end:]
        yield text


def writer(file: JudgeFile) -> Write:
    """Return a function that writes completions and caches them by labels."""
    known: dict[tuple[Any, ...], str] = {}

    def write(labels: Mapping[str, str], grades: Mapping[str, str]) -> str:
        key = (*sorted(labels.items()), None, *sorted(grades.items()))
        if key not in known:
            known[key] = completion_for(file, labels, grades)
        return known[key]

    return partial(_by_replicate, file, write)


def _by_replicate(
    file: JudgeFile,
    write: Callable[[Mapping[str, str], Mapping[str, str]], str],
    rows: Sequence[LabelRow],
) -> Iterator[tuple[int, str]]:
    """Yield the completions of a unit by replicate. Labels that the file does not read are skipped.

    A judge asked in both orders sees a pair's answers swapped in every second replicate.
    """
    labels = {row.variable: row.value or "" for row in rows if row.variable in file.parser.reads}
    grades = {row.variable: row.grade for row in rows if row.grade}
    if not labels:
        return
    replicate = rows[0].replicate
    for number in (replicate, replicate + 1) if file.order == "both" else (replicate,):
        turned = SWAPPED_CODES if file.order == "both" and number % 2 else {}
        shown = {name: turned.get(code, code) for name, code in labels.items()}
        yield number, write(shown, grades)
