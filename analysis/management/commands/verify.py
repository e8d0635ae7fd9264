"""`verify`: checks a release, an export or a certificate, without a database."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from analysis.release.certificates import HELP, Proof, add_options
from analysis.release.verify import tokens_of, verify
from datasets.console import FAULTS_FOUND
from datasets.console import Command as BaseCommand


class Command(BaseCommand):
    help = HELP

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_options(parser)

    def run(self, **options: Any) -> None:
        proof = Proof(options["digest"], options["key"], options["signature"])
        found = verify(options["folder"], tokens_of(options["tokenizer"]), proof)
        for line in found.wrong:
            self.stdout.write(line)
        if found.refusal:
            status = FAULTS_FOUND if found.wrong else 1
            raise CommandError(found.refusal, returncode=status)
        self.say(found.remark)
