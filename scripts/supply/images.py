"""Base images of containers, by tag and digest: finds them in our files, and resolves their
tags again. A tag names a release, whose image changes with each rebuild; the digest identifies
one image. `docker buildx` asks the registry that Docker is set up for.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

FILES = ("Dockerfile", "compose.yaml")
# Tandem's own images are built here. Their tags contain a variable and do not match.
_IMAGE = re.compile(
    r"^(?P<head>ARG \w*IMAGE=|FROM |\s*image: )(?P<name>[a-z0-9./_-]+:[\w.-]+)"
    r"(?:@(?P<digest>sha256:[0-9a-f]{64}))?(?=\s|$)",
    re.MULTILINE,
)
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
SECONDS = 120


class ImageError(RuntimeError):
    """An image's digest cannot be determined. The message says which and why."""


def images(text: str) -> dict[str, str | None]:
    """Return the images of a file by NAME:TAG, with their digests."""
    return {found["name"]: found["digest"] for found in _IMAGE.finditer(text)}


def resolve_digest(name: str) -> str:
    """Return a tag's current digest, for all platforms. Raises ImageError."""
    docker = shutil.which("docker")
    if docker is None:
        raise ImageError(f"{name}: docker is not installed, which asks the registry")
    command = [docker, "buildx", "imagetools", "inspect", "--format", "{{.Manifest.Digest}}", name]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired as error:
        raise ImageError(f"{name}: no answer in {SECONDS} seconds") from error
    digest = done.stdout.strip()
    if done.returncode or not _DIGEST.fullmatch(digest):
        raise ImageError(f"{name}: docker said {(done.stderr or done.stdout).strip()[:300]!r}")
    return digest


def renew(root: Path, resolve: Callable[[str], str] = resolve_digest) -> dict[str, str]:
    """Write the current digests of all tags. If it raises ImageError, no file is changed."""
    texts = {name: (root / name).read_text("utf-8") for name in FILES}
    names = sorted({each for text in texts.values() for each in images(text)})
    digests = {each: resolve(each) for each in names}
    for name, text in texts.items():
        (root / name).write_text(
            _IMAGE.sub(lambda m: f"{m['head']}{m['name']}@{digests[m['name']]}", text), "utf-8"
        )
    return digests
