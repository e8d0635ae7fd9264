"""The map of the code matches the code: its packages, its imports, and every named step."""

from __future__ import annotations

import re
from functools import reduce
from importlib import import_module
from pathlib import Path

import pytest

from docs._reference import architecture
from tests.cast import ROOT
from tests.docs.markdown import inline, read
from tests.test_layout import APPS, modules

PAGE = read("architecture.md")
STEP = re.compile(rf"(?:{'|'.join(APPS)})(?:\.\w+)+")
JOURNEYS = PAGE.partition("## Five journeys")[2].partition("## The packages")[0]


def exists(name: str) -> bool:
    """Whether a dotted name is a module, or something in one."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            module = import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        try:
            reduce(getattr, parts[length:], module)
        except AttributeError:
            return False
        return True
    return False


def test_the_documented_packages_and_imports_match_the_code() -> None:
    again = "run python -m docs._reference.architecture"
    assert architecture.written(PAGE) == PAGE, again
    assert len(PAGE.splitlines()) < 400


def test_a_number_of_lines_stays_until_it_is_off_by_a_tenth() -> None:
    real = architecture.count_lines(ROOT / "audit")
    (row,) = re.findall(r"^\| `audit/` .*\| (?=[\d,]+ \|$)", PAGE, re.MULTILINE)

    def rewritten(lines: int) -> str:
        page = re.sub(rf"{re.escape(row)}.*", lambda _: f"{row}{lines:,} |", PAGE)
        return architecture.written(page).partition(row)[2].partition(" |")[0]

    near = (real - real // 12, real + real // 12)
    assert [rewritten(lines) for lines in near] == [f"{lines:,}" for lines in near]
    assert int(rewritten(real // 2).replace(",", "")) == round(real, -2)


@pytest.mark.every_case
@pytest.mark.parametrize("journey", re.findall(r"^### (.+)$", JOURNEYS, re.MULTILINE))
def test_every_step_of_a_journey_exists(journey: str) -> None:
    steps = JOURNEYS.partition(f"### {journey}")[2].partition("\n### ")[0]
    names = [name for name in inline(steps) if STEP.fullmatch(name)]
    scripts = [name for name in inline(steps) if name.startswith("static/")]
    assert len(names) > 5
    assert [name for name in names if not exists(name)] == []
    assert [name for name in scripts if not (ROOT / name).is_file()] == []


def test_there_are_five_journeys() -> None:
    assert len(re.findall(r"^### ", JOURNEYS, re.MULTILINE)) == 5


def test_a_name_that_does_not_exist_is_detected() -> None:
    assert exists("annotation.answers.submission.submit")
    assert not exists("annotation.answers.submission.nothing")
    assert not exists("annotation.nowhere.submit")


def of_the_apps() -> list[Path]:
    return [path for path in modules() if path.parts[0] in APPS]


def test_every_package_and_module_has_a_first_docstring_line() -> None:
    silent = {
        str(path)
        for path in of_the_apps()
        if not architecture.first_line(ROOT / path) and path.parent.name != "commands"
    }
    assert {path for path in silent if "/templatetags/" not in path} == set()


def test_names_in_module_docstrings_exist() -> None:
    wrong = {
        f"{path}: {name}"
        for path in of_the_apps()
        for name in re.findall(r"`([\w.]+)`", architecture.docstring(ROOT / path))
        if STEP.fullmatch(name) and not exists(name)
    }
    assert wrong == set()
