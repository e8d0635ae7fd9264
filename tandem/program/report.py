"""`tandem report FILE…`: the report of labels files, without starting Django."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from pathlib import Path
from secrets import token_hex
from typing import Any

FILES = (".jsonl", ".json", ".ndjson", ".csv", ".tsv", ".tab", ".parquet", ".xlsx")
REFUSED = 1


def is_of_files(arguments: list[str]) -> bool:
    """Return whether a report is about labels files, given by `--labels` or as the first word."""
    if any(each == "--labels" or each.startswith("--labels=") for each in arguments):
        return True
    first = next(iter(arguments), "-")
    if first.startswith("-"):
        return False
    return Path(first).suffix.lower() in FILES or Path(first).is_file()


def report_files(arguments: list[str]) -> int:
    """Print or write the report of files, and return the exit status."""
    from tandem.arguments import OptionError, levels_of, protocol_in, read_options, scales_of
    from tandem.files.rows import InputError
    from tandem.formats import FORMATS
    from tandem.labels.file.frames import UnknownLevelError
    from tandem.labels.selection import UnknownOptionError
    from tandem.labels_report import labels_report

    options = vars(parser().parse_args(arguments))
    paths = [*options["paths"], *(options["labels"] or ())]
    try:
        levels, choices = levels_of(options["level"]), read_options(options)
        scales = scales_of(options["scale"], levels)
        protocol = protocol_in(options["protocol"])
        report = labels_report(paths, levels, choices, scales, options["wide"], protocol)
        text = FORMATS[options["format"]].render(report)
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

    made = ArgumentParser(
        "tandem report",
        description="How well people agree, how well judges agree with them, and systems' scores.",
        epilog="With the NAME of a campaign instead of files, the report of that campaign.",
    )
    made.add_argument("paths", nargs="*", type=Path, metavar="FILE", help="labels files")
    made.add_argument("--labels", type=Path, nargs="+", metavar="PATH", help="labels files, too")
    add_arguments(made)
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
