"""A judge's grades are reported beside its labels and people's, worked by hand on six units."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tandem.formats.markdown import as_markdown
from tandem.labels.selection import ReportOptions
from tandem.labels_report import labels_report

GRADES = ("0", "1", "1", "2", "3", "3")
PEOPLE = ("nn", "nn", "yn", "yy", "yy", "yy")


def report(folder: Path, grades: tuple[str, ...] = GRADES) -> dict[str, Any]:
    """Two people, and a judge whose grades from 2 on mean yes."""
    lines: list[dict[str, Any]] = []
    for n, (grade, said) in enumerate(zip(grades, PEOPLE, strict=True)):
        place = {"item": f"r{n}", "unit": f"q{n}", "query": f"q{n}", "variable": "relevant"}
        for person, code in zip(("Ada", "Ben"), said, strict=True):
            lines.append(place | {"rater": person, "value": {"y": "yes", "n": "no"}[code]})
        own = {"rater": "J", "rater_kind": "judge", "value": "yes" if n > 2 else "no"}
        lines.append(place | own | ({"grade": grade} if grade else {}))
    path = folder / "labels.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return labels_report([path], {"relevant": "nominal"}, ReportOptions(resamples=20))


def judge_of(made: dict[str, Any]) -> dict[str, Any]:
    return dict(made["variables"]["relevant"]["judges"]["J"])


def test_numeric_grades_are_counted_with_peoples_share_and_compared(tmp_path: Path) -> None:
    made = report(tmp_path)
    found = judge_of(made)["graded"]
    rows = [(r["grade"], r["label"], r["labels"], r["people"]["value"]) for r in found["grades"]]
    assert rows == [
        ("0", "no", 1, 0.0), ("1", "no", 2, 0.25), ("2", "yes", 1, 1.0), ("3", "yes", 2, 1.0),
    ]  # fmt: skip
    # Ranks of grades 1, 2.5, 2.5, 4, 5.5, 5.5 against 1.5, 1.5, 3, 5, 5, 5 of shares of yes.
    assert found["correlation"]["spearman"]["value"] == pytest.approx(14.25 / (16.5 * 15) ** 0.5)
    # All units with yes are above those with no; the tie of people does not count.
    assert found["curves"][0]["roc_auc"]["value"] == 1
    assert [point["score"] for point in found["curves"][0]["points"]] == [0, 1, 2, 3]
    text = as_markdown(made)
    assert "Its own grades, before they became labels" in text
    assert "Its grades and people's share of yes" in text


def test_grades_in_words_are_only_counted_and_no_grades_give_no_block(tmp_path: Path) -> None:
    words = ("none", "part", "part", "whole", "whole", "whole")
    found = judge_of(report(tmp_path, words))["graded"]
    assert [row["grade"] for row in found["grades"]] == ["none", "part", "whole"]
    assert "correlation" not in found
    assert "graded" not in judge_of(report(tmp_path, ("",) * 6))
