"""The table `[answer]` of a judge that writes: which texts and lists its parser finds, and how.

The parsers are those of verdicts. A key of an answer stands in place of a variable: the protocol's
text, its list, `evidence` for the quotes of a list, and the list's `matches`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from annotation.protocols.base import Protocol
from judging.judge_file import answer
from judging.judge_file.template import FileError
from judging.parsers.base import Parser
from judging.parsers.json_path import read_path
from judging.parsers.regex import compile_pattern
from judging.parsers.written import Finder, JsonTexts, Lines, Pattern, Tags, WrittenParser
from tandem.protocols.schema import EVIDENCE_KEY

Table = Mapping[str, Any]
BY_NAME = {"tags": "tag", "json": "path"}
"""The key of each parser that has a table by name, in which one entry may stand alone."""
NONE = "none"
OWN_KEYS = {"tags": (NONE,), "json": (NONE,), "regex": (NONE,), "lines": (NONE, "within")}
"""The keys of each parser beside those that it has for verdicts."""


def texts_of(protocol: Protocol) -> tuple[str, ...]:
    """Return the keys of a protocol's written text and list."""
    rules = (protocol.written, protocol.listed)
    return tuple(rule.name for rule in rules if rule is not None)


def keys_of(protocol: Protocol) -> tuple[str, ...]:
    """Return all keys that a parser of texts may read."""
    listed = protocol.listed
    quotes = (EVIDENCE_KEY,) if listed is not None and protocol.evidence is None else ()
    matches = (listed.matches,) if listed is not None and listed.match_kind else ()
    return (*texts_of(protocol), *quotes, *matches)


def named_texts(table: Table, protocol: Protocol) -> Mapping[str, Any]:
    """Return what a table gives for each name, empty if it reads verdicts alone.

    An entry that stands alone is the protocol's only text or list, unless the table names a
    variable. Raises FileError.
    """
    parser, texts = table.get("parser", "schema"), texts_of(protocol)
    if not texts:
        return {}
    own = table.get(BY_NAME[parser]) if parser in BY_NAME else None
    alone = "variable" not in table and "map" not in table
    if isinstance(own, Mapping):
        found = dict(own)
    elif parser == "regex":
        found = _groups(table)
    elif alone and (own is not None or parser == "lines"):
        found = {_only(texts, protocol): own}
    else:
        found = {}
    return found if set(found) & set(keys_of(protocol)) else {}


def _groups(table: Table) -> dict[str, Any]:
    try:
        return dict.fromkeys(compile_pattern(str(table.get("pattern", ""))).groupindex)
    except ValueError:
        # The parser of verdicts says what is wrong with the pattern.
        return {}


def _only(texts: tuple[str, ...], protocol: Protocol) -> str:
    if len(texts) > 1:
        names = " and ".join(texts)
        raise FileError(
            f"{protocol.name} has {names}; name what the answer holds, as in [answer.tag]",
            path=("parser",),
        )
    return texts[0]


def build(table: Table, protocol: Protocol, prompt: str = "") -> Parser:
    """Return the parser of a table, for texts or for verdicts alone. Raises FileError.

    If the `prompt` ends with an opening mark, replies begin inside it.
    """
    names = named_texts(table, protocol)
    if not names:
        return answer.build(table, protocol, prompt)
    answer.check_keys(table, OWN_KEYS[table["parser"]])
    _check(table, protocol, names)
    verdict, rules = _verdict(table, protocol, names), answer.verdicts_of(table, protocol)
    if verdict is None:
        _check_unused(table)
    finders = _finders(table, names, prompt)
    written, listed = protocol.written, protocol.listed
    return WrittenParser(
        protocol.variables,
        (written, finders[written.name]) if written and written.name in finders else None,
        (listed, finders[listed.name]) if listed and listed.name in finders else None,
        verdict,
        _nothing(table),
        rules,
        EVIDENCE_KEY in names,
    )


OF_VERDICTS = {"tags": ("marker",), "lines": ("separator",), "json": ("match",), "regex": ()}
"""The keys of each parser that say how verdicts are read, beside those of every parser."""


def _check_unused(table: Table) -> None:
    for key in ("as_published", "map", *OF_VERDICTS[table["parser"]]):
        if key in table:
            raise FileError(f"{key} is for verdicts, and this parser reads none", path=(key,))


def _check(table: Table, protocol: Protocol, names: Collection[str]) -> None:
    known, parser = keys_of(protocol), table["parser"]
    variables = {variable.name for variable in protocol.variables}
    where = BY_NAME.get(parser, "pattern")
    for name in names:
        if name not in known and (name not in variables or parser == "regex"):
            choices = ", ".join(known if parser == "regex" else (*known, *sorted(variables)))
            raise FileError(
                f"{name!r} is nothing that an answer to {protocol.name} holds; it holds {choices}",
                path=(where, name) if parser in BY_NAME else (where,),
            )
    listed = protocol.listed
    beside = {EVIDENCE_KEY, listed.matches} if listed else set()
    if listed and set(names) & beside and listed.name not in names:
        raise FileError(
            f"{', '.join(sorted(set(names) & beside))} belongs to the list {listed.name}; give "
            "that, too",
            path=(where,),
        )
    if listed and listed.match_kind and listed.name in names and listed.matches not in names:
        raise FileError(
            f"{protocol.name} matches each {listed.match_kind} to the list {listed.name}; give "
            f"{listed.matches}, the numbers that stand with each entry",
            path=(where,),
        )


def _finders(table: Table, names: Mapping[str, Any], prompt: str) -> dict[str, Finder]:
    make = {"tags": _tags, "lines": _lines, "regex": _regex, "json": _json}[table["parser"]]
    return {name: make(table, names, name, prompt) for name in names if name not in _BESIDE}


_BESIDE = (EVIDENCE_KEY, "matches")


def _tags(table: Table, names: Mapping[str, Any], name: str, prompt: str) -> Finder:
    if "matches" in names:
        raise FileError("tags cannot read matches; use regex or json", path=("tag", "matches"))
    quotes = answer.marks_of(EVIDENCE_KEY, names[EVIDENCE_KEY]) if EVIDENCE_KEY in names else None
    marks = answer.marks_of(name, names[name])
    return Tags(marks, quotes, _opens(prompt, marks[0]))


def _opens(prompt: str, mark: str) -> bool:
    return prompt.rstrip().casefold().endswith(mark.casefold())


def _lines(table: Table, names: Mapping[str, Any], name: str, prompt: str) -> Finder:
    if "within" not in table:
        return Lines()
    marks = answer.marks_of("within", table["within"])
    return Lines(Tags(marks, opens=_opens(prompt, marks[0])))


def _regex(table: Table, names: Mapping[str, Any], name: str, prompt: str) -> Finder:
    quotes, numbers = (each if each in names else "" for each in _BESIDE)
    return Pattern(table["pattern"], name, quotes, numbers, str(table.get("marker", "")))


def _json(table: Table, names: Mapping[str, Any], name: str, prompt: str) -> Finder:
    try:
        paths = {each: read_path(str(path)) for each, path in names.items()}
        each = read_path(str(table["each"])) if "each" in table else None
    except ValueError as error:
        raise FileError(str(error), path=("path",)) from error
    if each is None and set(names) & set(_BESIDE):
        raise FileError(
            "evidence and matches belong to an element of an array; give its path as each",
            path=("path",),
        )
    return JsonTexts(paths[name], each, paths.get(EVIDENCE_KEY), paths.get("matches"))


def _verdict(table: Table, protocol: Protocol, names: Mapping[str, Any]) -> Parser | None:
    """Return the parser of the variables among the names, if there are any."""
    texts, key = keys_of(protocol), BY_NAME.get(table["parser"])
    own = {name: value for name, value in names.items() if name not in texts}
    if not own or key is None:
        return None
    beside = (*OWN_KEYS[table["parser"]], "each", "match")
    return answer.build({**{k: v for k, v in table.items() if k not in beside}, key: own}, protocol)


def _nothing(table: Table) -> tuple[str, ...]:
    """Return the patterns of a reply that says that there is nothing to write."""
    patterns = table.get(NONE, [])
    if not isinstance(patterns, list):
        raise FileError(f"{NONE} is not a list of patterns", path=(NONE,))
    for pattern in patterns:
        answer.check_pattern(NONE, pattern)
    return tuple(patterns)
