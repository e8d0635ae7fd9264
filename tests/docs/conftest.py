"""The site, built once for all tests that read it."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import forks
from tests.cast import ROOT
from tests.patience import PATIENCE


@dataclass(frozen=True)
class Built:
    """A build of the site: its folder and its output."""

    folder: Path
    done: subprocess.CompletedProcess[str]

    @property
    def pages(self) -> dict[str, str]:
        """HTML by path, without the page for addresses that do not exist."""
        found = sorted(self.folder.rglob("*.html"))
        pages = {p.relative_to(self.folder).as_posix(): p.read_text("utf-8") for p in found}
        return {path: html for path, html in pages.items() if path != "404.html"}


def mkdocs(config: Path, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run a strict build, like `make docs`."""
    command = (sys.executable, "-m", "mkdocs", "build", "--strict", *options)
    return forks.run(
        (*command, "--config-file", str(config), "--site-dir", str(folder)),
        cwd=config.parent,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        timeout=PATIENCE,
    )


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("docs") / "site"
    return Built(folder, mkdocs(ROOT / "mkdocs.yml", folder))
