"""Templates of messages: Jinja2 without assignments, calls or arithmetic.

A researcher's file runs on the server. The remaining language can neither loop forever nor make a
text grow without limit: every text that an expression creates counts against a budget, not only
the output, and so does time.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from jinja2 import StrictUndefined, TemplateError, TemplateSyntaxError, nodes, pass_context
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

MAX_OUTPUT = 2_000_000
MAX_CREATED = 20_000_000
"""Characters of all texts that rendering a message creates, those that it throws away included."""
MAX_SECONDS = 10.0
MAX_STEPS = 100_000
MAX_DEPTH = 3
BUDGET = "the budget"
"""Where a rendering's context has its budget: under a name that no template can write."""
TOO_DEEP = "the template is nested too deeply; take it apart"
UNUSABLE = (
    ArithmeticError,
    LookupError,
    MemoryError,
    NameError,
    RecursionError,
    SyntaxError,
    TemplateError,
    TypeError,
    ValueError,
)
"""What Jinja, and Python under it, raise for a template that cannot be compiled or filled in."""
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


class Budget:
    """What rendering one message may still cost: characters created, and seconds."""

    def __init__(self) -> None:
        self.left, self.until = MAX_CREATED, time.monotonic() + MAX_SECONDS
        self.steps = [MAX_STEPS]

    def spend(self, characters: int) -> None:
        """Raises FileError if a text is too long, or if too much was created or takes too long."""
        if characters > MAX_OUTPUT:
            raise FileError(f"the message has over {MAX_OUTPUT:,} characters")
        self.left -= characters
        if self.left < 0:
            raise FileError(f"the template creates texts of over {MAX_CREATED:,} characters")
        if time.monotonic() > self.until:
            raise FileError(f"the template takes longer than {MAX_SECONDS:.0f} seconds")


def _text(value: Any) -> str:
    return str(value["text"]) if isinstance(value, Mapping) and "text" in value else str(value)


def _length(value: Any, most: int = MAX_OUTPUT) -> int:
    """Count the characters of all texts in a value, up to more than `most`.

    The same text counts as often as it is there, and each element of a list as one more.
    """
    found, left = 0, [value]
    while left and found <= most:
        each = left.pop()
        if isinstance(each, str):
            found += len(each)
        elif isinstance(each, Mapping):
            left += [*each.keys(), *each.values()]
        elif isinstance(each, list | tuple):
            found += len(each)
            left += list.__iter__(each) if isinstance(each, list) else tuple.__iter__(each)
        else:
            found += 1
    return found


def _joined(budget: Budget, pieces: Iterable[str], between: str = "") -> str:
    """Join pieces, each counted before the next one is created."""
    found, length = list[str](), 0
    for piece in pieces:
        length += len(piece) + len(between)
        budget.spend(len(piece) + len(between))
        if length - len(between) > MAX_OUTPUT:
            raise FileError(f"the message has over {MAX_OUTPUT:,} characters")
        found.append(piece)
    return between.join(found)


def join(budget: Budget, values: Sequence[Any], between: str = "") -> str:
    if isinstance(values, str):
        raise FileError("join takes a list")
    return _joined(budget, map(_text, values), between)


def numbered(budget: Budget, values: Sequence[Any]) -> str:
    """Format texts as lines numbered from 1."""
    if isinstance(values, str | Mapping):
        raise FileError("numbered takes a list, such as passages")
    pieces = (f"{n}. {_text(value)}" for n, value in enumerate(values, start=1))
    return _joined(budget, pieces, "\n")


def cited(budget: Budget, values: Sequence[Any]) -> str:
    """Format passages with the numbers by which an answer cites them:

    `[1] Title`, then the text.
    """
    if isinstance(values, str | Mapping):
        raise FileError("cited takes a list, such as passages")
    pieces = (_cited(n, value) for n, value in enumerate(values, start=1))
    return _joined(budget, pieces, "\n\n")


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


def _concatenate(budget: Budget, values: Sequence[Any]) -> str:
    return _joined(budget, map(str, values))


def _shown(budget: Budget, value: Any) -> str:
    budget.spend(_length(value))
    return str(value)


def _steps(budget: Budget, values: Any) -> Steps:
    if isinstance(values, Steps):
        return values
    budget.spend(_length(values))
    return Steps.of(tuple(values), budget.steps)


Counted: TypeAlias = Callable[..., Any]


def _with_budget(function: Counted) -> Counted:
    """Give a filter the budget of the rendering that it is part of."""

    @pass_context
    def counted(context: Context, *values: Any, **named: Any) -> Any:
        return function(context[BUDGET], *values, **named)

    return counted


def _counted(function: Counted) -> Counted:
    """Count the texts that a filter takes and the one that it gives."""

    def filter(budget: Budget, value: Any, *values: Any, **named: Any) -> Any:
        budget.spend(_length(value))
        found = function(value, *values, **named)
        budget.spend(_length(found) if isinstance(found, str) else 1)
        return found

    return _with_budget(filter)


FILTERS: Mapping[str, Counted] = {
    "join": _with_budget(join),
    "numbered": _with_budget(numbered),
    "cited": _with_budget(cited),
    "truncate_tokens": _counted(truncate_tokens),
    "tojson": _counted(lambda value: json.dumps(value, ensure_ascii=False)),
    "length": _counted(len),
    "upper": _counted(lambda value: _text(value).upper()),
    "lower": _counted(lambda value: _text(value).lower()),
    "trim": _counted(lambda value: _text(value).strip()),
    "first": _counted(lambda values: next(iter(values), "")),
    "last": _counted(lambda values: values[-1] if values else ""),
    "default": _counted(lambda value, other="": other if value in (None, "") else value),
}
CONCATENATE, SHOWN, STEPS = "concatenate", "shown", "steps"
"""Filters that only `_Counting` adds. No template may name them."""
_ADDED: Mapping[str, Counted] = {CONCATENATE: _concatenate, SHOWN: _shown, STEPS: _steps}


class _Counting(NodeTransformer):
    """Has every expression that creates a text, and every loop, count against the budget."""

    def visit_Concat(self, node: nodes.Concat) -> nodes.Filter:  # noqa: N802 - the library's name
        self.generic_visit(node)
        return _filter(nodes.List(node.nodes, lineno=node.lineno), CONCATENATE)

    def visit_Output(self, node: nodes.Output) -> nodes.Output:  # noqa: N802
        self.generic_visit(node)
        node.nodes = [
            each if isinstance(each, nodes.TemplateData) else _filter(each, SHOWN)
            for each in node.nodes
        ]
        return node

    def visit_For(self, node: nodes.For) -> nodes.For:  # noqa: N802
        self.generic_visit(node)
        node.iter = _filter(node.iter, STEPS)
        return node


def _filter(node: Any, name: str) -> nodes.Filter:
    return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)


def _environment() -> ImmutableSandboxedEnvironment:
    # The output is a prompt, not HTML, so escapes would change what the model reads.
    made = ImmutableSandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True)
    made.globals.clear()
    made.filters.clear()
    made.filters.update(FILTERS)
    made.filters.update({name: _with_budget(function) for name, function in _ADDED.items()})
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
        except RecursionError as error:
            raise FileError(TOO_DEEP) from error
        except UNUSABLE as error:
            raise FileError(f"the template cannot be read: {error}") from error
        try:
            _check_node(tree, _Scope(fields, {}, 0))
            assert self._compiled
        except FileError:
            raise
        except TemplateError as error:
            raise FileError(
                f"the template cannot be read: {error}", getattr(error, "lineno", None)
            ) from error
        except UNUSABLE as error:
            raise FileError(TOO_DEEP) from error

    def render(self, context: Mapping[str, Any]) -> str:
        """Fill the template in. Raises FileError."""
        written, length = [], 0
        try:
            for part in self._compiled.generate({**context, BUDGET: Budget()}):
                length += len(part)
                if length > MAX_OUTPUT:
                    raise FileError(f"the message has over {MAX_OUTPUT:,} characters")
                written.append(part)
        except FileError:
            raise
        except RecursionError as error:
            raise FileError(TOO_DEEP) from error
        except UNUSABLE as error:
            raise FileError(f"the template cannot be filled in: {error}") from error
        return "".join(written)

    @cached_property
    def _compiled(self) -> Any:
        return ENVIRONMENT.from_string(_Counting().visit(ENVIRONMENT.parse(self.source)))


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
