"""Known vulnerabilities of the locked packages: from the service, or a dated snapshot of it.

The snapshot is in the repository, so an unchanged commit always gets the same result, even offline.
If the service could not be asked, the snapshot says so, and nothing is claimed.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from scripts.supply.holes import NPM, PYPI, SERVICE, Hole, Package, ask_osv
from scripts.supply.locks import LOCKS, ROOT, read

FOLDER = Path(__file__).parent
SNAPSHOT = FOLDER / "holes.json"
EXCEPTIONS = FOLDER / "exceptions.toml"
MOST_DAYS = 7
"""The age up to which a snapshot is enough for a release."""


class AuditError(RuntimeError):
    """A snapshot or a list of exceptions that cannot be read; the message says why."""


@dataclass(frozen=True)
class Snapshot:
    """The answer of a service on a day: the packages asked about, and their holes.

    Without a day, the service was not asked, and `reason` says why.
    """

    asked: date | None
    service: str
    reason: str = ""
    packages: tuple[Package, ...] = ()
    holes: tuple[Hole, ...] = ()


@dataclass(frozen=True)
class Waiver:
    """A known vulnerability that is accepted until a day, with the reason."""

    id: str
    package: str
    until: date
    why: str


@dataclass
class Verdict:
    """The result of an audit: holes with a fix, others, and packages that were not asked about."""

    fixable: list[Hole] = field(default_factory=list)
    known: list[Hole] = field(default_factory=list)
    waived: list[Hole] = field(default_factory=list)
    unasked: list[Package] = field(default_factory=list)


def locked_packages(root: Path = ROOT) -> tuple[Package, ...]:
    """Return every package of the lock files, npm's among them, each once."""
    found = {
        Package(PYPI, each.name, each.version.partition("+")[0])
        for lock in LOCKS
        for each in read(root / lock.file)
    }
    packages = json.loads((root / "package-lock.json").read_text("utf-8"))["packages"]
    found |= {
        Package(NPM, path.rpartition("node_modules/")[2], each["version"])
        for path, each in packages.items()
        if path
    }
    return tuple(sorted(found))


def ask_service(today: date, service: str = SERVICE, root: Path = ROOT) -> Snapshot:
    """Ask the service about all locked packages. Raises holes.AskError."""
    packages = locked_packages(root)
    return Snapshot(today, service, "", packages, tuple(ask_osv(packages, service)))


def judge_packages(
    snapshot: Snapshot, packages: Sequence[Package], waivers: Iterable[Waiver], on: date
) -> Verdict:
    """Judge packages by a snapshot. A waiver counts up to and including its day."""
    allowed = {(each.package, each.id) for each in waivers if on <= each.until}
    verdict = Verdict(unasked=sorted(set(packages) - set(snapshot.packages)))
    for hole in snapshot.holes:
        if hole.package not in packages:
            continue
        if any((hole.package.name, each) in allowed for each in hole.ids):
            verdict.waived.append(hole)
        else:
            (verdict.fixable if hole.fixed_in else verdict.known).append(hole)
    return verdict


def objections_to_release(snapshot: Snapshot, packages: Sequence[Package], on: date) -> list[str]:
    """Return why nobody knows today what holes these packages have; empty if a service said it."""
    if snapshot.asked is None:
        return [f"no service was asked about known vulnerabilities ({snapshot.reason})"]
    problems = []
    age = (on - snapshot.asked).days
    if age > MOST_DAYS:
        problems.append(f"known vulnerabilities were last asked about {age} days ago")
    if age < 0:
        problems.append(f"known vulnerabilities were asked about on {snapshot.asked}, after today")
    if missing := set(packages) - set(snapshot.packages):
        problems.append(f"no service was asked about {len(missing)} of {len(packages)} packages")
    return problems


def load(path: Path | None = None) -> Snapshot:
    """Read a snapshot, by default the repository's. Raises AuditError."""
    path = path or SNAPSHOT
    try:
        found = json.loads(path.read_text("utf-8"))
        asked = date.fromisoformat(found["asked"]) if found["asked"] else None
        snapshot = Snapshot(
            asked,
            found["service"],
            found["reason"],
            tuple(Package(*each) for each in found["packages"]),
            tuple(
                Hole(Package(**each["package"]), tuple(each["ids"]), each["mend"], each["summary"])
                for each in found["holes"]
            ),
        )
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise AuditError(f"{path.name} cannot be read ({error}); make audit writes it") from error
    if (snapshot.asked is None) != bool(snapshot.reason):
        raise AuditError(f"{path.name} must have either a day or the reason why nobody was asked")
    if snapshot.asked is None and (snapshot.packages or snapshot.holes):
        raise AuditError(f"{path.name} has findings, and nobody was asked; make audit writes it")
    return snapshot


def _as_json(hole: Hole) -> dict[str, Any]:
    return {
        "package": asdict(hole.package),
        "ids": hole.ids,
        "mend": hole.fixed_in,
        "summary": hole.summary,
    }


def store(snapshot: Snapshot, path: Path | None = None) -> None:
    text = json.dumps(
        {
            "asked": snapshot.asked.isoformat() if snapshot.asked else None,
            "service": snapshot.service,
            "reason": snapshot.reason,
            "packages": [[each.ecosystem, each.name, each.version] for each in snapshot.packages],
            "holes": [_as_json(hole) for hole in snapshot.holes],
        },
        ensure_ascii=False,
        indent=1,
    )
    (path or SNAPSHOT).write_text(text + "\n", "utf-8")


def load_waivers(path: Path = EXCEPTIONS) -> list[Waiver]:
    """Read the list of exceptions. Raises AuditError."""
    try:
        found = tomllib.loads(path.read_text("utf-8"))
        return [Waiver(**each) for each in found.get("exception", ())]
    except (OSError, ValueError, TypeError) as error:
        raise AuditError(f"{path.name} cannot be read: {error}") from error


def audit(snapshot: Snapshot, on: date, say: Callable[[str], None] = print) -> bool:
    """Print what a snapshot means for the locked packages. Return whether one must be updated."""
    verdict = judge_packages(snapshot, locked_packages(), load_waivers(), on)
    if snapshot.asked is None:
        say(
            f"No audit: nobody was asked about the {len(locked_packages())} locked packages, so "
            f"they may have known vulnerabilities. {snapshot.reason}"
        )
        return False
    say(
        f"Known vulnerabilities by {snapshot.service} on {snapshot.asked}, of "
        f"{len(snapshot.packages)} packages: {len(verdict.fixable)} to fix, "
        f"{len(verdict.known)} without a fix, {len(verdict.waived)} waived until a day."
    )
    for title, holes in (("To fix", verdict.fixable), ("No fix", verdict.known)):
        for hole in holes:
            say(f"{title}: {hole}")
    if verdict.unasked:
        names = ", ".join(map(str, verdict.unasked[:5]))
        say(f"Not audited: {len(verdict.unasked)} packages locked since ({names} …): make audit")
    return bool(verdict.fixable)
