"""What .dockerignore lets in, by Docker's rules."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.containers.context import context_files, ignore_patterns, is_ignored
from tests.cast import ROOT

APPS = {"analysis", "annotation", "audit", "config", "datasets", "judging"}
ENTERING = APPS | {"static", "tandem", "templates"}
FILES = {"CHANGELOG.md", "LICENSE", "manage.py", "requirements.lock", "requirements-vllm.lock"}


def own_patterns() -> list[str]:
    return ignore_patterns((ROOT / ".dockerignore").read_text("utf-8"))


@pytest.mark.parametrize(
    ("path", "patterns", "outside"),
    [
        ("a.txt", [], False),
        ("a.txt", ["*.txt"], True),
        ("b/a.txt", ["*.txt"], False),
        ("b/a.txt", ["**/*.txt"], True),
        ("a.txt", ["**/*.txt"], True),
        ("b/c/a.txt", ["b"], True),
        ("b/c/a.txt", ["/b/"], True),
        ("b/c/a.txt", ["*", "!b"], False),
        ("b/c/a.txt", ["*", "!b", "b/c"], True),
        ("b/c/a.txt", ["!b", "*"], True),
        ("b/a.txt", ["b/?.txt"], True),
        ("b/aa.txt", ["b/?.txt"], False),
        ("b+c", ["b.c"], False),
        ("d/__pycache__/x.pyc", ["*", "!d", "**/__pycache__"], True),
    ],
)
def test_the_last_matching_pattern_decides(path: str, patterns: list[str], outside: bool) -> None:
    assert is_ignored(path, patterns) is outside


def test_comments_and_blank_lines_are_not_patterns() -> None:
    assert ignore_patterns("# why\n\n *.txt \n!a.txt\n") == ["*.txt", "!a.txt"]


def test_the_context_lists_exactly_the_files_that_are_let_in(tmp_path: Path) -> None:
    for name in ("app/a.py", "app/b/__pycache__/a.pyc", "var/db.sqlite3", "manage.py", ".env"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    patterns = ["*", "!app", "!manage.py", "**/__pycache__"]
    assert context_files(tmp_path, patterns) == {"app/a.py", "manage.py"}


def test_our_own_context_contains_the_program_and_nothing_else() -> None:
    files = context_files(ROOT, own_patterns())
    assert {path.split("/")[0] for path in files} == ENTERING | FILES
    assert not [path for path in files if path.endswith(".pyc")]


def test_every_folder_with_a_django_app_is_let_in() -> None:
    from config.settings import INSTALLED_APPS

    own = {name.split(".")[0] for name in INSTALLED_APPS if (ROOT / name.split(".")[0]).is_dir()}
    assert {"audit", "datasets", "annotation", "judging", "analysis"} <= own <= ENTERING


@pytest.mark.parametrize(
    "path", [".env", "judges.env", ".git/config", "var/secret_key", "tandem.sqlite3", ".venv/x.py"]
)
def test_keys_data_and_histories_stay_outside(path: str) -> None:
    assert is_ignored(path, own_patterns())
