"""Known vulnerabilities (holes) in packages, by the protocol of the OSV service."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import requests
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

SERVICE = "https://api.osv.dev"
PYPI, NPM = "PyPI", "npm"
MOST_QUERIES = 1000
"""The service's maximum per request."""
MOST_PAGES = 20
SECONDS = (5.0, 60.0)
"""To connect, and to answer."""


class AskError(RuntimeError):
    """The service could not be asked, or its answer could not be read; the message says why."""


@dataclass(frozen=True, order=True)
class Package:
    """A package at one version."""

    ecosystem: str
    name: str
    version: str

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


@dataclass(frozen=True, order=True)
class Hole:
    """A known vulnerability of a package, with all its ids and the first version that fixes it.

    `fixed_in` is empty where no version does.
    """

    package: Package
    ids: tuple[str, ...]
    fixed_in: str
    summary: str

    def __str__(self) -> str:
        fix = f"fixed in {self.fixed_in}" if self.fixed_in else "no version fixes it"
        return f"{self.package}: {', '.join(self.ids)}: {self.summary or 'no summary'} ({fix})"


def ask_osv(packages: Sequence[Package], service: str = SERVICE) -> list[Hole]:
    """Return the distinct known vulnerabilities of packages. Raises AskError."""
    with requests.Session() as session:
        try:
            ids = _ids(session, packages, service)
            keys = {each for found in ids.values() for each in found}
            records = {each: _record(session, each, service) for each in sorted(keys)}
        except (requests.RequestException, ValueError, LookupError, TypeError) as error:
            raise AskError(f"{service}: {_why(error)}") from error
    holes = [
        hole
        for package, found in ids.items()
        for hole in _merged(package, [records[each] for each in sorted(found)])
    ]
    return sorted(holes)


def _ids(
    session: requests.Session, packages: Sequence[Package], service: str
) -> dict[Package, set[str]]:
    """Return the ids of each package's vulnerabilities, over all pages."""
    found: dict[Package, set[str]] = {each: set() for each in packages}
    left = [(each, "") for each in found]
    for _ in range(MOST_PAGES):
        following: list[tuple[Package, str]] = []
        for start in range(0, len(left), MOST_QUERIES):
            part = left[start : start + MOST_QUERIES]
            for (package, _), result in zip(part, _batch(session, part, service), strict=True):
                found[package] |= {each["id"] for each in result.get("vulns", ())}
                if token := result.get("next_page_token"):
                    following.append((package, token))
        if not following:
            return found
        left = following
    raise LookupError(f"more than {MOST_PAGES} pages")


def _batch(
    session: requests.Session, part: Iterable[tuple[Package, str]], service: str
) -> list[dict[str, Any]]:
    queries: list[dict[str, Any]] = [
        {"package": {"name": each.name, "ecosystem": each.ecosystem}, "version": each.version}
        | ({"page_token": token} if token else {})
        for each, token in part
    ]
    answer = session.post(f"{service}/v1/querybatch", json={"queries": queries}, timeout=SECONDS)
    answer.raise_for_status()
    results: list[dict[str, Any]] = answer.json()["results"]
    return results


def _record(session: requests.Session, name: str, service: str) -> dict[str, Any]:
    answer = session.get(f"{service}/v1/vulns/{quote(name, safe='')}", timeout=SECONDS)
    answer.raise_for_status()
    record: dict[str, Any] = answer.json()
    return record


def _merged(package: Package, records: Iterable[Mapping[str, Any]]) -> Iterator[Hole]:
    """Yield a package's holes, merging those listed under different ids."""
    groups: list[tuple[set[str], list[Mapping[str, Any]]]] = []
    for record in records:
        if record.get("withdrawn"):
            continue
        ids, members = {record["id"], *record.get("aliases", ())}, [record]
        for group in [each for each in groups if each[0] & ids]:
            groups.remove(group)
            ids, members = ids | group[0], group[1] + members
        groups.append((ids, members))
    for ids, members in groups:
        versions = [found for each in members if (found := _fixed_version(package, each))]
        summary = next((each["summary"] for each in members if each.get("summary")), "")
        fixed_in = min(versions, key=_order) if versions else ""
        yield Hole(package, tuple(sorted(ids)), fixed_in, summary)


def _fixed_version(package: Package, record: Mapping[str, Any]) -> str:
    """Return the first version above ours that a record says is fixed."""
    fixed = {
        event["fixed"]
        for affected in record.get("affected", ())
        if _is_of(package, affected.get("package", {}))
        for each in affected.get("ranges", ())
        if each.get("type") in ("ECOSYSTEM", "SEMVER")
        for event in each.get("events", ())
        if "fixed" in event
    }
    above = [each for each in fixed if _order(each) > _order(package.version)]
    return min(above, key=_order, default="")


def _is_of(package: Package, record: Mapping[str, Any]) -> bool:
    name = str(record.get("name", ""))
    if package.ecosystem == PYPI:
        name = canonicalize_name(name)
    return (record.get("ecosystem"), name) == (package.ecosystem, package.name)


def _order(version: str) -> tuple[int, Version, str]:
    """Return a sort key for versions. Anything but a Python version sorts lowest."""
    try:
        return 1, Version(version), ""
    except InvalidVersion:
        return 0, Version("0"), version


def _why(error: Exception) -> str:
    if isinstance(error, requests.Timeout):
        return "no answer in time"
    if isinstance(error, requests.ConnectionError):
        return "no connection"
    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"it refused with status {error.response.status_code}"
    return f"its answer is not that of an OSV service ({type(error).__name__}: {error})"
