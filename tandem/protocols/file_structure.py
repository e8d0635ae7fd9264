"""The form of a protocol's file, in TOML as `file_schema.json` has it: its words, each error
at its line, and the same file written from its tables.

The same schema is read by editors, and the documentation follows from it.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from tandem.files.rows import InputError, Place
from tandem.files.toml import Lines, TomlError, read_toml
from tandem.similar import most_similar

KINDS: Mapping[str, tuple[str, ...]] = {
    "query": (
        "item", "query", "question", "key-point", "nugget", "passage", "passage-sentence",
        "report", "sentence", "report-passage",
    ),
    "report": (
        "item", "report", "question", "key-point", "report-nugget", "sentence",
        "sentence-citation", "report-passage",
    ),
    "passage": ("item", "passage", "question", "passage-sentence"),
    "report-passage": ("item", "report-passage", "question"),
    "key-point": ("item", "key-point"),
    "pair": ("item", "pair"),
}  # fmt: skip
"""The kinds of unit that an item of each form may have."""
SHOWN: Mapping[str, tuple[str, ...]] = {
    "query": ("reports", "passages", "references", "key-points", "questions"),
    "report": ("report", "passages", "cited", "references", "key-points", "questions"),
    "passage": ("passage", "references", "key-points", "questions"),
    "report-passage": ("report", "passage", "references", "key-points", "questions"),
    "key-point": ("passage", "passages", "references", "questions"),
    "pair": ("reports", "passages", "references", "key-points", "questions"),
}
"""What an item of each form may show. `meta.NAME` is always possible."""
FIELDS: Mapping[str, tuple[str, ...]] = {
    "nugget": ("importance", "sources"),
    "report-nugget": ("importance", "sources"),
    "key-point": ("importance",),
    "passage": ("source", "date"),
    "report-passage": ("source", "date"),
    "sentence-citation": ("source", "date"),
}
"""The attributes of units by kind."""
QUOTED: Mapping[str, tuple[str, ...]] = {
    "report": ("report", "reports"),
    "sentence": ("report", "reports"),
    "passage": ("passage", "passages", "cited"),
    "passages": ("passages", "cited"),
    "reference": ("references",),
}
"""For each text of evidence, the entries of `shows` of which one puts it on the page."""


def _all(of: Mapping[str, tuple[str, ...]]) -> list[str]:
    return list(dict.fromkeys(word for words in of.values() for word in words))


WORDS: Mapping[str, list[str]] = {
    "each": list(KINDS),
    "unit": _all(KINDS),
    "shown": _all(SHOWN),
    "attribute": _all(FIELDS),
    "quoted": list(QUOTED),
}
"""The words of each definition of `file_schema.json` that lists none itself."""


JSON = dict[str, Any]

SCHEMA = Path(__file__).with_name("file_schema.json")
LONGEST = 200_000
MOST_PROBLEMS = 20
EMBEDDING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that reorder the text around them. Marks of direction are a part of texts."""


class ProtocolFileError(ValueError):
    """A file cannot be used. `problems` has each error with its place."""

    def __init__(self, problems: Sequence[InputError]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, problems)))


class Problems:
    """The problems of one file, each at the line of its table and key."""

    def __init__(self, name: str, text: str) -> None:
        self.name, self._lines = name, Lines(text)
        self._found: list[InputError] = []

    def add(self, what: str, remedy: str, table: str = "", key: str = "", number: int = 0) -> None:
        """Add a problem of a key; `number` counts tables of the same name."""
        line = self._lines.of(table, key, number) if table or key else None
        self.add_at(line, what, remedy)

    def add_at(self, line: int | None, what: str, remedy: str) -> None:
        if len(self._found) < MOST_PROBLEMS:
            self._found.append(InputError(Place(self.name, line), what, remedy))

    def has_line(self, key: str) -> bool:
        return self._lines.of("", key) is not None

    def check(self) -> None:
        """Raise ProtocolFileError if there are any."""
        if self._found:
            raise ProtocolFileError(sorted(self._found, key=_in_file))


def _in_file(problem: InputError) -> tuple[int, str]:
    return problem.place.line or 0, str(problem)


def parse(text: str, name: str) -> tuple[JSON, Problems]:
    """Return the tables of a file, with its problems so far: none. Raises ProtocolFileError."""
    if len(text) > LONGEST:
        wrong = InputError(Place(name), f"it has over {LONGEST:,} characters", "shorten it")
        raise ProtocolFileError([wrong])
    problems = Problems(name, text)
    try:
        document = read_toml(text)
    except TomlError as error:
        wrong = InputError(Place(name, error.line), str(error), "correct it")
        raise ProtocolFileError([wrong]) from error
    for each in islice(_validator().iter_errors(document), MOST_PROBLEMS):
        _describe(each, problems)
    _check_characters(text, document, problems)
    problems.check()
    return document, problems


def schema() -> JSON:
    """Return the JSON Schema of a protocol's file."""
    found: JSON = json.loads(SCHEMA.read_text("utf-8"))
    for name, words in WORDS.items():
        found["$defs"][name]["enum"] = words
    return found


@cache
def _validator() -> Any:
    # It takes a fifth of a second to import, and most processes read no file.
    from jsonschema import Draft202012Validator

    return Draft202012Validator(schema())


def _describe(error: Any, problems: Problems) -> None:
    """Add the problem of one error of the JSON Schema."""
    path = list(error.absolute_path)
    table, number, key = _place(path)
    where = ".".join(str(each) for each in path if not isinstance(each, int)) or "the file"
    if error.validator == "additionalProperties":
        known = list(error.schema["properties"])
        unknown = next(each for each in error.instance if each not in known)
        near = most_similar(unknown, known)
        meant = f"did you mean {near}?" if near else f"it may have {', '.join(known)}"
        at = (".".join(filter(None, (table, key))), unknown) if path else ("", unknown)
        line_table, line_key = at
        if not path and not problems.has_line(unknown):
            line_table, line_key = unknown, ""
        problems.add(
            f"{unknown!r} is not a key of {where}"[:200], meant, line_table, line_key, number
        )
    elif error.validator == "required":
        missing = next(each for each in error.validator_value if each not in error.instance)
        about = error.schema["properties"][missing].get("description", "")
        problems.add(
            f"{where} has no {missing}", f"add it: {about}".rstrip(": "), table, key, number
        )
    else:
        shown = repr(error.instance)
        shown = shown if len(shown) <= 60 else f"{shown[:57]}…"
        problems.add(f"{where} is {shown}", _mend(error), table, key, number)


def _place(path: Sequence[str | int]) -> tuple[str, int, str]:
    """Return the table, its number, and the key of a path in the document."""
    match path:
        case []:
            return "", 0, ""
        case [str(table), int(number), *rest]:
            return table, number, next((each for each in rest if isinstance(each, str)), "")
        case [str(table), str(key), *_]:
            return table, 0, key
        case [str(key), *_]:
            return "", 0, key
    raise AssertionError(path)


def _mend(error: Any) -> str:
    """Say what a value should be, from the rule that it breaks."""
    rule, limit = error.validator, error.validator_value
    if rule == "enum":
        near = most_similar(error.instance, limit) if isinstance(error.instance, str) else None
        return f"did you mean {near}?" if near else f"give one of {', '.join(map(str, limit))}"
    if rule == "type":
        words = {"object": "a table", "array": "a list", "boolean": "true or false"}
        return f"give {words.get(limit, f'a {limit}')}"
    if rule in ("maxLength", "maxItems", "maxProperties"):
        return f"give at most {limit:,}"
    if rule in ("minLength", "minItems", "minProperties"):
        return f"give at least {limit}"
    if rule == "uniqueItems":
        return "name each once"
    if rule == "pattern":
        return _patterns().get(limit, "correct it")
    return "correct it"


@cache
def _patterns() -> Mapping[str, str]:
    forms = {
        "name": "give small letters and digits, with hyphens between",
        "version": "give letters, digits, points and hyphens",
        "line": "give one line of text",
        "path": "give the name of a file in the same folder",
        "code": "give letters and digits, with hyphens between",
    }
    return {schema()["$defs"][name]["pattern"]: mend for name, mend in forms.items()}


def _check_characters(text: str, document: JSON, problems: Problems) -> None:
    """Refuse control characters, written as they are or as escapes."""
    for number, line in enumerate(text.split("\n"), start=1):
        if found := hidden_character(line.removesuffix("\r")):
            problems.add_at(number, f"it has the character U+{ord(found):04X}", "remove it")
            return
    for each in _texts_in(document):
        if found := hidden_character(each.replace("\n", "").replace("\r", "")):
            problems.add_at(None, f"a text has the character U+{ord(found):04X}", "remove it")
            return


def hidden_character(text: str) -> str:
    """Return the first control character of a text, or an empty one."""
    if text.isprintable():
        return ""
    return next(
        (
            each
            for each in text
            if each != "\t" and (unicodedata.category(each) in ("Cc", "Cs") or each in EMBEDDING)
        ),
        "",
    )


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield str(key)
            yield from _texts_in(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts_in(each)


_BARE = re.compile(r"[A-Za-z0-9_-]+")


def write_protocol(document: JSON) -> str:
    """Return the TOML of a document, which `file_structure.parse` reads back."""
    return "\n".join(_lines(document)) + "\n"


def _lines(document: JSON) -> Iterator[str]:
    for key, value in document.items():
        if not _is_table(value):
            yield f"{_key(key)} = {_value(value)}"
    for key, value in document.items():
        tables = value if isinstance(value, list) else [value]
        head = f"[[{_key(key)}]]" if isinstance(value, list) else f"[{_key(key)}]"
        for table in tables if _is_table(value) else ():
            yield f"\n{head}"
            yield from (f"{_key(name)} = {_value(each)}" for name, each in table.items())


def _is_table(value: Any) -> bool:
    several = isinstance(value, list) and bool(value) and isinstance(value[0], Mapping)
    return several or isinstance(value, Mapping)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _quoted(name)


def _value(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str() if "\n" in value:
            escaped = value.replace("\\", "\\\\").replace('"""', '""\\"')
            return f'"""\n{escaped}"""'
        case str():
            return _quoted(value)
        case list():
            return f"[{', '.join(map(_value, value))}]"
        case Mapping():
            inside = ", ".join(f"{_key(name)} = {_value(each)}" for name, each in value.items())
            return f"{{ {inside} }}" if inside else "{}"
    return str(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
