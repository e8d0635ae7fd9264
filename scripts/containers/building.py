"""Carry out the steps of a Dockerfile in a folder, without a container engine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from scripts.containers.context import context_files, ignore_patterns
from scripts.containers.dockerfile import DockerfileError, Instruction, Stage, expand, parse_pairs

OF_THE_IMAGE = ("/app", "/opt", "/data", "/tmp")
_PATH = re.compile(rf"(?<![\w./}}-])({'|'.join(OF_THE_IMAGE)})(?![\w.-])")
_CONTAINER_ONLY = re.compile(r"\b(apt-get|groupadd|useradd)\b")
_PIP = re.compile(r"(\S+/bin)/pip install --no-cache-dir ([^&]+)")
PASSED_ON = re.compile(r"HOME|LANG|SSL_CERT_\w+|PIP_\w+|UV_\w+|\w+_proxy|\w+_PROXY")


@dataclass
class Image:
    """The result of a stage. Its paths are those of the image."""

    environment: dict[str, str] = field(default_factory=lambda: {"PATH": "/usr/local/bin"})
    folder: str = "/"
    volumes: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    check: list[str] = field(default_factory=list)
    stop: str = "SIGTERM"


class Builder:
    """Builds the stages one after another, each in the same folder.

    So a virtual environment can move from stage to stage with the same paths, as in an image.
    """

    def __init__(self, context: Path, folder: Path, say: Callable[[str], None] = print) -> None:
        self.context, self.say = context, say
        self.root, self.stages, self.bin = folder / "root", folder / "stages", folder / "bin"
        self.files = context_files(
            context, ignore_patterns((context / ".dockerignore").read_text("utf-8"))
        )
        for each in (self.stages, self.bin):
            each.mkdir(parents=True)
        python = Path(sys.executable).resolve()
        for name in ("python", "python3"):
            (self.bin / name).symlink_to(python)

    def build(self, parts: list[Stage]) -> Image:
        image = Image()
        for number, stage in enumerate(parts):
            if number:
                self.root.rename(self.stages / parts[number - 1].name)
            for each in OF_THE_IMAGE:
                self.here(each).mkdir(parents=True)
            image = self.stage(stage)
        return image

    def stage(self, stage: Stage) -> Image:
        self.say(f"FROM {stage.base} AS {stage.name}: Python {sys.version.split()[0]} stands in")
        if (self.stages / stage.base).is_dir():
            raise DockerfileError(f"stage {stage.name} goes on from a stage; copy from it instead")
        image = Image()
        for each in stage.instructions:
            self.say(f"  {each}")
            step = getattr(self, f"_{each.name.lower()}", None)
            if step is not None:
                step(image, each)
        return image

    def here(self, path: str) -> Path:
        """Return the location on this machine of a path in the image."""
        return Path(self.mapped(path)) if _PATH.match(path) else self.root / path.lstrip("/")

    def mapped(self, text: str) -> str:
        """Return a text with the image's paths replaced by those of this machine."""
        return _PATH.sub(lambda found: f"{self.root}{found[1]}", text)

    def environment(self, image: Image) -> dict[str, str]:
        """Return only the image's environment; `/usr/local/bin` is the folder of its Python."""
        own = {name: self.mapped(value) for name, value in image.environment.items()}
        own["PATH"] = own["PATH"].replace("/usr/local/bin", str(self.bin)) + ":/usr/bin:/bin"
        return own | {"TMPDIR": str(self.here("/tmp"))}

    def _env(self, image: Image, step: Instruction) -> None:
        image.environment |= parse_pairs(step.rest, image.environment)

    _arg = _env

    def _workdir(self, image: Image, step: Instruction) -> None:
        image.folder = expand(step.rest, image.environment)
        self.here(image.folder).mkdir(parents=True, exist_ok=True)

    def _volume(self, image: Image, step: Instruction) -> None:
        image.volumes += step.rest.split()

    def _cmd(self, image: Image, step: Instruction) -> None:
        image.command = step.arguments()

    def _entrypoint(self, image: Image, step: Instruction) -> None:
        raise DockerfileError(f"{step}: this script cannot carry out an entry point")

    def _stopsignal(self, image: Image, step: Instruction) -> None:
        image.stop = step.rest

    def _healthcheck(self, image: Image, step: Instruction) -> None:
        command = step.rest.removeprefix("CMD").strip()
        image.check = Instruction(step.line, step.name, command).arguments()

    def _user(self, image: Image, step: Instruction) -> None:
        self.say("    not carried out: the script's own user is used instead")

    def _run(self, image: Image, step: Instruction) -> None:
        if _CONTAINER_ONLY.search(step.rest):
            self.say("    skipped: packages and users are the container's")
            return
        passed = {name: value for name, value in os.environ.items() if PASSED_ON.fullmatch(name)}
        done = subprocess.run(
            ["/bin/sh", "-ec", with_uv(self.mapped(step.rest), self.say)],
            cwd=self.here(image.folder),
            env=passed | self.environment(image),
            check=False,
        )
        if done.returncode:
            raise DockerfileError(f"{step}: exit status {done.returncode}")

    def _copy(self, image: Image, step: Instruction) -> None:
        *sources, target = expand(step.rest, image.environment).split()
        path = self.here(str(PurePosixPath(image.folder) / target))
        into = target.endswith("/") or len(sources) > 1
        stage = step.flags.get("from")
        for source in sources:
            if stage:
                copied = _copied_stage(self.stages / stage / source.lstrip("/"), path)
            else:
                copied = self._copied_context(source, path, into)
            if not copied:
                raise DockerfileError(f"{step}: {source} is not there, or .dockerignore hides it")
            self.say(f"    {copied} files")

    def _copied_context(self, source: str, path: Path, into: bool) -> int:
        name = PurePosixPath(source).as_posix()
        if name in self.files:
            return _copied_file(self.context / name, path / Path(name).name if into else path)
        prefix = "" if name == "." else f"{name}/"
        inside = [each for each in self.files if each.startswith(prefix)]
        for each in inside:
            _copied_file(self.context / each, path / each.removeprefix(prefix))
        return len(inside)


def with_uv(command: str, say: Callable[[str], None]) -> str:
    """Return the installation with uv, ten times as fast, or with pip if uv fails or is missing.

    pip stays in the step as a fallback, since uv does not read pip's configuration.
    """
    beside = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    uv = shutil.which("uv", path=beside)
    if uv is None or not _PIP.search(command):
        return command
    say("    uv installs in pip's place")
    return _PIP.sub(
        lambda m: (
            f"{{ {uv} pip install --quiet --compile-bytecode --python {m[1]}/python {m[2].strip()} "
            f"|| {m[0].strip()}; }} "
        ),
        command,
    )


def _copied_file(source: Path, target: Path) -> int:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target)
    return 1


def _copied_stage(source: Path, target: Path) -> int:
    if not source.exists():
        return 0
    # Links instead of copies: an environment holds thousands of files, and nothing changes them.
    shutil.copytree(source, target, symlinks=True, copy_function=os.link, dirs_exist_ok=True)
    return sum(each.is_file() for each in target.rglob("*"))
