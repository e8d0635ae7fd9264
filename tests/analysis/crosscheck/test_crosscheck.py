"""Figures of a report are those of krippendorff, statsmodels and SciPy, or the report says so."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from analysis.campaigns.reports import campaign_report
from analysis.frozen.store import UnequalError, freeze
from annotation.models import Campaign, User
from tandem.crosscheck import process
from tandem.labels.selection import ReportOptions
from tandem.labels_report import labels_report
from tandem.sections import agreement
from tandem.statistics import Level
from tests.analysis.test_report_page import logged_in
from tests.cast import write_lines

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("by_others")]
LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval")
PEOPLE = ("Ada", "Bram", "Chloé")
JSON = dict[str, Any]


@pytest.fixture
def by_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "IS_ON", True)


def labels(folder: Path, gaps: float = 0.0, variables: Iterable[str] = ("nominal",)) -> Path:
    """Ratings from 0 to 5 by three people and a judge, each of whom lacks a share of them."""
    chance = random.Random(4)
    rows = []
    for n in range(48):
        true = chance.choice(range(6))
        for rater in (*PEOPLE, "model-x"):
            if chance.random() >= gaps:
                said = min(5, max(0, true + chance.choice((-1, 0, 0, 1))))
                kind = "judge" if rater == "model-x" else "human"
                own = {"item": f"i{n}", "unit": f"i{n}", "query": f"q{n % 12}", "rater": rater}
                own |= {"value": str(said), "rater_kind": kind}
                rows += [{**own, "variable": variable} for variable in variables]
    return write_lines(folder / "labels.jsonl", rows)


def report(path: Path, check: bool = False) -> JSON:
    there = path.read_text("utf-8")
    levels: dict[str, Level] = {
        level: level for level in LEVELS if f'"variable": "{level}"' in there
    }
    return labels_report([path], levels, ReportOptions(resamples=20, check=check))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> JSON:
    """The check of complete labels at all levels, run once because starting libraries is slow."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process, "IS_ON", True)
        check: JSON = report(labels(tmp_path_factory.mktemp("whole"), 0.0, LEVELS))["check"]
    return check


@pytest.fixture(scope="module")
def of_ferries(ferries: Campaign) -> JSON:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process, "IS_ON", True)
        return campaign_report(ferries, ReportOptions(resamples=20))


@pytest.mark.first_case
@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_every_figure_that_libraries_compute_agrees_with_them(
    gaps: float, tmp_path: Path, whole: JSON
) -> None:
    check = report(labels(tmp_path, gaps, LEVELS))["check"] if gaps else whole
    assert check["differs"] == []
    # Each level has alpha and the kappas of six pairs; ordered labels also have weighted
    # kappas and correlations.
    assert check["figures"] >= 75
    assert {"krippendorff", "statsmodels", "scipy"} == set(check["libraries"])
    assert check["line"].startswith("Computed again by krippendorff 0.")
    assert "equal to 1e-09" in check["line"]


def test_adjusted_p_values_of_systems_agree_with_libraries(of_ferries: JSON) -> None:
    assert of_ferries["check"]["differs"] == []
    assert of_ferries["check"]["figures"] > 0


def test_a_figure_that_differs_from_the_library_is_named_with_both_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = agreement.agreement

    def wrong(sample: Any, with_pairs: bool = False) -> JSON:
        found = made(sample, with_pairs)
        found["fleiss_kappa"]["value"] += 1e-6
        return found

    monkeypatch.setattr("tandem.sections.comparison.agreement", wrong)
    found = report(labels(tmp_path))
    (differs,) = found["check"]["differs"]
    assert differs["figure"] == "variables.nominal.agreement.fleiss_kappa"
    assert differs["ours"] - differs["theirs"] == pytest.approx(1e-6)
    assert "variables.nominal.agreement.fleiss_kappa is not equal" in found["check"]["line"]


def test_a_report_with_a_differing_figure_cannot_become_a_snapshot(
    labelled: Campaign, of_ferries: JSON, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = {"differs": [{"figure": "x"}], "line": "x is not equal."}
    found = {**of_ferries, "check": {**of_ferries["check"], **wrong}}
    client = logged_in("researcher")
    with pytest.raises(UnequalError, match="x is not equal"):
        freeze(labelled, found, "", User.objects.get(username="researcher"))
    monkeypatch.setattr("analysis.campaigns.cache.campaign_report", lambda *_: found)
    address = f"/campaigns/{labelled.pk}/report/freeze/"
    answer = client.post(address, {"inputs": found["inputs"]["sha256"]})
    assert answer.status_code == 409
    assert "x is not equal." in answer.content.decode()


def test_from_100_000_labels_on_the_check_runs_only_on_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "LABELS", 10)
    path = labels(tmp_path)
    left = report(path)["check"]
    assert (left["figures"], left["differs"]) == (0, [])
    assert "192 labels; --check asks for it" in left["line"]
    assert report(path, check=True)["check"]["figures"] > 0


def test_the_report_says_why_the_check_could_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "CHILD", tmp_path / "nowhere.py")
    line = report(labels(tmp_path))["check"]["line"]
    assert line.startswith("Not checked by other libraries: ")
    assert "nowhere" in line


def test_reports_of_one_block_share_a_process_and_one_that_ended_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, path = [], labels(tmp_path)
    start = process._start

    def counted() -> subprocess.Popen[bytes]:
        started.append(start())
        return started[-1]

    monkeypatch.setattr(process, "_start", counted)
    alone = report(path)["check"]
    with process.shared_child():
        assert report(path)["check"] == report(path)["check"] == alone
        assert len(started) == 2
        started[-1].kill()
        started[-1].wait()
        assert report(path)["check"] == alone
    assert len(started) == 3
    assert all(each.poll() is not None for each in started)


def test_a_check_that_takes_too_long_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "SECONDS", 0.01)
    assert report(labels(tmp_path))["check"]["line"].startswith("Not checked by other libraries: ")


def test_the_process_of_the_libraries_imports_no_module_of_tandem() -> None:
    say = (
        f"import runpy, sys; runpy.run_path({str(process.CHILD)!r});"
        "print(*sorted(n for n in sys.modules if n.partition('.')[0] in "
        "('analysis', 'annotation', 'datasets', 'django')))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", say], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []


def test_our_process_does_not_import_the_gpl_library(whole: JSON) -> None:
    assert whole["figures"] > 0
    loaded = {name.partition(".")[0] for name in sys.modules}
    assert "krippendorff" not in loaded


@pytest.mark.long
def test_without_the_gpl_library_the_others_still_check(
    whole: JSON, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = tmp_path / "without.py"
    text = process.CHILD.read_text("utf-8").replace("krippendorff", "krippendorff_is_not_here")
    child.write_text(text, "utf-8")
    monkeypatch.setattr(process, "CHILD", child)
    check = report(labels(tmp_path, 0.0, LEVELS))["check"]
    assert set(check["libraries"]) == {"statsmodels", "scipy"}
    assert 0 < check["figures"] < whole["figures"]
    assert check["differs"] == []
