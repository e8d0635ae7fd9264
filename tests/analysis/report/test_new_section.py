"""A section of a report is one module: whoever adds one adds its part to the list of them."""

from __future__ import annotations

from html import unescape
from pathlib import Path
from typing import Any

import pytest

from tandem.document import Number, Table
from tandem.formats import FORMATS
from tandem.labels.selection import ReportOptions
from tandem.labels_report import labels_report
from tandem.sections import build
from tandem.sections.base import JUDGE, PEOPLE, Labels, SectionPart, Shown, as_json
from tandem.sections.contents import document
from tandem.statistics import SHARE, mean_by_cluster
from tests.cast import write_lines

JSON = dict[str, Any]
SENTENCE = "The share of units with a label was computed over queries."


def share(of: Labels) -> JSON:
    labelled = (of.sample.frame.codes_of("human") >= 0).any(axis=1).astype(float)
    return as_json({"share": mean_by_cluster(labelled, of.sample.clusters, "share", SHARE)})


def share_of_judge(of: Labels, column: int) -> JSON:
    labelled = (of.sample.frame.codes[:, column] >= 0).astype(float)
    return as_json({"share": mean_by_cluster(labelled, of.sample.clusters, "share", SHARE)})


def tables(shown: Shown) -> list[Table]:
    of = (shown.block if shown.judge else shown.variable)["coverage"]
    row = ("Units with a label", Number.from_estimate(of["share"]))
    return [Table("Share labelled", ("Of", "Share"), (row,))]


OF_PEOPLE = SectionPart(
    PEOPLE,
    "coverage",
    lambda of: {"coverage": share(of)},
    title="How much is labelled",
    tables=tables,
    methods=lambda report: [SENTENCE],
)
OF_JUDGE = SectionPart(
    JUDGE,
    of_judge=lambda of, n: {"coverage": share_of_judge(of, n)},
    title="How much it labelled",
    tables=tables,
)


@pytest.fixture
def report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> JSON:
    monkeypatch.setattr(build, "PARTS", (*build.PARTS, OF_PEOPLE, OF_JUDGE))
    rows = [
        {"item": f"i{n}", "unit": "u", "query": f"q{n}", "variable": "v", "rater": rater}
        | {"rater_kind": "judge" if rater == "model-x" else "human", "value": "yn"[n % 2]}
        for n in range(12)
        for rater in ("Ada", "Bram", "model-x")
    ]
    path = write_lines(tmp_path / "labels.jsonl", rows)
    made: JSON = labels_report([path], {}, ReportOptions(resamples=2))
    return made


def test_a_new_section_is_computed_for_each_variable_and_each_judge(report: JSON) -> None:
    variable = report["variables"]["v"]
    assert variable["coverage"]["share"]["value"] == 1
    assert variable["judges"]["model-x"]["coverage"]["share"]["value"] == 1


def test_a_new_section_is_in_every_format(report: JSON) -> None:
    found = {each.name: [b.title for b in each.blocks] for each in document(report).sections}
    assert OF_PEOPLE.title in found["people"]
    assert OF_JUDGE.title in found["judge-model-x"]
    for name in ("md", "latex", "html"):
        text = unescape(FORMATS[name].render(report))
        assert text.count("Share labelled") >= 2, name
        assert SENTENCE in text
    assert "/variables/v/coverage/share" in FORMATS["csv"].render(report)


def test_every_part_is_listed_once() -> None:
    assert len({id(each) for each in build.PARTS}) == len(build.PARTS)
