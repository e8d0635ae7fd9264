"""Verbs that ask the database: start Django and run the verb's command."""

from __future__ import annotations

import io
import json
import os
import sys
from argparse import SUPPRESS, ArgumentParser, Namespace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tandem import place
from tandem.verbs import Verb

if TYPE_CHECKING:
    from django.core.management.base import BaseCommand

REFUSED = 1
NO_SERVER = (
    "the site is not installed here, only the library. Install it with: "
    "pip install 'tandem-eval[server]'"
)


class SettingsError(Exception):
    """What prevents Django from starting, in one line."""


def start() -> None:
    """Start Django with the settings of this installation. Raises SettingsError."""
    place.enter()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        import django
    except ImportError as error:
        raise SettingsError(NO_SERVER) from error
    from django.apps import apps
    from django.core.exceptions import ImproperlyConfigured

    # A second start would set up logging again in the running process.
    if apps.ready:
        return
    try:
        # Celery's application puts the current folder first, where modules of our names may lie.
        import_module("config")
        place.enter()
        django.setup()
    except ImproperlyConfigured as error:
        raise SettingsError(f"Settings: {error}") from error
    except OSError as error:
        why = f"{error.filename} cannot be used ({error.strerror})"
        raise SettingsError(f"Settings: {why}; correct its owner and mode") from error


def parser_of(verb: Verb) -> tuple[BaseCommand, ArgumentParser]:
    """Return the command of a verb and its parser, without Django's own options."""
    from django.core.management import get_commands, load_command_class
    from django.core.management.base import BaseCommand

    command: Any = load_command_class(get_commands()[verb.command], verb.command)
    # So a wrong command line ends with usage and status 2.
    command._called_from_command_line = True
    parser = command.create_parser("tandem", verb.name)
    own = {action.dest for action in BaseCommand().create_parser("", "")._actions}
    for action in parser._actions:
        if action.dest in own - {"help"}:
            action.help = SUPPRESS
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    parser.add_argument("--quiet", action="store_true", help="no progress, and no remarks")
    if verb.action:
        parser.usage = f"tandem {verb.name} {verb.usage}".strip() + " [--by ACCOUNT]"
        for action in parser._actions:
            if not action.option_strings:
                action.help = SUPPRESS
    if verb.subject:
        parser.epilog = f"{verb.subject} NAME may be written as NAME alone, before all options."
    return command, parser


def run_django(words: list[str]) -> int | None:
    """Run one of Django's own commands, such as migrate, and return its status. None if unknown."""
    try:
        start()
    except SettingsError as error:
        print(error, file=sys.stderr)
        return REFUSED
    from django.core.management import ManagementUtility, get_commands

    if words[0] not in get_commands():
        return None
    # Not its execute(), which would start Django a second time.
    line = ["tandem", *words]
    ManagementUtility(line).fetch_command(words[0]).run_from_argv(line)
    return 0


def run_command(verb: Verb, arguments: list[str]) -> int:
    """Run a verb with these arguments, and return the exit status."""
    try:
        start()
    except SettingsError as error:
        if verb.command == "doctor":
            return _say_unusable(str(error), "--json" in arguments)
        print(error, file=sys.stderr)
        return REFUSED
    command, parser = parser_of(verb)
    if verb.subject and arguments and not arguments[0].startswith("-"):
        arguments = [verb.subject, *arguments]
    first = [verb.action] if verb.action else []
    options = vars(parser.parse_args([*first, *arguments]))
    as_json, quiet = options.pop("json"), options.pop("quiet")
    if writes_json := as_json and "json" in _formats(parser):
        options["format"] = "json"
    status, lines, why = _execute(
        command, options, as_json and not writes_json, quiet and not as_json
    )
    if as_json and (why or not writes_json):
        answer = {"status": status, "lines": lines} | ({"error": why} if why else {})
        print(json.dumps(answer, ensure_ascii=False))
    elif why:
        print(why, file=sys.stderr)
    return status


def _say_unusable(error: str, as_json: bool) -> int:
    """Print the doctor's only finding while Django cannot start."""
    from judging.doctor.base import EXIT_STATUS, settings_line
    from judging.doctor.base import as_json as findings_as_json

    line = settings_line(error.removeprefix("Settings: "))
    print(json.dumps(findings_as_json([line]), ensure_ascii=False) if as_json else line)
    return EXIT_STATUS


def _formats(parser: ArgumentParser) -> list[str]:
    return [
        str(choice)
        for action in parser._actions
        if "--format" in action.option_strings
        for choice in action.choices or ()
    ]


def _execute(
    command: BaseCommand, options: dict[str, Any], captured: bool, quiet: bool
) -> tuple[int, list[str], str]:
    """Run a command. Return its exit status, its captured lines, and the reason if it refused."""
    from django.core.management.base import CommandError, handle_default_options

    from datasets.console import Command

    said: Any = command
    # A refusal is raised as an error, which knows its status.
    said._called_from_command_line = False
    if isinstance(command, Command):
        said.is_quiet = quiet
    handle_default_options(Namespace(**options))
    out = io.StringIO()
    kept = {"stdout": out} if captured else {}
    status, why = 0, ""
    try:
        command.execute(*options.pop("args", ()), **options, **kept)
    except CommandError as refused:
        status, why = refused.returncode, str(refused)
    return status, out.getvalue().splitlines(), why
