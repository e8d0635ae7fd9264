"""`judge_library`: lists, shows and adds judge files of the library."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from annotation.management.base import print_lines
from annotation.protocols import PROTOCOLS
from datasets.console import unknown_name_error
from judging import library
from judging.management.commands.create_judge import Command as CreateJudge
from tandem.verbs import verb_of

ACTIONS = ("list", "show", "add")


class Command(CreateJudge):
    help = (
        "List the judge files of the library (list), print one (show FILE), or create a judge "
        "from one (add FILE NAME --backend B --model M)."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", choices=ACTIONS, help="list, show FILE, or add FILE NAME")
        parser.add_argument(
            "library_file", metavar="FILE", nargs="?", default="", help="a name of the list"
        )
        parser.add_argument(
            "--protocol", choices=sorted(PROTOCOLS), help="list only files about it"
        )
        super().add_arguments(parser)

    def run(self, **options: Any) -> None:
        if options["action"] == "list":
            print_lines(self.stdout, self._listed(options["protocol"]))
            return
        name = options["library_file"]
        if name not in library.names():
            raise unknown_name_error(
                "judge file", name, library.names(), f"see {verb_of('judge_library')} list"
            )
        if options["action"] == "show":
            print_lines(self.stdout, [library.text_of(name)])
            return
        if options["file"]:
            raise CommandError("add takes a file of the library; for your own, use create_judge.")
        super().run(**options | {"file": name, "name": options["name"] or name})

    def _listed(self, protocol: str | None) -> list[str]:
        files = {
            name: file
            for name, file in library.files().items()
            if protocol in (None, file.protocol.name)
        }
        width = max((len(name) for name in files), default=0)
        return [
            f"{name:<{width}}  {file.protocol.name}: {file.title}; {file.about['scale']}\n"
            for name, file in files.items()
        ]
