"""The site that most of these tests use."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serving.site import ROOT, Person, Site

COLLECTED_FROM = ("static/**/*", "config/*.py", "requirements.lock")
COLLECTED = ROOT / ".pytest_cache" / "static"
KEPT = 3  # the most recently used collections


@pytest.fixture(scope="session")
def static() -> dict[str, str]:
    """The setting with which all sites share their static files.

    Compressing them takes seconds, so they are collected once for all workers, and kept until a
    file changes.
    """
    digest = hashlib.sha256()
    files = sorted(path for pattern in COLLECTED_FROM for path in ROOT.glob(pattern))
    for path in filter(Path.is_file, files):
        digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    kept = COLLECTED / digest.hexdigest()
    COLLECTED.mkdir(parents=True, exist_ok=True)
    with (COLLECTED / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            collect(kept)
        os.utime(kept)
        folders = [path for path in COLLECTED.iterdir() if path.is_dir()]
        for old in sorted(folders, key=lambda path: -path.stat().st_mtime)[KEPT:]:
            shutil.rmtree(old)
    return {"TANDEM_STATIC_DIR": str(kept)}


def collect(into: Path) -> None:
    new = Path(tempfile.mkdtemp(dir=COLLECTED))
    Site(new / "data", {"TANDEM_STATIC_DIR": str(new / "static")}, empty=True).collect_static()
    (new / "static").rename(into)
    shutil.rmtree(new)


@pytest.fixture(scope="session")
def site(
    django_db_setup: None, static: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    """Production settings, four reports for two people each; Ada and Ben label, Rita looks on."""
    site = Site(tmp_path_factory.mktemp("site"), {"WEB_WORKERS": "1", **static})
    site.command = ("-c", "config/gunicorn.py", "config.wsgi")
    site.open_campaign(4, 2, "ada", "ben", "rita")
    with site.served():
        yield site


@pytest.fixture(scope="session")
def ada(site: Site) -> Person:
    return Person(site, "ada").log_in()
