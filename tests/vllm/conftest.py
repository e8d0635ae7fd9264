"""One vLLM for all tests, started by the first judge that asks; skipped where there is none."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from judging.backends.vllm_server import SERVERS
from scripts.vllm.setting_up import FOLDER
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
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The folder of a tiny model, with an environment in which vLLM can serve it."""
    vllm = program()
    assert vllm is not None
    folder = tmp_path_factory.mktemp("model") / "tiny"
    maker = [str(vllm.with_name("python")), "-I", str(ROOT / "scripts" / "tiny_model.py")]
    made = subprocess.run([*maker, str(folder)], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TANDEM_VLLM", str(vllm))
        patch.setenv("TANDEM_VLLM_ARGS", "--enforce-eager")
        patch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")
        patch.setenv("HF_HUB_OFFLINE", "1")
        yield str(folder)
    SERVERS.stop_all()
