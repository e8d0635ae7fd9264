"""Model families from a batch and a judge's definition to the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from analysis.bench.numbers import bench
from analysis.campaigns.frames import campaign_frame, with_families
from analysis.campaigns.reports import campaign_report
from analysis.models import Study
from annotation.models import Campaign
from tandem.formats import FORMATS
from tandem.labels.selection import ReportOptions
from tests.cast import exported, run, write_lines

pytestmark = pytest.mark.django_db
QUERIES = 12
FEW = ReportOptions(resamples=50)


def query(number: int, **families: str) -> dict[str, Any]:
    reports = [
        {"id": f"{system}{number}", "text": "It sails at dawn.", "system": system}
        | ({"family": families[system]} if system in families else {})
        for system in ("ours", "theirs")
    ]
    return {"id": f"q{number}", "text": f"What of ferry {number}?", "reports": reports}


def ratings(rater: str, ours: int, theirs: int) -> list[dict[str, Any]]:
    return [
        {"item": f"q{n}", "unit": f"{system}{n}", "kind": "report", "variable": "natural",
         "value": str(value), "rater": rater}
        for n in range(QUERIES)
        for system, value in (("ours", ours + n % 2), ("theirs", theirs + n % 2))
    ]  # fmt: skip


def study(folder: Path, **families: str) -> Campaign:
    lines = [query(n, **families) for n in range(QUERIES)]
    run("load_batch", write_lines(folder / "batch.jsonl", lines), "--name", "b")
    run("create_campaign", "c", "--protocol", "answer-rating", "--batch", "b",
        "--option", "variables=natural")  # fmt: skip
    people = write_lines(folder / "people.jsonl", ratings("Ada", 2, 2))
    run("import_labels", people, "--campaign", "c")
    # The judge rates its own family one higher than people do, and the other family as they do.
    said = write_lines(folder / "judge.jsonl", ratings("old", 3, 2))
    run("create_judge", "j", "--backend", "scripted", "--answers", said, "--family", "llama")
    run("run_judge", "--campaign", "c", "--judge", "j")
    return Campaign.objects.get(name="c")


def test_the_report_says_how_a_judge_treats_its_own_family(tmp_path: Path) -> None:
    campaign = study(tmp_path, ours="llama", theirs="qwen")
    report = campaign_report(campaign, FEW)
    own_family = report["variables"]["natural"]["judges"]["j"]["own_family"]
    assert own_family["family"] == "llama"
    assert (own_family["own"]["value"], own_family["own"]["n"]) == (1, QUERIES)
    assert (own_family["others"]["value"], own_family["others"]["n"]) == (0, QUERIES)
    assert own_family["preference"]["value"] == 1
    for words in (FORMATS["md"].render(report), FORMATS["html"].render(report)):
        assert "How it treats its own family" in words
    found = bench(campaign, ["j"], FEW)
    assert found["judges"][0]["family"] == "llama"
    assert found["variables"]["natural"]["judges"]["j"]["own_family"] == own_family


def test_the_report_on_a_batch_without_families_does_not_mention_them(tmp_path: Path) -> None:
    report = campaign_report(study(tmp_path), FEW)
    assert "own_family" not in report["variables"]["natural"]["judges"]["j"]
    assert "own family" not in FORMATS["md"].render(report)


def test_a_judge_without_a_family_has_that_of_its_evaluator(tmp_path: Path) -> None:
    campaign = study(tmp_path, ours="llama", theirs="qwen")
    declared = Study.objects.create(name="s", evaluators={"llm": ["j", "k"]})
    declared.parts.create(kind="campaign", name="c", campaign=campaign)
    families = with_families(campaign_frame(campaign), campaign).families
    assert families.judges == {"j": "llama", "k": "llama"}


def test_families_are_exported_with_the_batch(tmp_path: Path) -> None:
    study(tmp_path, ours="llama")
    reports = [report for line in exported("c", "batch") for report in line["reports"]]
    assert {(each["system"], each.get("family")) for each in reports} == {
        ("ours", "llama"),
        ("theirs", None),
    }


def test_a_judge_cannot_be_redefined_with_another_family(tmp_path: Path) -> None:
    said = write_lines(tmp_path / "judge.jsonl", ratings("old", 3, 2))
    asked = ("create_judge", "j", "--backend", "scripted", "--answers", said)
    run(*asked, "--family", "llama")
    with pytest.raises(CommandError, match="another family"):
        run(*asked, "--family", "qwen")
