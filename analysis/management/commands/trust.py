"""`trust`: plans that certify what a judge may decide: commit, draw, look, certify, end."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from analysis.trust.cells import TrustError
from analysis.trust.certificates import issue
from analysis.trust.options import PLAN_OPTIONS, PlanOptions
from analysis.trust.outlook import outlook_of
from analysis.trust.plans import commit, end
from analysis.trust.running import draw_queries, look_and_describe, running_plan
from analysis.trust.words import noun_of, plan_sentences
from annotation.management.base import campaign_called
from annotation.models import Campaign
from datasets.console import Command as BaseCommand
from datasets.console import refusing
from tandem.document import count
from tandem.options import add_arguments, values_of
from tandem.trust.canonical import canonical
from tandem.trust.price import outlook_sentences

ACTIONS = ("plan", "draw", "look", "certificate", "end")
DRAWN = 10
"""How many queries a draw asks people about, if nobody says."""


class Command(BaseCommand):
    help = (
        "What a judge may decide, proven by query: commit to a plan before the first label (plan), "
        "ask people about its next queries (draw), see what the labels prove (look), write it "
        "down for others (certificate), end it (end)."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", choices=ACTIONS, metavar="ACTION", help=", ".join(ACTIONS))
        parser.add_argument("campaign", metavar="CAMPAIGN")
        add_arguments(parser, PLAN_OPTIONS)
        parser.add_argument(
            "--queries", type=int, default=DRAWN, metavar="N", help=f"for draw; else {DRAWN}"
        )
        parser.add_argument(
            "--output", type=Path, metavar="FILE", help="for certificate: the file to write"
        )
        parser.add_argument("--reason", default="", help="for end: why, for the record")
        parser.add_argument("--format", choices=("text", "json"), default="text")

    def run(self, **options: Any) -> None:
        campaign = campaign_called(options["campaign"])
        run: Callable[[Campaign, dict[str, Any]], None] = getattr(self, f"_{options['action']}")
        with refusing(TrustError):
            run(campaign, options)

    def _plan(self, campaign: Campaign, options: dict[str, Any]) -> None:
        for name in ("variable", "judge"):
            if not options[name]:
                raise CommandError(f"plan needs --{name}.")
        plan = commit(campaign, PlanOptions(**values_of(PLAN_OPTIONS, options)))
        outlook = outlook_of(plan)
        text = "\n".join((*plan_sentences(plan), *outlook_sentences(outlook)))
        facts = {"digest": plan.digest, "outlook": outlook.as_json()}
        self._print(options, plan.document | facts, text)

    def _draw(self, campaign: Campaign, options: dict[str, Any]) -> None:
        if options["queries"] < 1:
            raise CommandError("--queries is at least 1.")
        made = draw_queries(running_plan(campaign), options["queries"])
        keys = [each.query.key for each in made]
        text = "Nothing is left."
        if keys:
            what = count(len(keys), *noun_of(made[0].plan))
            text = f"{what} drawn: people are asked about them now."
            if made[0].units is not None:
                of = count(len(set(keys)), "query", "queries")
                text = f"{what} of {of}: people are asked about the items with drawn cells now."
        self._print(options, {"drawn": keys}, text)

    def _look(self, campaign: Campaign, options: dict[str, Any]) -> None:
        self._print(options, *look_and_describe(running_plan(campaign)))

    def _certificate(self, campaign: Campaign, options: dict[str, Any]) -> None:
        made = issue(running_plan(campaign))
        text = f"{made.document['predicate']['statement']}\nSHA-256 {made.digest}"
        if (path := options["output"]) is not None:
            path.write_bytes(canonical(made.document))
            text += f"\nWritten to {path}."
        self._print(options, made.document, text)

    def _end(self, campaign: Campaign, options: dict[str, Any]) -> None:
        plan = running_plan(campaign)
        end(plan, options["reason"])
        text = "The plan has ended. Its labels are read like all others from now on."
        self._print(options, {"plan": plan.digest, "ended": True}, text)

    def _print(self, options: dict[str, Any], document: dict[str, Any], text: str) -> None:
        is_json = options["format"] == "json"
        self.stdout.write(json.dumps(document, ensure_ascii=False) if is_json else text)
