"""`tandem report FILE…` and `tandem trust check FILE…`, without starting Django."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from secrets import token_hex
from typing import Any

from tandem.files import names_a_file

REFUSED = 1


def is_of_files(arguments: list[str]) -> bool:
    """Return whether a report is about labels files, given by `--labels` or as the first word."""
    if any(each == "--labels" or each.startswith("--labels=") for each in arguments):
        return True
    first = next(iter(arguments), "-")
    return not first.startswith("-") and names_a_file(first)


def report_files(arguments: list[str]) -> int:
    """Print or write the report of files, and return the exit status."""
    from tandem.arguments import read_options
    from tandem.formats import FORMATS
    from tandem.labels_report import labels_report

    def make(options: dict[str, Any], files: dict[str, Any]) -> str:
        report = labels_report(options=read_options(options), **files)
        return FORMATS[options["format"]].render(report)

    return _print(vars(parser().parse_args(arguments)), make)


def check_files(arguments: list[str]) -> int:
    """Print or write how wrong the judges of files are where they are surest; return the status."""
    from tandem.arguments import read_check_options, read_options
    from tandem.formats.check import CHECK_FORMATS
    from tandem.labels_report import labels_check

    def make(options: dict[str, Any], files: dict[str, Any]) -> str:
        wanted = read_check_options(options)
        report = labels_check(options=read_options(options), wanted=wanted, **files)
        return CHECK_FORMATS["json" if options["json"] else options["format"]].render(report)

    return _print(vars(check_parser().parse_args(arguments)), make)


def _print(options: dict[str, Any], make: Callable[[dict[str, Any], dict[str, Any]], str]) -> int:
    """Print or write what `make` returns from the options and from what they say of the files."""
    from tandem.arguments import OptionError, levels_of, protocol_in, scales_of
    from tandem.files.rows import InputError
    from tandem.labels.file.frames import UnknownLevelError
    from tandem.labels.selection import UnknownOptionError

    try:
        levels = levels_of(options["level"])
        files = {
            "paths": [*options["paths"], *(options["labels"] or ())],
            "levels": levels,
            "scales": scales_of(options["scale"], levels),
            "wide": options["wide"],
            "protocol": protocol_in(options["protocol"]),
        }
        text = make(options, files)
        if options["output"]:
            _write(options["output"], text)
        else:
            sys.stdout.write(text)
            sys.stdout.flush()
    except (OptionError, InputError, UnknownLevelError, UnknownOptionError) as error:
        return _refused(" ".join(str(error).split()), options)
    except BrokenPipeError:
        raise
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        return _refused(f"{options['output']}: cannot be written ({why}).", options)
    return 0


def parser() -> ArgumentParser:
    """Return the options of a report of files, as those of the command."""
    from tandem.arguments import add_arguments

    about = "How well people agree, how well judges agree with them, and systems' scores."
    made = _parser("tandem report", about, "the report")
    add_arguments(made)
    return made


def check_parser() -> ArgumentParser:
    """Return the options of a check of files, as those of the command."""
    from tandem.arguments import add_check_arguments

    about = (
        "How wrong judges are where they are surest, by labels that exist: one exploratory look, "
        "with a bound where it is known how the labelled queries were drawn."
    )
    made = _parser("tandem trust check", about, "the check")
    add_check_arguments(made)
    return made


def _parser(name: str, about: str, what: str) -> ArgumentParser:
    made = ArgumentParser(
        name,
        description=about,
        epilog=f"With the NAME of a campaign instead of files, {what} of that campaign.",
    )
    made.add_argument("paths", nargs="*", type=Path, metavar="FILE", help="labels files")
    made.add_argument("--labels", type=Path, nargs="+", metavar="PATH", help="labels files, too")
    made.add_argument("--json", action="store_true", help="errors as JSON, too")
    made.add_argument("--quiet", action="store_true", help="no progress, and no remarks")
    return made


def _refused(error: str, options: dict[str, Any]) -> int:
    if options["json"]:
        print(json.dumps({"status": REFUSED, "error": error}, ensure_ascii=False))
    else:
        print(error, file=sys.stderr)
    return REFUSED


def _write(path: Path, text: str) -> None:
    """Write a file atomically through a temporary file in its folder. Raises OSError."""
    target = path.resolve()
    if target.exists() and not target.is_file() and not target.is_dir():
        # Devices and pipes are written directly.
        target.write_text(text, "utf-8")
        return
    beside = target.parent / f".{target.name[:50]}.{token_hex(8)}"
    try:
        beside.write_text(text, "utf-8")
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)
