"""`prepare_batch`: has a judge work as the author of a preparation step."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from annotation.campaigns.design import DesignError
from annotation.registry import STEPS
from datasets.console import refusing
from judging.management.base import account_called, batch_called
from judging.management.commands.run_judge import Command as RunJudge
from judging.preparation.status import campaign_for
from tandem.verbs import verb_of


class Command(RunJudge):
    help = (
        "Have a judge write for a preparation step, or continue where it was interrupted. Review "
        f"its answers with {verb_of('review_batch')}, and create a new batch from them with "
        f"{verb_of('build_batch')}."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        asked = [name for name, step in STEPS.items() if step.protocol]
        parser.add_argument("--step", required=True, choices=asked, help="which step")
        parser.add_argument("--batch", required=True, metavar="B", help="the batch to begin with")
        parser.add_argument("--by", metavar="NAME", help="the researcher who owns the step")
        self.add_terms(parser)

    def run(self, **options: Any) -> None:
        step, batch = STEPS[options.pop("step")], batch_called(options.pop("batch"))
        by = options.pop("by")
        with refusing(DesignError, about=f"Step {step.name}"):
            campaign = campaign_for(batch, step, account_called(by) if by else None)
        super().run(campaign=campaign.name, **options)
