"""No regular expression takes more than linear time: none repeats within a repetition."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from typing import Any

import pytest

# The type stubs of `re` lack these modules.
code: Any = importlib.import_module("re._constants")
parser: Any = importlib.import_module("re._parser")

APPS = ("tandem", "audit", "datasets", "annotation", "judging", "analysis", "config")
NOT_IMPORTED = ("migrations", "management", "__main__", "gunicorn", "asgi", "wsgi", "libraries")
SEPARATED = {
    "datasets.text._WORD_BEFORE": "each ends with a full stop, which is not a letter",
    "annotation.views.protocol_pages.grounded_answer._MARKERS": "each starts with a comma",
    "tandem.files.tables._INDEX": "each starts with a full stop",
    "judging.parsers.sentences._MARK": "each starts with a comma or dash, in 60 characters",
    "judging.parsers.sentences._RAISED": "it is searched for in 60 characters",
    "judging.backends.transport._DURATION": "each ends with a unit, which is not a digit",
}
"""Nested repetitions that are safe, since a text can match them in one way only."""


def patterns() -> Iterator[tuple[str, str, int]]:
    """Return every compiled pattern in Tandem's modules, with its flags."""
    for app in APPS:
        for found in pkgutil.walk_packages([app], f"{app}."):
            if not any(part in found.name for part in NOT_IMPORTED):
                module = importlib.import_module(found.name)
                for name, value in vars(module).items():
                    if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
                        yield f"{module.__name__}.{name}", value.pattern, value.flags


def nests(tree: Any, inside: bool = False) -> bool:
    """Return whether an unbounded repetition contains another one."""
    for what, of in tree:
        if what in (code.MAX_REPEAT, code.MIN_REPEAT):
            endless = of[1] == code.MAXREPEAT
            if (endless and inside) or nests(of[2], inside or endless):
                return True
        if any(nests(part, inside) for part in parts(what, of)):
            return True
    return False


def parts(what: Any, of: Any) -> list[Any]:
    """Return the patterns inside a group, an alternation or a lookaround."""
    if what is code.SUBPATTERN:
        return [of[3]]
    if what is code.BRANCH:
        return list(of[1])
    return [of[1]] if what in (code.ASSERT, code.ASSERT_NOT) else []


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("pattern", "found"),
    [("(a+)+", True), ("(?:a|b*)*", True), ("a+b*", False), ("(a{1,8})*", False), ("a*?", False)],
)
def test_slow_patterns_are_recognised(pattern: str, found: bool) -> None:
    assert nests(parser.parse(pattern)) == found


@pytest.mark.once
def test_no_pattern_has_nested_repetition() -> None:
    known = {name: nests(parser.parse(text, flags)) for name, text, flags in patterns()}
    assert len(known) > 30
    assert {name for name, wrong in known.items() if wrong} == set(SEPARATED)
