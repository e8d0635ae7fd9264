"""Containers start from images that are named by their digest."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scripts.supply.images import FILES, ImageError, images, renew, resolve_digest
from tests.cast import ROOT

OLD, NEW, OTHER = (f"sha256:{digit * 64}" for digit in "abc")
DOCKERFILE = f"""ARG BASE_IMAGE=python:3.11-slim@{OLD}
FROM ${{BASE_IMAGE}} AS builder
FROM golang:1.25 AS tools
COPY --from=builder /a /a
"""
COMPOSE = f"""services:
  web:
    image: tandem:${{TANDEM_TAG:-local}}
  postgres:
    image: postgres:17-alpine
  valkey:
    image: valkey/valkey:8.1-alpine@{OLD}
"""
# A stand-in for the docker command, for machines without Docker.
DOCKER = f"""#!/bin/sh
case "$*" in
    "buildx imagetools inspect --format {{{{.Manifest.Digest}}}} python:3.11-slim") echo {NEW} ;;
    *) echo "no such image" >&2; exit 1 ;;
esac
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "Dockerfile").write_text(DOCKERFILE, "utf-8")
    (tmp_path / "compose.yaml").write_text(COMPOSE, "utf-8")
    return tmp_path


@pytest.mark.parametrize("name", FILES)
def test_each_third_party_image_has_a_digest(name: str) -> None:
    found = images((ROOT / name).read_text("utf-8"))
    assert found
    assert [image for image, digest in found.items() if digest is None] == [], "run make images"


def test_images_of_both_files_are_found_except_our_own() -> None:
    assert images(DOCKERFILE) == {"python:3.11-slim": OLD, "golang:1.25": None}
    assert images(COMPOSE) == {"postgres:17-alpine": None, "valkey/valkey:8.1-alpine": OLD}


def test_renewing_sets_each_digest_to_that_of_its_tag_and_changes_nothing_else(
    folder: Path,
) -> None:
    digests = {"python:3.11-slim": NEW, "golang:1.25": OTHER}
    renew(folder, lambda name: digests.get(name, NEW))
    text = (folder / "Dockerfile").read_text("utf-8")
    assert text == DOCKERFILE.replace(OLD, NEW).replace("golang:1.25", f"golang:1.25@{OTHER}")
    compose = (folder / "compose.yaml").read_text("utf-8")
    expected = COMPOSE.replace(OLD, NEW).replace("17-alpine", f"17-alpine@{NEW}")
    assert compose == expected


def test_no_file_changes_if_one_image_cannot_be_resolved(folder: Path) -> None:
    def resolve(name: str) -> str:
        if name.startswith("valkey"):
            raise ImageError("not today")
        return NEW

    with pytest.raises(ImageError):
        renew(folder, resolve)
    assert (folder / "Dockerfile").read_text("utf-8") == DOCKERFILE
    assert (folder / "compose.yaml").read_text("utf-8") == COMPOSE


def test_a_refusal_by_docker_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    program = tmp_path / "docker"
    program.write_text(DOCKER, "utf-8")
    program.chmod(0o755)
    assert resolve_digest("python:3.11-slim") == NEW
    with pytest.raises(ImageError, match="postgres:17: docker said 'no such image'"):
        resolve_digest("postgres:17")


def test_without_docker_the_command_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ImageError, match="docker is not installed"):
        resolve_digest("postgres:17")
