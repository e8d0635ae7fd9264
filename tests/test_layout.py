"""All code follows the rules on imports, function size, migrations and help."""

from __future__ import annotations

import ast
import gc
import io
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import pytest
from django.core.management import call_command, get_commands, load_command_class

from tests.cast import ROOT

APPS = ("audit", "datasets", "annotation", "judging", "analysis", "config")
PURE = ("annotation/protocols", "datasets/readers", "judging/backends")
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
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
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
    """Return Tandem's Python files, relative to the root, without generated migrations."""
    folders = [path for path in ROOT.iterdir() if path.is_dir() and path.name[0] != "."]
    ours = [path for path in folders if path.name not in ("var", "node_modules")]
    found = chain(ROOT.glob("*.py"), *(folder.rglob("*.py") for folder in ours))
    return tuple(sorted(path.relative_to(ROOT) for path in found if "migrations" not in path.parts))


class Imported(NamedTuple):
    """The full name of an import, at the top of a module or in a function."""

    name: str
    is_absolute: bool  # `from` a name without leading dots


class Function(NamedTuple):
    name: str
    lines: int
    asserts: bool
    calls: frozenset[str]


class Noted(NamedTuple):
    imports: tuple[Imported, ...]
    functions: tuple[Function, ...]


def tree(path: Path) -> ast.Module:
    return ast.parse((ROOT / path).read_text("utf-8"), str(path))


@cache
def noted(path: Path) -> Noted:
    """A module's imports and functions, at any level.

    Nothing else of the syntax tree is kept: collecting garbage among all trees takes as long as
    parsing them. Calls are recorded only for tests.
    """
    gc.disable()
    try:
        nodes = list(statements(tree(path)))
        imports = tuple(name for node in nodes for name in _imported(node, path))
        kept = (node for node in nodes if isinstance(node, FUNCTION))
        return Noted(imports, tuple(_function(node, path.parts[0] == "tests") for node in kept))
    finally:
        gc.enable()


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """The statements within a node, leaving out expressions, which are nine tenths of a tree."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        for name in BLOCKS.get(type(node), ()):
            yield from (inner := getattr(node, name))
            waiting += inner


def _imported(node: ast.AST, path: Path) -> Iterator[Imported]:
    if isinstance(node, ast.Import):
        yield from (Imported(alias.name, False) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        package = ".".join(path.parts[: len(path.parts) - node.level]) if node.level else ""
        name = ".".join(name for name in (package, node.module or "") if name)
        yield Imported(name, not node.level)


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef, with_calls: bool) -> Function:
    made = calls(node) if with_calls else frozenset()
    asserts = any(isinstance(each, ast.Assert) for each in statements(node)) or bool(made & RAISING)
    return Function(node.name, (node.end_lineno or 0) - node.lineno + 1, asserts, made)


def calls(node: ast.AST) -> frozenset[str]:
    made = (each.func for each in ast.walk(node) if isinstance(each, ast.Call))
    names = (getattr(function, "attr", getattr(function, "id", "")) for function in made)
    return frozenset(names)


def imported(path: Path) -> Iterator[str]:
    """Return everything that a module imports, at its top or in a function, by full name."""
    return (each.name for each in noted(path).imports)


def within(folder: str) -> list[Path]:
    return [path for path in modules() if path.as_posix().startswith(f"{folder}/")]


def test_the_top_level_is_fixed() -> None:
    assert {path.parts[0] for path in modules()} == {
        *APPS,
        *("benchmarks", "docs", "manage.py", "scripts", "tandem", "tests"),
    }


def test_the_checks_find_the_code() -> None:
    assert {path.parts[0] for path in modules()} >= {*APPS, "tests", "manage.py"}
    assert "annotation.answers.submission" in set(imported(Path("annotation/imports/importer.py")))
    assert {"load_batch", "run_judge", "measures", "seal_audit"} <= set(COMMANDS)


def test_one_internal_function_of_allauth_is_used_and_in_one_place() -> None:
    names = ((path, name) for app in APPS for path in within(app) for name in imported(path))
    assert [
        (path.as_posix(), name)
        for path, name in names
        if name.startswith("allauth.") and ".internal" in name
    ] == [("annotation/people/second_factor.py", "allauth.account.internal.flows.login")]


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
        if name.split(".")[0] in foreign or name.split(".")[:2] == [own, "models"]
    }
    assert within(folder)
    assert wrong == set()


@pytest.mark.every_case
@pytest.mark.parametrize("folder", PURE)
def test_the_pure_parts_import_only_pure_parts_of_their_own_app(folder: str) -> None:
    waiting, seen = within(folder), set()
    while waiting:
        path = waiting.pop()
        seen.add(path)
        names = set(imported(path))
        assert not {name for name in names if name.split(".")[0] == "django"}, path
        waiting += [p for p in map(path_of, names) if p is not None and p not in seen]


@cache
def path_of(name: str) -> Path | None:
    """Return the file of one of Tandem's modules."""
    path = Path(*name.split("."))
    either = (path.with_suffix(".py"), path / "__init__.py")
    return next((each for each in either if (ROOT / each).is_file()), None)


def test_the_configuration_is_imported_by_entry_points_only() -> None:
    wrong = {
        f"{path} imports {name}"
        for path in modules()
        if path.parts[0] not in WITH_CONFIG
        for name in imported(path)
        if name.split(".")[0] == "config"
    }
    assert wrong == set()


# Python's modules and functions that exist only on POSIX, so the library has to do without.
POSIX_MODULES = {
    *("fcntl", "grp", "posix", "pty", "pwd", "resource", "spwd", "syslog", "termios", "tty"),
}
POSIX_NAMES = {
    "os": {
        *("chown", "fork", "forkpty", "getegid", "geteuid", "getgid", "getloadavg", "getpgid"),
        *("getuid", "killpg", "mkfifo", "nice", "register_at_fork", "sched_getaffinity"),
        *("setgid", "setpgid", "setsid", "setuid", "statvfs", "sysconf", "uname"),
        *("wait3", "wait4"),
    },
    "signal": {
        *("SIGALRM", "SIGCHLD", "SIGHUP", "SIGKILL", "SIGQUIT", "SIGUSR1", "SIGUSR2"),
        *("alarm", "pause", "pthread_sigmask", "setitimer", "sigwait"),
    },
}


def posix_only(module: ast.Module) -> set[str]:
    """Return what a module imports or names that exists only on POSIX, at any level."""
    found: set[str] = set()
    for node in ast.walk(module):
        match node:
            case ast.Import(names=names):
                found |= {name.name for name in names} & POSIX_MODULES
            case ast.ImportFrom(module=home, names=names):
                named = {name.name for name in names} & POSIX_NAMES.get(home or "", set())
                found |= {f"{home}.{name}" for name in named} | ({home or ""} & POSIX_MODULES)
            case ast.Attribute(value=ast.Name(id=home), attr=name) if name in POSIX_NAMES.get(
                home, set()
            ):
                found.add(f"{home}.{name}")
    return found


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("source", "named"),
    [
        ("def lock():\n    import fcntl", "fcntl"),
        ("from resource import getrusage", "resource"),
        ("import os\nif os.fork() == 0: pass", "os.fork"),
        ("from os import fork as split", "os.fork"),
        ("import signal\nsignal.signal(signal.SIGHUP, None)", "signal.SIGHUP"),
    ],
)
def test_what_exists_only_on_posix_is_found(source: str, named: str) -> None:
    assert posix_only(ast.parse(source)) == {named}


def test_the_library_uses_nothing_that_exists_only_on_posix() -> None:
    library = [path for path in within("tandem") if path.parts[1] != "program"]
    assert len(library) > 100
    wrong = {str(path): found for path in library if (found := posix_only(tree(path)))}
    assert wrong == {}


def test_no_function_is_longer_than_a_page() -> None:
    lengths = {
        f"{path}: {each.name}": each.lines for path in modules() for each in noted(path).functions
    }
    assert {name: n for name, n in lengths.items() if n > LONGEST_FUNCTION} == {}


def test_every_test_asserts_something() -> None:
    """A test asserts itself, or calls a function of the tests that asserts."""
    tests = [path for path in modules() if path.parts[0] == "tests"]
    named: dict[str, list[Function]] = {}
    for path in tests:
        for each in noted(path).functions:
            named.setdefault(each.name, []).append(each)
    asserting = {name for name, found in named.items() if any(each.asserts for each in found)}
    while more := {
        name
        for name, found in named.items()
        if name not in asserting and any(each.calls & asserting for each in found)
    }:
        asserting |= more
    idle = {
        f"{path}: {each.name}"
        for path in tests
        if path.name.startswith("test_")
        for each in noted(path).functions
        if each.name.startswith("test_") and not each.asserts and not each.calls & asserting
    }
    assert idle == set()


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


def test_no_file_names_an_absolute_path() -> None:
    homes = ("/ho" + "me/", "/Us" + "ers/", "/ro" + "ot/")
    wrong = {
        str(path)
        for path in modules()
        if any(home in (ROOT / path).read_text("utf-8") for home in homes)
    }
    assert wrong == set()
