"""The notebooks of the documentation run from their first cell to their last, and show results."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tandem.client import Client
from tests.cast import ROOT, write_lines
from tests.client.conftest import token_of
from tests.client.study import BATCH
from tests.patience import PATIENCE
from tests.serving.site import Site

pytestmark = [pytest.mark.processes, pytest.mark.once]
NOTEBOOKS = ROOT / "docs" / "notebooks"


@pytest.fixture(scope="module")
def token(site: Site) -> str:
    """The token of a researcher of their own, since an account may upload six times an hour."""
    site.manage(("person", "nora", "--role", "researcher"))
    return token_of(site, "nora")


@pytest.fixture(scope="module")
def client(site: Site, token: str) -> Client:
    return Client(site.url, token, progress=False)


@pytest.mark.long
def test_the_code_on_the_page_of_the_client_runs_unchanged(
    site: Site, token: str, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs" / "how-to" / "client.md").read_text("utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TANDEM_SITE", site.url)
    monkeypatch.setenv("TANDEM_TOKEN", token)
    write_lines(tmp_path / "pilot.jsonl", BATCH)
    names: dict[str, Any] = {}
    exec(block, names)
    assert names["run"].json["done"] == len(BATCH)
    assert len(names["labels"]) == 2 * len(BATCH)
    assert names["snapshot"].key
    assert (tmp_path / "pilot.zip").exists()


def run(name: str, folder: Path, **settings: str) -> list[dict[str, str]]:
    """Run a notebook in a process of its own, in an empty folder. Return what its cells show."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.client.notebook", NOTEBOOKS / f"{name}.ipynb"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **settings},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    shown: list[dict[str, str]] = json.loads(done.stdout)
    assert all(shown[:-1]), "a cell shows nothing"
    return shown


def with_text(shown: list[dict[str, str]], text: str) -> dict[str, str]:
    """Return the only cell that shows an object whose text begins so."""
    (found,) = [each for each in shown if each.get("text", "").startswith(text)]
    return found


def test_every_notebook_is_tested_linked_and_without_outputs() -> None:
    """Outputs are stripped, so that a file changes only with its text; here they are made anew."""
    page = (NOTEBOOKS / "index.md").read_text("utf-8")
    files = sorted(NOTEBOOKS.glob("*.ipynb"))
    assert [each.stem for each in files] == ["a-site", "judge-against-people", "report-of-a-frame"]
    for file in files:
        assert f"({file.name})" in page
        for cell in json.loads(file.read_text("utf-8"))["cells"]:
            assert not cell.get("outputs")
            assert cell.get("execution_count") is None


def test_the_notebook_of_a_frame_reports_agreement(tmp_path: Path) -> None:
    shown = run("report-of-a-frame", tmp_path)
    assert "<iframe" in with_text(shown, "Report(1 variable, 3 people")["html"]
    assert '<span class="interval">' in with_text(shown, "Estimate(")["html"]
    assert "<table" in with_text(shown, "Variable('answerable'")["html"]
    assert with_text(shown, "Figure('coverage'")["svg"].startswith("<svg")
    assert any(r"\begin{tabular}" in each.get("printed", "") for each in shown)
    assert "ordinal" in with_text(shown, "Variable('rating'")["text"]
    assert shown[-1]["text"] == "True"


def test_the_notebook_of_a_judge_finds_the_better_one(tmp_path: Path) -> None:
    shown = run("judge-against-people", tmp_path)
    tests = with_text(shown, "{'careful'")["text"]
    careful, _, hasty = tests.partition("'hasty'")
    assert "answer='shown'" in careful
    assert "answer='not-shown'" in hasty
    assert "<table" in with_text(shown, "AltTest(")["html"]
    assert {each["text"] for each in shown if "svg" in each} == {
        "Figure('confusion')",
        "Figure('epsilon')",
    }
    assert (tmp_path / "epsilon.svg").read_text("utf-8").startswith("<?xml")


@pytest.fixture(scope="module")
def settings(site: Site, token: str) -> dict[str, str]:
    return {"TANDEM_SITE": site.url, "TANDEM_TOKEN": token}


@pytest.mark.long
def test_the_notebook_of_a_site_sets_up_a_study(
    settings: dict[str, str], client: Client, tmp_path: Path
) -> None:
    _assert_study(run("a-site", tmp_path, **settings), client, settings["TANDEM_TOKEN"])
    assert (tmp_path / "lighthouses.zip").exists()


@pytest.mark.long
def test_the_notebook_of_a_site_may_be_run_again(
    settings: dict[str, str], client: Client, tmp_path: Path
) -> None:
    for _ in range(2):
        _assert_study(run("a-site", tmp_path, **settings), client, settings["TANDEM_TOKEN"])


def _assert_study(shown: list[dict[str, str]], client: Client, token: str) -> None:
    report = with_text(shown, "Report(1 variable, 3 people, 1 judge")
    assert "<iframe" in report["html"]
    assert not [each for each in shown if token in str(each)]
    assert [each.name for each in client.batches()].count("lighthouses") == 1
    campaign = client.campaign("lighthouses")
    runs: list[Any] = list(client.all("runs/", campaign=campaign.id))
    assert [each["state"] for each in runs] == ["done"]
    assert runs[0]["done"] == 10
    assert len(list(client.all("reports/", campaign=campaign.id))) == 1
