"""`pay`: a table of the people of a campaign with their items, active time and pay."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from annotation.management.base import campaign_called, print_lines
from annotation.people.pay import COLUMNS, PayTable, Work, pay_table, work_line
from datasets.console import Command as BaseCommand
from tandem.files.spreadsheet import write_rows

HEADINGS = ("person", "items", "median time", "active time", "pay", "pay per hour")
Rows = Sequence[Sequence[str]]


class Command(BaseCommand):
    help = (
        "Show who worked in a campaign: items, median and total active time, pay, and pay per "
        "hour, by pseudonym. The rate is a setting of the campaign (--pay)."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("campaign", metavar="CAMPAIGN", help="the name of the campaign")
        parser.add_argument(
            "--format", choices=sorted(WRITERS), default="md", help="by default md, Markdown"
        )

    def run(self, **options: Any) -> None:
        table = pay_table(campaign_called(options["campaign"]))
        print_lines(self.stdout, (f"{line}\n" for line in WRITERS[options["format"]](table)))


def _rows(table: PayTable) -> Rows:
    rows = [_row(each, each.name) for each in table.people]
    return [*rows, _row(table.everybody, "everybody")] if len(rows) > 1 else rows


def _row(work: Work, name: str) -> Sequence[str]:
    return (
        name,
        str(work.items),
        _minutes(work.median),
        _minutes(work.total if work.timed else None),
        "–" if work.pay is None else str(work.pay),
        "–" if work.hourly is None else str(work.hourly),
    )


def _minutes(seconds: float | None) -> str:
    return "–" if seconds is None else f"{seconds / 60:.1f}".removesuffix(".0") + " min"


def _caption(table: PayTable) -> str:
    rate = f"The campaign pays {table.rate}." if table.rate else "The campaign names no pay."
    untimed = table.everybody.items - table.everybody.timed
    return f"{rate} {untimed} items have no time." if untimed else rate


def _markdown(table: PayTable) -> Iterator[str]:
    yield _caption(table) + "\n"
    yield f"| {' | '.join(HEADINGS)} |"
    yield f"| --- |{' ---: |' * (len(HEADINGS) - 1)}"
    yield from (f"| {' | '.join(row)} |" for row in _rows(table))


def _latex(table: PayTable) -> Iterator[str]:
    yield f"% {_caption(table)}"
    yield rf"\begin{{tabular}}{{l{'r' * (len(HEADINGS) - 1)}}}"
    yield r"\toprule"
    yield f"{' & '.join(HEADINGS)} \\\\"
    yield r"\midrule"
    for row in _rows(table):
        yield f"{' & '.join(_escaped(cell) for cell in row)} \\\\"
    yield r"\bottomrule"
    yield r"\end{tabular}"


def _escaped(text: str) -> str:
    plain = text.replace("\\", "/").replace("–", "--")
    return "".join(f"\\{c}" if c in "#$%&_{}" else c for c in plain)


def _csv(table: PayTable) -> Iterator[str]:
    lines = (work_line(each, table.rate) for each in table.people)
    yield "".join(write_rows(COLUMNS, lines)).rstrip()


def _json(table: PayTable) -> Iterator[str]:
    yield json.dumps(
        {
            "rate": str(table.rate) if table.rate else None,
            "people": [work_line(each, table.rate) for each in table.people],
            "everybody": work_line(table.everybody, table.rate),
        },
        ensure_ascii=False,
        indent=2,
    )


WRITERS: dict[str, Callable[[PayTable], Iterator[str]]] = {
    "md": _markdown,
    "latex": _latex,
    "csv": _csv,
    "json": _json,
}
