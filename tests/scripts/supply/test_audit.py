"""Known vulnerabilities with a fix fail the audit, which covers only packages that it queried."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from scripts.supply import audit, holes
from scripts.supply.__main__ import main
from scripts.supply.audit import (
    Snapshot,
    Waiver,
    judge_packages,
    load,
    load_waivers,
    locked_packages,
    store,
)
from scripts.supply.holes import NPM, PYPI, AskError, Hole, Package, ask_osv
from tests.cast import ROOT
from tests.scripts.supply.osv import Osv, served

DJANGO, OTHER = Package(PYPI, "django", "5.2.19"), Package(PYPI, "celery", "5.7.0")
DAY = date(2026, 11, 25)
MENDED = Hole(DJANGO, ("CVE-2026-1", "GHSA-a"), "5.2.20", "a query too many")
NOWHERE = "http://127.0.0.1:9"


@pytest.fixture
def osv() -> Iterator[Osv]:
    with served(Osv()) as found:
        yield found


def affected(package: Package, *events: dict[str, str], **more: Any) -> list[dict[str, Any]]:
    query = {"name": package.name, "ecosystem": package.ecosystem}
    return [{"package": query, "ranges": [{"type": "ECOSYSTEM", "events": list(events)}], **more}]


def tell(osv: Osv, package: Package, id: str, *fixed: str, **more: Any) -> None:
    events = [{"introduced": "0"}, *({"fixed": each} for each in fixed)]
    record = {"id": id, "summary": f"about {id}", "affected": affected(package, *events), **more}
    osv.tell(package.ecosystem, package.name, package.version, **record)


def snapshot(*found: Hole, packages: tuple[Package, ...] = (DJANGO, OTHER)) -> Snapshot:
    return Snapshot(DAY, "https://osv.example", "", packages, found)


class TestThisCommit:
    """Only the repository is read, so the result is the same every day."""

    def test_no_locked_package_has_a_known_vulnerability_with_a_fix(self) -> None:
        stored = load()
        if stored.asked is None:
            pytest.skip(f"no audit: {stored.reason}")
        verdict = judge_packages(stored, locked_packages(), load_waivers(), on=stored.asked)
        assert [str(each) for each in verdict.fixable] == []

    def test_the_snapshot_names_the_service_and_day_or_why_none_was_asked(self) -> None:
        stored = load()
        if stored.asked is None:
            assert stored.reason
            assert (stored.packages, stored.holes) == ((), ())
        else:
            assert stored.asked <= datetime.now(UTC).date()
            assert stored.service.startswith("https://")

    def test_each_waiver_has_a_reason(self) -> None:
        assert [each for each in load_waivers() if not each.why.strip()] == []

    def test_packages_of_all_locks_are_queried(self) -> None:
        names = {(each.ecosystem, each.name) for each in locked_packages()}
        assert {(PYPI, "django"), (PYPI, "pytest"), (PYPI, "vllm"), (NPM, "typescript")} <= names
        # A custom build is queried as the version that it was built from.
        assert not [each for each in locked_packages() if "+" in each.version]


class TestAsking:
    def test_a_vulnerability_comes_with_the_first_later_version_that_fixes_it(
        self, osv: Osv
    ) -> None:
        tell(osv, DJANGO, "GHSA-a", "4.2.31", "5.2.21", "5.2.20", "6.0.1")
        (found,) = ask_osv([OTHER, DJANGO], osv.address)
        assert found == Hole(DJANGO, ("GHSA-a",), "5.2.20", "about GHSA-a")

    def test_one_vulnerability_reported_by_two_databases_is_listed_once(self, osv: Osv) -> None:
        tell(osv, DJANGO, "PYSEC-1", aliases=["CVE-2026-1"])
        tell(osv, DJANGO, "GHSA-a", "5.2.20", aliases=["CVE-2026-1"])
        (found,) = ask_osv([DJANGO], osv.address)
        assert (found.ids, found.fixed_in) == (("CVE-2026-1", "GHSA-a", "PYSEC-1"), "5.2.20")

    def test_a_withdrawn_vulnerability_does_not_count(self, osv: Osv) -> None:
        tell(osv, DJANGO, "GHSA-a", withdrawn="2026-02-01T00:00:00Z")
        assert ask_osv([DJANGO], osv.address) == []

    def test_a_fix_in_another_package_is_no_fix(self, osv: Osv) -> None:
        tell(osv, DJANGO, "GHSA-a", affected=affected(OTHER, {"fixed": "9"}))
        (found,) = ask_osv([DJANGO], osv.address)
        assert found.fixed_in == ""
        assert "no version fixes it" in str(found)

    def test_only_packages_with_further_pages_are_queried_again(self, osv: Osv) -> None:
        for n in range(5):
            tell(osv, DJANGO, f"GHSA-{n}", "5.2.20")
        tell(osv, OTHER, "GHSA-x", "5.7.1")
        assert len(ask_osv([DJANGO, OTHER], osv.address)) == 6
        assert osv.requests.count("POST /v1/querybatch") == 3

    def test_npm_packages_are_queried_as_npm_packages_only(self, osv: Osv) -> None:
        theirs = Package(NPM, "@biomejs/biome", "2.6.8")
        tell(osv, theirs, "GHSA-n", "2.6.9")
        assert [each.package for each in ask_osv([theirs], osv.address)] == [theirs]
        assert ask_osv([Package(PYPI, theirs.name, theirs.version)], osv.address) == []

    @pytest.mark.parametrize(
        ("status", "message"), [(503, "it refused with status 503"), (429, "status 429")]
    )
    def test_a_refusing_service_is_an_error(self, osv: Osv, status: int, message: str) -> None:
        osv.status = status
        with pytest.raises(AskError, match=message):
            ask_osv([DJANGO], osv.address)

    def test_a_missing_record_is_an_error(self, osv: Osv) -> None:
        tell(osv, DJANGO, "GHSA-a")
        osv.records.clear()
        with pytest.raises(AskError, match="status 404"):
            ask_osv([DJANGO], osv.address)

    def test_an_unreachable_service_is_an_error(self) -> None:
        with pytest.raises(AskError, match="no connection"):
            ask_osv([DJANGO], NOWHERE)


class TestJudging:
    def test_a_vulnerability_with_a_fix_must_be_fixed_and_one_without_is_only_listed(self) -> None:
        without = Hole(OTHER, ("GHSA-b",), "", "")
        verdict = judge_packages(snapshot(MENDED, without), [DJANGO, OTHER], [], DAY)
        assert (verdict.fixable, verdict.known) == ([MENDED], [without])

    @pytest.mark.parametrize(
        ("id", "package", "until", "waived"),
        [
            ("CVE-2026-1", "django", DAY, True),
            ("GHSA-a", "django", DAY, True),
            ("GHSA-a", "django", date(2026, 11, 24), False),
            ("GHSA-a", "celery", DAY, False),
            ("GHSA-z", "django", DAY, False),
        ],
    )
    def test_a_waiver_covers_one_vulnerability_of_one_package_until_its_date(
        self, id: str, package: str, until: date, waived: bool
    ) -> None:
        verdict = judge_packages(
            snapshot(MENDED), [DJANGO], [Waiver(id, package, until, "why")], DAY
        )
        assert (verdict.waived == [MENDED], verdict.fixable == [MENDED]) == (waived, not waived)

    def test_a_newly_locked_version_counts_as_not_yet_queried(self) -> None:
        newer = Package(PYPI, "django", "5.2.20")
        verdict = judge_packages(snapshot(MENDED), [newer, OTHER], [], DAY)
        assert verdict.fixable == []
        assert verdict.unasked == [newer]


class TestStoring:
    def test_a_stored_snapshot_is_read_back_unchanged(self, tmp_path: Path) -> None:
        path = tmp_path / "holes.json"
        store(snapshot(MENDED), path)
        assert load(path) == snapshot(MENDED)

    @pytest.mark.parametrize(
        "wrong",
        [
            Snapshot(None, "", "", (), ()),
            Snapshot(DAY, "https://osv.example", "offline", (), ()),
            Snapshot(None, "", "offline", (DJANGO,), ()),
        ],
        ids=["neither", "both", "findings of nobody"],
    )
    def test_an_inconsistent_snapshot_is_refused(self, tmp_path: Path, wrong: Snapshot) -> None:
        store(wrong, tmp_path / "holes.json")
        with pytest.raises(audit.AuditError, match=r"holes\.json"):
            load(tmp_path / "holes.json")


class TestTheCommand:
    @pytest.fixture(autouse=True)
    def small(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
        path = tmp_path / "holes.json"
        store(Snapshot(None, "", "nobody has been asked"), path)
        monkeypatch.setattr(audit, "locked_packages", lambda *_: (DJANGO, OTHER))
        monkeypatch.setattr(audit, "SNAPSHOT", path)
        return path

    def test_a_known_vulnerability_with_a_fix_fails_the_command(
        self, osv: Osv, capsys: pytest.CaptureFixture[str]
    ) -> None:
        tell(osv, DJANGO, "GHSA-a", "5.2.20")
        assert main(["audit", "--ask", "--service", osv.address]) == 1
        output = capsys.readouterr().out
        assert "To fix: django 5.2.19: GHSA-a: about GHSA-a (fixed in 5.2.20)" in output
        assert load().asked is None, "only --renew stores a snapshot"

    def test_renewing_stores_the_services_answers_for_the_next_audit(
        self, osv: Osv, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["audit", "--renew", "--service", osv.address]) == 0
        assert load().packages == (DJANGO, OTHER)
        requests = len(osv.requests)
        assert main(["audit"]) == 0
        assert len(osv.requests) == requests
        assert f"Known vulnerabilities by {osv.address} on " in capsys.readouterr().out

    def test_offline_the_command_says_so_and_claims_nothing(
        self, small: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        before = small.read_bytes()
        assert main(["audit", "--ask", "--service", NOWHERE]) == 0
        output = capsys.readouterr()
        assert "No audit today, the service could not be asked: " in output.err
        assert "No audit: nobody was asked about the 2 locked packages" in output.out
        assert "nobody has been asked" in output.out
        assert "Known vulnerabilities" not in output.out
        assert main(["audit", "--renew", "--service", NOWHERE]) == 1
        assert small.read_bytes() == before

    def test_offline_a_vulnerability_in_the_snapshot_still_fails_the_command(self) -> None:
        store(snapshot(MENDED))
        assert main(["audit", "--ask", "--service", NOWHERE]) == 1

    def test_a_release_fails_if_nobody_was_asked(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["audit", "--release"]) == 1
        assert "No release: no service was asked about known vuln" in capsys.readouterr().err
        assert main(["audit"]) == 0, "the ordinary path stays as it is offline"

    @pytest.mark.parametrize(
        ("days", "packages", "message"),
        [
            (0, (DJANGO, OTHER), ""),
            (audit.MOST_DAYS, (DJANGO, OTHER), ""),
            (audit.MOST_DAYS + 1, (DJANGO, OTHER), "were last asked about 8 days ago"),
            (-2, (DJANGO, OTHER), "after today"),
            (0, (DJANGO,), "no service was asked about 1 of 2 packages"),
        ],
        ids=["of today", "of last week", "too old", "of the future", "of other packages"],
    )
    def test_a_release_needs_a_recent_and_complete_answer(
        self,
        days: int,
        packages: tuple[Package, ...],
        message: str,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        asked = datetime.now(UTC).date() - timedelta(days=days)
        store(Snapshot(asked, "https://osv.example", "", packages))
        assert main(["audit", "--release"]) == int(bool(message))
        assert message in capsys.readouterr().err

    def test_a_release_with_a_hole_that_a_version_fixes_fails(self) -> None:
        today = datetime.now(UTC).date()
        store(Snapshot(today, "https://osv.example", "", (DJANGO, OTHER), (MENDED,)))
        assert main(["audit", "--release"]) == 1


def test_make_release_audits_before_it_writes_the_bill() -> None:
    done = subprocess.run(
        ["make", "--dry-run", "release", "VENV=nowhere"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    audited = done.stdout.index("scripts.supply audit --release")
    assert audited < done.stdout.index("scripts.supply sbom")


def test_the_service_is_reached_over_https() -> None:
    assert holes.SERVICE.startswith("https://")
