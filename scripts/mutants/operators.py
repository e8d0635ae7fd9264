"""Possible changes by mutants: each edit replaces one piece of a file.

Edits spare code that no requirement covers: texts for people, logs, documentation, types,
declarations of models (checked by their migrations), `zip(strict=...)`, and batch sizes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass

COMPARED: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.In: ("in", "not in"),
    ast.NotIn: (r"not\s+in", "in"),
    ast.Is: ("is", "is not"),
    ast.IsNot: (r"is\s+not", "is"),
}
COMPUTED: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "//"),
    ast.Pow: ("**", "*"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
}
SWAPPED = {"min": "max", "any": "all", "floor": "ceil", "filter": "exclude", "first": "last",
           "startswith": "endswith", "insert": "append"}  # fmt: skip
SWAPPED |= {there: here for here, there in SWAPPED.items() if here != "insert"}
LOOKUPS = {"lt": "lte", "lte": "lt", "gt": "gte", "gte": "gt"}
ROWS = {"filter", "exclude", "get", "update", "create", "get_or_create", "update_or_create", "Q"}
ORDERED = {"sorted", "sort", "min", "max", "sum", "get", "getattr", "next"}

QUIET = re.compile(
    r"^(log|logger|logging|warnings)\.|^(cast|TypeVar|NewType|TypedDict|gettext|print)$"
    r"|extend_schema|OpenApi|inline_serializer|add_argument|\.(stdout|stderr)\.write$|^models\."
)
PACE = re.compile(r"CHUNK|AT_ONCE|SECONDS|PAUSE|PATIENCE|TIMEOUT|BLOCK|INTERVAL|KEPT|CACHE")
EXAMPLE = re.compile(r"^AN?_[A-Z]")  # descriptions in the API's schema
PACE_WORDS = {
    "chunk_size", "batch_size", "maxsize", "timeout", "indent", "stacklevel", "strict", "verbosity",
    "max_length", "repr", "kw_only", "help_text", "verbose_name", "description",
}  # fmt: skip
WRAPPING = re.compile(
    r"property|cached_property|staticmethod|classmethod|dataclass|overload|abstractmethod"
    r"|contextmanager|setter|\bcache\b|lru_cache|register|total_ordering|receiver|wraps|extend_schema"
    r"|final|override|shared_task|\bfield\b"
)
EMPTY = (
    (r"(list|Sequence|Iterator|Iterable|Collection)\[", "[]"),
    (r"tuple\[", "()"),
    (r"(dict|Mapping|Counter|defaultdict)\[", "{}"),
    (r"(set|frozenset|Set)\[", "set()"),
    (r"str$", '""'),
    (r"(int|float|Decimal)$", "0"),
)
SMALLEST = 1e-6  # smaller numbers are tolerances
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Edit:
    """The bytes from `start` to `end` become `text`; `lines` are the lines of the changed piece,
    `around` those of its statement, and `at_import` says whether it runs when its module is
    imported.
    """

    start: int
    end: int
    text: str
    operator: str
    function: str
    lines: tuple[int, int]
    around: tuple[int, int]
    names: tuple[str, ...] = ()
    at_import: bool = False


def optional_names(texts: Iterable[str]) -> dict[str, set[str]]:
    """Return the parameters of our functions and fields of our classes that have a default."""
    found: dict[str, set[str]] = {}
    for node in (node for text in texts for node in ast.walk(ast.parse(text))):
        if isinstance(node, Function):
            last = [*node.args.posonlyargs, *node.args.args][-len(node.args.defaults) or 10**6 :]
            pairs = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            only = [each for each, default in pairs if default is not None]
            found.setdefault(node.name, set()).update(each.arg for each in [*last, *only])
        elif isinstance(node, ast.ClassDef):
            fields = [each for each in node.body if isinstance(each, ast.AnnAssign) and each.value]
            names = {each.target.id for each in fields if isinstance(each.target, ast.Name)}
            found.setdefault(node.name, set()).update(names)
    return found


def is_not(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)


def is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def is_text(node: ast.expr) -> bool:
    is_string = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return is_string or isinstance(node, ast.JoinedStr)


def is_listed(*nodes: ast.expr) -> bool:
    kinds = ast.List | ast.Tuple | ast.ListComp
    return any(is_text(each) or isinstance(each, kinds) for each in nodes)


def called_name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def is_quiet_call(call: ast.Call) -> bool:
    return bool(QUIET.search(ast.unparse(call.func)))
