"""Certificates, in a release or alone: computed again, and proven by what is from elsewhere."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from dataclasses import dataclass
from pathlib import Path

from tandem.files.rows import InputError, Place
from tandem.trust.certificate import Verification, verify_bytes
from tandem.trust.envelope import SignatureError, check_signature
from tandem.types import JSON

HELP = (
    "Check a release or an export: its checksums, that its files agree with each other, and that "
    "headline numbers, measures and tables follow from the labels. Or check a certificate: that "
    "its statement follows from its plan and its labels. Needs no database."
)
TOKENIZER = "the tokenizer.json that a release's options name; releases do not contain it"
HOW = "give its SHA-256 as --digest, or --key and --signature, from somebody whom you trust"


@dataclass(frozen=True)
class Proof:
    """What a reader has from elsewhere: a certificate's SHA-256, or a key for its signature."""

    digest: str | None = None
    key: Path | None = None
    signature: Path | None = None

    def of(self, content: bytes) -> Verification:
        """Check a certificate's bytes by it. Raises InputError for a file that is not there."""
        found = verify_bytes(content, self.digest)
        if self.key is None or self.signature is None:
            if self.key or self.signature:
                given = self.key or self.signature
                raise InputError(Place(str(given)), "is not enough", "give --key and --signature")
            return found
        if found.wrong:
            return found
        try:
            check_signature(json.loads(content), _envelope(self.signature), _read(self.key).strip())
        except SignatureError as error:
            found.wrong.append(str(error))
        found.genuine = not found.wrong
        return found


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


def read_certificate(path: Path) -> bytes:
    """Return the bytes of a certificate's file. Raises InputError if it cannot be read."""
    return _read(path)


def certificate_faults(folder: Path, facts: JSON) -> tuple[list[str], list[str]]:
    """Return what was checked in the certificates of a release, and what is wrong with them."""
    checked, wrong = [], []
    batches = {batch.get("digest") for batch in facts.get("batches", ())}
    for each in facts.get("certificates", ()):
        name, path = each["file"], folder / each["file"]
        if not path.is_file():
            wrong.append(f"{name} is missing")
            continue
        content = path.read_bytes()
        found = verify_bytes(content, each["sha256"])
        wrong += [f"{name}: {line}" for line in found.wrong]
        if not found.wrong:
            # The release's own file names the digest, so that it proves nothing.
            checked.append(f"{name}, consistent, not proven genuine ({found.digest})")
            if json.loads(content)["predicate"]["plan"]["batch"] not in batches:
                wrong.append(f"{name} is about a batch that is not in the release")
    return checked, wrong


def _envelope(path: Path) -> JSON:
    try:
        found: JSON = json.loads(_read(path))
    except ValueError as error:
        raise InputError(Place(str(path)), "is not JSON", "give the envelope beside it") from error
    return found


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        why = (error.strerror or "cannot be read").lower()
        raise InputError(Place(str(path)), why, "name a file that is there") from error
