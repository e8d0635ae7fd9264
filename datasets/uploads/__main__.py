"""`python -m datasets.uploads KEY TURN`: the process that works on one upload, within limits."""

from __future__ import annotations

import os
import signal
import sys
import uuid
from typing import NoReturn

import django

MEMORY_MB = 1536
SECONDS = 900


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from datasets.memory import limit_memory
    from datasets.priority import give_way
    from datasets.uploads.worker import SpentError, work

    def stop(*_: object) -> NoReturn:
        raise SpentError

    limit_memory(MEMORY_MB)
    signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    give_way()
    key, turn = sys.argv[1:]
    work(key, uuid.UUID(turn))


if __name__ == "__main__":
    main()
