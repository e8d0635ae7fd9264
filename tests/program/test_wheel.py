"""The wheel holds library and site, and either runs in any folder, beside the user's code."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterable
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.cast import ROOT
from tests.program.labels import file_of, rows

pytestmark = [pytest.mark.once, pytest.mark.processes]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
APPS = ("analysis", "annotation", "audit", "config", "datasets", "judging")
LIBRARY = "import json, sys, tandem; found = tandem.report(sys.argv[1], resamples=20); "


def needed(extras: tuple[str, ...] = ()) -> list[Requirement]:
    lines = [*PROJECT["dependencies"]]
    for extra in extras:
        lines += PROJECT["optional-dependencies"][extra]
    return [Requirement(line) for line in lines]


def with_what_they_need(wanted: Iterable[Requirement]) -> set[str]:
    """The names of distributions and of all that they need in turn, extras included."""
    waiting, found = [(r.name, extra) for r in wanted for extra in ("", *r.extras)], set()
    while waiting:
        name, extra = waiting.pop()
        if (canonicalize_name(name), extra) in found:
            continue
        found.add((canonicalize_name(name), extra))
        for line in distribution(name).requires or ():
            needs = Requirement(line)
            if needs.marker is None or needs.marker.evaluate({"extra": extra}):
                waiting += [(needs.name, each) for each in ("", *needs.extras)]
    return {name for name, _ in found}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (found,) = folder.glob("tandem_eval-*.whl")
    return found


class Environment:
    """A virtual environment with the wheel and what it needs, of what is installed here."""

    def __init__(self, folder: Path, wheel: Path, extras: tuple[str, ...] = ()) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        self.python = folder / "bin" / "python"
        (self.packages,) = (folder / "lib").glob("python*/site-packages")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(self.packages)
        here = Path(str(distribution("numpy").locate_file("")))
        for name in with_what_they_need(needed(extras)):
            for file in distribution(name).files or ():
                top = file.parts[0]
                if top != ".." and not (self.packages / top).exists():
                    (self.packages / top).symlink_to(here / top)

    def run(
        self, *words: str, cwd: Path, data: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        kept = ("PATH", "HOME", "LANG", "LC_ALL")
        env = {name: os.environ[name] for name in kept if name in os.environ}
        env["XDG_DATA_HOME"] = str(cwd / "home")
        if data:
            env["TANDEM_DATA_DIR"] = str(data)
        return subprocess.run(
            [self.python, *words], cwd=cwd, env=env, capture_output=True, text=True, check=False
        )

    def files(self) -> set[str]:
        found = (p.relative_to(self.packages) for p in self.packages.rglob("*"))
        return {str(path) for path in found if "__pycache__" not in path.parts}


@pytest.fixture(scope="module")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return Environment(tmp_path_factory.mktemp("bare"), wheel)


@pytest.fixture(scope="module")
def server(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return Environment(tmp_path_factory.mktemp("server"), wheel, ("server",))


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A user's folder, whose modules have the names of ours."""
    folder = tmp_path / "mine"
    (folder / "analysis").mkdir(parents=True)
    (folder / "analysis" / "__init__.py").write_text("NAME = 'my analysis'\n", "utf-8")
    for name in ("config", "datasets"):
        (folder / f"{name}.py").write_text(f"NAME = 'my {name}'\n", "utf-8")
    return folder


def test_the_wheel_has_one_package_and_the_site_within_it(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].partition("-")[0] for name in names} == {"tandem", "tandem_eval"}
    assert "tandem/_site/__init__.py" not in names
    held = {name.split("/")[2] for name in names if name.startswith("tandem/_site/")}
    assert held == {*APPS, "locale", "manage.py", "requirements.lock", "static", "templates"}
    for wanted in (
        "tandem/program/main.py",
        "tandem/_site/analysis/migrations/0001_frozen_reports.py",
        "tandem/_site/locale/de/LC_MESSAGES/django.mo",
        "tandem/_site/annotation/protocols/answer_rating/guideline.md",
        "tandem/protocols/shipped/question-typing.toml",
        "tandem/statistics/estimate.toml",
        "tandem/py.typed",
    ):
        assert wanted in names


def test_what_the_site_is_pinned_to_is_within_the_ranges_of_the_package() -> None:
    every = {canonicalize_name(r.name): r for r in needed((*PROJECT["optional-dependencies"],))}
    pinned = {
        canonicalize_name(found[1]): found[2]
        for line in (ROOT / "requirements.txt").read_text("utf-8").splitlines()
        if (found := re.match(r"([\w.-]+)(?:\[[\w,]+\])?==([\w.]+)", line))
    }
    assert set(pinned) == set(every)
    outside = {n: v for n, v in pinned.items() if not every[n].specifier.contains(v)}
    assert outside == {}


class TestTheLibrary:
    def test_a_report_needs_no_site_and_hides_nothing_of_the_user(
        self, bare: Environment, mine: Path
    ) -> None:
        path = file_of(mine, rows())
        code = LIBRARY + (
            "import analysis, config, datasets; "
            "print(json.dumps([str(found), analysis.NAME, config.NAME, datasets.NAME, "
            "'django' in sys.modules]))"
        )
        done = bare.run("-c", code, str(path), cwd=mine)
        assert done.returncode == 0, done.stderr
        shown, *others = json.loads(done.stdout)
        assert shown.startswith("Report(1 variable, 3 people, 2 judges")
        assert others == ["my analysis", "my config", "my datasets", False]

    def test_the_program_reports_files_and_names_what_the_site_needs(
        self, bare: Environment, mine: Path
    ) -> None:
        reported = bare.run("-m", "tandem", "report", str(file_of(mine, rows())), cwd=mine)
        assert reported.returncode == 0, reported.stderr
        refused = bare.run("-m", "tandem", "demo", cwd=mine)
        assert refused.returncode == 1
        assert "pip install 'tandem-eval[server]'" in refused.stderr
        assert "Traceback" not in refused.stderr


class TestTheSite:
    @pytest.mark.long
    def test_a_demo_runs_in_a_folder_with_modules_of_our_names(
        self, server: Environment, mine: Path
    ) -> None:
        before = server.files()
        done = server.run("-m", "tandem", "demo", "--no-serve", "--data", "d", cwd=mine)
        assert done.returncode == 0, done.stderr
        assert f"The data are in {mine / 'd'}." in done.stderr
        assert (mine / "d" / "tandem.sqlite3").exists()
        assert server.files() == before

    def test_its_pages_load_without_other_extras_and_each_module_under_one_name(
        self, server: Environment, mine: Path
    ) -> None:
        code = """\
import collections, os, sys
os.environ["DEBUG"] = "1"
from tandem.program.site import start
start()
import config.urls
files = collections.defaultdict(set)
for name, module in list(sys.modules.items()):
    if (file := getattr(module, "__file__", None)) and "tandem" in file:
        files[file].add(module.__name__)
print(sorted(names for names in map(sorted, files.values()) if len(names) > 1))
print(config.__file__, len(files))
print({"psycopg", "redis", "krippendorff", "statsmodels", "typst"} & set(sys.modules) or "none")
"""
        done = server.run("-c", code, cwd=mine, data=mine / "d")
        assert done.returncode == 0, done.stderr
        doubled, place, others = done.stdout.splitlines()
        assert others == "none"
        assert doubled == "[]"
        assert place.startswith(str(server.packages / "tandem" / "_site" / "config"))
        assert int(place.split()[-1]) > 300
