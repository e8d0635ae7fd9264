"""The table `[answer]` of a judge file: which parser reads the answers, and how.

A parser of texts reads one unit at a time, `lines` and `json` with `each` several.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import re2

from annotation.protocols.base import Protocol
from judging.backends.decision_questions import MASS_FLOOR
from judging.judge_file.template import FileError
from judging.parsers.base import Parser
from judging.parsers.codes import Verdicts
from judging.parsers.decisions import DecisionsParser
from judging.parsers.first_token import FirstTokenParser
from judging.parsers.json_path import JsonParser, Path, read_path
from judging.parsers.letter import LetterParser
from judging.parsers.lines import LinesParser
from judging.parsers.normal import normalise
from judging.parsers.regex import RegexParser, compile_pattern
from judging.parsers.schema import SCHEMA
from judging.parsers.statements import marker_pattern
from judging.parsers.tags import TagsParser
from tandem.protocols.base import Variable

Table = Mapping[str, Any]
COMMON = ("parser", "take", "refusal", "map", "variable", "as_published")
MAX_PATTERN = 2_000


def build(table: Table, protocol: Protocol, prompt: str = "") -> Parser:
    """Return the parser of a table, checked against the variables of a protocol.

    The options' own texts are found in the `prompt`, the text of the messages. Raises FileError.
    """
    name = check_keys(table)
    parser = PARSERS[name][1](table, protocol)
    _check_one_code(name, parser, protocol)
    verdicts = getattr(parser, "verdicts", None)
    if not prompt or not isinstance(verdicts, Verdicts):
        return parser
    words = [
        str(word)
        for variable in protocol.variables
        if variable.name in parser.reads
        for word in verdicts.maps.get(variable.name) or variable.answers
    ]
    fields = tuple(dict.fromkeys(_FIELD.findall(prompt)))
    found = replace(verdicts, texts=option_texts(prompt, words), fields=fields)
    return replace(parser, verdicts=found)  # type: ignore[type-var]


def _check_one_code(name: str, parser: Parser, protocol: Protocol) -> None:
    """Raise FileError if a parser of single codes reads a variable that takes several."""
    reads = parser.reads or tuple(v.name for v in protocol.variables)
    several = [v.name for v in protocol.variables if v.several and v.name in reads]
    if several and name != "schema":
        raise FileError(
            f"the parser {name} reads one code, and {several[0]} of {protocol.name} takes several; "
            "use parser = 'schema', which reads lists",
            path=("parser",),
        )


def check_keys(table: Table, more: Sequence[str] = ()) -> str:
    """Return the parser's name. Its table may have `more` keys. Raises FileError."""
    name = table.get("parser", "schema")
    if not isinstance(name, str) or name not in PARSERS:
        raise FileError(
            f"{name!r} is not a parser; choose one of {', '.join(PARSERS)}", path=("parser",)
        )
    keys = (*COMMON, *PARSERS[name][0], *more)
    if unknown := sorted(table.keys() - set(keys)):
        raise FileError(
            f"{unknown[0]!r} is not a key of the parser {name}; it has {', '.join(keys)}",
            path=(unknown[0],),
        )
    return name


_FIELD = re.compile(r"^([A-Z][\w ]{1,25}):\s*\{\{", re.MULTILINE)


def option_texts(prompt: str, words: Sequence[str]) -> Mapping[str, str]:
    """Return the text that a prompt gives for each word, as in `A: the passages support it`."""
    found: dict[str, str] = {}
    for line in prompt.splitlines():
        word, mark, text = line.strip(" \t-*•").partition(":")
        for each in words:
            if mark and word.strip(" \"'()[]*`").casefold() == each.casefold():
                found.setdefault(each.casefold(), text.strip().rstrip("."))
    return found


BY_POSITION = "position"
HOW_TO_MATCH = (
    "give the path of the sentence in an element, such as match = '$.sentence', or match = "
    f"'{BY_POSITION}' if the prompt gives the judge a numbered list to go through"
)


def unsaid_match(table: Table) -> Iterator[FileError]:
    """Yield an error if a file does not say how the elements of an array belong to units."""
    if table.get("parser") == "json" and "each" in table and "match" not in table:
        wrong = "an element of each belongs to a unit by its sentence or by its position"
        yield FileError(f"{wrong}, and the file does not say which; {HOW_TO_MATCH}", path=("each",))


_TAIL = re.compile(
    r"(?:\\W|\[\^\\w[^\]]*\]|\[\\[sS]\\[sS]\])(?:[*+?]|\{\d*,?\d*\}){0,3}\)*(?:\$|\\[zZ])?\)*$"
)
"""The end of a pattern that takes any signs after the verdict: `\\W*$`, `[^\\w]*\\z`."""


def shortcomings(
    table: Table, texts: Iterable[str] = (), is_written: bool = False
) -> Iterator[FileError]:
    """Yield what keeps a parser from reading only whole statements; nothing for a published judge.

    `texts` are the messages and the fixtures with labels. A marker that none of them has finds
    nothing; without fixtures this is not known. `is_written` if the parser reads texts, whose
    order in an array does not say what they are about.

    Judges that exist run on with such a table. A new file is refused.
    """
    yield from () if is_written else unsaid_match(table)
    if table.get("as_published"):
        return
    if table.get("parser") == "regex":
        if table.get("take") == "last" and not table.get("marker"):
            yield FileError(
                "take = 'last' needs the words that announce a verdict, so that none of them is "
                "overlooked: marker = 'final score:'. For a judge that has to be read as it was "
                "published, give as_published = true",
                path=("take",),
            )
        if _TAIL.search(str(table.get("pattern", ""))):
            yield FileError(
                "the pattern ends in \\W*$, which reads 4+ as 4 and overlooks what follows on "
                "another line; end it with the verdict, since Tandem checks what surrounds it. For "
                "a judge that has to be read as it was published, give as_published = true",
                path=("pattern",),
            )
    marker, known = str(table.get("marker", "")), [normalise(t, 0, len(t)).text for t in texts]
    if marker and known and not any(marker_pattern(marker).search(text) for text in known):
        yield FileError(
            f"marker = {marker!r} occurs neither in the messages nor in a fixture; give the words "
            "that the reply writes before its verdict",
            path=("marker",),
        )


def verdicts_of(table: Table, protocol: Protocol) -> Verdicts:
    """Return the rules by which a parser takes verdicts. Raises FileError."""
    take, refusal = table.get("take", ""), table.get("refusal", [])
    if take not in ("", "first", "last"):
        raise FileError(
            f"take is {take!r}; give 'first' or 'last', or leave it out", path=("take",)
        )
    if not isinstance(refusal, list) or not all(isinstance(each, str) for each in refusal):
        raise FileError("refusal is not a list of patterns", path=("refusal",))
    for pattern in refusal:
        check_pattern("refusal", pattern)
    maps = table.get("map", {})
    if not isinstance(maps, Mapping) or not all(isinstance(m, Mapping) for m in maps.values()):
        raise FileError(
            "map has a table for each variable, such as [answer.map.relevant]", path=("map",)
        )
    marker, published = table.get("marker", ""), table.get("as_published", False)
    if not isinstance(marker, str) or ("marker" in table and not re.search(r"\w", marker)):
        raise FileError(
            "marker is not a text; give the words before a verdict, such as 'final score:'",
            path=("marker",),
        )
    if not isinstance(published, bool):
        raise FileError("as_published is neither true nor false", path=("as_published",))
    return Verdicts(
        {name: _map(name, codes, protocol) for name, codes in maps.items()},
        take,
        tuple(refusal),
        marker,
        as_published=published,
    )


def _map(name: str, codes: Table, protocol: Protocol) -> Mapping[str, str]:
    variables = variables_named(name, protocol, ("map", name))
    allowed = {code for variable in variables for code in variable.answers}
    for captured, code in codes.items():
        if not isinstance(code, str) or code not in allowed:
            names = ", ".join(sorted(allowed))
            raise FileError(
                f"the map of {name} leads from {captured!r} to {code!r}, which is not a code of "
                f"{protocol.name}; give one of {names}",
                path=("map", name, captured),
            )
    return {str(captured): str(code) for captured, code in codes.items()}


def variables_named(
    name: str, protocol: Protocol, path: tuple[str, ...] = ()
) -> Sequence[Variable]:
    """Return the variables with a name, one for each kind of unit. Raises FileError."""
    if found := [variable for variable in protocol.variables if variable.name == name]:
        return found
    names = ", ".join(dict.fromkeys(variable.name for variable in protocol.variables))
    raise FileError(f"{name!r} is not a variable of {protocol.name}; it has {names}", path=path)


def _variable(table: Table, protocol: Protocol) -> str:
    """Return the variable that a parser reads: the named one, the mapped one, or the only one."""
    named, maps = table.get("variable"), table.get("map")
    candidates = [named] if named else list(maps) if isinstance(maps, Mapping) else []
    if not candidates:
        candidates = list(dict.fromkeys(variable.name for variable in protocol.variables))
    if len(candidates) != 1 or not isinstance(candidates[0], str):
        raise FileError("the answer has several variables; name the one to read: variable")
    variables_named(candidates[0], protocol, ("variable",))
    return candidates[0]


def check_pattern(key: str, pattern: Any) -> re2._Regexp[str]:
    """Compile the pattern of a key. Raises FileError."""
    if not isinstance(pattern, str) or not pattern:
        raise FileError(f"{key} is not a pattern; give a text", path=(key,))
    if len(pattern) > MAX_PATTERN:
        raise FileError(f"{key} has over {MAX_PATTERN:,} characters; shorten it", path=(key,))
    try:
        return compile_pattern(pattern)
    except ValueError as error:
        raise FileError(
            f"{key} is not a pattern that runs in linear time (RE2, without look-around and "
            f"backreferences): {error}",
            path=(key,),
        ) from error


def _regex(table: Table, protocol: Protocol) -> Parser:
    verdicts = verdicts_of(table, protocol)
    pattern = check_pattern("pattern", table.get("pattern"))
    names = tuple(pattern.groupindex)
    if names:
        for name in names:
            variables_named(name, protocol, ("pattern",))
    elif pattern.groups != 1:
        raise FileError(
            f"pattern has {pattern.groups} groups; put ( ) around the verdict alone, or name a "
            "group for each variable: (?P<relevant>…)",
            path=("pattern",),
        )
    return RegexParser(table["pattern"], names or (_variable(table, protocol),), verdicts)


def _letter(table: Table, protocol: Protocol) -> Parser:
    named = table.get("variable")
    if isinstance(named, list) and named and all(isinstance(name, str) for name in named):
        for name in named:
            variables_named(name, protocol, ("variable",))
        return LetterParser(tuple(named), verdicts_of(table, protocol))
    return LetterParser((_variable(table, protocol),), verdicts_of(table, protocol))


def _lines(table: Table, protocol: Protocol) -> Parser:
    separator = table.get("separator", "")
    if not isinstance(separator, str):
        raise FileError("separator is not a text", path=("separator",))
    return LinesParser(_variable(table, protocol), separator, verdicts_of(table, protocol))


def _tags(table: Table, protocol: Protocol) -> Parser:
    tags = table.get("tag", {})
    named = {_variable(table, protocol): tags} if isinstance(tags, str | list) else tags
    if not isinstance(named, Mapping) or not named:
        raise FileError(
            "tag is a name such as 'verdict', two marks such as ['[[', ']]'], or a table of them",
            path=("tag",),
        )
    return TagsParser(
        {name: _marks(name, tag, protocol) for name, tag in named.items()},
        verdicts_of(table, protocol),
    )


def _marks(name: str, tag: Any, protocol: Protocol) -> tuple[str, str]:
    variables_named(name, protocol, ("tag", name))
    return marks_of(name, tag)


def marks_of(name: str, tag: Any) -> tuple[str, str]:
    """Return the two marks of a tag. Raises FileError."""
    if isinstance(tag, str) and tag.isidentifier():
        return f"<{tag}>", f"</{tag}>"
    if isinstance(tag, list) and len(tag) == 2 and all(isinstance(t, str) and t for t in tag):
        return tag[0], tag[1]
    raise FileError(
        f"the tag of {name} is neither a name nor two marks such as ['[[', ']]']",
        path=("tag", name),
    )


def _json(table: Table, protocol: Protocol) -> Parser:
    paths = table.get("path")
    named = {_variable(table, protocol): paths} if isinstance(paths, str) else paths
    if not isinstance(named, Mapping) or not named:
        raise FileError(
            "path is missing; give one such as '$.score', or a table by variable", path=("path",)
        )
    try:
        each = read_path(str(table["each"])) if "each" in table else None
        read = {name: read_path(str(path)) for name, path in named.items()}
    except ValueError as error:
        raise FileError(str(error), path=("path",)) from error
    for name in read:
        variables_named(name, protocol, ("path", name))
    return JsonParser(read, each, verdicts_of(table, protocol), _match(table))


def _match(table: Table) -> Path | None:
    """Return the path of an element's sentence; None for elements by position."""
    match = table.get("match", BY_POSITION)
    if "match" in table and "each" not in table:
        raise FileError("match is for an array: give its path as each", path=("match",))
    try:
        return None if match == BY_POSITION else read_path(str(match))
    except ValueError as error:
        raise FileError(f"match is {match!r}; {HOW_TO_MATCH}", path=("match",)) from error


def _first_token(table: Table, protocol: Protocol) -> Parser:
    floor = table.get("mass_floor", MASS_FLOOR)
    if isinstance(floor, bool) or not isinstance(floor, int | float) or not 0 <= floor <= 1:
        raise FileError(f"mass_floor is {floor!r}; give a share from 0 to 1", path=("mass_floor",))
    return FirstTokenParser(_variable(table, protocol), verdicts_of(table, protocol), float(floor))


def _expected(table: Table, protocol: Protocol) -> Parser:
    name = _variable(table, protocol)
    if any(variable.level == "nominal" for variable in variables_named(name, protocol)):
        raise FileError(f"{name} has no order, so it has no expected level; use first-token")
    return _first_token(table, protocol)


Make = Callable[[Table, Protocol], Parser]
PARSERS: dict[str, tuple[tuple[str, ...], Make]] = {
    "schema": ((), lambda table, protocol: SCHEMA),
    "json": (("path", "each", "match"), _json),
    "regex": (("pattern", "marker"), _regex),
    "letter": (("marker",), _letter),
    "tags": (("tag", "marker"), _tags),
    "lines": (("separator",), _lines),
    "first-token": (("mass_floor",), _first_token),
    "expected": (("mass_floor",), _expected),
    "decisions": ((), lambda table, protocol: DecisionsParser()),
}
"""Each parser with the keys of its own, and what builds it."""
