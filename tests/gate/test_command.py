"""`tandem gate` as a pipeline runs it: processes, exit statuses, and the files that they write."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tandem.gate.findings import Finding, Outcome, as_junit, as_lines, as_markdown
from tandem.program.main import main
from tests.cast import ROOT, campaign_of, write_lines
from tests.gate.test_certified import CERTIFICATE, DIGEST

pytestmark = pytest.mark.once
HOLDS, FAILS, UNDECIDED = Outcome
LABELS = ROOT / "tests/contract/labels.jsonl"
Gate = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("gate") / "report.json"
    assert main(["report", str(LABELS), "--resamples", "200", "--output", str(path)]) == 0
    return path


def gate(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tandem", "gate", *map(str, words)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


class TestExitStatus:
    def test_0_if_all_hold(self, report: Path) -> None:
        done = gate(report, "--min", "rating.alpha>=.6", "--min", "coverage.long.mean>.5")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.splitlines()[-1] == "The gate: holds."

    def test_1_if_one_fails_whatever_is_not_decided(self, report: Path) -> None:
        conditions = ("rating.alpha>=.9", "answerable.alpha>=.2", "rating.alpha>.6")
        done = gate(report, *(word for each in conditions for word in ("--min", each)))
        assert (done.returncode, done.stderr) == (1, "")
        assert [line.split("  ")[0] for line in done.stdout.splitlines()] == [
            "fails",
            "not decided",
            "holds",
            "The gate: fails.",
        ]

    def test_3_if_one_is_not_decided(self, report: Path) -> None:
        done = gate(report, "--min", "answerable.alpha>=.2", "--min", "rating.alpha>=.6")
        assert (done.returncode, done.stderr) == (3, "")

    @pytest.mark.parametrize(
        ("words", "why"),
        [
            ((), "Give a condition"),
            (("--min", "alpha"), "is not NAME"),
            (("--min", "rating.alhpa>.5"), "did you mean 'rating.alpha'?"),
            (("--certified", ".5"), "--certified and --judge go together"),
            (("--not-worse-than", LABELS), "--not-worse-than and --margin go together"),
            (("--better", "a", "b"), "--better needs a comparison or labels"),
            (("--minimum", "alpha>.5"), "unrecognized arguments"),
        ],
    )
    def test_2_for_wrong_usage(
        self,
        report: Path,
        words: tuple[object, ...],
        why: str,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        try:
            status = main(["gate", str(report), *map(str, words)])
        except SystemExit as end:
            status = int(end.code or 0)
        done = capsys.readouterr()
        assert (status, done.out) == (2, "")
        assert why in done.err

    def test_2_is_also_that_of_the_process(self, report: Path) -> None:
        done = gate(report, "--min", "alhpa>.5", "--json")
        assert json.loads(done.stdout)["status"] == done.returncode == 2

    def test_an_unreadable_file_is_refused_as_elsewhere(self, tmp_path: Path) -> None:
        done = gate(tmp_path / "none.jsonl", "--min", "alpha>.5")
        assert done.returncode == 1
        assert "none.jsonl: cannot be read" in done.stderr

    def test_a_file_that_cannot_be_written_is_refused(self, report: Path, tmp_path: Path) -> None:
        done = gate(report, "--min", "rating.alpha>.6", "--junit", tmp_path / "none" / "j.xml")
        assert done.returncode == 1
        assert "j.xml: cannot be written (no such file or directory)" in done.stderr


def test_a_certificate_counts_for_its_judge_with_its_digest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(CERTIFICATE), "utf-8")
    words = ["gate", str(path), "--certified", ".4", "--judge"]
    assert main([*words, "jude 🌉", "--digest", DIGEST]) == 0
    assert main([*words, "jude 🌉", "--digest", "0" * 64]) == 1
    assert main([*words, "jude 🌉"]) == 3
    assert main([*words, "another", "--digest", DIGEST]) == 3
    assert "the certificate is about jude 🌉" in capsys.readouterr().out


class TestLabelsFiles:
    def test_their_report_is_computed(self) -> None:
        done = gate(LABELS, "--min", "rating.alpha>=.6", "--json")
        assert done.returncode == 0
        (found,) = json.loads(done.stdout)["conditions"]
        assert found["low"] >= 0.6

    def test_a_release_is_held_against_its_baseline(self, tmp_path: Path) -> None:
        def labels(name: str, queries: int) -> Path:
            rows: list[dict[str, Any]] = [
                {
                    "item": f"q{n}#{name}",
                    "unit": f"q{n}",
                    "variable": "good",
                    "value": ("yes", "no")[n % 2],
                    "rater": "ada",
                    "query": f"q{n}",
                    "system": name,
                }
                for n in range(queries)
            ]
            path = tmp_path / f"{name}.jsonl"
            write_lines(path, rows)
            return path

        new, old = labels("new", 150), labels("old", 151)
        words = (new, "--not-worse-than", old, "--margin", ".05")
        holds = gate(*words, "--drawn", "all")
        assert holds.returncode == 0
        assert "only the baseline has 1 query: q150" in holds.stdout
        assert gate(*words).returncode == 3
        assert gate(*words, "--drawn", "even", "--among", "100000").returncode in (0, 3)


class TestWrittenFiles:
    def test_one_json_object(self, report: Path) -> None:
        done = gate(report, "--min", "answerable.alpha>=.2", "--json")
        found = json.loads(done.stdout)
        assert (found["status"], found["outcome"]) == (3, "not decided")
        (condition,) = found["conditions"]
        assert condition.keys() == {
            "condition", "figure", "outcome", "reason", "value", "low", "high"
        }  # fmt: skip
        assert condition["low"] < 0.2 < condition["high"]

    def test_junit_and_markdown(self, report: Path, tmp_path: Path) -> None:
        junit, markdown = tmp_path / "gate.xml", tmp_path / "gate.md"
        done = gate(
            report, "--min", "alpha>=.2", "--min", "rating.alpha>.9", "--junit", junit,
            "--markdown", markdown, "--quiet",
        )  # fmt: skip
        assert done.returncode == 1
        assert [line.split("  ")[0] for line in done.stdout.splitlines()] == [
            "not decided",
            "fails",
        ]
        suites = ElementTree.parse(junit).getroot()
        (suite,) = suites
        assert (suites.tag, suite.tag) == ("testsuites", "testsuite")
        for each in (suites, suite):
            counts = {name: int(each.attrib[name]) for name in ("tests", "failures", "skipped")}
            assert counts == {"tests": 3, "failures": 1, "skipped": 1}
        assert [[child.tag for child in case] for case in suite] == [
            ["skipped"],
            ["system-out"],
            ["failure"],
        ]
        assert all(case.attrib.keys() == {"classname", "name"} for case in suite)
        lines = markdown.read_text("utf-8").splitlines()
        assert lines[0] == "**The gate: fails**"
        assert [line.count(" | ") for line in lines[2:]] == [4, 0, 4, 4, 4]

    def test_hostile_names_break_neither_xml_nor_tables(self) -> None:
        name = 'a|b <c> & "d"\x00\x0b\ud800 \n]]>'
        found = [Finding(name, name, FAILS, name)]
        suite = ElementTree.fromstring(as_junit(found).encode("utf-8"))
        failure = suite.find(".//failure")
        assert failure is not None
        assert 'a|b <c> & "d"���' in failure.attrib["message"]
        assert len(as_markdown(found).splitlines()) == 5
        assert len(as_lines(found)) == 2


@pytest.mark.usefixtures("batch")
class TestCampaigns:
    def test_a_campaign_without_labels_is_not_decided(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        campaign_of("report-coverage")
        with pytest.raises(SystemExit) as end:
            main(["gate", "c", "--min", "rating.alpha>=.6"])
        assert end.value.code == 3
        assert "rating.alpha; there are no labels" in capsys.readouterr().out

    def test_an_unknown_one_gets_a_similar_name(self, capsys: pytest.CaptureFixture[str]) -> None:
        campaign_of("report-coverage", name="coverage")
        assert main(["gate", "covrage", "--min", "alpha>=.6"]) == 1
        assert "did you mean 'coverage'?" in capsys.readouterr().err
