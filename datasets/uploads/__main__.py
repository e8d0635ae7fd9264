"""`python -m datasets.uploads KEY TURN`: the process that works on one upload, within limits."""

from __future__ import annotations

import os
import resource
import signal
import sys
import uuid
from typing import NoReturn

import django

MEMORY = 1536 * 1024**2
SECONDS = 900


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from datasets.priority import give_way
    from datasets.uploads.worker import SpentError, work

    def stop(*_: object) -> NoReturn:
        raise SpentError

    # RLIMIT_DATA limits allocated memory, since libraries map far more than they use.
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    give_way()
    key, turn = sys.argv[1:]
    work(key, uuid.UUID(turn))


if __name__ == "__main__":
    main()
