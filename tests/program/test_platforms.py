"""The library runs where Python does; the site says what it wants where it cannot run."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tandem.program.main import main
from tandem.verbs import TREE
from tests.program.labels import file_of, rows

OF_FILES = {"report", "verify", "gate"}
STARTING = sorted(
    {"serve", "worker", "migrate", "work", *(v.name for v in TREE if v.name not in OF_FILES)}
)


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    # `serve` and `worker` set variables for the process that they become.
    monkeypatch.setattr(os, "environ", dict(os.environ))


@pytest.mark.usefixtures("windows")
class TestOnWindows:
    @pytest.mark.every_case
    @pytest.mark.parametrize("verb", [*STARTING, "report --campaign study", "load_batch"])
    def test_every_verb_that_starts_the_site_names_wsl_and_a_container_in_one_line(
        self, verb: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(verb.split()) == 1
        shown = capsys.readouterr()
        (line,) = shown.err.splitlines()
        assert "WSL" in line
        assert "container" in line
        assert shown.out == ""

    def test_a_report_of_a_file_runs(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["report", str(file_of(tmp_path, rows())), "--format", "md"]) == 0
        assert "Krippendorff" in capsys.readouterr().out

    def test_the_tree_and_the_version_are_shown(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["--help"]) == 0
        assert main(["--version"]) == 0
        assert capsys.readouterr().err == ""
