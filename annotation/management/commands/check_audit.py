"""`check_audit`: verifies the audit trail against its seals."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from audit.models import Seal
from audit.seals import count_unsealed, find_broken_seals, is_seal
from datasets.console import FAULTS_FOUND
from datasets.console import Command as BaseCommand
from tandem.verbs import verb_of


class Command(BaseCommand):
    help = (
        "Check that the audit trail is as it was sealed. A changed, deleted or inserted event "
        "breaks its seal; the command names the seal and ends with an error."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--head",
            metavar="DIGEST",
            help=f"a digest that {verb_of('seal_audit')} printed and that you stored outside the "
            "site; if the trail was rewritten, no seal has this digest",
        )

    def run(self, **options: Any) -> None:
        wrong = list(find_broken_seals())
        if options["head"] and not is_seal(options["head"]):
            wrong.append("no seal here has the digest that was stored outside the site")
        for each in wrong:
            self.say(f"{each[:1].upper()}{each[1:]}.")
        if wrong:
            faults = "1 fault" if len(wrong) == 1 else f"{len(wrong)} faults"
            raise CommandError(f"The audit trail is not valid: {faults}.", returncode=FAULTS_FOUND)
        self.say(
            f"{Seal.objects.count()} seals are valid; {count_unsealed()} events are not sealed yet."
        )
