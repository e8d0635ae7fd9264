"""`record_replies`: records what a judge's server replies, as a fixture for tests."""

from __future__ import annotations

import asyncio
import json
from argparse import ArgumentParser
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from annotation.management.base import write_whole
from datasets.console import Command as BaseCommand
from datasets.console import refusing
from judging.backends.base import JSON, BackendError, SetupError
from judging.backends.recording import record
from judging.backends.wire import WireBackend
from judging.judge_backends import build_backend
from judging.management.commands.run_judge import judge_called


class Command(BaseCommand):
    help = (
        "Record what a judge's server replies to five short requests, without keys and account "
        "names, as a fixture for tests/judging/backends/replies."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--judge", required=True, metavar="J")
        parser.add_argument("--output", required=True, type=Path, metavar="F", help="a new file")

    def run(self, **options: Any) -> None:
        judge, path = judge_called(options["judge"]), options["output"]
        if path.exists():
            raise CommandError(f"{path} already exists; choose a new file.")
        with refusing(SetupError, about=f"Judge {judge}"):
            backend = build_backend(judge)
        if not isinstance(backend, WireBackend):
            raise CommandError(
                f"Judge {judge} asks no server that runs already, so there is nothing to record; "
                "name a judge of another backend."
            )
        try:
            replies = asyncio.run(_record(backend))
        except BackendError as error:
            raise CommandError(f"Nothing was recorded: {error.message}.") from error
        day = f"{datetime.now(UTC):%Y-%m-%d}"
        whole = {
            "origin": f"recorded on {day} by record_replies",
            "wire": backend.wire.path,
            "replies": replies,
        }
        write_whole(path, [json.dumps(whole, ensure_ascii=False, indent=2) + "\n"])
        self.say(f"Recorded {len(replies)} replies to {path}. Read it before you share it.")


async def _record(backend: WireBackend) -> list[JSON]:
    async with backend:
        return await record(backend)
