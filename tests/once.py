"""The initial data of a module's tests, created once, since this took a third of most tests' time.

`once` marks the function that creates the data, in the module or in a conftest above it. Each test
gets a copy, and the database is restored after each. If tests of the module commit, each test
creates its own data.
"""

from __future__ import annotations

import functools
import inspect
from collections import defaultdict
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import pytest

T = TypeVar("T")
Make = Callable[..., Any]
_MAKERS: dict[str, list[Make]] = defaultdict(list)


class Kept:
    """A module's data by the function that creates it. Empty if its tests commit."""

    def __init__(self) -> None:
        self.made: dict[Make, Any] = {}

    def make(self, request: pytest.FixtureRequest, folder: Path) -> None:
        """Create the data that any test of the module requests."""
        needed = _wanted(request.session)[request.path]
        for name, make in _makers_of(request.module).items():
            if name in needed:
                self.made[make] = _made(make, folder)

    def copy_of(self, make: Callable[..., T], folder: Path) -> T:
        if make not in self.made:
            return _made(make, folder)
        copied: T = deepcopy(self.made[make])
        return copied


def _makers_of(module: ModuleType) -> dict[str, Make]:
    """Return the marked functions by name: the module's own, or else those of conftests above."""
    parts = module.__name__.split(".")
    conftests = [".".join((*parts[:n], "conftest")) for n in range(1, len(parts))]
    return {make.__name__: make for name in (*conftests, module.__name__) for make in _MAKERS[name]}


@functools.cache
def _wanted(session: pytest.Session) -> dict[Path, set[str]]:
    needed: dict[Path, set[str]] = defaultdict(set)
    for item in session.items:
        needed[item.path].update(getattr(item, "fixturenames", ()))
    return needed


def _made(make: Callable[..., T], folder: Path) -> T:
    """Call the function, with a folder if it writes a file first."""
    return make(folder) if inspect.signature(make).parameters else make()


def once(make: Callable[..., T]) -> Any:
    """Return a fixture with the name and the result of `make`, which may take a folder."""
    _MAKERS[make.__module__].append(make)

    def fixture(kept: Kept, db: None, tmp_path: Path) -> T:
        return kept.copy_of(make, tmp_path)

    fixture.__doc__ = make.__doc__
    return pytest.fixture(name=make.__name__)(fixture)
