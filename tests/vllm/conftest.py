"""One vLLM for all tests, started by the first judge that asks; skipped where there is none."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from judging.backends.vllm_server import SERVERS
from scripts.vllm.setup import FOLDER
from tests.cast import ROOT

HOW = "`make vllm` sets it up, or set TANDEM_VLLM to a vllm program"


def program() -> Path | None:
    """TANDEM_VLLM, or what `python -m scripts.vllm` sets up."""
    found = shutil.which(os.environ.get("TANDEM_VLLM") or str(FOLDER / "bin" / "vllm"))
    return Path(found).absolute() if found else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    reason = ""
    if program() is None:
        reason = f"vLLM is not here; {HOW}"
    elif config.getoption("--workers"):
        reason = "vLLM needs the machine for itself; run them by `make vllm`"
    if reason:
        for item in items:
            if item.path.is_relative_to(Path(__file__).parent):
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def vllm() -> Iterator[Path]:
    """The program, with an environment in which it can serve tiny models."""
    found = program()
    assert found is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TANDEM_VLLM", str(found))
        patch.setenv("TANDEM_VLLM_ARGS", "--enforce-eager")
        patch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")
        patch.setenv("HF_HUB_OFFLINE", "1")
        yield found
    SERVERS.stop_all()


@pytest.fixture(scope="session")
def model(vllm: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a tiny model."""
    return made(vllm, tmp_path_factory.mktemp("model") / "tiny")


@pytest.fixture(scope="session")
def deciding_model(vllm: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a tiny model that vLLM takes decisions of."""
    return made(vllm, tmp_path_factory.mktemp("deciding") / "tiny", "decides")


def made(vllm: Path, folder: Path, *kind: str) -> str:
    maker = [str(vllm.with_name("python")), "-I", str(ROOT / "scripts" / "tiny_model.py")]
    done = subprocess.run([*maker, str(folder), *kind], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return str(folder)
