"""A release is checked without a database, and one flipped label is found."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from analysis.release.verify import verify
from tandem.program.main import main
from tests.cast import ROOT

FOLDER = "campaigns/coverage"


def flip(path: Path, before: str, after: str, count: int = 1) -> None:
    text = path.read_text("utf-8")
    assert before in text
    path.write_text(text.replace(before, after, count), "utf-8")


def flip_response(path: Path, rater: str, item: str, unit: str) -> None:
    """Have a rater say yes to a unit, wherever the database puts its key."""
    lines = [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]
    (line,) = (line for line in lines if (line["rater"], line["item"]) == (rater, item))
    answer = line["units"][unit]
    assert answer["answerable"] == "no"
    answer["answerable"] = "yes"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


def sign_again(release: Path) -> None:
    """Write new checksums, as a person who hides a change would."""
    sums = release / "SHA256SUMS"
    names = [line.partition("  ")[2] for line in sums.read_text("utf-8").splitlines()]
    digests = [hashlib.sha256((release / name).read_bytes()).hexdigest() for name in names]
    lines = (f"{digest}  {name}\n" for digest, name in zip(digests, names, strict=True))
    sums.write_text("".join(lines), "utf-8")


def test_an_unchanged_release_passes(release: Path) -> None:
    found = verify(release)
    assert found.wrong == []
    assert found.what == "release of study 'pilot'"
    assert "42 labels of campaign coverage and their numbers" in found.checked
    assert any("values of measures of campaign coverage" in line for line in found.checked)


def test_sha256sum_accepts_the_checksums(release: Path) -> None:
    command = ["sha256sum", "--strict", "--quiet", "-c", "SHA256SUMS"]
    assert subprocess.run(command, cwd=release, check=False).returncode == 0


def test_a_flipped_label_is_found_by_its_checksum(release: Path) -> None:
    flip(release / FOLDER / "labels.jsonl", '"value": "no"', '"value": "yes"')
    wrong = verify(release).wrong
    assert f"{FOLDER}/labels.jsonl differs from its checksum" in wrong


def test_a_flipped_label_under_new_checksums_is_named(release: Path) -> None:
    flip(release / FOLDER / "labels.jsonl", '"value": "no"', '"value": "yes"')
    sign_again(release)
    wrong = verify(release).wrong
    assert wrong[0] == (
        "campaign coverage: answerable of unit 'a/b#1' of item 'r' by ada is 'yes' in "
        "labels.jsonl, and 'no' in labels-wide.csv"
    )
    assert "campaign coverage: answerable, 'yes' by ada: 0 in the report, 1 by the labels" in wrong


def test_a_label_flipped_in_every_file_no_longer_fits_the_report(release: Path) -> None:
    flip(release / FOLDER / "labels.jsonl", '"value": "no"', '"value": "yes"')
    flip_response(release / FOLDER / "responses.jsonl", "ada", "r", "a/b#1")
    flip(release / FOLDER / "labels-wide.csv", "one,top,no", "one,top,yes")
    sign_again(release)
    wrong = verify(release).wrong
    assert "campaign coverage: answerable, 'yes' by ada: 0 in the report, 1 by the labels" in wrong
    by_measure = [line for line in wrong if "in measures.json" in line]
    assert by_measure == [
        "campaign coverage: Cov(y) of one (top) by mean of people: 0 in measures.json, "
        "0.166667 by the labels",
        "campaign coverage: Cov(y) of one (top) by ada: 0 in measures.json, 0.333333 by the labels",
    ]
    assert len(wrong) == len(by_measure) + sum("in the report" in line for line in wrong)


def change(path: Path, *keys: str, value: object) -> None:
    """Write another value at a path in a JSON file."""
    file = json.loads(path.read_text("utf-8"))
    inner = file
    for key in keys[:-1]:
        inner = inner[key]
    inner[keys[-1]] = value
    path.write_text(json.dumps(file), "utf-8")


def test_a_changed_measure_is_named_with_its_system_and_rater(release: Path) -> None:
    place = "measures", "Cov(y)", "systems", "one", "people", "value"
    change(release / FOLDER / "measures.json", *place, value=0.75)
    sign_again(release)
    (line,) = verify(release).wrong
    assert line.startswith("campaign coverage: Cov(y) of one by people: 0.75 in measures.json, ")


def test_an_older_release_is_said_to_have_unchecked_measures(release: Path) -> None:
    facts = json.loads((release / "release.json").read_text("utf-8"))
    del facts["campaigns"][0]["options"]
    (release / "release.json").write_text(json.dumps(facts), "utf-8")
    sign_again(release)
    found = verify(release)
    assert found.wrong == []
    assert any("not the measures of campaign coverage" in line for line in found.checked)


def test_a_changed_figure_of_the_report_is_found(release: Path) -> None:
    path = release / FOLDER / "report.json"
    report = json.loads(path.read_text("utf-8"))
    estimate = report["variables"]["answerable"]["judges"]["replay"]["agreement"]["percent"]
    estimate["value"] = estimate["value"] / 2
    path.write_text(json.dumps(report), "utf-8")
    sign_again(release)
    (line,) = verify(release).wrong
    assert line.startswith("campaign coverage: answerable, replay: percent: ")


def test_a_changed_score_of_a_system_is_found(release: Path) -> None:
    path = release / FOLDER / "report.json"
    report = json.loads(path.read_text("utf-8"))
    estimate = report["scores"]["coverage"]["systems"]["one"]["ada"]
    estimate["value"] = 1 - estimate["value"] / 2
    path.write_text(json.dumps(report), "utf-8")
    sign_again(release)
    (line,) = verify(release).wrong
    assert line.startswith("campaign coverage: coverage, one by ada: ")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda release: (release / "datasheet.md").unlink(), "datasheet.md is missing"),
        (lambda release: (release / "more.txt").write_text("x"), "more.txt has no checksum"),
        (lambda release: (release / "SHA256SUMS").unlink(), "SHA256SUMS is missing or empty"),
    ],
)
def test_added_and_missing_files_are_found(release: Path, change, says: str) -> None:
    change(release)
    assert says in verify(release).wrong


def verified_without_django(release: Path) -> str:
    """Return what the command prints on a release that is as it was written."""
    code = (
        "import sys; from tandem.program.main import main\n"
        f"status = main(['verify', {str(release)!r}])\n"
        "assert 'django' not in sys.modules\n"
        "sys.exit(status)\n"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_command_needs_no_django_and_exits_with_3_on_a_difference(release: Path) -> None:
    said = verified_without_django(release)
    assert said.startswith("Checked the release of study 'pilot': ")
    (release / "datasheet.md").write_text("nothing")
    assert main(["verify", str(release)]) == 3


def test_a_folder_that_is_no_release_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", str(tmp_path)]) == 1
    assert "has neither release.json nor manifest.json" in capsys.readouterr().err


def test_an_export_is_verified_by_its_manifest(tmp_path: Path) -> None:
    (tmp_path / "labels.jsonl").write_text("{}\n")
    digest = hashlib.sha256(b"{}\n").hexdigest()
    files = [{"path": "labels.jsonl", "sha256": digest}]
    manifest = {"campaign": {"name": "c"}, "files": files}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    assert verify(tmp_path).wrong == []
    (tmp_path / "labels.jsonl").write_text("{} \n")
    assert verify(tmp_path).wrong == ["labels.jsonl differs from its checksum"]
