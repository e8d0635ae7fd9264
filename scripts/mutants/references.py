"""Find uses of a module's names, to test code that runs only once, at import or into a cache."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cached_property

Place = tuple[str, int]  # a path and a line
DEEPEST = 3
Function = ast.FunctionDef | ast.AsyncFunctionDef


class References:
    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = texts
        self.trees = {path: ast.parse(text) for path, text in texts.items()}

    def of(self, path: str, names: tuple[str, ...], deep: int = 0) -> set[Place]:
        """Return the lines of functions that use one of the names, here or after importing it.

        If a constant of the module uses one, the uses of the constant count as well.
        """
        found: set[Place] = set()
        for other in self._readers(path):
            for node, functions, constants in self._uses(other, frozenset(names)):
                if functions:
                    found.add((other, node.lineno))
                elif constants and not set(constants) & set(names) and deep < DEEPEST:
                    found |= self.of(other, constants, deep + 1)
        return found

    def _readers(self, path: str) -> list[str]:
        module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        package, _, last = module.rpartition(".")
        imported = {module, f"{package}:{last}"}
        readers = (other for other, names in self.imports.items() if names & imported)
        return list(dict.fromkeys([path, *readers]))

    @cached_property
    def imports(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for path, tree in self.trees.items():
            names = found.setdefault(path, set())
            for node in ast.walk(tree):
                if isinstance(node, ast.Import):
                    names.update(alias.name for alias in node.names)
                elif isinstance(node, ast.ImportFrom) and node.module:
                    names.add(node.module)
                    names.update(f"{node.module}:{alias.name}" for alias in node.names)
        return found

    def _uses(
        self, path: str, names: frozenset[str]
    ) -> Iterator[tuple[ast.expr, bool, tuple[str, ...]]]:
        """Return each use of a name: the function around it, or else the constants that use it."""

        def walk(
            node: ast.AST, inside: bool, constants: tuple[str, ...]
        ) -> Iterator[tuple[ast.expr, bool, tuple[str, ...]]]:
            if isinstance(node, ast.Assign | ast.AnnAssign) and not inside:
                constants = bound(node)
            name = getattr(node, "id", None) or getattr(node, "attr", None)
            if isinstance(node, ast.Name | ast.Attribute) and name in names:
                yield node, inside, constants
            for child in ast.iter_child_nodes(node):
                yield from walk(child, inside or isinstance(node, Function | ast.Lambda), constants)

        return walk(self.trees[path], False, ())

    def body(self, path: str, name: str) -> set[Place]:
        """Return the lines of a function or class by its qualified name."""
        return {
            (path, line)
            for node, qualified in _defined(self.trees[path], ())
            if qualified == name
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
        }


def bound(node: ast.stmt | None) -> tuple[str, ...]:
    """Return the names that an assignment assigns to."""
    targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
    single = [each for target in targets for each in getattr(target, "elts", [target])]
    return tuple(each.id for each in single if isinstance(each, ast.Name))


def _defined(
    node: ast.AST, scope: tuple[str, ...]
) -> Iterator[tuple[Function | ast.ClassDef, str]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function | ast.ClassDef):
            inner = (*scope, child.name)
            yield child, ".".join(inner)
            yield from _defined(child, inner)
        else:
            yield from _defined(child, scope)
