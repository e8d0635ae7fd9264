"""`tandem gate FILE… CONDITIONS`: conditions over files, without starting Django."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from typing import Any, NoReturn

REFUSED, USAGE = 1, 2


def gate(arguments: list[str]) -> int | None:
    """Decide conditions over files, and return the exit status; None if a campaign is named."""
    from tandem.arguments import OptionError
    from tandem.files import names_a_file
    from tandem.files.rows import InputError
    from tandem.gate.findings import STATUS, GateError, outcome_of
    from tandem.gate.request import Reading, findings, written
    from tandem.labels.file.frames import UnknownLevelError
    from tandem.labels.selection import UnknownOptionError

    options = vars(parser().parse_args(arguments))
    named = [*options["sources"], *filter(None, [options["not_worse_than"]])]
    if not all(map(names_a_file, named)):
        return None
    if options["json"]:
        options["format"] = "json"
    try:
        found = findings(options, Reading(options, _no_campaign))
        lines = written(found, options, options["quiet"])
    except GateError as error:
        return _refused(USAGE, str(error), options)
    except (OptionError, InputError, UnknownLevelError, UnknownOptionError) as error:
        return _refused(REFUSED, " ".join(str(error).split()), options)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        return _refused(REFUSED, f"{error.filename}: cannot be written ({why}).", options)
    for line in lines:
        print(line)
    return STATUS[outcome_of(found)]


def parser() -> ArgumentParser:
    """Return the options of conditions over files, as those of the command."""
    from tandem.gate.request import HELP, add_arguments

    made = ArgumentParser("tandem gate", description=HELP)
    add_arguments(made)
    made.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    made.add_argument("--quiet", action="store_true", help="only the lines of what does not hold")
    return made


def _no_campaign(name: str) -> NoReturn:
    raise AssertionError(f"{name} is no file")


def _refused(status: int, error: str, options: dict[str, Any]) -> int:
    if options["json"]:
        print(json.dumps({"status": status, "error": error}, ensure_ascii=False))
    else:
        print(error, file=sys.stderr)
    return status
