"""`build_batch`: creates a new batch from what was accepted in a preparation step."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from annotation.preparation.base import Step
from annotation.registry import STEPS
from datasets.console import Command as BaseCommand
from datasets.console import refusing
from datasets.derivation import DerivationError
from judging.management.base import batch_called, work_called
from judging.preparation.build import (
    BuildCounts,
    NothingLeftError,
    UnreviewedError,
    accepted_results,
    build,
    given_thresholds,
)


class Command(BaseCommand):
    help = "Create a new batch from a batch and the accepted answers of a preparation step."

    def add_arguments(self, parser: ArgumentParser) -> None:
        thresholds = "; ".join(
            f"{s.name}: {', '.join(s.numbers)}" for s in STEPS.values() if s.numbers
        )
        parser.add_argument("--step", required=True, choices=list(STEPS), help="which step")
        parser.add_argument("--batch", required=True, metavar="B", help="the step's original batch")
        parser.add_argument("--name", required=True, help="name of the new batch")
        parser.add_argument(
            "--judge", default="", metavar="J", help="the author, if there are several"
        )
        parser.add_argument("--output", type=Path, metavar="F", help="keep its file, too")
        parser.add_argument(
            "--set", action="append", default=[], metavar="K=V", help=f"a threshold ({thresholds})"
        )
        parser.add_argument(
            "--partial", action="store_true", help="even if answers or reviews are missing"
        )

    def run(self, **options: Any) -> None:
        step, batch = STEPS[options["step"]], batch_called(options["batch"])
        with refusing(UnreviewedError, ValueError, about=f"Step {step.name}"):
            numbers = given_thresholds(step, options["set"])
            results, work = {}, None
            if step.protocol:
                work = work_called(step, batch, options["judge"])
                results = accepted_results(step, *work, options["partial"])
        with refusing(NothingLeftError, DerivationError):
            built, unchanged = build(
                step, batch, results, numbers, options["name"], options["output"], work
            )
        self.tell(step, options["name"], built, unchanged)

    def tell(self, step: Step, name: str, built: BuildCounts, unchanged: bool) -> None:
        if unchanged:
            self.say(f"Nothing to do: batch {name!r} exists already ({built.queries} queries).")
        else:
            self.say(f"Created batch {name!r} from step {step.name}: {built.queries} queries.")
        if built.left_out:
            shown = ", ".join(built.left_out[:10]) + (" …" if len(built.left_out) > 10 else "")
            self.say(f"Left out: {len(built.left_out)} queries ({shown}).")
