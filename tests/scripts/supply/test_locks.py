"""Each requirement is locked with hashes, installs take the locks, and no lock names an index."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from scripts.supply.locks import LOCKS, Lock, LockError, differences, read, requirements
from tests.cast import ROOT

HASH = "--hash=sha256:" + "0" * 64
BY_ENTRY = {lock.entry: lock for lock in LOCKS}


def versions(entry: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for each in read(ROOT / BY_ENTRY[entry].file):
        found.setdefault(each.name, set()).add(each.version)
    return found


def test_every_requirements_file_has_a_lock() -> None:
    assert {path.name for path in ROOT.glob("requirements*.txt")} == set(BY_ENTRY)
    assert {path.name for path in ROOT.glob("requirements*.lock")} == {x.file for x in LOCKS}


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.file)
@pytest.mark.every_case
def test_a_lock_matches_its_requirements_file(lock: Lock) -> None:
    found = differences(ROOT / lock.entry, ROOT / lock.file)
    assert not found, f"{'; '.join(found)}: run make lock"


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.file)
@pytest.mark.every_case
def test_a_lock_lists_file_hashes_and_no_addresses(lock: Lock) -> None:
    text = (ROOT / lock.file).read_text("utf-8")
    assert not re.search(r"://|--(extra-)?index|--find-links|-f ", text)
    assert not re.search(r" @ ", text), "a package is given by its address instead of its name"


@pytest.mark.parametrize("entry", ["requirements.txt", "requirements-build.txt"])
def test_the_site_runs_the_tested_versions(entry: str) -> None:
    tested = versions("requirements-dev.txt")
    assert {n: v for n, v in versions(entry).items() if tested.get(n) != v} == {}


@pytest.mark.parametrize(
    ("entry", "lock", "message"),
    [
        ("django==5.2.19", f"django==5.2.19 {HASH}", None),
        ("Some_Name[x]==1.0  # why", f"some-name==1.0 \\\n    {HASH}\n    # via x", None),
        ("django==5.2.19", f"asgiref==3.12.1 {HASH}", "a.lock has no django, which a.txt requires"),
        ("-r b.txt", f"django==5.2.19 {HASH}", "a.lock has no celery, which a.txt requires"),
        ("django==5.2.20", f"django==5.2.19 {HASH}", "a.lock has django 5.2.19; a.txt requires"),
        ("django==5.2.19", "django==5.2.19", "a.lock: django has no hash"),
    ],
)
def test_a_difference_between_requirements_and_lock_is_named(
    tmp_path: Path, entry: str, lock: str, message: str | None
) -> None:
    (tmp_path / "a.txt").write_text(entry, "utf-8")
    (tmp_path / "b.txt").write_text("celery==5.7.0", "utf-8")
    (tmp_path / "a.lock").write_text(lock, "utf-8")
    found = differences(tmp_path / "a.txt", tmp_path / "a.lock")
    assert [line.startswith(message) for line in found] == [True] if message else not found


def test_a_lock_that_leaves_a_version_open_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.lock").write_text(f"django>=5.2 {HASH}", "utf-8")
    with pytest.raises(LockError, match=r"a\.lock: django>=5\.2 is not pinned"):
        read(tmp_path / "a.lock")


def test_each_direct_requirement_is_pinned_in_its_requirements_file() -> None:
    loose = [
        str(each)
        for lock in LOCKS
        for each in requirements(ROOT / lock.entry)
        if [part.operator for part in each.specifier] != ["=="]
    ]
    assert loose == []


@pytest.mark.parametrize("name", ["Makefile", "Dockerfile"])
def test_installs_use_lock_files_and_require_hashes(name: str) -> None:
    text = (ROOT / name).read_text("utf-8").replace("$(1)", "$(1).lock")
    text = text.replace("$(LOCKED)", "--require-hashes")
    installs = [line for line in text.splitlines() if re.search(r"\binstall\b.* -r ", line)]
    assert installs
    for line in installs:
        parts = re.split(r"\|\||&&", line)
        for part in (each for each in parts if " -r " in each):
            assert re.search(r"--require-hashes .*-r \S+\.lock\b", part), part


def test_no_package_is_installed_by_name_alone() -> None:
    text = (ROOT / "Makefile").read_text("utf-8") + (ROOT / "Dockerfile").read_text("utf-8")
    assert not re.findall(r"\$\(PIP\) \w+|pip install (?:--quiet )?\w+", text)


def test_the_npm_lock_has_a_hash_for_each_package_and_no_address() -> None:
    packages = json.loads((ROOT / "package-lock.json").read_text("utf-8"))["packages"]
    others = {path: each for path, each in packages.items() if path}
    assert others
    assert [p for p, each in others.items() if not each["integrity"].startswith("sha512-")] == []
    assert [path for path, each in others.items() if "resolved" in each] == []
