"""Run the commands of a study file's tables, as `manage.py` would."""

from __future__ import annotations

import io
from typing import Any

from django.core.management import get_commands, load_command_class
from django.core.management.base import CommandError, OutputWrapper

from tandem.files.rows import InputError


def command_called(name: str) -> Any:
    """Return a command that shows no progress and collects its output in `stdout`."""
    command: Any = load_command_class(get_commands()[name], name)
    command.stdout, command.stderr = OutputWrapper(io.StringIO()), OutputWrapper(io.StringIO())
    return command


def run_command(name: str, /, **options: Any) -> list[str]:
    """Run a command with these options, and return the lines of its output.

    Raises InputError or CommandError, as the command does.
    """
    command = command_called(name)
    command.run(**options)
    # An OutputWrapper passes everything else to the wrapped stream.
    return [line for line in command.stdout.getvalue().splitlines() if line.strip()]


REFUSALS = (InputError, CommandError)
