"""Tests shared among forks have the same results as in one process, whatever one of them does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cast import ROOT
from tests.patience import PATIENCE

ONES = """
import os, pytest
from pathlib import Path

def test_good(): pass
def test_bad(): print("what was printed"); assert 1 == 2
def test_left_out(): pytest.skip("no such thing here")
@pytest.mark.parametrize("n", range(60))
def test_many(n, tmp_path): (tmp_path / "mine").write_text(str(n))
"""
DEADLY = """
import os

def test_before(): pass
def test_deadly(): os._exit(3)
def test_after(): pass
"""
HANGING = """
import time

def test_before(): pass
def test_hanging(): time.sleep(600)
def test_after(): pass
"""
LOGS = """
import logging, sys

logging.getLogger("kept").addHandler(logging.StreamHandler(sys.stderr))

def test_it(): logging.getLogger("kept").warning("a log line"); assert 1 == 2
"""
FIXTURES = """
import os, pytest
from pathlib import Path

@pytest.fixture(scope="session")
def made(tmp_path_factory):
    yield tmp_path_factory.mktemp("made")
    Path(os.environ["ENDED"]).open("a").write("ended\\n")

@pytest.mark.parametrize("n", range(90))
def test_it(n, made): assert made.is_dir() and os.environ["TANDEM_TEST_WORKER"] in str(made)
"""


def shared(folder: Path, *arguments: str, **modules: str) -> tuple[int, str]:
    """Run test modules with pytest and two workers; return the exit status and the output."""
    for name, text in modules.items():
        (folder / f"test_{name}.py").write_text(text, "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.workers", "--workers", "2", "-q", "-rA",
         "-p", "no:django", "-p", "no:cacheprovider", "--rootdir", str(folder), *arguments,
         str(folder)],
        cwd=ROOT, env={"PATH": "", "ENDED": str(folder / "ended"), "PYTEST_ADDOPTS": "-o addopts="},
        capture_output=True, text=True, check=False, timeout=PATIENCE,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The output for modules with every kind of outcome: failures, a death, logs and skips."""
    folder = tmp_path_factory.mktemp("shared")
    status, said = shared(folder, deadly=DEADLY, logs=LOGS, ones=ONES)
    assert status == 1
    assert "3 failed, 63 passed, 1 skipped" in said
    return said


def test_every_outcome_is_reported_with_its_output(report: str) -> None:
    assert "what was printed" in report
    assert "assert 1 == 2" in report
    assert "no such thing here" in report


def test_a_hanging_test_is_reported_with_its_line_and_the_others_go_on(tmp_path: Path) -> None:
    limit = ("-o", "faulthandler_timeout=1", "-o", "faulthandler_exit_on_timeout=true")
    status, said = shared(tmp_path, *limit, hanging=HANGING)
    assert status == 1
    assert "1 failed, 2 passed" in said
    assert "in test_hanging" in said


def test_log_lines_are_reported_with_their_test(report: str) -> None:
    of_it = report.partition("_ test_it _")[2].partition("\n____")[0]
    assert "a log line" in of_it.partition("Captured stderr")[2]
    assert "Logging error" not in report


def test_a_test_that_kills_its_worker_fails_alone(report: str) -> None:
    assert "the worker died of this test, with 3" in report


def test_with_x_the_first_failure_ends_the_run(tmp_path: Path) -> None:
    status, said = shared(tmp_path, "-x", ones=ONES)
    assert status == 1
    assert "1 failed" in said
    assert "stopping after 1 failures" in said


def test_session_fixtures_are_set_up_and_torn_down_once_per_worker(tmp_path: Path) -> None:
    status, said = shared(tmp_path, fixtures=FIXTURES)
    assert (status, "90 passed" in said) == (0, True)
    assert (tmp_path / "ended").read_text("utf-8").count("ended") <= 2


@pytest.mark.first_case
@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_test_module_that_cannot_be_read_ends_the_run(tmp_path: Path, workers: str) -> None:
    status, said = shared(tmp_path, "--workers", workers, broken="import nothing_of_that_name")
    assert status == 2
    assert "nothing_of_that_name" in said
