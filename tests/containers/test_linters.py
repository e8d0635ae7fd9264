"""hadolint and the Compose schema find nothing in our files, and something in broken ones."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cast import ROOT

BIN = Path(sys.executable).parent
HADOLINT = [str(BIN / "hadolint"), "--no-color"]
COMPOSE = [str(BIN / "check-jsonschema"), "--builtin-schema", "vendor.compose-spec"]


def lint(command: list[str], path: Path) -> subprocess.CompletedProcess[str]:
    if not Path(command[0]).exists():
        pytest.skip(f"{command[0]} is not installed; make install-dev installs it")
    return subprocess.run([*command, str(path)], capture_output=True, text=True, check=False)


def test_hadolint_finds_nothing_in_the_dockerfile() -> None:
    done = lint(HADOLINT, ROOT / "Dockerfile")
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("RUN apt-get install -y gcc", "DL3008"),
        ("RUN cd x", "SC2164"),
        ("RUNN x", "Dockerfile:2:4"),
    ],
)
def test_hadolint_fails_on_a_broken_one(tmp_path: Path, line: str, rule: str) -> None:
    broken = tmp_path / "Dockerfile"
    broken.write_text(f"FROM python:3.11-slim-bookworm\n{line}\n")
    done = lint(HADOLINT, broken)
    assert done.returncode == 1
    assert rule in done.stdout + done.stderr


def test_compose_fits_the_schema() -> None:
    done = lint(COMPOSE, ROOT / "compose.yaml")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("restart: unless-stopped", "restarts: x"), ("read_only: true", "read_only: [1]")],
)
def test_the_schema_fails_on_a_broken_one(tmp_path: Path, right: str, wrong: str) -> None:
    text = (ROOT / "compose.yaml").read_text("utf-8")
    broken = tmp_path / "compose.yaml"
    broken.write_text(text.replace(right, wrong), "utf-8")
    assert right in text
    assert lint(COMPOSE, broken).returncode == 1
