"""The two message brokers, and failures of each."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Protocol

import redis

from scripts.services import Valkey


class Broker(Protocol):
    """A broker as a test sees it: its address and its messages, which can be lost."""

    url: str

    def messages(self) -> list[str]: ...

    def lose_messages(self) -> int:
        """Delete the waiting messages, and return their number."""
        ...


class InFiles:
    """The embedded default: a folder."""

    url = ""

    def __init__(self, folder: Path) -> None:
        self.queue = folder / "broker" / "queue"

    def messages(self) -> list[str]:
        return [path.read_text("utf-8") for path in self.queue.glob("*")]

    def lose_messages(self) -> int:
        lost = len(self.messages())
        shutil.rmtree(self.queue)
        self.queue.mkdir()
        return lost


class InValkey:
    """A server that keeps nothing on disk."""

    def __init__(self, server: Valkey) -> None:
        self.url = server.url
        self.client = redis.Redis.from_url(server.url, decode_responses=True)
        self.client.flushall()

    def messages(self) -> list[str]:
        return [str(message) for message in self.client.lrange("celery", 0, -1)]

    def lose_messages(self) -> int:
        lost = len(self.messages())
        self.client.flushall()
        return lost
