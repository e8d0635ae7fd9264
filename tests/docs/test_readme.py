"""The README is short, and what it names exists: commands, targets, pages, protocols.

So do CITATION.cff and CONTRIBUTING.md, and the README's Python runs.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from annotation.protocols import PROTOCOLS
from tandem.version import VERSION
from tests.cast import ROOT
from tests.docs.markdown import blocks, inline
from tests.docs.test_commands import MAKE, OURS, misunderstood

README = (ROOT / "README.md").read_text("utf-8")
LINES = [line for block in blocks(README, "") for line in block.splitlines()]
COMMANDS = [match["rest"] for line in LINES if (match := OURS.search(line))]


def test_the_readme_has_fewer_than_120_lines() -> None:
    assert len(README.splitlines()) < 120


def test_setting_up_ones_own_study_takes_ten_lines() -> None:
    (own,) = [block for block in blocks(README, "") if "tandem campaign create" in block]
    assert len(own.splitlines()) == 10


@pytest.mark.every_case
@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_line_is_accepted_by_its_command(line: str) -> None:
    assert misunderstood(line) is None


def test_every_make_target_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    named = {match["target"] for text in (*LINES, *inline(README)) for match in MAKE.finditer(text)}
    assert {"demo", "test", "serve", "docs"} <= named <= targets


def test_every_linked_page_and_picture_exists() -> None:
    linked = re.findall(r"\]\(([^)]+)\)", README)
    assert len(linked) > 10
    assert [path for path in linked if not (ROOT / path).is_file()] == []


def test_every_protocol_is_listed() -> None:
    assert set(re.findall(r"^\| `([\w-]+)` \|", README, re.MULTILINE)) == set(PROTOCOLS)


def test_the_six_lines_of_python_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (source,) = blocks(README, "python")
    assert len([line for line in source.splitlines() if line]) == 6
    (columns,) = re.findall(r"# (item, .*)$", source, re.MULTILINE)
    answers = ("yes,yes,yes,yes", "no,no,no,no", "yes,no,yes,yes", "no,no,no,yes")
    rows = [f"r{n},q{n},{answers[n % 4]}" for n in range(40)]
    lines = [columns.replace(", ", ","), *rows]
    (tmp_path / "labels.csv").write_text("\n".join(lines), "utf-8")
    monkeypatch.chdir(tmp_path)
    exec(compile(source, "README.md", "exec"), {})
    alpha, kappa, answer = capsys.readouterr().out.splitlines()
    assert alpha.startswith("Estimate(0.")
    assert kappa.startswith("Estimate(0.")
    assert answer in ("shown", "shown-worse", "not-shown")
    assert "Krippendorff" in (tmp_path / "report.html").read_text("utf-8")


def cited(key: str) -> str:
    (value,) = re.findall(rf"^{key}: (.+)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.M)
    return value.strip('"')


def test_the_citation_is_valid() -> None:
    check = Path(sys.executable).with_name("check-jsonschema")
    schema = ("--builtin-schema", "vendor.citation-file-format")
    done = subprocess.run([check, *schema, ROOT / "CITATION.cff"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_the_citation_names_the_newest_release_and_its_day() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    newest = re.findall(r"^## (\d+\.\d+\.\d+) — (\d{4}-\d{2}-\d{2})$", changelog, re.MULTILINE)[0]
    assert (cited("version"), cited("date-released")) == newest
    assert cited("version") == VERSION


def test_the_citation_names_the_licence_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert cited("license") == project["license"]


def test_what_contributors_are_told_to_read_and_run_exists() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    linked = [path.partition("#")[0] for path in re.findall(r"\]\(([^)]+)\)", page)]
    assert len(linked) > 8
    assert [path for path in linked if not (ROOT / path).is_file()] == []
    lines = [line for block in blocks(page, "") for line in block.splitlines()]
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    named = {match["target"] for line in lines for match in MAKE.finditer(line)}
    assert {"install-dev", "check", "test"} == named <= set(targets)
