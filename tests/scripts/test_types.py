"""Type checks in a new clone start from mypy's cache of the user's last clone."""

from __future__ import annotations

import os
import subprocess
import tarfile
from pathlib import Path

import pytest

from scripts.changed import ROOT

# A stand-in for mypy: it prints what is in its cache, and adds the name of the clone to it.
MYPY = """\
#!/bin/sh
cat .mypy_cache/* 2>/dev/null
mkdir -p .mypy_cache && echo "${PWD##*/}" >".mypy_cache/${PWD##*/}"
[ ! -e wrong.py ]
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def clone(folder: Path) -> Path:
    program = folder / ".venv" / "bin" / "mypy"
    program.parent.mkdir(parents=True)
    program.write_text(MYPY, "utf-8")
    program.chmod(0o755)
    return folder


def check(folder: Path, home: Path) -> tuple[int, list[str]]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "BIN": ".venv/bin"}
    done = subprocess.run(
        ["sh", ROOT / "scripts" / "types.sh"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return done.returncode, done.stdout.split()


def test_a_new_clone_starts_with_the_cache_of_the_last_one(tmp_path: Path, home: Path) -> None:
    one, other = clone(tmp_path / "one"), clone(tmp_path / "other")
    assert check(one, home) == (0, [])
    assert check(other, home) == (0, ["one"])
    # A clone continues with its own cache, and leaves no other files behind.
    assert check(one, home) == (0, ["one"])
    assert sorted(path.name for path in (other / ".venv").iterdir()) == ["bin"]
    assert [path.name for path in (home / ".cache" / "tandem").iterdir()] == ["mypy.tar"]


def test_a_failed_check_is_reported_and_shares_no_cache(tmp_path: Path, home: Path) -> None:
    one, other = clone(tmp_path / "one"), clone(tmp_path / "other")
    (one / "wrong.py").touch()
    assert check(one, home) == (1, [])
    assert check(other, home) == (0, [])


def test_the_shared_cache_is_renewed_after_a_day(tmp_path: Path, home: Path) -> None:
    one, other = clone(tmp_path / "one"), clone(tmp_path / "other")
    check(one, home)
    kept = home / ".cache" / "tandem" / "mypy.tar"
    check(other, home)
    with tarfile.open(kept) as archive:
        assert "./other" not in archive.getnames()
    os.utime(kept, (0, 0))
    check(other, home)
    with tarfile.open(kept) as archive:
        assert {"./one", "./other"} <= set(archive.getnames())


def test_a_broken_or_unwritable_cache_does_not_fail_the_check(tmp_path: Path, home: Path) -> None:
    one = clone(tmp_path / "one")
    kept = home / ".cache" / "tandem" / "mypy.tar"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"no archive")
    assert check(one, home) == (0, [])
    home_is_a_file = tmp_path / "file"
    home_is_a_file.touch()
    assert check(clone(tmp_path / "other"), home_is_a_file) == (0, [])
