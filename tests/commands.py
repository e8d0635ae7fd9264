"""Several commands in one process, since starting a process costs more than most commands.

`python -m tests.commands '[["load_batch", …], ["create_campaign", …]]'` exits with the status of
the first command that failed; later commands still run.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence

from django.core.management import execute_from_command_line


def command_line(commands: Iterable[Sequence[object]]) -> list[str]:
    """The command line of a process that runs all these commands."""
    words = [[str(word) for word in command] for command in commands]
    return [sys.executable, "-m", "tests.commands", json.dumps(words)]


def main(commands: Iterable[Sequence[str]]) -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    return next(filter(None, [_status(command) for command in commands]), 0)


def _status(command: Sequence[str]) -> int:
    try:
        execute_from_command_line(["manage.py", *command])
    except SystemExit as end:
        return int(end.code or 0)
    return 0


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
