"""`check_invariants`: checks that all invariants hold."""

from __future__ import annotations

import json
import urllib.request
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from annotation.integrity import CheckedCounts
from audit.violations import Check, Violation
from datasets import digests
from datasets.console import FAULTS_FOUND
from datasets.console import Command as BaseCommand
from judging import invariants
from judging.invariants import CHECKS, as_violations, violations

SECONDS = 10.0
REMEDIES = {check.name: check.remedy for check in CHECKS}


class Command(BaseCommand):
    help = (
        "Check that nothing was lost, duplicated or invented in answers, texts, samples, counts "
        "and judges' assignments, and report every violation. Nothing is repaired."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--acknowledged",
            metavar="FILE",
            help="acknowledged saves, one per line: the save's key or the assignment's",
        )
        parser.add_argument(
            "--server", metavar="URL", help="a test server for judges that counts its requests"
        )
        parser.add_argument(
            "--kills",
            type=int,
            default=0,
            metavar="N",
            help="how many processes were killed at work, each of which may have lost some calls",
        )
        parser.add_argument(
            "--http-log", metavar="FILE", help="the site's log as JSON, to look for errors"
        )
        parser.add_argument(
            "--format",
            choices=("text", "json"),
            default="text",
            help="sentences, or one JSON object with the keys of each violation (default: text)",
        )

    def run(self, **options: Any) -> None:
        digested = digests.add_missing_digests()
        found: Counter[str] = Counter()
        tell = self._as_json if options["format"] == "json" else self._as_text
        with invariants.one_instant():
            tell(options, digested, found)
        if found:
            wrong = f"The invariants do not hold: {found.total()} violations."
            raise CommandError(wrong, returncode=FAULTS_FOUND)
        if options["format"] == "text":
            self.say("The invariants hold.")

    def _as_text(self, options: dict[str, Any], digested: list[str], found: Counter[str]) -> None:
        for name in digested:
            self.say(f"Batch {name!r} still has its digest; its texts now have digests, too.")
        seen = CheckedCounts()
        for violation in self._found(options, seen, found):
            self.say(str(violation))
        if seen.as_found:
            self.say(
                f"{seen.as_found} of {seen.sealed} sealed objects were sealed as found: "
                "they are older than seals of states."
            )
        for name in found:
            self.say(f"To repair {name}: {REMEDIES[name]}")

    def _as_json(self, options: dict[str, Any], digested: list[str], found: Counter[str]) -> None:
        """Write the JSON object while checking, one line per violation."""
        seen, comma = CheckedCounts(), ""
        self.say('{"violations": [')
        for violation in self._found(options, seen, found):
            self.say(f"{comma}{json.dumps(asdict(violation), ensure_ascii=False)}")
            comma = ","
        rest = {
            "holds": not found,
            "checks": [_as_json(check, found[check.name]) for check in CHECKS],
            "checked": asdict(seen),
            "digested": digested,
        }
        self.say(f"], {json.dumps(rest, ensure_ascii=False)[1:]}")

    def _found(
        self, options: dict[str, Any], seen: CheckedCounts, found: Counter[str]
    ) -> Iterator[Violation]:
        for each in (violations(seen), as_violations(self.beside(options))):
            for violation in each:
                found[violation.check] += 1
                yield violation

    def beside(self, options: dict[str, Any]) -> Iterator[str]:
        """Yield the violations found by comparison with files and a server."""
        if options["acknowledged"]:
            yield from invariants.lost_saves(lines_of(options["acknowledged"]))
        if options["http_log"]:
            yield from invariants.server_errors(lines_of(options["http_log"]))
        if options["server"]:
            yield from invariants.differs_from_server(stats_of(options["server"]), options["kills"])


def lines_of(path: str) -> list[str]:
    try:
        return Path(path).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path}: cannot be read ({error}); correct the path.") from error


def _as_json(check: Check, violations: int) -> dict[str, Any]:
    return {
        "name": check.name,
        "holds": check.holds,
        "mend": check.remedy,
        "violations": violations,
    }


def stats_of(url: str) -> dict[str, Any]:
    """Fetch the counts of a test server."""
    if not url.startswith(("http://", "https://")):
        raise CommandError(f"{url} is not the address of a server; write it as http://HOST:PORT.")
    try:
        with urllib.request.urlopen(f"{url.rstrip('/')}/stats", timeout=SECONDS) as response:
            return dict(json.load(response))
    except (OSError, ValueError, TypeError) as error:
        raise CommandError(f"{url} does not say what it counted ({error}).") from error
