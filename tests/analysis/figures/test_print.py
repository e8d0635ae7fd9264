"""Figures for print: at the widths of a paper, with type of 7 to 9 points, and without colour."""

from __future__ import annotations

import copy
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from tandem.figures import FIGURES, subjects
from tandem.figures.files import (
    PAPERS,
    TYPE,
    FigureError,
    Look,
    NoFigureError,
    csv_file,
    figure_file,
    svg_file,
)
from tandem.figures.svg import file_style, width_of

JSON = dict[str, Any]
SVG = "{http://www.w3.org/2000/svg}"
SIZES = {"share": 10.5, "tick": 11, "note": 11, "group": 13, "cell": 13}


@pytest.mark.parametrize(("paper", "width"), [("column", 84), ("text", 174)])
def test_every_figure_with_all_its_words_fits_the_width_of_a_paper(
    full: JSON, paper: Any, width: int
) -> None:
    for figure in FIGURES.values():
        for each in subjects(full, figure):
            root = ET.fromstring(svg_file(figure, each, Look(paper=paper)))
            assert root.get("width") == f"{width}mm"
            box = float(root.get("viewBox", "").split()[2])
            assert box == pytest.approx(PAPERS[paper].room.width)
            for text in root.iter(f"{SVG}text"):
                left, right = ends(text)
                where = figure.name, "".join(text.itertext())
                assert -1 <= left <= right <= box + 1, where


def ends(text: ET.Element) -> tuple[float, float]:
    """Where a text begins and ends, by its estimated width."""
    words = "".join(part for part in text.itertext()) if text.text is None else text.text
    shown = words if (title := text.find(f"{SVG}title")) is None else (title.tail or "")
    wide, x = width_of(shown, SIZES.get(text.get("class", ""), 12)), float(text.get("x", ""))
    anchor = text.get("text-anchor", "start")
    start = x - {"start": 0, "middle": wide / 2, "end": wide}[anchor]
    return start, start + wide


def test_text_has_7_to_9_points_at_the_width_of_a_paper() -> None:
    sizes = [float(size) for size in re.findall(r"font-size: ([\d.]+)px", file_style())]
    assert len(sizes) > 4
    assert all(7 <= size * TYPE * 0.75 <= 9 for size in sizes)


def test_in_black_and_white_people_and_judges_have_different_marks(full: JSON) -> None:
    for figure in FIGURES.values():
        for each in subjects(full, figure):
            drawn = svg_file(figure, each, Look(tone="black")).decode()
            for colour in re.findall(r"#([0-9a-f]{6})\b", drawn):
                assert colour[:2] == colour[2:4] == colour[4:], figure.name
    sheet = Path("static/css/figures-black.css").read_text("utf-8")
    (person,) = re.findall(r"\.figure \.person \{ fill: (#\w+)", sheet)
    (judge,) = re.findall(r"\.figure \.judge, [^{]*\{ fill: (#\w+)", sheet)
    assert {person, judge} == {"#ffffff", "#000000"}


def test_a_matrix_too_wide_for_a_column_is_refused_with_advice(full: JSON) -> None:
    many = copy.deepcopy(full)
    (pair, *_) = many["variables"]["rating"]["agreement"]["pairs"]
    of = [{**pair, "a": f"p{a}", "b": f"p{b}"} for a, b in combinations(range(11), 2)]
    many["variables"]["rating"]["agreement"]["pairs"] = of
    with pytest.raises(FigureError, match="does not fit a column, 84 mm in type of 7 points; take"):
        figure_file(many, "agreement", "svg", "rating", Look(paper="column"))
    assert figure_file(many, "agreement", "svg", "rating", Look(paper="text")).content


def test_impossible_options_of_a_figure_are_refused_in_one_line(full: JSON) -> None:
    with pytest.raises(NoFigureError, match="there is no figure 'bars'; there are coverage, "):
        figure_file(full, "bars", "svg")
    with pytest.raises(NoFigureError, match="figures are not available as gif here, only as svg, "):
        figure_file(full, "coverage", "gif")
    with pytest.raises(NoFigureError, match=r"the figure 'slices' of 'x'; it shows answerable,"):
        figure_file(full, "slices", "svg", "x")
    with pytest.raises(FigureError, match="CSV has no colours and no width; ask for SVG"):
        figure_file(full, "coverage", "csv", look=Look(tone="black"))
    made = figure_file(full, "slices", "svg", "rating", Look("black", "column"))
    assert made.name == "slices-rating-column-black"


def test_each_rank_correlation_is_in_the_cell_of_its_two_raters(full: JSON) -> None:
    figure, block = FIGURES["rankings"], full["scores"]["coverage"]
    (subject,) = subjects(full, figure)
    raters = [
        *block["pairs"],
        {"a": "mild", "b": "strict", **block["correlation"]["mild"]["strict"]},
    ]
    drawn = svg_file(figure, subject).decode()
    lines = csv_file(figure, subject).decode().splitlines()
    for pair in raters:
        tau = pair["kendall"]["value"]
        assert f">{tau:.2f}<".replace("-", "\u2212") in drawn
        found = [line for line in lines if f"{tau!r}" in line]
        assert any({pair["a"], pair["b"]} <= set(line.split(",")) for line in found)
    # All pairs of three people, people's mean and two judges, except people with their mean.
    assert len(lines) - 1 == 3 + 2 * 4 + 1
    assert drawn.count("a person is part of people together") == 3 + 1


def test_raters_are_sorted_by_mean_tau_and_a_negative_tau_has_a_dashed_frame(full: JSON) -> None:
    block = {
        "evaluators": [
            {"a": a, "b": b, "kendall": {"value": t, "low": None, "high": None, "n": 6,
             "method": "tau", **({"reason": "all alike"} if t is None else {})}}
            for a, b, t in (("people", "odd", -0.5), ("people", "near", 0.9), ("near", "odd", None))
        ],
        "slices": {}, "cut": "", "systems": {},
    }  # fmt: skip
    kinds = [{"name": name, "kind": "judge"} for name in ("odd", "near")]
    report = {"raters": kinds, "measures": {"Cov(y)": block}}
    drawn = figure_file(report, "evaluators", "svg").content.decode()
    for named in (">1 near<", ">2 people together<", ">3 odd<"):
        assert named in drawn
    assert drawn.count('class="frame below"') == 1
    assert "(a) not defined: all alike" in drawn
    (chart,) = re.findall(
        r'"domain": \[\s*0,\s*1\s*\]', figure_file(report, "evaluators", "json").content.decode()
    )
    assert chart


def test_slices_are_panels_on_one_axis_sorted_by_peoples_scores(full: JSON) -> None:
    (subject,) = (each for each in subjects(full, FIGURES["slices"]) if each.name == "rating")
    lines = csv_file(FIGURES["slices"], subject).decode().splitlines()
    groups = subject.block["strata"]["system"]
    key = subject.block["coefficient"]
    people = {name: of["agreement"]["mean_of_pairs"][key]["value"] for name, of in groups.items()}
    ranked = sorted(groups, key=lambda name: -people[name])
    assert [line.split(",")[1] for line in lines[1::3]] == ranked
    drawn = figure_file(full, "slices", "svg", "rating").content.decode()
    for name in groups:
        kappa = groups[name]["judges"]["mild"]["with_people"][key]["value"]
        assert f"{name}, mild with each person: {kappa:.3f}" in drawn


@pytest.mark.long
def test_of_forty_slices_twelve_are_drawn_and_of_forty_systems_all(
    report: Callable[[str], JSON],
) -> None:
    many = report("forty systems")
    strata = many["variables"]["rating"]["strata"]
    for look in (Look(), Look(paper="column")):
        drawn = figure_file(many, "slices", "svg", "rating", look).content.decode()
        assert "more in the data" not in drawn
        assert all(f">{name}<" in drawn for name in strata["system"])
    other = copy.deepcopy(many)
    of = other["variables"]["rating"]["strata"]
    of["origin"] = of.pop("system")
    drawn = figure_file(other, "slices", "svg", "rating").content.decode()
    assert "… 28 more in the data" in drawn
    assert float(re.findall(r'viewBox="0 0 \S+ (\S+)"', drawn)[0]) < 1600
