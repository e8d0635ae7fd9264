"""The report's options as arguments of a command, whether it has a database or not."""

from __future__ import annotations

import math
from argparse import ArgumentParser
from pathlib import Path
from typing import Any, cast

from analysis.data.selection import (
    BOOTSTRAPS,
    LEAST_WIDTH,
    PAIRS,
    REFERENCES,
    Choices,
    read_stratum,
)
from analysis.formats import FORMATS
from analysis.statistics import Level

LEVELS = ("nominal", "ordinal", "interval")
CHOSEN = {
    "variable": ("NAME", "only this variable; may be given several times, as the next three"),
    "rater": (
        "NAME",
        "only this rater, or all of a kind: human, judge or reference; judges stay where none is "
        "named",
    ),
    "judge": ("NAME", "of the judges only this one"),
    "stratum": ("NAME:VALUE", "only items of it, such as system:bm25 or length:short"),
}


class OptionError(ValueError):
    """A value that an option does not take."""


def add_arguments(parser: ArgumentParser) -> None:
    """All options of a report but those that say what it is of."""
    parser.add_argument(
        "--level",
        action="append",
        default=[],
        metavar="VARIABLE=LEVEL",
        help="for --labels: nominal (the default), ordinal or interval",
    )
    parser.add_argument("--format", choices=list(FORMATS), default="json")
    parser.add_argument("--output", type=Path, metavar="F", help="a file; else standard output")
    parser.add_argument("--seed", type=int, default=0, metavar="S")
    parser.add_argument(
        "--resamples", type=int, metavar="N", help="else 10,000 below 30 queries, and 2,000"
    )
    parser.add_argument(
        "--epsilon", type=float, default=0.2, help="of the alternative annotator test"
    )
    parser.add_argument(
        "--width", type=float, default=0.1, help="of an interval that a plan aims at"
    )
    parser.add_argument(
        "--threshold", type=float, metavar="T", help="show only the cut of ratings at T"
    )
    for name, (metavar, words) in CHOSEN.items():
        parser.add_argument(f"--{name}", action="append", default=[], metavar=metavar, help=words)
    parser.add_argument(
        "--reference",
        choices=REFERENCES,
        default="majority",
        help="hold judges against people's majority, or against adjudicators' decisions, too",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="have other libraries compute figures again, from 100,000 labels on too",
    )
    parser.add_argument(
        "--pairs",
        choices=PAIRS,
        default="distribution",
        help="above 30 people: how the agreement of pairs is distributed, or all those, too, "
        "that share at least 30 units",
    )
    parser.add_argument(
        "--bootstrap",
        choices=BOOTSTRAPS,
        default="queries",
        help="draw queries anew, or two-way: queries and raters, so that intervals hold for "
        "other people, too",
    )
    parser.add_argument(
        "--assisted",
        action="store_true",
        help="take labels made with a judge's verdict in view like all others",
    )


def choices_of(options: dict[str, Any]) -> Choices:
    """The choices that the options state. Raises OptionError for values that no report takes."""
    for text in options["stratum"]:
        if "" in read_stratum(text):
            raise OptionError(f"--stratum {text!r} is not NAME:VALUE, such as system:bm25.")
    choices = Choices(
        options["seed"],
        options["resamples"],
        options["epsilon"],
        options["assisted"],
        options["threshold"],
        tuple(options["variable"]),
        tuple(options["rater"]),
        tuple(options["judge"]),
        tuple(map(read_stratum, options["stratum"])),
        options["width"],
        options["reference"],
        options["check"],
        options["pairs"],
        options["bootstrap"],
    )
    if (choices.resamples is not None and choices.resamples < 1) or choices.seed < 0:
        raise OptionError("--resamples is at least 1 and --seed at least 0; mend them.")
    if not math.isfinite(choices.epsilon) or not 0 <= choices.epsilon <= 1:
        raise OptionError("--epsilon is a number from 0 to 1; mend it.")
    if not LEAST_WIDTH <= choices.width <= 1:
        raise OptionError(f"--width is a number from {LEAST_WIDTH} to 1; mend it.")
    return choices


def levels_of(given: list[str]) -> dict[str, Level]:
    """The levels that `--level` gives. Raises OptionError."""
    levels: dict[str, Level] = {}
    for each in given:
        name, _, level = each.rpartition("=")
        if not name or level not in LEVELS:
            raise OptionError(f"--level {each!r} is not VARIABLE=nominal|ordinal|interval.")
        levels[name] = cast(Level, level)
    return levels
