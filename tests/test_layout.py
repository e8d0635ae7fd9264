"""What holds for the code as a whole: imports, functions' sizes, migrations, help."""

from __future__ import annotations

import ast
import gc
import io
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path

import pytest
from django.core.management import call_command, get_commands, load_command_class

from tests.cast import ROOT

APPS = ("audit", "datasets", "annotation", "judging", "analysis", "config")
PURE = (
    "annotation/protocols",
    "datasets/readers",
    "judging/backends",
    "analysis/crosscheck",
    "analysis/data",
    "analysis/figures",
    "analysis/formats",
    "analysis/measures",
    "analysis/report",
    "analysis/statistics",
)
SHARED = {
    "annotation.spreadsheet",  # the one way to write CSV, which is pure itself
    "annotation.label_rows",  # the one list of missing reasons, which is pure as well
    "datasets.messages",  # messages that pages can translate, which are pure as well
}
WITH_CONFIG = ("config", "manage.py", "tests", "benchmarks", "docs")
COMMANDS = sorted(
    path.stem for path in ROOT.glob("*/management/commands/*.py") if path.stem != "__init__"
)
LONGEST_FUNCTION = 60
RAISING = {
    "raises",
    "fail",
    "expect",
    "assert_allclose",
    "assert_array_equal",
    "django_assert_num_queries",
    "django_assert_max_num_queries",
}
Function = ast.FunctionDef | ast.AsyncFunctionDef
# The parts of a statement that hold statements, by its kind.
BLOCKS: dict[type[ast.AST], set[str]] = {
    kind: names
    for kind in vars(ast).values()
    if isinstance(kind, type)
    and issubclass(kind, ast.mod | ast.stmt | ast.excepthandler | ast.match_case)
    if (names := {"body", "orelse", "finalbody", "handlers", "cases"} & set(kind._fields))
}


@cache
def modules() -> tuple[Path, ...]:
    """Our Python files, from the root; migrations are Django's own."""
    folders = [path for path in ROOT.iterdir() if path.is_dir() and path.name[0] != "."]
    ours = [path for path in folders if path.name not in ("var", "node_modules")]
    found = chain(ROOT.glob("*.py"), *(folder.rglob("*.py") for folder in ours))
    return tuple(sorted(path.relative_to(ROOT) for path in found if "migrations" not in path.parts))


def tree(path: Path) -> ast.Module:
    gc.disable()  # nothing of a tree is garbage, and to look for some takes as long as to parse
    try:
        return ast.parse((ROOT / path).read_text("utf-8"), str(path))
    finally:
        gc.enable()


@cache
def noted(path: Path) -> tuple[ast.AST, ...]:
    """A module's imports and functions, wherever they stand."""
    kinds = (ast.Import, ast.ImportFrom, *Function.__args__)
    return tuple(node for node in statements(tree(path)) if isinstance(node, kinds))


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """What stands in a node, without expressions: they are nine tenths of a tree."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        for name in BLOCKS.get(type(node), ()):
            yield from (inner := getattr(node, name))
            waiting += inner


def imported(path: Path) -> Iterator[str]:
    """Whatever a module imports, at its top or in a function, by its whole name."""
    for node in noted(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = ".".join(path.parts[: len(path.parts) - node.level]) if node.level else ""
            yield ".".join(name for name in (package, node.module or "") if name)


def within(folder: str) -> list[Path]:
    return [path for path in modules() if path.as_posix().startswith(f"{folder}/")]


def functions(path: Path) -> Iterator[Function]:
    return (node for node in noted(path) if isinstance(node, Function))


def test_the_top_level_is_fixed() -> None:
    assert {path.parts[0] for path in modules()} == {
        *APPS,
        *("benchmarks", "docs", "manage.py", "scripts", "tandem", "tests"),
    }


def test_it_sees_the_code() -> None:
    assert {path.parts[0] for path in modules()} >= {*APPS, "tests", "manage.py"}
    assert "annotation.answers.submission" in set(imported(Path("annotation/imports/importer.py")))
    assert {"load_batch", "run_judge", "measures", "seal_audit"} <= set(COMMANDS)


@pytest.mark.every_case
@pytest.mark.parametrize("app", APPS)
def test_imports_run_one_way(app: str) -> None:
    later = APPS[APPS.index(app) + 1 :]
    wrong = {
        f"{path} imports {name}"
        for path in within(app)
        for name in imported(path)
        if name.split(".")[0] in (*later, "tests")
    }
    assert wrong == set()


@pytest.mark.every_case
@pytest.mark.parametrize("folder", PURE)
def test_the_pure_parts_know_neither_django_nor_another_app(folder: str) -> None:
    own = folder.split("/")[0]
    foreign = {"django", "rest_framework", "celery", *APPS} - {own}
    wrong = {
        f"{path} imports {name}"
        for path in within(folder)
        for name in imported(path)
        if (name.split(".")[0] in foreign and name not in SHARED)
        or name.split(".")[:2] == [own, "models"]
    }
    assert within(folder)
    assert wrong == set()


@pytest.mark.every_case
@pytest.mark.parametrize("folder", PURE)
def test_what_the_pure_parts_import_of_their_own_app_is_pure_too(folder: str) -> None:
    waiting, seen = within(folder), set()
    while waiting:
        path = waiting.pop()
        seen.add(path)
        names = set(imported(path))
        assert not {name for name in names if name.split(".")[0] == "django"}, path
        waiting += [p for p in map(path_of, names) if p is not None and p not in seen]


@cache
def path_of(name: str) -> Path | None:
    """The file of one of our own modules."""
    path = Path(*name.split("."))
    either = (path.with_suffix(".py"), path / "__init__.py")
    return next((each for each in either if (ROOT / each).is_file()), None)


def test_the_configuration_is_imported_by_entry_points_only() -> None:
    wrong = {
        f"{path} imports {name}"
        for path in modules()
        for name in imported(path)
        if name.split(".")[0] == "config" and path.parts[0] not in WITH_CONFIG
    }
    assert wrong == set()


def test_no_function_is_longer_than_a_page() -> None:
    lengths = {
        f"{path}: {node.name}": (node.end_lineno or 0) - node.lineno + 1
        for path in modules()
        for node in functions(path)
    }
    assert {name: n for name, n in lengths.items() if n > LONGEST_FUNCTION} == {}


def test_every_test_asserts_something() -> None:
    """By itself, or through a function of the tests that does."""
    tests = [path for path in modules() if path.parts[0] == "tests"]
    bodies: dict[str, list[ast.AST]] = {}
    for path in tests:
        for node in functions(path):
            bodies.setdefault(node.name, []).append(node)
    asserting = {name for name, nodes in bodies.items() if any(map(asserts, nodes))}
    while more := {
        name
        for name, nodes in bodies.items()
        if name not in asserting and any(calls(node) & asserting for node in nodes)
    }:
        asserting |= more
    idle = {
        f"{path}: {node.name}"
        for path in tests
        if path.name.startswith("test_")
        for node in functions(path)
        if node.name.startswith("test_") and not asserts(node) and not calls(node) & asserting
    }
    assert idle == set()


@cache
def asserts(node: ast.AST) -> bool:
    """Whether a test can fail of itself: an assert, or a call that raises."""
    return any(isinstance(each, ast.Assert) for each in statements(node)) or bool(
        calls(node) & RAISING
    )


@cache
def calls(node: ast.AST) -> frozenset[str]:
    made = (each.func for each in ast.walk(node) if isinstance(each, ast.Call))
    names = (getattr(function, "attr", getattr(function, "id", "")) for function in made)
    return frozenset(names)


def test_migrations_are_up_to_date(db: None) -> None:
    out = io.StringIO()
    call_command("makemigrations", check=True, dry_run=True, stdout=out)
    assert out.getvalue() == "No changes detected\n"


@pytest.mark.every_case
@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str) -> None:
    command = load_command_class(get_commands()[name], name)
    text = command.create_parser("manage.py", name).format_help()
    assert command.help
    assert " ".join(command.help.split()) in " ".join(text.split())


def test_no_text_of_ours_names_a_place_on_a_machine() -> None:
    homes = ("/ho" + "me/", "/Us" + "ers/", "/ro" + "ot/")
    wrong = {
        str(path)
        for path in modules()
        if any(home in (ROOT / path).read_text("utf-8") for home in homes)
    }
    assert wrong == set()


def test_the_pure_parts_of_analysis_import_each_other_relatively() -> None:
    """So that a wheel can carry them under another name."""
    folders = [folder for folder in PURE if folder.startswith("analysis/")]
    singles = [Path(f"analysis/{name}.py") for name in ("document", "types", "version")]
    absolute = {
        path
        for path in chain(singles, *map(within, (*folders, "analysis/labels_file")))
        for node in noted(path)
        if isinstance(node, ast.ImportFrom) and not node.level
        if (node.module or "").split(".")[0] == "analysis"
    }
    assert absolute == set()
