"""The broker in a folder: a message is read whole, in its order, and by one worker."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from queue import Empty
from typing import Any

import pytest
from kombu.exceptions import ChannelError

from config import env, file_broker
from config.celery import app


def channel_in(folder: Path) -> Any:
    found: dict[str, Any] = env.broker(folder)
    return app.connection(found["url"], transport_options=found["options"]).channel()


@pytest.fixture
def channel(tmp_path: Path) -> Any:
    return channel_in(tmp_path)


@pytest.fixture
def other(tmp_path: Path) -> Any:
    """The channel of another process."""
    return channel_in(tmp_path)


def messages(channel: Any, queue: str = "celery") -> list[Any]:
    found = []
    while True:
        try:
            found.append(channel._get(queue))
        except Empty:
            return found


def test_messages_are_taken_in_their_order_from_their_own_queue(channel: Any, other: Any) -> None:
    for number in range(3):
        channel._put("celery", {"number": number, "text": "שלום 🛶"})
    channel._put("celery.pidbox", {"number": 3})
    assert channel._size("celery") == 3
    assert messages(other) == [{"number": n, "text": "שלום 🛶"} for n in range(3)]
    assert messages(channel) == []
    assert messages(other, "celery.pidbox") == [{"number": 3}]


def test_a_message_cannot_be_found_while_it_is_written(
    channel: Any, other: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[Any] = []
    rename = Path.rename

    def look_before(new: Path, target: Path) -> Path:
        monkeypatch.setattr(Path, "rename", rename)
        found.append(messages(other))
        return rename(new, target)

    monkeypatch.setattr(Path, "rename", look_before)
    channel._put("celery", {"number": 1})
    assert found == [[]]
    assert messages(other) == [{"number": 1}]


def test_a_message_that_two_workers_have_seen_is_taken_by_one(
    channel: Any, other: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(2):
        channel._put("celery", {"number": number})
    iterdir = Path.iterdir

    def let_the_other_take_one(folder: Path) -> list[Path]:
        monkeypatch.setattr(Path, "iterdir", iterdir)
        seen = list(folder.iterdir())
        assert other._get("celery") == {"number": 0}
        return seen

    monkeypatch.setattr(Path, "iterdir", let_the_other_take_one)
    assert messages(channel) == [{"number": 1}]
    assert messages(other) == []


def test_a_folder_that_is_gone_is_an_error_of_the_broker(channel: Any, tmp_path: Path) -> None:
    folder = tmp_path / "broker" / "queue"
    folder.rmdir()
    with pytest.raises(ChannelError, match="cannot be written"):
        channel._put("celery", {"number": 1})


def test_celery_uses_this_broker(tmp_path: Path) -> None:
    found: dict[str, Any] = env.broker(tmp_path)
    assert found["url"] == "filesystem://"
    assert isinstance(app.connection(found["url"]).channel(), file_broker.Channel)


@pytest.mark.parametrize(("expires", "stays"), [(-60, False), (60, True), (None, True)])
def test_old_messages_that_have_expired_do_not_pile_up_on_a_site_without_workers(
    channel: Any, tmp_path: Path, expires: int | None, stays: bool
) -> None:
    at = None if expires is None else datetime.now(UTC) + timedelta(seconds=expires)
    channel._put("celery", {"headers": {"expires": at and at.isoformat()}, "body": "old"})
    (path,) = (tmp_path / "broker" / "queue").iterdir()
    channel._put("celery", {"headers": {}, "body": "young"})
    assert path.exists(), "a worker may be about to take it"
    os.utime(path, (0, 0))
    channel._put("celery", {"headers": {}, "body": "new"})
    bodies = [message["body"] for message in messages(channel)]
    assert bodies == ["old"] * stays + ["young", "new"]
