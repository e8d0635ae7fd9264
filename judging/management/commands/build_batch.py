"""Makes a new batch of what was accepted in a step of preparation."""

from __future__ import annotations

import json
import math
import tempfile
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from annotation.preparation.base import Step
from annotation.preparation.steps import STEPS
from datasets.console import Command as BaseCommand
from datasets.loading import load_batch
from datasets.models import Batch
from judging.management.preparation import batch_called, work_called
from judging.preparation.building import (
    Built,
    UnreviewedError,
    accepted,
    built_lines,
    numbers_of,
)


class Command(BaseCommand):
    help = "Makes a new batch of a batch and of what was accepted for it in a step of preparation."

    def add_arguments(self, parser: ArgumentParser) -> None:
        told = "; ".join(f"{s.name}: {', '.join(s.numbers)}" for s in STEPS.values() if s.numbers)
        parser.add_argument("--step", required=True, choices=list(STEPS), help="which step")
        parser.add_argument("--batch", required=True, metavar="B", help="the batch it began with")
        parser.add_argument("--name", required=True, help="of the new batch")
        parser.add_argument("--judge", default="", metavar="J", help="the author, if several wrote")
        parser.add_argument("--output", type=Path, metavar="F", help="keep its file, too")
        parser.add_argument(
            "--set", action="append", default=[], metavar="K=V", help=f"a threshold ({told})"
        )
        parser.add_argument(
            "--partial", action="store_true", help="even where answers or reviews are missing"
        )

    def run(self, **options: Any) -> None:
        step, batch = STEPS[options["step"]], batch_called(options["batch"])
        try:
            numbers = numbers_of(step, read_numbers(options["set"]))
            results = {}
            if step.protocol:
                work = work_called(step, batch, options["judge"])
                results = accepted(step, *work, options["partial"])
        except (UnreviewedError, ValueError) as error:
            raise CommandError(f"Step {step.name}: {error}.") from error
        built = Built()
        with tempfile.TemporaryDirectory() as folder:
            path = options["output"] or Path(folder, "batch.jsonl")
            with path.open("w", encoding="utf-8") as file:
                for line in built_lines(step, batch, results, numbers, built):
                    file.write(json.dumps(line, ensure_ascii=False) + "\n")
            self.load(step, batch, path, options["name"], built)

    def load(self, step: Step, batch: Batch, path: Path, name: str, built: Built) -> None:
        if not built.queries:
            raise CommandError(f"Step {step.name} leaves no query of {batch}; nothing was made.")
        report = load_batch([path], name, "native")
        what = "Nothing to do: it is there already" if report.unchanged else "Made"
        self.say(f"{what}: batch {name!r} with {built.queries} queries, by {step.name}.")
        if built.left_out:
            shown = ", ".join(built.left_out[:10]) + (" …" if len(built.left_out) > 10 else "")
            self.say(f"Left out: {len(built.left_out)} queries ({shown}).")


def read_numbers(given: list[str]) -> dict[str, float]:
    """Thresholds given as K=V. Raises ValueError."""
    found: dict[str, float] = {}
    for pair in given:
        name, _, value = pair.partition("=")
        try:
            found[name] = float(value)
        except ValueError:
            found[name] = math.nan
        if not math.isfinite(found[name]):
            raise ValueError(f"threshold {pair!r} is not K=V with V a number; mend it")
    return found
