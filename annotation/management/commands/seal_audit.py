"""`seal_audit`: seals the newest events of the audit trail."""

from __future__ import annotations

from typing import Any

from annotation.audit_log import count_answers
from audit.models import SITE
from audit.sealing import seal
from datasets.console import Command as BaseCommand


class Command(BaseCommand):
    help = (
        "Closes the events of the audit trail that came since the last time, under a digest that "
        "holds all before, and prints that of the site. Beat does so every quarter of an hour; a "
        "digest that is kept elsewhere is proof against a trail that was written anew."
    )

    def run(self, **options: Any) -> None:
        count_answers()
        sealed = seal()
        if not sealed:
            self.say("Nothing came since the last seal.")
        for each in sealed:
            whose = "the site" if each.chain == SITE else f"campaign {each.chain}"
            self.say(f"Sealed {each.count} events of {whose}: seal {each.number}, {each.digest}")
