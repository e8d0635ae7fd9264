"""Templates of messages: Jinja2 without assignments, calls or arithmetic.

A researcher's file runs on the server. The remaining language can neither loop forever nor make a
text grow without limit, since loops and output are bounded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from jinja2 import StrictUndefined, TemplateError, TemplateSyntaxError, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

MAX_OUTPUT = 2_000_000
MAX_STEPS = 100_000
MAX_DEPTH = 3
_TOKEN = re.compile(r"\w+|[^\w\s]")
ALLOWED: tuple[type[nodes.Node], ...] = (
    *(nodes.Template, nodes.Output, nodes.TemplateData, nodes.For, nodes.If, nodes.CondExpr),
    *(nodes.Name, nodes.Const, nodes.Getattr, nodes.Getitem, nodes.Slice, nodes.Filter),
    *(nodes.Test, nodes.Compare, nodes.Operand, nodes.And, nodes.Or, nodes.Not),
    *(nodes.Tuple, nodes.List, nodes.Concat, nodes.Keyword),
)
_NAMES = {nodes.Call: "a call", nodes.Assign: "set", nodes.Mul: "*", nodes.Add: "+"}


class FileError(ValueError):
    """A judge file cannot be used.

    `line` is the line, from 1, if known, and `path` the keys that lead to it.
    """

    def __init__(self, message: str, line: int | None = None, path: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.line, self.path = line, path


class Steps(tuple[Any, ...]):
    """A list to loop over. All lists of one rendering share `MAX_STEPS` steps."""

    left: list[int]

    @classmethod
    def of(cls, values: Sequence[Any], left: list[int]) -> Steps:
        made = cls(values)
        made.left = left
        return made

    def __iter__(self) -> Iterator[Any]:
        for value in super().__iter__():
            self.left[0] -= 1
            if self.left[0] < 0:
                raise FileError(f"the template loops more than {MAX_STEPS:,} times")
            yield value


def _text(value: Any) -> str:
    return str(value["text"]) if isinstance(value, Mapping) and "text" in value else str(value)


def _check_output_length(text: str) -> str:
    if len(text) > MAX_OUTPUT:
        raise FileError(f"the message has over {MAX_OUTPUT:,} characters")
    return text


def join(values: Sequence[Any], between: str = "") -> str:
    if isinstance(values, str):
        raise FileError("join takes a list")
    words = [_text(value) for value in values]
    if len(between) * len(words) > MAX_OUTPUT:
        raise FileError(f"the message has over {MAX_OUTPUT:,} characters")
    return _check_output_length(between.join(words))


def numbered(values: Sequence[Any]) -> str:
    """Format texts as lines numbered from 1."""
    if isinstance(values, str | Mapping):
        raise FileError("numbered takes a list, such as passages")
    return "\n".join(f"{n}. {_text(value)}" for n, value in enumerate(values, start=1))


def cited(values: Sequence[Any]) -> str:
    """Format passages with the numbers by which an answer cites them:

    `[1] Title`, then the text.
    """
    if isinstance(values, str | Mapping):
        raise FileError("cited takes a list, such as passages")
    return "\n\n".join(_cited(n, value) for n, value in enumerate(values, start=1))


def _cited(number: int, value: Any) -> str:
    title = value.get("title") if isinstance(value, Mapping) else None
    return f"[{number}] {title}\n{_text(value)}" if title else f"[{number}] {_text(value)}"


def truncate_tokens(value: Any, most: int) -> str:
    """Return the beginning of a text, up to a number of words and marks."""
    text = _text(value)
    for count, token in enumerate(_TOKEN.finditer(text)):
        if count == most:
            return text[: token.start()].rstrip()
    return text


FILTERS = {
    "join": join,
    "numbered": numbered,
    "cited": cited,
    "truncate_tokens": truncate_tokens,
    "tojson": lambda value: _check_output_length(json.dumps(value, ensure_ascii=False)),
    "length": len,
    "upper": lambda value: _text(value).upper(),
    "lower": lambda value: _text(value).lower(),
    "trim": lambda value: _text(value).strip(),
    "first": lambda values: next(iter(values), ""),
    "last": lambda values: values[-1] if values else "",
    "default": lambda value, other="": other if value in (None, "") else value,
}


def _environment() -> ImmutableSandboxedEnvironment:
    # The output is a prompt, not HTML, so escapes would change what the model reads.
    made = ImmutableSandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True)
    made.globals.clear()
    made.filters.clear()
    made.filters.update(FILTERS)
    return made


ENVIRONMENT = _environment()


@dataclass(frozen=True)
class MessageTemplate:
    """The text of a message, checked against the names that a template may use."""

    source: str

    @cached_property
    def tree(self) -> nodes.Template:
        return ENVIRONMENT.parse(self.source)

    def check(self, fields: Mapping[str, frozenset[str]]) -> None:
        """Check names against `fields`, which has the fields of each name.

        Raises FileError, its line counted from 1 within the template.
        """
        try:
            tree = self.tree
        except TemplateSyntaxError as error:
            raise FileError(
                f"the template cannot be read: {error.message}", error.lineno
            ) from error
        except TemplateError as error:
            raise FileError(f"the template cannot be read: {error}") from error
        _check_node(tree, _Scope(fields, {}, 0))
        ENVIRONMENT.from_string(self.source)

    def render(self, context: Mapping[str, Any]) -> str:
        """Fill the template in. Raises FileError."""
        written, length = [], 0
        try:
            for part in self._compiled.generate(context):
                length += len(part)
                if length > MAX_OUTPUT:
                    raise FileError(f"the message has over {MAX_OUTPUT:,} characters")
                written.append(part)
        except (TemplateError, TypeError, ValueError, KeyError) as error:
            if isinstance(error, FileError):
                raise
            raise FileError(f"the template cannot be filled in: {error}") from error
        return "".join(written)

    @cached_property
    def _compiled(self) -> Any:
        return ENVIRONMENT.from_string(self.source)


@dataclass(frozen=True)
class _Scope:
    """The names available at a position in a template. `aliases` are loop variables."""

    fields: Mapping[str, frozenset[str]]
    aliases: Mapping[str, str | None]
    depth: int

    def known(self, name: str) -> bool:
        return name in self.fields or name in self.aliases

    def fields_of(self, name: str) -> frozenset[str]:
        """Return the fields of a name, empty if it may have any."""
        if name in self.aliases:
            return self.fields.get(self.aliases[name] or "", frozenset())
        return self.fields.get(name, frozenset())


LOOP = ("index", "index0", "first", "last", "length")


def _check_node(node: nodes.Node, scope: _Scope) -> None:
    if not isinstance(node, ALLOWED):
        name = _NAMES.get(type(node), type(node).__name__.lower())
        raise FileError(
            f"a template cannot contain {name}; use names, if, for and filters", node.lineno
        )
    if isinstance(node, nodes.Name):
        if not scope.known(node.name):
            names = ", ".join(sorted(scope.fields))
            raise FileError(
                f"{node.name!r} is not a name of a template; the names are {names}", node.lineno
            )
    elif isinstance(node, nodes.Filter):
        if node.name not in FILTERS:
            raise FileError(
                f"{node.name!r} is not a filter; the filters are {', '.join(FILTERS)}", node.lineno
            )
    elif isinstance(node, nodes.Getattr) and isinstance(node.node, nodes.Name):
        _check_field(node.node.name, node.attr, scope, node.lineno)
    if isinstance(node, nodes.For):
        _check_loop(node, scope)
        return
    for child in node.iter_child_nodes():
        _check_node(child, scope)


def _check_field(name: str, field: str, scope: _Scope, line: int) -> None:
    fields = scope.fields_of(name)
    if fields and field not in fields:
        names = ", ".join(sorted(fields))
        raise FileError(f"{name} has no {field!r}; it has {names}", line)


def _check_loop(node: nodes.For, scope: _Scope) -> None:
    if node.recursive or not isinstance(node.target, nodes.Name):
        raise FileError("a loop has one variable and does not call itself", node.lineno)
    if scope.depth == MAX_DEPTH:
        raise FileError(f"loops are nested at most {MAX_DEPTH} deep", node.lineno)
    _check_node(node.iter, scope)
    over = node.iter.name if isinstance(node.iter, nodes.Name) else None
    aliases = {**scope.aliases, node.target.name: over, "loop": "loop"}
    inner = _Scope({**scope.fields, "loop": frozenset(LOOP)}, aliases, scope.depth + 1)
    for child in (*node.body, *node.else_, *filter(None, [node.test])):
        _check_node(child, inner)
