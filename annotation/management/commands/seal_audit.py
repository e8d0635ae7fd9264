"""`seal_audit`: seals the newest events of the audit trail."""

from __future__ import annotations

from typing import Any

from annotation.audit_log import count_answers
from audit.models import SITE
from audit.seals import seal
from datasets.console import Command as BaseCommand


class Command(BaseCommand):
    help = (
        "Seal the events of the audit trail since the last seal under a digest that covers all "
        "earlier ones, and print the digest of the site. Workers do so every quarter of an hour. "
        "A digest that you store outside the site exposes a rewritten trail."
    )

    def run(self, **options: Any) -> None:
        count_answers()
        sealed = seal()
        if not sealed:
            self.say("There are no events since the last seal.")
        for each in sealed:
            whose = "the site" if each.chain == SITE else f"campaign {each.chain}"
            self.say(f"Sealed {each.count} events of {whose}: seal {each.number}, {each.digest}")
