"""What is missing, for whom and why, stands beside the estimates that leave it out."""

from __future__ import annotations

from typing import Any

import pytest

from tandem.formats import FORMATS
from tandem.labels.selection import ReportOptions
from tandem.labels_report import labels_report
from tandem.sections.missing import missing_blocks, missing_labels, missing_scores_blocks
from tests.analysis.cast import JUDGE, fact, frame_of, table
from tests.cast import write_lines

JSON = dict[str, Any]


def rows_of(facts: list[Any]) -> dict[tuple[str, str | None], JSON]:
    found = missing_labels(frame_of(facts).variables["answerable"])
    return {(row["name"], row["system"]): row for row in found}


def test_each_rater_has_labels_escapes_reasons_and_units_without_any_answer() -> None:
    facts = [
        *table({"Ada": "yn?y", "Bram": "yn..", JUDGE: "y..."}),
        fact("r0", "q1", JUDGE, None, missing="unreadable"),
        fact("r1", "q2", JUDGE, None, missing="unreadable"),
        fact("r1", "q3", JUDGE, None, missing="refused"),
    ]
    found = rows_of(facts)
    assert found["Ada", None] == {
        "name": "Ada", "kind": "human", "system": None, "units": 4, "labels": 3, "escapes": 1,
        "missing": {}, "unanswered": 0,
    }  # fmt: skip
    assert (found["Bram", None]["labels"], found["Bram", None]["unanswered"]) == (2, 2)
    assert found[JUDGE, None]["missing"] == {"unreadable": 2, "refused": 1}
    assert found[JUDGE, None]["unanswered"] == 0


def test_with_several_systems_it_shows_for_which_of_them_labels_are_missing() -> None:
    facts = [
        fact(f"r{n}", f"q{n}", rater, value, system="ab"[n % 2])
        for n in range(6)
        for rater, value in (("Ada", "yes"), (JUDGE, None if n % 2 else "no"))
    ]
    facts = [f._replace(missing="length") if f.value is None else f for f in facts]
    found = rows_of(facts)
    assert found[JUDGE, None]["missing"] == {"length": 3}
    assert found[JUDGE, "a"]["missing"] == {}
    assert (found[JUDGE, "b"]["units"], found[JUDGE, "b"]["missing"]) == (3, {"length": 3})


def test_a_crowd_is_counted_together() -> None:
    people = {f"p{n}": "yn" if n else "y." for n in range(31)}
    (row,) = rows_of(table(people)).values()
    assert (row["name"], row["units"], row["labels"], row["unanswered"]) == ("", 62, 61, 1)


def test_the_table_names_rater_and_reason_and_is_left_out_if_nothing_is_missing() -> None:
    facts = [*table({"Ada": "yn", JUDGE: "y."}), fact("r0", "q1", JUDGE, None, missing="refused")]
    variable = {"missing_labels": missing_labels(frame_of(facts).variables["answerable"])}
    (block,) = missing_blocks(variable)
    assert "only if it is missing at random" in block.about
    assert [str(cell) for cell in block.tables[0].rows[1]][1:] == [
        "2", "1", "0", "1", "refused 1", "0",
    ]  # fmt: skip
    whole = table({"Ada": "yn", JUDGE: "yy"})
    variable = {"missing_labels": missing_labels(frame_of(whole).variables["answerable"])}
    assert missing_blocks(variable) == missing_blocks({}) == []


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> JSON:
    rows = []
    for n in range(12):
        for rater, kind in (("Ada", "human"), ("Bram", "human"), ("J", "judge")):
            for unit in ("q1", "q2"):
                row = {"item": f"r{n}", "unit": f"{unit}-{n}", "kind": "question", "rater": rater,
                       "rater_kind": kind, "query": f"t{n // 2}", "system": "ab"[n % 2],
                       "protocol": "report-coverage", "variable": "answerable"}  # fmt: skip
                lost = rater == "J" and n in (1, 3)
                row |= {"missing": "unreadable"} if lost else {"value": "yes"}
                rows.append(row)
    path = write_lines(tmp_path_factory.mktemp("missing") / "labels.jsonl", rows)
    return labels_report([path], {}, ReportOptions(resamples=10))


def test_items_without_a_score_are_counted_by_system(report: JSON) -> None:
    (score,) = report["scores"].values()
    assert score["missing_scores"] == [
        {"system": "a", "items": 6, "people": 0, "judges": {"J": 0}},
        {"system": "b", "items": 6, "people": 0, "judges": {"J": 2}},
    ]
    (block,) = missing_scores_blocks(score)
    assert "Items without a score, by system" in block.tables[0].caption
    assert missing_scores_blocks({}) == []


@pytest.mark.parametrize("name", ["md", "html", "latex"])
def test_every_form_shows_the_table_beside_people_judges_and_systems(
    report: JSON, name: str
) -> None:
    text = FORMATS[name].render(report)
    assert text.count("What is missing, for whom and why") >= 2
    assert "Items without a score, by system" in text
    assert "unreadable 4" in text


def test_the_spreadsheet_has_a_line_for_each_number(report: JSON) -> None:
    lines = FORMATS["csv"].render(report).splitlines()
    assert any("missing_labels" in line and "unreadable" in line for line in lines)
