"""Options declared once, as the fields of a dataclass, and their form as arguments of a command.

A field's metadata declares its option; `datasets.option_fields` derives form fields and serializer
fields from the same declaration. Keys of the metadata, all but `help` optional:

- `name`: the option's name in commands, addresses and the API, if it is not the field's.
- `help`: what the option does, for commands, the API and the documentation.
- `label`, `hint`: the words of a page in place of the name and of `help`.
- `least`, `most`: the bounds of a number; a command may exceed `most`, since no page waits for it.
- `values`: the values of a choice, with a page's words for each.
- `metavar`: the word for the value in a command's usage.
- `faces`: where the option exists, if it is not everywhere: some of `FACES`.
- `kind`: the kind, if it does not follow from the type, such as `name` for what has to exist, or
  `names` for several of it.
- `command`: the name in commands, where an option of several values is given once for each.
- `api_help`: the words of the API in place of `help`, where a command takes a file.
- `empty`: the value that an empty field of a page means; without it, the option has then no value.
- `initial`: the value that a new page shows; if a choice, as one of several radio buttons.
- `required`: whether a page's field may not be empty.
- `longest`: the most characters that a page takes, and the API for one line.
- `lines`: the rows of a text of several lines, which a command reads from a file.
- `is_code`: whether such a text is in a formal language.
- `read`: the function that reads a value from text, where the kind does not say how. It raises
  ValueError.
- `group`: the part of a page.
- `unset`: the words of a page for the choice that leaves the option without a value.
- `page`: the attributes of the option that differ on a page, such as `longest` of its field.
"""

from __future__ import annotations

import math
import re
from argparse import ArgumentParser
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from datetime import datetime
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

Kind = Literal[
    "flag", "whole", "number", "choice", "several", "text", "name", "names", "moment", "pairs"
]
FACES = ("command", "page", "api")
FLAG = re.compile(
    r"(?P<advice>\b(?:give|or) )?--(?P<name>[a-z][a-z-]*)"
    r"(?(advice)(?: (?P<value>[\w@.-]*\w)(?![\w=]))?)"
)
WORDS = {"yes": True, "no": False, "true": True, "false": False}
NUMBERS: Mapping[Kind, type] = {"whole": int, "number": float}


class FieldError(ValueError):
    """An invalid value. `field` is the option, setting or argument at fault, if there is one."""

    def __init__(self, message: str, field: str = "") -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True)
class Option:
    """An option as it is declared. `field` is its name in the dataclass."""

    name: str
    field: str
    kind: Kind
    default: Any
    help: str
    label: str
    hint: str
    least: float | None
    most: float | None
    values: Mapping[str, str]
    metavar: str | None
    faces: tuple[str, ...]
    command: str
    api_help: str
    empty: Any
    initial: Any
    longest: int | None
    lines: int
    is_code: bool
    reader: Callable[[Any], Any] | None
    group: str
    unset: str
    required: bool
    page: Mapping[str, Any]

    @property
    def flag(self) -> str:
        return f"--{self.command.replace('_', '-')}"

    @property
    def on_page(self) -> Option:
        return replace(self, **self.page, page={})

    def worded(self, **words: str) -> Option:
        """Return the option with words in the slots of its label and its choices."""
        return replace(
            self,
            label=self.label.format(**words),
            unset=self.unset.format(**words),
            values={value: text.format(**words) for value, text in self.values.items()},
        )

    @property
    def may_lack(self) -> bool:
        """Whether an empty field of a page leaves the option without a value."""
        return self.empty is MISSING

    @property
    def choices(self) -> list[tuple[str, str]]:
        """The choices of a page, whose empty value means `empty`; those without words are none."""
        offered = [
            ("" if v == self.empty else v, words) for v, words in self.values.items() if words
        ]
        return [("", self.unset), *offered] if self.unset else offered

    def parse(self, text: str) -> Any:
        """Read a value from text, without its bounds. Raises ValueError."""
        if self.reader:
            return self.reader(text)
        if self.kind == "flag":
            if text not in WORDS:
                raise ValueError("must be yes or no")
            return WORDS[text]
        return NUMBERS[self.kind](text) if self.kind in NUMBERS else text

    def read(self, text: str) -> Any:
        """Read a value from text. Raises ValueError."""
        value = self.parse(text)
        if not self.reader and not self.allows(value):
            raise ValueError(self.rule)
        return value

    def allows(self, value: Any) -> bool:
        """Return whether a value is one of the choices, or a finite number within the bounds."""
        if self.values:
            return value in self.values
        if self.kind not in NUMBERS:
            return True
        low = -math.inf if self.least is None else self.least
        high = math.inf if self.most is None else self.most
        return math.isfinite(value) and low <= value <= high

    @property
    def bounds(self) -> str:
        """The bounds of a number, as the end of a sentence."""
        if self.most is None:
            return f"at least {self.least:g}"
        return f"from {self.least:g} to {self.most:g}"

    @property
    def rule(self) -> str:
        """The rule for a value, as the end of a sentence."""
        if self.values:
            return f"must be {' or '.join(self.values)}"
        what = "a whole number" if self.kind == "whole" else "a number"
        if self.least is None:
            return f"must be {what}"
        return f"must be {what} {'of ' if self.most is None else ''}{self.bounds}"


def declared(name: str, kind: type, help: str, default: Any = None, **about: Any) -> Option:
    """Return an option that is no field of a dataclass. The rest are keys of the metadata."""
    return _option(name, kind, default, {"help": help, **about})


def _options_of(declaration: type) -> tuple[Option, ...]:
    hints = get_type_hints(declaration)
    return tuple(
        _option(each.name, hints[each.name], each.default, each.metadata)
        for each in fields(declaration)
        if "help" in each.metadata
    )


options_of: Callable[[type], tuple[Option, ...]] = cache(_options_of)
"""Returns the options that the fields of a dataclass declare, in their order."""


def _option(field: str, hint: Any, default: Any, about: Mapping[str, Any]) -> Option:
    types = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    (plain,) = (each for each in types if each is not NoneType)
    values = about.get("values") or {each: each for each in _literals(plain)}
    name = about.get("name", field)
    return Option(
        name=name,
        field=field,
        kind=about.get("kind") or _kind(plain, bool(values)),
        default=None if default is MISSING else default,
        help=about["help"],
        label=about.get("label", name.replace("_", " ").capitalize()),
        hint=about.get("hint", ""),
        least=about.get("least"),
        most=about.get("most"),
        values=values,
        metavar=about.get("metavar"),
        faces=about.get("faces", FACES),
        command=about.get("command", name),
        api_help=about.get("api_help", about["help"]),
        empty=about.get("empty", MISSING),
        initial=about.get("initial"),
        longest=about.get("longest"),
        lines=about.get("lines", 0),
        is_code=about.get("is_code", False),
        reader=about.get("read"),
        group=about.get("group", ""),
        unset=about.get("unset", ""),
        required=about.get("required", False),
        page=about.get("page", {}),
    )


def _literals(hint: Any) -> tuple[str, ...]:
    return get_args(hint) if get_origin(hint) is Literal else ()


def _kind(hint: Any, has_values: bool) -> Kind:
    if has_values:
        return "choice"
    if hint is bool:
        return "flag"
    if hint is int:
        return "whole"
    if hint is float:
        return "number"
    if hint is datetime:
        return "moment"
    if get_origin(hint) is dict:
        return "pairs"
    return "text" if hint is str else "several"


def add_arguments(parser: ArgumentParser, options: Iterable[Option]) -> None:
    """Adds the options that commands have to a parser."""
    for option in options:
        if "command" not in option.faces:
            continue
        if option.kind == "flag":
            parser.add_argument(option.flag, action="store_true", help=option.help)
            continue
        about: dict[str, Any] = {"default": option.default, "help": option.help}
        if option.values:
            about["choices"] = tuple(option.values)
        if option.kind in NUMBERS:
            about["type"] = NUMBERS[option.kind]
        if option.kind in ("several", "pairs"):
            about |= {"action": "append", "default": []}
        if option.lines:
            about["type"] = Path
        if option.metavar:
            about["metavar"] = option.metavar
        parser.add_argument(option.flag, **about)


def values_of(options: Iterable[Option], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a dataclass's arguments from values by option name. Lists become tuples."""
    found: dict[str, Any] = {}
    for option in options:
        value = given.get(option.name)
        if option.kind == "several":
            found[option.field] = tuple(each for each in value or () if each)
        else:
            found[option.field] = option.default if value in (None, "") else value
    return found


def split_pairs(
    pairs: Iterable[str],
    wrong: Callable[[str], ValueError],
    names: Container[str] | None = None,
    twice: Callable[[str], ValueError] | None = None,
) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of options written as K=V.

    Raises `wrong` of a pair without a sign, or with a name that is not one of `names`, and `twice`
    of a name that is given again.
    """
    found: set[str] = set()
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or (names is not None and name not in names):
            raise wrong(pair)
        if twice and name in found:
            raise twice(name)
        found.add(name)
        yield name, text


def read_numbers(
    pairs: Iterable[str],
    wrong: Callable[[str], ValueError],
    names: Container[str] | None = None,
) -> dict[str, float]:
    """Read finite numbers written as K=V, the last one of each name. Raises `wrong` of a pair."""
    found = {}
    for name, text in split_pairs(pairs, wrong, names):
        try:
            found[name] = float(text)
        except ValueError:
            found[name] = math.nan
        if not math.isfinite(found[name]):
            raise wrong(f"{name}={text}")
    return found


def named_options(
    text: str, form: str = "{name}={value}", names: Container[str] | None = None
) -> str:
    """Return a message with options in another form than a command's `--ties keep`.

    Values follow options in advice: *give --ties keep*. Elsewhere only the name is changed. With
    `names`, only these options are.
    """

    def name_of(found: re.Match[str]) -> str:
        name, value = found["name"].replace("-", "_"), found["value"]
        if names is not None and name not in names:
            return found[0]
        return (found["advice"] or "") + (form.format(name=name, value=value) if value else name)

    return FLAG.sub(name_of, text)


def check_bounds(options: Iterable[Option], given: Mapping[str, Any]) -> None:
    """Checks the numbers that a command was given; it has no upper bound on whole numbers.

    Raises ValueError.
    """
    for option in options:
        value = given.get(option.name)
        if option.kind not in NUMBERS or value is None:
            continue
        bounded = replace(option, most=None) if option.kind == "whole" else option
        if not bounded.allows(value):
            raise ValueError(f"{option.flag} {bounded.rule}.")
