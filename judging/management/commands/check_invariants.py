"""Asserts what holds at any instant, whatever befell the platform."""

from __future__ import annotations

import json
import urllib.request
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from annotation.tallies.checking import wrong
from audit.checking import broken
from datasets.console import Command as BaseCommand
from judging import invariants

SECONDS = 10.0


class Command(BaseCommand):
    help = "Checks that nothing was lost, doubled or invented, and names every place where it was."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--acknowledged",
            metavar="FILE",
            help="saves that clients were told of, a line each: the save's key or the assignment's",
        )
        parser.add_argument(
            "--server", metavar="URL", help="a test server of judges that counts what it was asked"
        )
        parser.add_argument(
            "--kills",
            type=int,
            default=0,
            metavar="N",
            help="how often a process at work was killed; each may have cost some calls",
        )
        parser.add_argument(
            "--http-log", metavar="FILE", help="the site's log as JSON, for answers with errors"
        )

    def run(self, **options: Any) -> None:
        with invariants.one_instant():
            found = [*invariants.stored(), *wrong(), *broken(), *self.beside(options)]
        for violation in found:
            self.say(violation)
        if found:
            raise CommandError(f"The invariants do not hold: {len(found)} violations.")
        self.say("The invariants hold.")

    def beside(self, options: dict[str, Any]) -> Iterator[str]:
        """What is checked against files, and against a server."""
        if options["acknowledged"]:
            yield from invariants.acknowledged(lines_of(options["acknowledged"]))
        if options["http_log"]:
            yield from invariants.answered_over_http(lines_of(options["http_log"]))
        if options["server"]:
            yield from invariants.told_by_server(stats_of(options["server"]), options["kills"])


def lines_of(path: str) -> list[str]:
    try:
        return Path(path).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path}: cannot be read ({error}); mend the path.") from error


def stats_of(url: str) -> dict[str, Any]:
    """What a test server counted."""
    if not url.startswith(("http://", "https://")):
        raise CommandError(f"{url} is no address of a server; write it as http://HOST:PORT.")
    try:
        with urllib.request.urlopen(f"{url.rstrip('/')}/stats", timeout=SECONDS) as response:
            return dict(json.load(response))
    except (OSError, ValueError, TypeError) as error:
        raise CommandError(f"{url} does not tell what it counted ({error}).") from error
