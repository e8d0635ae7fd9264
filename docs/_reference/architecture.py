"""Write the parts of `docs/architecture.md` that follow from the code: packages and imports.

`python -m docs._reference.architecture` writes them again between their markers. The page is kept
whole in the repository, so that it can be read there too; a test compares it with the code.
"""

from __future__ import annotations

import ast
import inspect
import re
import tokenize
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from docs._reference.words import ROOT, code, codes, table

PAGE = ROOT / "docs" / "architecture.md"
# These have the same name in every Django project.
WIRING = {"__init__", "apps", "urls", "asgi", "wsgi", "__main__"}
MOST_CHANGE = 0.1
"""A number of lines stays on the page until it is off by more than this share."""
_BLOCK = re.compile(r"(<!-- written: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
_ROW = re.compile(r"^\| `([\w/]+)/` .*\| ([\d,]+) \|$", re.MULTILINE)


def written(page: str) -> str:
    """Return the page with its marked parts generated from the present code."""
    known = {path: int(number.replace(",", "")) for path, number in _ROW.findall(page)}
    parts = {"imports": imports(), "packages": packages(known)}
    return _BLOCK.sub(lambda found: f"{found[1]}\n{parts[found[2]]}\n{found[3]}", page)


def first_line(path: Path) -> str:
    """Return the first line of a module's docstring, or an empty text."""
    return docstring(path).partition("\n")[0]


@cache
def docstring(path: Path) -> str:
    """Return a module's docstring without parsing the rest, for speed."""
    with tokenize.open(path) as lines:
        for token in tokenize.generate_tokens(lines.readline):
            if token.type == tokenize.STRING:
                return inspect.cleandoc(ast.literal_eval(token.string))
            if token.type not in (tokenize.COMMENT, tokenize.NL):
                break
    return ""


def _settings() -> dict[str, Any]:
    found = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    return dict(found["tool"]["importlinter"])


def imports() -> str:
    """Describe the contracts of import-linter."""
    return "\n".join(f"{line}\n" for each in _settings()["contracts"] for line in _contract(each))


def _contract(contract: dict[str, Any]) -> Iterator[str]:
    yield f"**{contract['name']}.**"
    if contract["type"] == "layers":
        names = [re.split(r"\s*[|:]\s*", layer) for layer in contract["layers"]]
        yield " → ".join(map(codes, names))
    elif contract["type"] == "protected":
        importers = contract["allowed_importers"]
        who = f"Only {codes(importers)} may import" if importers else "Nothing imports"
        yield f"{who} {codes(contract['protected_modules'])}."
    else:
        these, those = contract["source_modules"], contract["forbidden_modules"]
        only = " directly" if contract.get("allow_indirect_imports") else ""
        yield f"{codes(these)} never import {codes(those)}{only}."
    if excepted := contract.get("ignore_imports"):
        yield f"Except for now: {codes(excepted)}."


def packages(known: Mapping[str, int]) -> str:
    """Return a table of each app's packages, with their modules and about how many lines they have.

    `known` are the numbers of lines that the page has now.
    """
    apps = reversed(_settings()["root_packages"])
    return "\n".join(f"### {app}\n\n{_app(ROOT / app, known)}" for app in apps)


def _app(folder: Path, known: Mapping[str, int]) -> str:
    inside = (path.parent for path in folder.glob("*/__init__.py"))
    shown = [folder, *sorted(path for path in inside if first_line(path / "__init__.py"))]
    rows = []
    for path in shown:
        name = path.relative_to(ROOT).as_posix()
        size = _about(count_lines(path), known.get(name, 0))
        rows.append((code(f"{name}/"), first_line(path / "__init__.py"), _modules(path), size))
    return table(("package", "what it holds", "modules", "lines"), rows)


def _modules(package: Path) -> str:
    """Name the modules of a package, and packages inside it that are not rows of their own."""
    modules = [path.stem for path in package.glob("*.py") if path.stem not in WIRING]
    if package.parent != ROOT:
        modules += [f"{path.parent.name}/" for path in package.glob("*/__init__.py")]
    if package.name == "management":
        modules = [path.stem for path in package.glob("*/*.py") if path.stem not in WIRING]
    return codes(sorted(modules))


def count_lines(package: Path) -> int:
    """Count the lines of Python in a package and in those inside it, without migrations."""
    files = (path for path in package.rglob("*.py") if path.parent.name != "migrations")
    return sum(len(path.read_bytes().splitlines()) for path in files)


def _about(lines: int, known: int) -> str:
    """Round to two figures, or keep the known number where it is near enough."""
    if abs(lines - known) > MOST_CHANGE * lines:
        known = round(lines, 2 - len(str(lines)))
    return f"{known:,}"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text("utf-8")), "utf-8")
