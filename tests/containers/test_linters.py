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


def lint(command: list[str], *paths: Path) -> subprocess.CompletedProcess[str]:
    if not Path(command[0]).exists():
        pytest.skip(f"{command[0]} is not installed; make install-dev installs it")
    words = [*command, *map(str, paths)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


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
def test_hadolint_fails_on_a_broken_dockerfile(tmp_path: Path, line: str, rule: str) -> None:
    broken = tmp_path / "Dockerfile"
    broken.write_text(f"FROM python:3.11-slim-bookworm\n{line}\n")
    done = lint(HADOLINT, broken)
    assert done.returncode == 1
    assert rule in done.stdout + done.stderr


BROKEN = {"restart: unless-stopped": "restarts: x", "read_only: true": "read_only: [1]"}


def test_our_compose_file_fits_the_schema_and_broken_ones_do_not(tmp_path: Path) -> None:
    """All in one run, since a start takes seconds."""
    ours, broken = ROOT / "compose.yaml", []
    text = ours.read_text("utf-8")
    for number, (right, wrong) in enumerate(BROKEN.items()):
        assert right in text
        broken.append(tmp_path / f"compose{number}.yaml")
        broken[-1].write_text(text.replace(right, wrong), "utf-8")
    done = lint(COMPOSE, ours, *broken)
    assert done.returncode == 1
    output = done.stdout + done.stderr
    assert [path for path in (ours, *broken) if f"{path}::" in output] == broken
