"""`draws`: shows a campaign's stored sample, or repeats the sampling and compares."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from annotation.campaign_setup.replay import differences
from annotation.campaigns.sampling import (
    CHUNK,
    COLUMNS,
    sample_lines,
    sampled_queries,
    summary,
)
from annotation.management.base import campaign_called, write_or_print
from annotation.models import Campaign
from datasets.console import FAULTS_FOUND
from datasets.console import Command as BaseCommand
from tandem.files.spreadsheet import write_rows

MOST = 20


class Command(BaseCommand):
    help = (
        "Write a campaign's stored sample: each query and each unit, sampled or not, with kind, "
        "seed, wave, probability and role. With --queries, write only the ids of the queries that "
        "were sampled for people. With --check, repeat the sampling and compare."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--campaign", required=True)
        which = parser.add_mutually_exclusive_group()
        which.add_argument(
            "--queries", action="store_true", help="the ids of the sampled queries, one a line"
        )
        which.add_argument(
            "--check",
            action="store_true",
            help="compare what is stored with a replay; exit status 1 if they differ",
        )
        parser.add_argument(
            "--format", choices=("jsonl", "csv"), default="jsonl", help="the form of the output"
        )
        parser.add_argument(
            "--output", type=Path, metavar="F", help="a file; standard output by default"
        )

    def run(self, **options: Any) -> None:
        campaign = campaign_called(options["campaign"])
        if options["check"]:
            self.check_draw(campaign)
            return
        lines = as_text(options["format"], sample_lines(campaign))
        if options["queries"]:
            keys = sampled_queries(campaign).iterator(chunk_size=CHUNK)
            lines = (f"{key}\n" for key in keys)
        write_or_print(self.stdout, options["output"], lines)

    def check_draw(self, campaign: Campaign) -> None:
        found = list(islice(differences(campaign), MOST + 1))
        for line in found[:MOST]:
            self.say(line)
        if found:
            more = " or more" if len(found) > MOST else ""
            wrong = f"{min(len(found), MOST)}{more} differences from the replay"
            raise CommandError(f"Campaign {campaign.name!r}: {wrong}.", returncode=FAULTS_FOUND)
        sizes = summary(campaign)
        self.say(
            f"Campaign {campaign.name!r}: the stored sample of {sizes['queries']} queries and "
            f"{sizes['units']} units agrees with its seed."
        )


def as_text(chosen: str, lines: Iterator[dict[str, Any]]) -> Iterator[str]:
    if chosen == "csv":
        return write_rows(COLUMNS, lines)
    return (json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
