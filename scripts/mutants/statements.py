"""The edits of a file: those of its statements and of the expressions in them."""

# The methods are named after the kinds of nodes, as `ast` asks.
# ruff: noqa: N802

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence

from scripts.mutants.expressions import Expressions
from scripts.mutants.operators import (
    COMPUTED,
    EMPTY,
    EXAMPLE,
    PACE,
    QUIET,
    WRAPPING,
    Edit,
    Function,
    is_not,
    is_quiet_call,
    is_text,
)


def edits(source: str, optional_in: Mapping[str, set[str]]) -> list[Edit]:
    """Return all edits of a file, in order of position."""
    finder = Statements(source, optional_in)
    finder.block(ast.parse(source).body)
    return sorted(finder.edits, key=lambda edit: (edit.start, edit.end, edit.operator, edit.text))


class Statements(Expressions):
    def block(self, body: Sequence[ast.stmt]) -> None:
        for number, each in enumerate(body):
            if number == 0 and isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant):
                continue
            outer, self.statement = self.statement, each
            self.visit(each)
            self.statement = outer

    def visit_FunctionDef(self, node: Function) -> None:
        if node.name in ("__str__", "__repr__"):
            return
        self.scope.append(node.name)
        for decorator in node.decorator_list:
            if not WRAPPING.search(ast.unparse(decorator)):
                start = self.begin(decorator) - 1
                self.add(start, self.end(decorator), "# no decorator", "decorator", decorator)
        for default in [*node.args.defaults, *node.args.kw_defaults]:
            if default is not None:
                self.visit(default)
        returns, self.returns = self.returns, ast.unparse(node.returns) if node.returns else ""
        if any(isinstance(each, ast.Yield | ast.YieldFrom) for each in ast.walk(node)):
            self.returns = "None"
        self.functions += 1
        self.block(node.body)
        self.functions -= 1
        self.returns = returns
        self.scope.pop()

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        if node.name != "Meta":
            self.scope.append(node.name)
            self.block(node.body)
            self.scope.pop()

    def visit_If(self, node: ast.If) -> None:
        condition = ast.unparse(node.test)
        if condition == "TYPE_CHECKING" or "__name__" in condition:
            return
        self.condition(node.test)
        self.replace(node.test, "False", "skip")
        self.visit(node.test)
        self.block(node.body)
        self.block(node.orelse)

    def visit_While(self, node: ast.While) -> None:
        if not isinstance(node.test, ast.Constant):
            self.condition(node.test)
            self.visit(node.test)
        self.block(node.body)
        self.block(node.orelse)

    def visit_For(self, node: ast.For) -> None:
        self.visit(node.iter)
        self.block(node.body)
        self.block(node.orelse)

    def visit_Try(self, node: ast.Try) -> None:
        self.block(node.body)
        for handler in node.handlers:
            self.block(handler.body)
        self.block(node.orelse)
        self.block(node.finalbody)

    def visit_With(self, node: ast.With) -> None:
        if all(item.optional_vars is None for item in node.items):
            first, last = node.items[0].context_expr, node.items[-1].context_expr
            if not QUIET.search(ast.unparse(first)):
                self.add(self.begin(node), self.end(last), "if True", "context", first)
        for item in node.items:
            self.visit(item.context_expr)
        self.block(node.body)

    def visit_Match(self, node: ast.Match) -> None:
        self.visit(node.subject)
        for case in node.cases:
            if case.guard:
                self.visit(case.guard)
            self.block(case.body)

    def visit_Raise(self, node: ast.Raise) -> None:
        if not self._alone(node):
            self.replace(node, "pass", "raise")

    def _alone(self, node: ast.stmt) -> bool:
        """Return whether this is the only statement of an `if` that another mutant skips."""
        line = self.source[self.starts[node.lineno - 2] :].split(b"\n", 1)[0].strip()
        return line.startswith((b"if ", b"elif ")) and line.endswith(b":")

    def visit_Assert(self, node: ast.Assert) -> None:
        """Skip assertions, which are for type checks."""

    def visit_Import(self, node: ast.Import) -> None:
        """Skip imports, whose faults every test notices."""

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Skip imports, as in `visit_Import`."""

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is None or ast.unparse(node.value) == "None":
            return
        plain = isinstance(node.value, ast.Constant | ast.Compare) or is_not(node.value)
        if self.returns != "bool" or not plain:
            other = f"not ({self.text(node.value)})" if self.returns == "bool" else self._other()
            if other != self.text(node.value):
                self.replace(node.value, other, "return")
        self.visit(node.value)

    def _other(self) -> str:
        return next((empty for kind, empty in EMPTY if re.match(kind, self.returns)), "None")

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call) and not is_quiet_call(node.value):
            self.replace(node, "pass", "statement")
        self.visit(node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.replace(node, "pass", "statement")
        if type(node.op) in COMPUTED and not is_text(node.value):
            old, new = COMPUTED[type(node.op)]
            self.between(node.target, node.value, re.escape(old), new, "arithmetic")
        self.visit(node.value)

    def visit_Delete(self, node: ast.Delete) -> None:
        self.replace(node, "pass", "statement")

    def visit_Assign(self, node: ast.Assign) -> None:
        names = [each.id for each in node.targets if isinstance(each, ast.Name)]
        if "__all__" in names or self._left_alone(names):
            return
        if any(isinstance(each, ast.Attribute | ast.Subscript) for each in node.targets):
            self.replace(node, "pass", "statement")
        if not self.functions and not any(name.startswith("_") for name in names):
            self.elements(node.value)
        self.visit(node.value)

    def _left_alone(self, names: Sequence[str]) -> bool:
        """Return whether a constant is a batch size or an example."""
        kinds = (PACE.search, EXAMPLE.match)
        return not self.functions and any(kind(name) for kind in kinds for name in names)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if self._left_alone([node.target.id] if isinstance(node.target, ast.Name) else []):
            return
        if node.value is not None:
            if isinstance(node.target, ast.Attribute | ast.Subscript):
                self.replace(node, "pass", "statement")
            self.visit(node.value)

    def visit_Break(self, node: ast.Break) -> None:
        self.replace(node, "continue", "loop")

    def visit_Continue(self, node: ast.Continue) -> None:
        self.replace(node, "break", "loop")
