"""Responses of a judge that works unit by unit: several lines that are one answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from annotation.answers.submission import Circumstances, submit
from annotation.models import Assignment, Campaign, Item, Rater, Response
from tests.annotation.answering import good_answer
from tests.cast import Line, campaign_of, exported, run, write_lines

TIMES = ("created_at",)


@pytest.fixture(autouse=True)
def coverage(batch: Path) -> Campaign:
    return campaign_of("report-coverage")


def by_unit(item: Item, comment: str | None = None) -> None:
    judge, _ = Rater.objects.get_or_create(name="jude", defaults={"kind": "judge"})
    for number, unit in enumerate(item.units.all(), 1):
        row = Assignment.objects.create(item=item, rater=judge, scope=unit.name, asked=[unit.name])
        said = f"{comment} {number}" if comment else None
        answer = {"units": good_answer(row), "comment": said}
        submit(row, answer, "judge", Circumstances(seconds=2.5))


def take(folder: Path, rows: list[Line], name: str) -> str:
    return run("import_labels", write_lines(folder / "r.jsonl", rows), "--campaign", name)


def labels(name: str) -> list[Line]:
    left_out = ("campaign", *TIMES)
    lines = exported(name, "labels")
    return [{k: v for k, v in line.items() if k not in left_out} for line in lines]


def test_the_lines_of_one_answer_become_one_revision(coverage: Campaign, tmp_path: Path) -> None:
    by_unit(coverage.items.get(key="r"))
    by_unit(coverage.items.get(key="r#1"))
    out = exported("c", "responses")
    assert len(out) == 6
    campaign_of("report-coverage", name="again")
    take(tmp_path, out, "again")
    assert labels("again") == labels("c")
    assert [line["revision"] for line in exported("again", "responses")] == [1, 1]
    assert Response.objects.filter(assignment__item__campaign__name="again").count() == 2
    assert take(tmp_path, out, "again").startswith("Nothing to do for 6 labels")


def test_lines_without_a_revision_are_joined_too(coverage: Campaign, tmp_path: Path) -> None:
    by_unit(coverage.items.get(key="r"))
    out = [{k: v for k, v in x.items() if k != "revision"} for x in exported("c", "responses")]
    campaign_of("report-coverage", name="again")
    take(tmp_path, out, "again")
    assert labels("again") == labels("c")


def test_lines_of_different_revisions_or_replicates_are_not_joined(tmp_path: Path) -> None:
    row: Line = {"item": "r", "rater": "ann", "units": {"🌉": {"answerable": "no"}}}
    other: Line = {"item": "r", "rater": "ann", "units": {"a/b#1": {"answerable": "no"}}}
    rows = [row | {"revision": 1}, row | {"revision": 2, "comment": "again"}]
    take(tmp_path, [*rows, other | {"revision": 2}, row | {"replicate": 1}], "c")
    facts = [
        (x["replicate"], x["revision"], sorted(x["units"])) for x in exported("c", "responses")
    ]
    assert facts == [(0, 2, ["a/b#1", "🌉"]), (1, 1, ["🌉"])]


def test_each_lines_comment_is_kept_once(coverage: Campaign, tmp_path: Path) -> None:
    by_unit(coverage.items.get(key="r"), "שלום 🌉")
    out = exported("c", "responses")
    campaign_of("report-coverage", name="again")
    take(tmp_path, out, "again")
    (whole,) = exported("again", "responses")
    assert whole["comment"] == "שלום 🌉 1\nשלום 🌉 2\nשלום 🌉 3"
    assert take(tmp_path, out, "again").startswith("Nothing to do for 3 labels")


def test_importing_into_the_original_campaign_keeps_each_lines_comment(
    coverage: Campaign, tmp_path: Path
) -> None:
    by_unit(coverage.items.get(key="r"), "why")
    out = exported("c", "responses")
    assert take(tmp_path, out, "c").startswith("Nothing to do for 3 labels")
    assert exported("c", "responses") == out


def test_the_seconds_of_joined_lines_are_summed_once_per_line(batch: Path, tmp_path: Path) -> None:
    campaign_of("report-coverage", "--option", "variables=answerable,rating", name="two")
    answer = {"answerable": "no", "rating": 0}
    rows: list[Line] = [
        {"item": "r", "rater": "ann", "seconds": seconds, "units": {unit: answer}}
        for unit, seconds in (("🌉", 2.0), ("a/b#1", 3.5))
    ]
    take(tmp_path, rows, "two")
    assert {line["seconds"] for line in exported("two", "labels")} == {5.5}
