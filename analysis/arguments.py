"""A report's options as command-line arguments, with or without a database."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any, cast

from analysis.data.selection import ReportOptions, read_stratum
from analysis.formats import FORMATS
from analysis.statistics import Level
from datasets.options import add_arguments as add_declared
from datasets.options import check_bounds, options_of, values_of

LEVELS = ("nominal", "ordinal", "interval")


class OptionError(ValueError):
    """An option has an invalid value."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add all options of a report except those that name its source."""
    parser.add_argument(
        "--level",
        action="append",
        default=[],
        metavar="VARIABLE=LEVEL",
        help="for --labels: nominal (the default), ordinal or interval",
    )
    parser.add_argument("--format", choices=list(FORMATS), default="json")
    parser.add_argument("--output", type=Path, metavar="F", help="a file; else standard output")
    add_declared(parser, options_of(ReportOptions))


def read_options(given: dict[str, Any]) -> ReportOptions:
    """Read the options of a command line. Raises OptionError."""
    for text in given["stratum"]:
        if "" in read_stratum(text):
            raise OptionError(f"--stratum {text!r} is not NAME:VALUE, such as system:bm25.")
    options = options_of(ReportOptions)
    try:
        check_bounds(options, given)
    except ValueError as error:
        raise OptionError(str(error)) from error
    return ReportOptions.of_values(values_of(options, given))


def levels_of(given: list[str]) -> dict[str, Level]:
    """Read the levels given with `--level`. Raises OptionError."""
    levels: dict[str, Level] = {}
    for each in given:
        name, _, level = each.rpartition("=")
        if not name or level not in LEVELS:
            raise OptionError(f"--level {each!r} is not VARIABLE=nominal|ordinal|interval.")
        levels[name] = cast(Level, level)
    return levels
