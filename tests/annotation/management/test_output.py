"""A command writes its whole output to the given path, or nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest
from django.core.management.base import CommandError

from annotation.management.base import write_whole
from tests.patience import PATIENCE


def test_texts_are_written_as_they_are(tmp_path: Path) -> None:
    write_whole(tmp_path / "f", ["a\r\nb\r", "🌉\n"])
    assert (tmp_path / "f").read_bytes() == "a\r\nb\r🌉\n".encode()


def test_an_interrupted_write_keeps_the_old_file(tmp_path: Path) -> None:
    def lines() -> Iterator[str]:
        yield "new"
        raise RuntimeError

    path = tmp_path / "f"
    path.write_text("old")
    with pytest.raises(RuntimeError):
        write_whole(path, lines())
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_symbolic_link_is_kept_and_its_target_written(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    write_whole(link, ["new"])
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_device_is_written_to_and_not_replaced() -> None:
    write_whole(Path(os.devnull), ["gone"])
    assert not Path(os.devnull).is_file()


def test_a_named_pipe_is_written_directly(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    read: list[str] = []
    reader = Thread(target=lambda: read.append(path.read_text()), daemon=True)
    reader.start()
    write_whole(path, ["a\n", "b\n"])
    reader.join(PATIENCE)
    assert read == ["a\nb\n"]


def test_a_long_file_name_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / ("🌉" * 60)
    write_whole(path, ["x"])
    assert path.read_text() == "x"


@pytest.mark.parametrize("path", ["nowhere/f", "."])
def test_an_unwritable_path_is_a_one_line_error(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CommandError, match="cannot be written") as error:
        write_whole(Path(path), ["x"])
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []
