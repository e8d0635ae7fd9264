"""Licences of packages as SPDX expressions, and whether Tandem may take them."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from license_expression import ExpressionError, get_spdx_licensing
from packaging.utils import canonicalize_name

from scripts.supply.locks import ROOT, Pinned, read

RULES = Path(__file__).with_name("licences.toml")
UNKNOWN = ""
_SPDX = get_spdx_licensing()
_PIP_LICENSES = ("-m", "piplicenses", "--from=all", "--with-system", "--format=json")


@dataclass(frozen=True)
class Rules:
    """The allow list: licences of the site, of tools besides, and what is known of packages."""

    site: frozenset[str]
    tools: frozenset[str]
    excepted: Mapping[str, str]
    written: Mapping[str, str]
    read: Mapping[str, str]

    @classmethod
    def load(cls, path: Path = RULES) -> Rules:
        found = tomllib.loads(path.read_text("utf-8"))
        site = frozenset(found.pop("site"))
        return cls(site, site | frozenset(found.pop("tools")), **found)


def licence(name: str, rules: Rules) -> str:
    """Return a package's SPDX expression by its own statement or the rules, or UNKNOWN."""
    if known := rules.read.get(name):
        return known
    # Some packages have the whole licence text instead of its name.
    names = (each.strip() for each in _stated().get(name, ()) if "\n" not in each.strip())
    expressions = (rules.written.get(each, each) for each in names)
    return next((each for each in expressions if _is_spdx(each)), UNKNOWN)


@cache
def _stated() -> Mapping[str, Sequence[str]]:
    """Return what the installed packages state of their licences, the most exact first."""
    command = [sys.executable, *_PIP_LICENSES]
    rows = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return {
        canonicalize_name(row["Name"]): (
            *(row["License-Expression"], row["License-Metadata"]),
            *row["License-Classifier"].split("; "),
        )
        for row in rows
    }


def may_be_taken(expression: str, allowed: frozenset[str]) -> bool:
    """Return whether allowed licences satisfy an expression. For `OR`, one side is enough."""
    return _met(_SPDX.parse(expression, validate=True), allowed)


def objections(root: Path = ROOT, rules: Rules | None = None) -> list[str]:
    """Return a line for each package whose licence is unknown or not allowed."""
    rules = rules or Rules.load()
    site = read(root / "requirements.lock")
    names = {each.name for each in site}
    tools = [each for each in read(root / "requirements-dev.lock") if each.name not in names]
    found = [
        *_objections(_licences(site, rules), rules.site, rules, "the site"),
        *_objections(_licences(tools, rules), rules.tools, rules, "the tests"),
        *_objections(dict(npm_licences(root)), rules.tools, rules, "the checks of JavaScript"),
    ]
    unused = sorted(set(rules.excepted) - names)
    return found + [f"{each} is excepted in {RULES.name}, and nothing needs it" for each in unused]


def npm_licences(root: Path) -> Iterator[tuple[str, str]]:
    """Yield the packages of npm's lock with the licences that it states."""
    packages = json.loads((root / "package-lock.json").read_text("utf-8"))["packages"]
    for path, each in packages.items():
        if path:
            yield path.rpartition("node_modules/")[2], each.get("license", UNKNOWN)


def _licences(packages: Sequence[Pinned], rules: Rules) -> dict[str, str]:
    return {each.name: licence(each.name, rules) for each in packages}


def _objections(
    licences: Mapping[str, str], allowed: frozenset[str], rules: Rules, where: str
) -> Iterator[str]:
    for name, expression in sorted(licences.items()):
        if not _is_spdx(expression):
            yield (
                f"{name} states no licence that is known: read it in the package's files, and "
                f"enter it in {RULES.name}"
            )
        elif name in rules.excepted:
            if rules.excepted[name].partition(":")[0] != expression:
                yield f"{name} is {expression} now, not what {RULES.name} excepts it for"
        elif not may_be_taken(expression, allowed):
            yield f"{name} is {expression}, which is not allowed in {where} by {RULES.name}"


def _is_spdx(text: str) -> bool:
    try:
        return _SPDX.parse(text, validate=True) is not None
    except ExpressionError:
        return False


def _met(expression: Any, allowed: frozenset[str]) -> bool:
    if isinstance(expression, _SPDX.OR):
        return any(_met(each, allowed) for each in expression.args)
    if isinstance(expression, _SPDX.AND):
        return all(_met(each, allowed) for each in expression.args)
    return str(expression) in allowed
