"""`tandem verify FOLDER`: check a release or an export, without starting Django."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from pathlib import Path

from tandem import place

OK, REFUSED, DIFFERS = 0, 1, 3
TOKENIZER = "the tokenizer.json that a release's options name; releases do not contain it"


def verify_folder(arguments: list[str]) -> int:
    """Check a folder, and return the exit status."""
    place.enter()
    from analysis.release.verify import tokens_of, verify
    from tandem.files.rows import InputError

    options = parser().parse_args(arguments)
    try:
        found = verify(options.folder, tokens_of(options.tokenizer))
    except InputError as error:
        return _say(options.json, REFUSED, [], " ".join(str(error).split()))
    if found.wrong:
        why = f"The {found.what} differs from what it was."
        return _say(options.json, DIFFERS, found.wrong, why)
    line = f"Checked the {found.what}: {'; '.join(found.checked)}. Nothing has changed."
    return _say(options.json, OK, [] if options.quiet and not options.json else [line], "")


def parser() -> ArgumentParser:
    """Return the options of the verb, as those of the command."""
    made = ArgumentParser(
        "tandem verify",
        description="Check a release or an export: its checksums, that its files agree with each "
        "other, and that headline numbers, measures and tables follow from the labels. Needs no "
        "database.",
    )
    made.add_argument("folder", type=Path, metavar="FOLDER")
    made.add_argument("--tokenizer", metavar="FILE", help=TOKENIZER)
    made.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    made.add_argument("--quiet", action="store_true", help="no remarks")
    return made


def _say(as_json: bool, status: int, lines: list[str], why: str) -> int:
    if as_json:
        answer = {"status": status, "lines": lines} | ({"error": why} if why else {})
        print(json.dumps(answer, ensure_ascii=False))
        return status
    for line in lines:
        print(line)
    if why:
        print(why, file=sys.stderr)
    return status
