"""Mutants in functions that are already imported."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from scripts.mutants.patching import Functions

CODE = '''\
"""A module."""

from functools import cache

LEAST = 3


def passes(points, least=LEAST):
    return points >= least


class Exam:
    least = 4

    def passed(self, points):
        return passes(points, self.least)

    @property
    def half(self):
        return self.least / 2


@cache
def grades(points):
    def grade(each):
        return each + 1

    return [grade(each) for each in points]


def counter():
    seen = 0

    def count():
        nonlocal seen
        seen += 1
        return seen

    return count


running = counter()
'''


@pytest.fixture
def exams(tmp_path: Path) -> Iterator[ModuleType]:
    file = tmp_path / "exams.py"
    file.write_text(CODE, "utf-8")
    spec = importlib.util.spec_from_file_location("exams", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["exams"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["exams"]


def put(root: Path, before: str, after: str) -> bool:
    assert before in CODE
    return Functions(root).patch("exams.py", CODE, CODE.replace(before, after))


def test_an_imported_function_behaves_like_the_mutant(exams: ModuleType, tmp_path: Path) -> None:
    held = exams.passes
    assert put(tmp_path, "points >= least", "points > least")
    assert not held(3)
    assert exams.passes(4)


def test_a_method_of_an_existing_object_behaves_like_the_mutant(
    exams: ModuleType, tmp_path: Path
) -> None:
    exam = exams.Exam()
    assert exam.half == 2
    assert put(tmp_path, "self.least / 2", "self.least * 2")
    assert exam.half == 8


def test_code_inside_a_decorated_function_is_mutated(exams: ModuleType, tmp_path: Path) -> None:
    assert put(tmp_path, "each + 1", "each - 1")
    assert exams.grades((1, 2)) == [0, 1]


def test_an_inner_function_that_exists_already_is_mutated(
    exams: ModuleType, tmp_path: Path
) -> None:
    assert exams.running() == 1
    assert put(tmp_path, "seen += 1", "seen -= 1")
    assert exams.running() == 0


def test_a_mutant_that_moves_lines_changes_nothing_else(exams: ModuleType, tmp_path: Path) -> None:
    assert put(tmp_path, "    return points >= least\n", "\n\n    return points > least\n")
    assert not exams.passes(3)
    assert exams.Exam().passed(5)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("LEAST = 3", "LEAST = 4"),
        ("least=LEAST", "least=2"),
        ("    least = 4", "    least = 5"),
        ("@cache\n", ""),
        ("        nonlocal seen\n        seen += 1\n        return seen", "        return 1"),
        ("A module", "A module"),
    ],
    ids=["constant", "default", "class", "decorator", "variables of the outer one", "nothing"],
)
@pytest.mark.every_case
def test_a_mutant_that_needs_a_new_import_is_refused(
    before: str, after: str, exams: ModuleType, tmp_path: Path
) -> None:
    assert not put(tmp_path, before, after)


def test_a_module_not_yet_imported_is_left_to_its_import(tmp_path: Path) -> None:
    assert not put(tmp_path, "points >= least", "points > least")
