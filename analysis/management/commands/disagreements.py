"""`disagreements`: counts the units that match a filter, and carries out actions on them."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from analysis.disagreements.actions import (
    ACTIONS,
    Action,
    ActionError,
    SelectedUnits,
    carry_out,
    plan_action,
    sentences,
    target_named,
)
from analysis.disagreements.listing import FILTER_HELP, UnitList
from analysis.disagreements.votes import votes_of
from annotation.management.base import campaign_called
from annotation.presentation import schema
from datasets.console import Command as BaseCommand
from datasets.console import refusing
from tandem.document import count


class Command(BaseCommand):
    help = (
        "Count the units on which people or judges differ, and send them to adjudication, make "
        "them gold answers of another campaign, or use them as examples for judge files."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--campaign", required=True)
        for name, about in FILTER_HELP.items():
            if name != "sort":
                parser.add_argument(f"--{name}", default="", help=about)
        parser.add_argument("--do", choices=list(ACTIONS), help="what to do with the units")
        parser.add_argument(
            "--into", default="", metavar="NAME", help="the campaign that gets the gold answers"
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="only print how many units could be taken"
        )

    def run(self, **options: Any) -> None:
        campaign = campaign_called(options["campaign"])
        names = [each.name for each in schema(campaign).variables]
        variable = options["variable"] or names[0]
        if variable not in names:
            raise CommandError(f"There is no variable {variable!r}; there are {', '.join(names)}.")
        table = votes_of(campaign, variable, bool(options["baseline"]))
        listed = UnitList(options, campaign, variable, table)
        number = count(len(listed.found), *schema(campaign).noun)
        self.say(f"{number} of {len(listed.table):,} that anybody labelled.")
        if options["do"] is None:
            return
        action = ACTIONS[options["do"]]
        with refusing(ActionError):
            target = target_named(campaign, options["into"], None) if action.needs_target else None
            self._act(
                action, SelectedUnits(campaign, variable, listed.units, target), options["dry_run"]
            )

    def _act(self, action: Action, chosen: SelectedUnits, dry_run: bool) -> None:
        """Carry out an action, or say what it could do. Raises ActionError."""
        if not dry_run:
            number, _ = carry_out(action, chosen, None)
            self.say(f"{chosen.count(number)} {action.done}.")
            return
        for line in sentences(action, plan_action(action, chosen), chosen):
            self.say(f"{line}.")
