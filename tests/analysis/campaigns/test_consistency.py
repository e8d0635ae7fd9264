"""A judge that is asked again: how often a report says that it gave the same label."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.campaigns.reports import campaign_report
from annotation.models import Campaign
from tandem.labels.selection import ReportOptions
from tandem.sections.contents import document
from tests.analysis.conftest import run
from tests.analysis.evaluation.test_command import EXAMPLE, label
from tests.cast import write_lines

pytestmark = pytest.mark.django_db
JUDGE = {"rater_kind": "judge"}


def test_replicates_of_a_judge_are_compared_by_unit(tmp_path: Path) -> None:
    # On q0 all three labels are equal; on q1 one differs, so one of three pairs is equal.
    said = {"q0": ("yes", "yes", "yes"), "q1": ("yes", "no", "yes")}
    rows = [
        {**label("o", unit, "answerable", value, "model"), **JUDGE, "replicate": replicate}
        for unit, values in said.items()
        for replicate, value in enumerate(values)
    ]
    rows.append({**label("o", "q0", "answerable", "yes", "once"), **JUDGE})
    run("load_batch", str(write_lines(tmp_path / "batch.jsonl", [EXAMPLE])), "--name", "b")
    run("create_campaign", "c", "--protocol", "report-coverage", "--batch", "b")
    run("import_labels", str(write_lines(tmp_path / "l.jsonl", rows)), "--campaign", "c")
    report = campaign_report(Campaign.objects.get(), ReportOptions(resamples=10))
    judges = report["variables"]["answerable"]["judges"]
    found = judges["model"]["consistency"]
    assert found.keys() == {"replicates"}
    assert (found["replicates"]["n"], found["replicates"]["value"]) == (6, pytest.approx(4 / 6))
    assert "consistency" not in judges["once"]
    titles = [block.title for s in document(report).sections for block in s.blocks]
    assert titles.count("Consistency") == 2  # the judge's own, and the comparison's
