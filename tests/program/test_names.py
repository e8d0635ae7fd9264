"""Importing any module of the library hides none of its functions, and needs no framework."""

from __future__ import annotations

import json
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import tandem
from tests.cast import ROOT
from tests.program.labels import file_of, rows

pytestmark = pytest.mark.once
FOUR = ("agreement", "alternative_test", "measures", "report")
NOT_IMPORTED = ("tandem.crosscheck.libraries", "tandem.__main__", "tandem.program")
LIBRARY = sorted(
    found.name
    for found in pkgutil.walk_packages([str(ROOT / "tandem")], "tandem.")
    if not found.name.startswith(NOT_IMPORTED)
)
CALLS = """\
import importlib, json, sys
for name in json.loads(sys.argv[1]):
    importlib.import_module(name)
import tandem
labels = sys.argv[2]
found = [
    tandem.report(labels, resamples=20),
    tandem.agreement(labels, resamples=20),
    tandem.alternative_test(labels, judge="llama"),
    tandem.measures(labels, resamples=20),
]
foreign = {"django", "rest_framework", "celery", "audit", "datasets", "annotation", "judging"}
print(json.dumps([[type(each).__name__ for each in found], sorted(foreign & set(sys.modules))]))
"""


def test_the_four_functions_work_after_every_module_was_imported(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CALLS, json.dumps(LIBRARY), str(file_of(tmp_path, rows()))],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    kinds, foreign = json.loads(done.stdout)
    assert len(kinds) == len(FOUR)
    assert foreign == []
    assert len(LIBRARY) > 150


def test_no_module_has_the_name_of_a_public_function() -> None:
    assert set(FOUR) < set(tandem.__all__)
    children = {found.name for found in pkgutil.iter_modules(tandem.__path__)}
    assert not children & (set(tandem.__all__) | set(FOUR))
