"""`protocol`: checks, adds, lists, shows and deletes protocols that teams declare in files."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from annotation.campaign_setup.suitable_protocols import describe_fit
from annotation.models import ProtocolFile
from annotation.protocol_files import VERSION, ProtocolError, delete, find_task, store
from annotation.protocols import PROTOCOLS
from annotation.protocols.declared import FileProtocol, protocol_of
from datasets.access import there_are_several
from datasets.console import Command as BaseCommand
from datasets.console import add_team_option, batch_called, refusing, team_option
from tandem.document import count
from tandem.protocols.file_structure import ProtocolFileError, schema
from tandem.protocols.protocol_file import read_path
from tandem.verbs import verb_of

ACTIONS = {"check": True, "add": True, "list": False, "show": True, "delete": True, "schema": False}
"""The actions, and whether they need a word."""


class Command(BaseCommand):
    help = (
        "Protocols in files: check one (check FILE), add it to a team (add FILE), list them, print "
        "one (show NAME), delete an unused version (delete NAME@VERSION), or print the JSON Schema "
        "of the form (schema)."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", choices=ACTIONS, metavar="ACTION", help=", ".join(ACTIONS))
        parser.add_argument(
            "word", metavar="FILE", nargs="?", default="", help="a file, or the name of a protocol"
        )
        parser.add_argument("--batch", help="for check: say what it would ask over this batch")
        add_team_option(parser)

    def run(self, **options: Any) -> None:
        action = options["action"]
        if ACTIONS[action] != bool(options["word"]):
            what = "a file or a name" if ACTIONS[action] else "no file"
            raise CommandError(f"{action} takes {what}.")
        if options["batch"] and action != "check":
            raise CommandError(f"{action} takes no --batch; check does.")
        run: Callable[[dict[str, Any]], None] = getattr(self, f"_{action}")
        with refusing(ProtocolError):
            run(options)

    def _check(self, options: dict[str, Any]) -> None:
        protocol = _read(options["word"])
        variables = count(len(protocol.variables), "variable")
        self.stdout.write(
            f"{protocol.name} {protocol.version}: {variables}, "
            f"{count(len(protocol.measures), 'measure')}. The file is right."
        )
        if options["batch"]:
            self.stdout.write(describe_fit(batch_called(options["batch"]), protocol))

    def _add(self, options: dict[str, Any]) -> None:
        protocol = _read(options["word"])
        stored = store(protocol.file, team_option(options))
        self.stdout.write(
            f"{stored} stands. Create a campaign with {verb_of('create_campaign')} NAME "
            f"--protocol {stored.name} --batch BATCH."
        )

    def _list(self, options: dict[str, Any]) -> None:
        for name, protocol in PROTOCOLS.items():
            self.stdout.write(f"{name}  {protocol.title}")
        several = there_are_several()
        for row in ProtocolFile.objects.select_related("team").order_by("name", "created_at"):
            of = f" ({row.team.name})" if several else ""
            self.stdout.write(f"{row.name}{VERSION}{row.version}  {row.title}{of}")

    def _show(self, options: dict[str, Any]) -> None:
        self.stdout.write(_of_team(options).file.text)

    def _delete(self, options: dict[str, Any]) -> None:
        task = _of_team(options)
        row = ProtocolFile.objects.get(digest=task.file.digest, team=team_option(options))
        delete(row)
        self.stdout.write(f"{row} is deleted.")

    def _schema(self, options: dict[str, Any]) -> None:
        self.stdout.write(json.dumps(schema(), indent=2, ensure_ascii=False))


def _read(name: str) -> FileProtocol:
    try:
        return protocol_of(read_path(Path(name)))
    except ProtocolFileError as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        raise CommandError(f"{name} cannot be read: {error.strerror}.") from error


def _of_team(options: dict[str, Any]) -> FileProtocol:
    task = find_task(options["word"], team_option(options))
    if not isinstance(task, FileProtocol):
        raise ProtocolError(f"{task.name} is a protocol of the site, and has no file of a team")
    return task
