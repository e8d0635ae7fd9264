"""Streams an export."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from annotation import exporting
from annotation.files import responses, rows
from annotation.files.spreadsheet import write_rows
from annotation.management.campaigns import campaign_called
from annotation.management.output import write_whole
from annotation.models import Campaign
from annotation.qrels import NoGradesError, qrels
from datasets.console import Command as BaseCommand

Line = dict[str, Any]

_SPANS = ("item", "unit", "kind", "variable", "value", "rater", "rater_kind", "replicate",
          "field", "start", "end", "text")  # fmt: skip
_BATCH = ("id", "text", "asked_at", "questions", "passages", "key_points", "reports", "rankings",
          "references", "meta")  # fmt: skip

EXPORTS: dict[str, tuple[Callable[[Campaign], Iterator[Line]], tuple[str, ...]]] = {
    "units": (
        exporting.units,
        ("item", "unit", "kind", "query", "system", "variables", "texts"),
    ),
    "labels": (exporting.labels, rows.COLUMNS),
    "responses": (exporting.responses, responses.COLUMNS),
    "spans": (exporting.spans, _SPANS),
    "qrels": (qrels, ("query", "subtopic", "passage", "grade")),
    "batch": (exporting.batch, _BATCH),
}


class Command(BaseCommand):
    help = "Streams an export of a campaign as JSON Lines or CSV; qrels also in TREC's own form."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--campaign", required=True)
        parser.add_argument("--what", required=True, choices=sorted(EXPORTS))
        parser.add_argument(
            "--format", choices=("jsonl", "csv", "trec"), help="jsonl; for qrels trec"
        )
        parser.add_argument("--output", type=Path, metavar="F", help="a file; else standard output")

    def run(self, **options: Any) -> None:
        campaign = campaign_called(options["campaign"])
        make, columns = EXPORTS[options["what"]]
        chosen = options["format"] or ("trec" if options["what"] == "qrels" else "jsonl")
        if chosen == "trec" and options["what"] != "qrels":
            raise CommandError("Only qrels have TREC's form; give --format jsonl or csv.")
        try:
            lines = as_text(chosen, columns, make(campaign))
            if options["output"]:
                write_whole(options["output"], lines)
            else:
                for line in lines:
                    self.stdout.write(line, ending="")
        except NoGradesError as error:
            raise CommandError(f"{error}.") from error


def as_text(chosen: str, columns: tuple[str, ...], lines: Iterator[Line]) -> Iterator[str]:
    if chosen == "csv":
        return write_rows(columns, lines)
    if chosen == "trec":
        return (f"{g['query']} {g['subtopic']} {g['passage']} {g['grade']}\n" for g in lines)
    return (json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
