"""`python -m scripts.supply COMMAND`; `audit --help` has the ways to ask."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import scripts.supply
from scripts.supply import audit, holes, images, licences, locks, sbom
from tandem.version import VERSION

BILL = Path("var/sbom") / f"tandem-{VERSION}.cdx.json"


def lock(arguments: Sequence[str]) -> int:
    """Write the lock files again; without arguments, locked versions stay."""
    failed = 0
    for each in locks.LOCKS:
        try:
            locks.renew(each, arguments)
        except locks.LockError as error:
            failed = 1
            print(error, file=sys.stderr)
        else:
            print(f"{each.file}: {len(locks.read(locks.ROOT / each.file))} packages")
    return failed


def list_licences(_: Sequence[str]) -> int:
    """Print the licence of each package of the site, and what is not allowed."""
    rules = licences.Rules.load()
    for each in locks.read(locks.ROOT / sbom.LOCK):
        print(f"{each.name:30} {each.version:12} {licences.licence(each.name, rules) or '?'}")
    return _report(licences.objections(rules=rules))


def write_bill(arguments: Sequence[str]) -> int:
    """Write the bill of materials of this version, unless a licence is not allowed."""
    if problems := licences.objections():
        return _report(problems)
    path = Path(arguments[0]) if arguments else locks.ROOT / BILL
    text = sbom.bill()
    try:
        sbom.validate(text)
    except sbom.BillError as error:
        return _report([str(error)])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n", "utf-8")
    print(f"The bill of materials: {path}")
    return 0


def look_for_holes(arguments: Sequence[str]) -> int:
    """Look for known vulnerabilities: in the snapshot, or by asking the service."""
    parser = argparse.ArgumentParser(prog="python -m scripts.supply audit")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--ask", action="store_true", help="ask the service; offline it says so")
    how.add_argument("--renew", action="store_true", help="ask the service, and store its answer")
    how.add_argument(
        "--release", action="store_true",
        help=f"fail unless the snapshot is complete and at most {audit.MOST_DAYS} days old",
    )  # fmt: skip
    parser.add_argument("--service", default=holes.SERVICE, help="an OSV service")
    given = parser.parse_args(arguments)
    today = datetime.now(UTC).date()
    snapshot = audit.load()
    if given.ask or given.renew:
        try:
            snapshot = audit.ask_service(today, given.service)
        except holes.AskError as error:
            print(f"No audit today, the service could not be asked: {error}", file=sys.stderr)
            if given.renew:
                return 1
            print("The snapshot instead:")
    if given.renew:
        audit.store(snapshot)
    must_fix = audit.audit(snapshot, today)
    if given.release:
        packages = audit.locked_packages()
        problems = audit.objections_to_release(snapshot, packages, today)
        must_fix |= bool(_report([f"No release: {each}; make audit asks" for each in problems]))
    return int(must_fix)


def renew_images(_: Sequence[str]) -> int:
    """Write the digests that the tags of our files have now."""
    try:
        found = images.renew(locks.ROOT)
    except images.ImageError as error:
        return _report([str(error)])
    for name, digest in found.items():
        print(f"{name}@{digest}")
    return 0


def _report(problems: Sequence[str]) -> int:
    for each in problems:
        print(each, file=sys.stderr)
    return 1 if problems else 0


COMMANDS: dict[str, Callable[[Sequence[str]], int]] = {
    "lock": lock,
    "audit": look_for_holes,
    "images": renew_images,
    "licences": list_licences,
    "sbom": write_bill,
}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.supply", description=scripts.supply.__doc__
    )
    parser.add_argument("command", choices=COMMANDS)
    given = parser.parse_args(arguments[:1])
    return COMMANDS[given.command](arguments[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
