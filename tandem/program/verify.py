"""`tandem verify FOLDER`: check a release, an export or a certificate, without Django."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser

from tandem import place

OK, REFUSED, DIFFERS = 0, 1, 3


def verify_folder(arguments: list[str]) -> int:
    """Check a folder, and return the exit status."""
    place.enter()
    from analysis.release.certificates import Proof
    from analysis.release.verify import tokens_of, verify
    from tandem.files.rows import InputError

    options = parser().parse_args(arguments)
    try:
        proof = Proof(options.digest, options.key, options.signature)
        found = verify(options.folder, tokens_of(options.tokenizer), proof)
    except InputError as error:
        return _say(options.json, REFUSED, [], " ".join(str(error).split()))
    if found.wrong:
        return _say(options.json, DIFFERS, found.wrong, found.refusal)
    if found.unproven:
        return _say(options.json, REFUSED, found.checked, found.refusal)
    lines = [] if options.quiet and not options.json else [found.remark]
    return _say(options.json, OK, lines, "")


def parser() -> ArgumentParser:
    """Return the options of the verb, as those of the command."""
    from analysis.release.certificates import HELP, add_options

    made = ArgumentParser(
        "tandem verify",
        description=HELP,
    )
    add_options(made)
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
