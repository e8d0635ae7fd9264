"""A command writes a whole file or folder, and removes what a killed one left."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management.base import CommandError

from annotation.management.base import write_folder, write_whole
from tests.patience import PATIENCE

Pieces = Iterator[bytes]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_leftovers_of_a_killed_writer_are_removed_and_those_of_a_running_one_stay(
    tmp_path: Path,
) -> None:
    began, says = os.pipe()

    def stuck() -> Pieces:
        yield b"half of it"
        os.write(says, b"!")
        time.sleep(PATIENCE)

    target = tmp_path / "release"
    writer = os.fork()
    if not writer:
        try:
            write_folder(target, [("labels.jsonl", stuck())])
        finally:
            os._exit(1)
    os.read(began, 1)
    (unfinished,) = names(tmp_path)
    assert unfinished.startswith(".release.")
    write_folder(tmp_path / "other", [("a", [b"1"])])
    write_folder(target, [("a", [b"1"])])
    # Its writer still runs, and may finish it if the folder is empty again.
    assert names(tmp_path) == sorted([unfinished, "other", "release"])
    os.kill(writer, signal.SIGKILL)
    os.waitpid(writer, 0)
    with pytest.raises(CommandError, match=r"exists already; choose another folder\."):
        write_folder(target, [("a", [b"2"])])
    (target / "a").unlink()
    write_folder(target, [("a", [b"2"])])
    assert names(tmp_path) == ["other", "release"]
    assert (target / "a").read_bytes() == b"2"


def test_only_leftovers_of_the_same_name_are_removed(tmp_path: Path) -> None:
    kept = [".release.d", ".release.0123456789abcdeg", ".other.0123456789abcdef"]
    for name in (*kept, ".release.0123456789abcdef"):
        (tmp_path / name).mkdir()
    (tmp_path / ".batch.jsonl.0123456789abcdef").write_text("half of it")
    write_folder(tmp_path / "release", [("deep/er/a", [b"1", b"2"])])
    write_whole(tmp_path / "batch.jsonl", ["1"])
    assert names(tmp_path) == sorted([*kept, "batch.jsonl", "release"])
    assert (tmp_path / "release/deep/er/a").read_bytes() == b"12"
