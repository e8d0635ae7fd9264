"""The first figure: coverage per report."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

from analysis.figures import coverage_figure, figure_rows

SVG = "{http://www.w3.org/2000/svg}"


def report(*items: tuple[str, str | None, dict[str, float]]) -> dict[str, Any]:
    kinds = {"Ada": "human", "Bram": "human", "model": "judge", "panel": "reference"}
    return {
        "raters": [{"name": name, "kind": kind} for name, kind in kinds.items()],
        "scores": {
            "coverage": {
                "items": [
                    {"item": item, "query": item, "system": system, "values": values}
                    for item, system, values in items
                ]
            }
        },
    }


def squares(figure: ET.Element) -> list[ET.Element]:
    """The judges' marks: a square that says its value; those of the key say none."""
    found = figure.findall(f".//{SVG}rect[@class='judge']")
    return [square for square in found if square.find(f"{SVG}title") is not None]


TWO = report(
    ("low", "bm25", {"Ada": 0.0, "Bram": 0.5, "model": 1.0}),
    ("high", "bm25", {"Ada": 1.0, "Bram": 0.5}),
)


def test_people_are_points_their_mean_a_bar_and_the_judge_a_line() -> None:
    figure = ET.fromstring(coverage_figure(TWO))
    assert len(figure.findall(f".//{SVG}circle[@class='person']")) == 4
    assert len(figure.findall(f".//{SVG}rect[@class='mean']")) == 2
    assert len(figure.findall(f".//{SVG}polyline")) == 1
    assert len(squares(figure)) == 1


def test_the_highest_mean_stands_first_within_its_system() -> None:
    assert [row.label for row in figure_rows(TWO)] == ["high", "low"]


def test_a_bar_is_as_long_as_the_mean() -> None:
    figure = ET.fromstring(coverage_figure(TWO))
    widths = [float(bar.get("width", "")) for bar in figure.findall(f".//{SVG}rect[@class='mean']")]
    assert widths[0] == 3 * widths[1]


def test_each_mark_says_its_value_in_words() -> None:
    titles = [t.text for t in ET.fromstring(coverage_figure(TWO)).iter(f"{SVG}title")]
    assert "Ada: 0.000" in titles
    assert "mean of people: 0.750" in titles


def test_a_reference_is_no_person() -> None:
    rows = figure_rows(report(("r", None, {"Ada": 1.0, "panel": 0.0})))
    assert rows[0].people == {"Ada": 1.0}
    assert rows[0].mean == 1.0


def test_a_report_that_only_a_judge_scored_has_no_bar() -> None:
    figure = ET.fromstring(coverage_figure(report(("r", "bm25", {"model": 0.4}))))
    assert figure.findall(f".//{SVG}rect[@class='mean']") == []
    assert len(squares(figure)) == 1


def test_two_judges_have_lines_of_their_own_and_a_key() -> None:
    two = report(("a", "bm25", {"model": 0.4, "other": 0.6}), ("b", "bm25", {"model": 1.0}))
    two["raters"].append({"name": "other", "kind": "judge"})
    figure = ET.fromstring(coverage_figure(two))
    lines = {line.get("class") for line in figure.findall(f".//{SVG}polyline")}
    assert lines == {"judge dash0", "judge dash1"}
    words = [text.text for text in figure.iter(f"{SVG}text")]
    assert "model" in words
    assert "other" in words


def test_the_judges_line_breaks_between_systems() -> None:
    two_systems = report(("a", "bm25", {"model": 0.4}), ("b", "dense", {"model": 0.6}))
    figure = ET.fromstring(coverage_figure(two_systems))
    assert len(figure.findall(f".//{SVG}polyline")) == 2


def test_names_are_text_and_never_markup() -> None:
    hostile = '<script>alert(1)</script>"&'
    figure = coverage_figure(report((hostile, hostile, {"Ada": 1.0})))
    assert "<script" not in figure
    assert any(hostile[:10] in (t.text or "") for t in ET.fromstring(figure).iter(f"{SVG}text"))


def test_an_empty_report_makes_an_empty_figure() -> None:
    assert ET.fromstring(coverage_figure(report())).tag == f"{SVG}svg"
