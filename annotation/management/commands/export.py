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
from annotation.management.output import print_lines, write_file, write_whole
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
    help = (
        "Streams an export of a campaign as JSON Lines, CSV or Parquet; qrels also in TREC's own "
        "form."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--campaign", required=True)
        parser.add_argument("--what", required=True, choices=sorted(EXPORTS))
        parser.add_argument(
            "--format",
            choices=("jsonl", "csv", "parquet", "trec"),
            help="jsonl is the default, for qrels trec; parquet needs --output",
        )
        parser.add_argument("--output", type=Path, metavar="F", help="a file; else standard output")

    def run(self, **options: Any) -> None:
        campaign = campaign_called(options["campaign"])
        make, columns = EXPORTS[options["what"]]
        chosen = options["format"] or ("trec" if options["what"] == "qrels" else "jsonl")
        if chosen == "trec" and options["what"] != "qrels":
            raise CommandError("Only qrels have TREC's form; give --format jsonl, csv or parquet.")
        if chosen == "parquet" and not options["output"]:
            raise CommandError("Parquet is no text to print; give --output F.")
        try:
            if options["output"]:
                with self.progress("lines") as tick:
                    told = counted(make(campaign), tick)
                    self.write(options["output"], options["what"], chosen, told)
            else:
                print_lines(self.stdout, as_text(chosen, columns, make(campaign)))
        except (NoGradesError, BlankError) as error:
            raise CommandError(f"{error}.") from error

    def write(self, path: Path, what: str, chosen: str, lines: Iterator[Line]) -> None:
        if chosen != "parquet":
            write_whole(path, as_text(chosen, EXPORTS[what][1], lines))
            return
        # Here, since no other export needs the memory and the time that loading it takes.
        from annotation.files.parquet import write_parquet

        write_file(path, lambda file: write_parquet(file, what, lines))


class BlankError(ValueError):
    """An identifier that TREC's form, whose columns are parted by blanks, cannot hold."""


def counted(lines: Iterator[Line], tick: Callable[[int], None]) -> Iterator[Line]:
    for number, line in enumerate(lines, start=1):
        tick(number)
        yield line


def as_trec(line: Line) -> str:
    cells = [str(line[name]) for name in ("query", "subtopic", "passage", "grade")]
    for cell in cells:
        if cell.split() != [cell]:
            raise BlankError(f"The id {cell!r} holds a blank; give --format jsonl or csv")
    return " ".join(cells) + "\n"


def as_text(chosen: str, columns: tuple[str, ...], lines: Iterator[Line]) -> Iterator[str]:
    if chosen == "csv":
        return write_rows(columns, lines)
    if chosen == "trec":
        return map(as_trec, lines)
    return (json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
