"""A report's options as command-line arguments, with or without a database."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tandem.formats import FORMATS
from tandem.formats.check import CHECK_FORMATS
from tandem.labels.file.scales import DeclaredScale, declared_scale
from tandem.labels.selection import ReportOptions, read_stratum
from tandem.options import add_arguments as add_declared
from tandem.options import check_bounds, options_of, values_of
from tandem.protocols.base import Declaration
from tandem.protocols.file_structure import ProtocolFileError
from tandem.protocols.protocol_file import read_path
from tandem.statistics import Level
from tandem.statistics.estimate import LEVELS
from tandem.trust.options import CHECK_OPTIONS, CheckOptions

FOR_LABELS = ("level", "scale", "wide", "protocol")
"""The options that only labels files have; a campaign's protocol says the same."""
OF_LABELS = ("assisted", "variable", "rater", "judge", "stratum", "reference", "exposed")
"""The options of a report that say which labels count."""


class OptionError(ValueError):
    """An option has an invalid value."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add all options of a report except those that name its source."""
    add_label_arguments(parser)
    _add_output_arguments(parser, FORMATS, "json")
    add_declared(parser, options_of(ReportOptions))


def add_check_arguments(parser: ArgumentParser) -> None:
    """Add all options of `tandem trust check` except those that name its source."""
    add_declared(parser, CHECK_OPTIONS)
    add_declared(parser, (each for each in options_of(ReportOptions) if each.name in OF_LABELS))
    add_label_arguments(parser)
    _add_output_arguments(parser, CHECK_FORMATS, "md")


def add_label_arguments(parser: ArgumentParser) -> None:
    """Add the options that say what the labels of files are."""
    parser.add_argument(
        "--level",
        action="append",
        default=[],
        metavar="VARIABLE=LEVEL",
        help="for labels files: nominal (the default), ordinal, interval, or set (lists of codes)",
    )
    parser.add_argument(
        "--scale",
        action="append",
        default=[],
        metavar="VARIABLE=CODES[:LEVEL]",
        help="for labels files: the codes in their order, such as rating=1,2,3,4,5:ordinal (the "
        "default level)",
    )
    parser.add_argument(
        "--wide",
        metavar="VARIABLE",
        help="for labels files: the files have one column for each rater, with labels of VARIABLE",
    )
    parser.add_argument(
        "--protocol",
        type=Path,
        metavar="FILE",
        help="for labels files: a team's protocol, whose variables, codes and levels they have",
    )


def _add_output_arguments(parser: ArgumentParser, formats: Iterable[str], usual: str) -> None:
    parser.add_argument("--format", choices=list(formats), default=usual)
    parser.add_argument("--output", type=Path, metavar="F", help="a file; else standard output")


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


def read_check_options(given: dict[str, Any]) -> CheckOptions:
    """Read the options of a check from a command line. Raises OptionError."""
    try:
        return CheckOptions(**values_of(CHECK_OPTIONS, given))
    except ValueError as error:
        raise OptionError(f"{str(error).rstrip('.')}.") from error


def levels_of(given: list[str]) -> dict[str, Level]:
    """Read the levels given with `--level`. Raises OptionError."""
    levels: dict[str, Level] = {}
    for each in given:
        name, _, level = each.rpartition("=")
        if not name or level not in LEVELS:
            raise OptionError(f"--level {each!r} is not VARIABLE={'|'.join(LEVELS)}.")
        levels[name] = level
    return levels


def protocol_in(path: Path | None) -> Declaration | None:
    """Return what the file given with `--protocol` declares. Raises OptionError."""
    try:
        return None if path is None else read_path(path).declaration
    except ProtocolFileError as error:
        raise OptionError(f"{error}.") from error
    except OSError as error:
        why = error.strerror or str(error)
        raise OptionError(f"--protocol {path}: cannot be read ({why}).") from error


def scales_of(given: list[str], levels: Mapping[str, Level]) -> dict[str, DeclaredScale]:
    """Read the scales given with `--scale`. Raises OptionError, also if `levels` contradict one."""
    scales: dict[str, DeclaredScale] = {}
    for each in given:
        name, _, codes = each.partition("=")
        try:
            scales[name] = scale = declared_scale(codes)
        except ValueError as error:
            raise OptionError(f"--scale {each!r} {error}.") from error
        if not name:
            raise OptionError(f"--scale {each!r} is not VARIABLE=CODES, such as rating=1,2,3.")
        if scale.level and levels.get(name, scale.level) != scale.level:
            raise OptionError(f"--scale {each!r} and --level give {name!r} two levels.")
    return scales
