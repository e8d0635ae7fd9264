"""Edits of expressions, and the visitor that records edits."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from scripts.mutants.operators import (
    COMPARED,
    COMPUTED,
    LOOKUPS,
    ORDERED,
    PACE_WORDS,
    ROWS,
    SMALLEST,
    SWAPPED,
    Edit,
    called_name,
    is_listed,
    is_none,
    is_not,
    is_quiet_call,
    is_text,
)
from scripts.mutants.references import bound


class Expressions(ast.NodeVisitor):
    def __init__(self, source: str, optional_in: Mapping[str, set[str]]) -> None:
        self.source = source.encode()
        self.starts = [0]
        for line in self.source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.optional = optional_in
        self.edits: list[Edit] = []
        self.scope: list[str] = []
        self.functions = 0
        self.statement: ast.stmt | None = None
        self.returns = ""

    def begin(self, node: ast.expr | ast.stmt | ast.keyword) -> int:
        return self.starts[node.lineno - 1] + node.col_offset

    def end(self, node: ast.expr | ast.stmt | ast.keyword) -> int:
        return self.starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)

    def text(self, node: ast.expr | ast.stmt) -> str:
        return self.source[self.begin(node) : self.end(node)].decode()

    def add(self, start: int, end: int, text: str, operator: str, node: ast.AST) -> None:
        outer = self.statement
        assert outer is not None
        first = getattr(node, "lineno", outer.lineno)
        last = getattr(node, "end_lineno", None) or first
        body = getattr(outer, "body", None)
        until = body[0].lineno - 1 if body else outer.end_lineno or outer.lineno
        around = (outer.lineno, max(outer.lineno, until))
        names = tuple(self.scope)
        if not self.functions:
            names += bound(outer)
        self.edits.append(
            Edit(start, end, text, operator, ".".join(self.scope) or "<module>",
                 (first, min(last, max(first, around[1]))), around, names, not self.functions)
        )  # fmt: skip

    def replace(self, node: ast.expr | ast.stmt, text: str, operator: str) -> None:
        self.add(self.begin(node), self.end(node), text, operator, node)

    def between(self, left: ast.expr, right: ast.expr, old: str, new: str, operator: str) -> None:
        """Replace the operator between two expressions."""
        start, end = self.end(left), self.begin(right)
        signs = list(re.finditer(old, self.source[start:end].decode()))
        if len(signs) == 1:
            first = start + len(self.source[start:end].decode()[: signs[0].start()].encode())
            self.add(first, first + len(signs[0].group().encode()), new, operator, left)

    def condition(self, test: ast.expr) -> None:
        if not isinstance(test, ast.Compare) and not is_not(test):
            self.replace(test, f"not ({self.text(test)})", "condition")

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.condition(node.test)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for test in node.ifs:
            self.condition(test)
            self.replace(test, "True", "condition")
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        left = node.left
        for sign, right in zip(node.ops, node.comparators, strict=True):
            old, new = COMPARED[type(sign)]
            self.between(left, right, old, new, "comparison")
            if isinstance(sign, ast.In | ast.NotIn):
                self.elements(right)
            left = right
        self.generic_visit(node)

    def elements(self, node: ast.expr) -> None:
        """Remove one element from a short list of codes."""
        if not isinstance(node, ast.Tuple | ast.Set | ast.List) or not 2 <= len(node.elts) <= 8:
            return
        if not all(isinstance(each, ast.Attribute) or is_text(each) for each in node.elts):
            return
        for here, following in zip(node.elts, [*node.elts[1:], None], strict=True):
            if following is not None:
                self.add(self.begin(here), self.begin(following), "", "element", here)
            else:
                self.add(self.end(node.elts[-2]), self.end(here), ",", "element", here)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self.between(left, right, rf"\b{old}\b", new, "boolean")
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            self.replace(node, self.text(node).removeprefix("not").lstrip(), "boolean")
        elif isinstance(node.op, ast.USub):
            self.replace(node, self.text(node).removeprefix("-").lstrip(), "arithmetic")
        self.visit(node.operand)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        union = isinstance(node.op, ast.BitOr) and (not self.functions or is_none(node.right))
        if type(node.op) in COMPUTED and not union and not is_listed(node.left, node.right):
            old, new = COMPUTED[type(node.op)]
            self.between(node.left, node.right, re.escape(old), new, "arithmetic")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool):
            self.replace(node, str(not value), "constant")
        elif isinstance(value, int):
            self.replace(node, str(value + 1), "constant")
        elif isinstance(value, float) and (value == 0 or abs(value) > SMALLEST):
            self.replace(node, repr(value * 2 or 1.0), "constant")

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if isinstance(node.slice, ast.Slice):
            for edge in filter(None, (node.slice.lower, node.slice.upper)):
                self.replace(edge, "", "slice")
        self.visit(node.value)
        self.visit(node.slice)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Skip texts for people."""

    def visit_Call(self, node: ast.Call) -> None:
        if is_quiet_call(node):
            return
        name = called_name(node.func)
        if name in SWAPPED and (isinstance(node.func, ast.Name) or node.args or node.keywords):
            end = self.end(node.func)
            self.add(end - len(name), end, SWAPPED[name], "call", node.func)
        for argument in node.args:
            if name == "order_by" and is_text(argument):
                text = self.text(argument)
                turned = text.replace('"-', '"') if '"-' in text else text.replace('"', '"-', 1)
                self.replace(argument, turned, "order")
        if name == "get" and node.args and is_text(node.args[0]):
            self.replace(node.args[0], '"another key"', "key")
        if name not in ("iterator", "zip", "field"):
            for each in node.args:
                self.visit(each)
        self.visit(node.func)
        for keyword in node.keywords:
            self._keyword(name, keyword)

    def _keyword(self, name: str, keyword: ast.keyword) -> None:
        if keyword.arg in PACE_WORDS:
            return
        if keyword.arg is not None:
            stem, _, lookup = keyword.arg.rpartition("__")
            start, end = self.begin(keyword), self.end(keyword)
            if lookup in LOOKUPS and stem:
                new = f"{stem}__{LOOKUPS[lookup]}"
                self.add(start, start + len(keyword.arg), new, "comparison", keyword)
            known = ORDERED if name in ORDERED else self.optional.get(name, set())
            if name in ROWS or name in ORDERED or keyword.arg in known:
                comma = re.match(rb"\s*,\s*", self.source[end:])
                after = end + (comma.end() if comma else 0)
                self.add(start, after, "", "keyword", keyword)
        self.visit(keyword.value)
