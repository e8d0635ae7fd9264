"""`review_batch`: reviews what authors wrote for a preparation step, in a file or all at once."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections import Counter
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from annotation.registry import STEPS
from datasets.console import Command as BaseCommand
from judging.management.base import batch_called, reviewer_called, work_called
from judging.preparation.review import accept_all, authored_answers, import_reviews, review_line


class Command(BaseCommand):
    help = (
        "Export the answers of a preparation step for review, import the reviewed file, or "
        "accept all answers without a problem. In the file, each line gets a verdict: accepted, "
        "changed (with the answer corrected in place) or rejected. A file written elsewhere may "
        "name the item instead of the id, and its reviewer under by."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        asked = [name for name, step in STEPS.items() if step.protocol]
        parser.add_argument("--step", required=True, choices=asked, help="which step")
        parser.add_argument("--batch", required=True, metavar="B", help="the step's original batch")
        parser.add_argument("--judge", default="", metavar="J", help="the author, if several wrote")
        parser.add_argument("--by", metavar="NAME", help="the reviewer's account")
        parser.add_argument(
            "--keep", action="store_true", help="import no review of an answer that has one"
        )
        how = parser.add_mutually_exclusive_group(required=True)
        how.add_argument("--export", type=Path, metavar="F", help="a file of JSON Lines to write")
        how.add_argument("--import", type=Path, metavar="F", help="the reviewed file")
        how.add_argument("--accept", action="store_true", help="accept all unreviewed answers")

    def run(self, **options: Any) -> None:
        step, batch = STEPS[options["step"]], batch_called(options["batch"])
        campaign, author = work_called(step, batch, options["judge"])
        found = list(authored_answers(step, campaign, author))
        if path := options["export"]:
            lines = (json.dumps(review_line(each), ensure_ascii=False) + "\n" for each in found)
            path.write_text("".join(lines), "utf-8")
            self.say(f"Wrote {len(found)} answers to {path}.")
            return
        by = reviewer_called(options["by"]) if options["by"] else None
        if path := options["import"]:
            self.tell(import_reviews(campaign, path, found, by, options["keep"]))
            return
        if by is None:
            raise CommandError("Say who reviews; give --by NAME.")
        self.tell(accept_all(campaign, found, by))

    def tell(self, counts: Counter[str]) -> None:
        summary = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()) if count)
        self.say(f"Reviews: {summary or 'nothing to review'}.")
