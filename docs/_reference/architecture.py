"""Write the parts of `docs/architecture.md` that follow from the code: the tree and the imports.

`python -m docs._reference.architecture` writes them again between their markers. The page is kept
whole in the repository, so that it can be read there too; a test compares it with the code.
"""

from __future__ import annotations

import ast
import inspect
import re
import tokenize
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from docs._reference.words import ROOT, code, codes

PAGE = ROOT / "docs" / "architecture.md"
# Each module of these packages is one kind of the same thing, so its name is enough; except for the
# modules that all kinds share.
KINDS = {
    "tandem/figures": ("base", "files", "svg", "vega"),
    "tandem/protocols": ("base", "material", "points", "schema", "validation"),
    "annotation/preparation/steps": (),
    "annotation/protocols": ("base", "criteria", "guidelines", "schema", "units"),
    "annotation/views/protocol_pages": ("base",),
}
# These have the same name in every Django project.
WIRING = {"apps", "urls", "asgi", "wsgi", "__main__"}
_BLOCK = re.compile(r"(<!-- written: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def written(page: str) -> str:
    """Return the page with its marked parts generated from the present code."""
    parts = {"imports": imports, "tree": tree}
    return _BLOCK.sub(lambda found: f"{found[1]}\n{parts[found[2]]()}\n{found[3]}", page)


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


def tree() -> str:
    """List every package and module with its first line, app by app."""
    apps = reversed(_settings()["root_packages"])
    return "\n".join(f"### {app}\n\n{_app(ROOT / app)}" for app in apps)


def _app(folder: Path) -> str:
    head = first_line(folder / "__init__.py")
    return f"{head}\n\n" + "".join(f"{line}\n" for line in _lines(folder, 0))


def _lines(folder: Path, depth: int) -> Iterator[str]:
    """Sort modules before packages, both by name."""
    indent = "    " * depth
    for path in sorted(folder.glob("*.py")):
        if path.stem not in WIRING and path.stem != "__init__" and (about := first_line(path)):
            yield f"{indent}- {code(path.name)}: {about}"
    for package in sorted(path.parent for path in folder.glob("*/__init__.py")):
        yield from _package(package, indent, depth)


def _package(package: Path, indent: str, depth: int) -> Iterator[str]:
    about = first_line(package / "__init__.py")
    inside = [path.stem for path in sorted(package.glob("*.py")) if path.stem != "__init__"]
    inside += [path.parent.name for path in sorted(package.glob("*/__init__.py"))]
    shared = KINDS.get(package.relative_to(ROOT).as_posix())
    if package.name == "commands":
        yield f"{indent}- {code('commands/')}: one module for each command"
        yield from (f"{indent}    - {first_line(package / f'{name}.py')}" for name in inside)
    elif shared is not None:
        yield f"{indent}- {code(package.name + '/')}: {about}"
        for name in shared:
            yield f"{indent}    - {code(name + '.py')}: {first_line(package / f'{name}.py')}"
        yield f"{indent}    - {codes(name for name in inside if name not in shared)}"
    elif about:
        yield f"{indent}- {code(package.name + '/')}: {about}"
        yield from _lines(package, depth + 1)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text("utf-8")), "utf-8")
