"""Mutants in functions that are already imported: the function gets the mutant's code.

A process that has imported the whole product and its tests need not import them again for each
mutant. Code that runs at import (defaults, decorators, classes, constants) cannot be changed this
way.
"""

from __future__ import annotations

import gc
import inspect
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType

Place = tuple[str, str, int]  # file, qualified name, first line


class Functions:
    """The product's functions in this process, by location in the source."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.known: dict[Place, list[FunctionType]] = defaultdict(list)
        inside = f"{root}/"
        for each in gc.get_objects():
            if type(each) is FunctionType and each.__code__.co_filename.startswith(inside):
                self.known[_place(each.__code__)].append(each)

    def patch(self, path: str, before: str, after: str) -> bool:
        """Put the code of `after` into the functions of a file; return whether that was possible.

        It is impossible if the mutant changes code that runs at import, if the module is not
        imported yet (the changed file will be read then), or if the function uses other variables
        of its outer function.
        """
        file = str(self.root / path)
        found = list(_changed(compile(before, file, "exec"), compile(after, file, "exec")))
        return bool(found) and all(self._put(change) for change in found)

    def _put(self, change: Change) -> bool:
        functions = self.known.get(_place(change.old), ())
        try:
            for each in functions:
                each.__code__ = change.new
        except ValueError:
            return False
        return change.is_inner or bool(functions)


@dataclass(frozen=True)
class Change:
    """A function that differs; an inner one is created again whenever its outer function runs."""

    old: CodeType
    new: CodeType
    is_inner: bool


def _place(code: CodeType) -> Place:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def _changed(old: CodeType, new: CodeType, is_inner: bool = False) -> Iterator[Change]:
    """Yield the code that differs, including bodies of modules and classes."""
    if _content(old) == _content(new):
        return
    is_function = _is_function(old)
    ours, theirs = _inner(old), _inner(new)
    if is_function or _own(old) != _own(new) or len(ours) != len(theirs):
        yield Change(old, new, is_inner)
    for mine, other in zip(ours, theirs, strict=False):
        yield from _changed(mine, other, is_function)


def _is_function(code: CodeType) -> bool:
    return bool(code.co_flags & inspect.CO_NEWLOCALS)


def _inner(code: CodeType) -> list[CodeType]:
    return [each for each in code.co_consts if isinstance(each, CodeType)]


def _own(code: CodeType) -> tuple[object, ...]:
    """Return the code's own behaviour, without inner functions and line numbers."""
    # From Python 3.13 on a class keeps the number of its first line.
    line = code.co_firstlineno if "__firstlineno__" in code.co_names else None
    plain = [each for each in code.co_consts if not isinstance(each, CodeType)]
    consts = [repr(each) for each in plain if line is None or each != line]
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return code.co_code, code.co_exceptiontable, names, consts


def _content(code: CodeType) -> tuple[object, ...]:
    return _own(code), [_content(each) for each in _inner(code)]
