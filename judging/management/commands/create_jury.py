"""`create_jury`: creates or updates a jury of judges."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from annotation.management.base import campaign_called
from annotation.models import Rater
from datasets.console import Command as BaseCommand
from datasets.console import refusing
from judging.jury import RULES, Jury, JuryError, convene, create_jury, jury_of_samples
from tandem.similar import did_you_mean
from tandem.verbs import verb_of


class Command(BaseCommand):
    help = "Combine several judges, or several samples of one, into a jury, or update a jury."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME")
        parser.add_argument("--campaign", required=True, metavar="C")
        members = parser.add_mutually_exclusive_group(required=True)
        members.add_argument("--judges", metavar="A,B,C", help="at least two judges")
        members.add_argument(
            "--samples-of", metavar="J", help="a judge that was created with --param samples=K"
        )
        parser.add_argument("--rule", choices=RULES, default="majority")

    def run(self, **options: Any) -> None:
        campaign = campaign_called(options["campaign"])
        with refusing(JuryError, about=f"Jury {options['name']!r}"):
            jury = self.jury(options)
            with self.progress("counted", campaign.items.count()) as tick:
                session = convene(campaign, options["name"], jury, tick)
        self.say(
            f"Jury {options['name']} over {campaign}: {session.labels:,} labels, "
            f"{session.ties:,} ties, {session.too_few:,} without enough votes; "
            f"{session.changed:,} answers written, {session.unchanged:,} as they were."
        )

    def jury(self, options: dict[str, Any]) -> Jury:
        if options["samples_of"]:
            return jury_of_samples(_rater(options["samples_of"]), options["rule"])
        names = [name for name in map(str.strip, options["judges"].split(",")) if name]
        return create_jury([_rater(name) for name in dict.fromkeys(names)], options["rule"])


def _rater(name: str) -> Rater:
    rater = Rater.objects.filter(name=name).first()
    if rater is None:
        judges = Rater.objects.filter(kind=Rater.Kind.JUDGE).values_list("name", flat=True)
        hint = did_you_mean(name, judges, f"create it with {verb_of('create_judge')}")
        raise JuryError(f"there is no judge {name!r}; {hint}")
    return rater
