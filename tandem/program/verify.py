"""`tandem verify FOLDER`: check a release, an export or a certificate, without Django."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from pathlib import Path

from tandem import place

OK, REFUSED, DIFFERS = 0, 1, 3
HELP = (
    "Check a release or an export: its checksums, that its files agree with each other, and that "
    "headline numbers, measures and tables follow from the labels. Or check a certificate: that "
    "its statement follows from its plan and its labels. Needs no database."
)
TOKENIZER = "the tokenizer.json that a release's options name; releases do not contain it"


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
    made = ArgumentParser(
        "tandem verify",
        description=HELP,
    )
    add_options(made)
    made.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    made.add_argument("--quiet", action="store_true", help="no remarks")
    return made


def add_options(parser: ArgumentParser) -> None:
    """Declare what is checked, and what proves it, for the verb and the command."""
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--tokenizer", metavar="FILE", help=TOKENIZER)
    parser.add_argument(
        "--digest", metavar="SHA-256", help="a certificate's SHA-256, from elsewhere"
    )
    parser.add_argument(
        "--key", type=Path, metavar="FILE", help="the key of a certificate's signature"
    )
    parser.add_argument(
        "--signature", type=Path, metavar="FILE", help="the envelope that signs a certificate"
    )


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
