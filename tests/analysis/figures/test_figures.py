"""Every figure, drawn from every kind of report that a study may have."""

from __future__ import annotations

import copy
import csv
import io
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tandem.document import Number
from tandem.figures import FIGURES, Subject, subjects, vega
from tandem.figures.base import Notes, Scale, judge_css, judge_line
from tandem.figures.files import available_kinds, csv_file, svg_file, vega_file
from tandem.figures.svg import file_style, shorten, width_of, wrap
from tandem.figures.vega import JUDGE, LONGEST, PEOPLE
from tests.analysis.figure_cast import report_of
from tests.analysis.figures.conftest import ODD
from tests.analysis.hostile import HOSTILE

JSON = dict[str, Any]
SVG = "{http://www.w3.org/2000/svg}"
OF_ALL = {"raters", "coverage", "systems", "agreement", "confusion", "thresholds", "epsilon",
          "missing", "reliability", "order", "rankings", "slices"}  # fmt: skip


def drawn(report: JSON, name: str, of: str = "") -> ET.Element:
    """Return the figure as a file, read by a strict XML parser."""
    return ET.fromstring(svg_file(FIGURES[name], subject(report, name, of)))


def subject(report: JSON, name: str, of: str = "") -> Subject:
    return next(s for s in subjects(report, FIGURES[name]) if of in ("", s.name))


def marks(figure: ET.Element, element: str, css: str) -> list[ET.Element]:
    return figure.findall(f".//{SVG}{element}[@class='{css}']")


def words(figure: ET.Element) -> list[str]:
    return [text.text or "" for text in figure.iter(f"{SVG}text")] + [
        "".join(text.itertext()) for text in figure.iter(f"{SVG}text")
    ]


def titles(figure: ET.Element) -> list[str]:
    return [title.text or "" for title in figure.iter(f"{SVG}title")]


def rows(report: JSON, name: str, of: str = "") -> list[dict[str, str]]:
    text = csv_file(FIGURES[name], subject(report, name, of)).decode()
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


@pytest.mark.first_case
@pytest.mark.parametrize("name", ODD)
def test_every_figure_of_every_report_is_complete_on_its_own(
    report: Callable[[str], JSON], name: str
) -> None:
    names = set()
    for figure in FIGURES.values():
        for each in subjects(report(name), figure):
            root = ET.fromstring(svg_file(figure, each))
            names.add(figure.name)
            assert root.find(f"{SVG}style") is not None
            assert marks(root, "rect", "paper")[0].get("width") == root.get("width")
            assert not [a for e in root.iter() for a in e.attrib if "href" in a or a[:2] == "on"]
            assert figure.data(each).rows
    expected = {
        "no judge": {"coverage", "systems", "agreement", "raters", "rankings", "slices"},
        "one rater": OF_ALL - {"epsilon", "raters"},
        "judges alone": {"coverage", "systems", "missing", "rankings"},
        "few queries": OF_ALL - {"epsilon"},
        "forty systems": OF_ALL,
        "hostile names": OF_ALL - {"order"},  # of one system
    }
    assert names == expected.get(name, OF_ALL)


@pytest.mark.parametrize("name", ODD)
def test_nothing_is_drawn_outside_the_figure(report: Callable[[str], JSON], name: str) -> None:
    for figure in FIGURES.values():
        for each in subjects(report(name), figure):
            drawing = figure.draw(each)
            root = ET.fromstring(drawing.file())
            for mark, down in placed(root):
                for width, height in places(mark):
                    assert 0 <= width <= drawing.width
                    assert 0 <= height + down <= drawing.height


def placed(mark: ET.Element, down: float = 0) -> Iterator[tuple[ET.Element, float]]:
    """All marks, each with how far it is moved down, under a key."""
    moved = re.match(r"translate\(0 (\S+)\)", mark.get("transform", ""))
    down += float(moved[1]) if moved else 0
    yield mark, down
    for each in mark:
        yield from placed(each, down)


def places(mark: ET.Element) -> list[tuple[float, float]]:
    """The points of a mark."""
    if points := mark.get("points"):
        return [(float(x), float(y)) for x, y in (p.split(",") for p in points.split())]
    pairs = (("x", "y"), ("x1", "y1"), ("x2", "y2"), ("cx", "cy"))
    return [(float(mark.get(x, "")), float(mark.get(y, ""))) for x, y in pairs if mark.get(x)]


@pytest.mark.first_case
@pytest.mark.parametrize("name", ["few queries", "one rater", "judges alone", "forty systems"])
def test_an_undefined_number_is_never_drawn_as_a_number(
    report: Callable[[str], JSON], name: str
) -> None:
    for figure in FIGURES.values():
        for each in subjects(report(name), figure):
            undefined = [
                cell
                for row in figure.data(each).rows
                for cell in row
                if isinstance(cell, Number) and cell.value is None
            ]
            assert all(cell.reason for cell in undefined)
            shown_titles = (
                "\n".join(titles(ET.fromstring(figure.draw(each).file()))) if undefined else ""
            )
            assert all(cell.reason in shown_titles for cell in undefined)


def test_a_reason_is_printed_once_under_its_figure(
    report: Callable[[str], JSON],
) -> None:
    figure = drawn(report("judges alone"), "systems")
    notes = "".join(text.text or "" for text in marks(figure, "text", "note"))
    assert len(marks(figure, "path", "none")) == 8
    assert notes.count("no scores") + notes.count("no values") <= 4
    assert "not defined" in notes


def test_names_in_a_figure_are_text_and_never_markup(report: Callable[[str], JSON]) -> None:
    for figure in FIGURES.values():
        for each in subjects(report("hostile names"), figure):
            inline = figure.draw(each).inline()
            assert "<script" not in inline
            assert "</table" not in inline
            assert 'onload="' not in inline


def test_characters_that_xml_forbids_do_not_break_a_file(tmp_path: Path) -> None:
    made = report_of(tmp_path, people=("A\x01da", "Bram", "C\x0b\u2028hidi"), queries=2)
    assert "A\ufffdda" in "".join(words(drawn(made, "agreement")))


def test_people_are_round_and_judges_square(full: JSON) -> None:
    figure = drawn(full, "coverage")
    scored = [r for r in rows(full, "coverage") if r["score"]]
    people = [r for r in scored if r["kind"] == "human" and r["rater"] != "mean of people"]
    titled = [c for c in marks(figure, "circle", "person") if c.find(f"{SVG}title") is not None]
    assert len(titled) == len(people) == 72
    squares = marks(figure, "rect", "judge") + marks(figure, "rect", "judge hollow-2")
    titled = [square for square in squares if square.find(f"{SVG}title") is not None]
    assert len(titled) == len([r for r in scored if r["kind"] == "judge"])


def test_three_judges_have_three_colours_that_are_the_same_in_every_figure() -> None:
    styles = {judge_css(number) for number in range(3)}
    assert styles == {"judge", "judge hollow-2", "judge judge-3"}
    assert {judge_line(number) for number in range(3)} == {
        "judge dash0", "judge judge-2 dash1", "judge judge-3 dash2",
    }  # fmt: skip
    both = {(judge_css(number), judge_line(number)) for number in range(12)}
    assert len(both) == 12, "a dozen judges differ in colour, filling or dashes"
    sheet = file_style()
    tokens = Path("static/css/tandem.css").read_text("utf-8")
    for number, colour in enumerate(vega.JUDGES, start=1):
        name = "judge" if number == 1 else f"judge-{number}"
        assert f"--{name}: light-dark({colour}," in tokens
        assert f".{name} {{ fill: {colour}" in sheet
        assert f"polyline.{name} {{ fill: none; stroke: {colour}" in sheet


def test_a_judge_keeps_its_colour_where_another_one_has_no_number(full: JSON) -> None:
    (first, second) = [r["name"] for r in full["raters"] if r["kind"] == "judge"]
    alone = copy.deepcopy(full)
    for groups in alone["variables"]["rating"]["strata"].values():
        for part in groups.values():
            part["judges"].pop(first, None)
    (subject,) = (s for s in subjects(alone, FIGURES["slices"]) if s.name == "rating")
    figure = ET.fromstring(svg_file(FIGURES["slices"], subject))
    assert marks(figure, "rect", "judge hollow-2")
    assert not marks(figure, "rect", "judge")
    chart = json.loads(vega_file(FIGURES["slices"], subject))
    scale = chart["spec"]["layer"][1]["encoding"]["color"]["scale"]
    assert dict(zip(scale["domain"], scale["range"], strict=True))[second] == vega.JUDGES[1]


def test_the_key_of_a_long_figure_is_above_it(full: JSON) -> None:
    for name in ("coverage", "slices"):
        root = ET.fromstring(svg_file(FIGURES[name], next(subjects(full, FIGURES[name]))))
        (moved,) = root.findall(f"{SVG}g[@transform]")
        before = list(root)[: list(root).index(moved)]
        named = " ".join("".join(e.itertext()) for e in before)
        assert all(judge in named for judge in ("mild", "strict"))


def test_each_kappa_is_in_its_cell_with_its_interval(full: JSON) -> None:
    pair = full["variables"]["answerable"]["agreement"]["pairs"][0]
    kappa = pair["cohen_kappa"]
    figure = drawn(full, "agreement", "answerable")
    assert f"{kappa['value']:.2f}" in words(figure)
    assert f"{kappa['low']:.2f}–{kappa['high']:.2f}" in words(figure)
    (row,) = (r for r in rows(full, "agreement") if (r["rater"], r["with"]) == ("Bram", "Ada"))
    assert float(row["cohens_kappa"]) == kappa["value"]
    assert float(row["cohens_kappa_low"]) == kappa["low"]


def test_an_undefined_kappa_is_a_dash_with_a_letter(full: JSON) -> None:
    found = copy.deepcopy(full)
    kappa = found["variables"]["answerable"]["agreement"]["pairs"][0]["cohen_kappa"]
    kappa.update(value=None, low=None, high=None, reason="all labels are the same")
    figure = drawn(found, "agreement", "answerable")
    assert "–" in words(figure)
    assert "(a) not defined: all labels are the same" in words(figure)


def test_a_confusion_matrix_adds_up_to_the_judges_units(full: JSON) -> None:
    judge = full["variables"]["answerable"]["judges"]["mild"]
    found = [int(r["units"]) for r in rows(full, "confusion") if r["judge"] == "mild"]
    assert sum(found) == judge["units"]
    assert f"{judge['confusion']['matrix'][0][1]}" in words(drawn(full, "confusion"))


def test_an_undefined_threshold_is_a_cross_and_breaks_the_line(full: JSON) -> None:
    found = copy.deepcopy(full)
    cut = found["variables"]["rating"]["judges"]["mild"]["thresholds"][2]["precision"]
    whole = len(marks(drawn(full, "thresholds"), "polyline", "judge dash1"))
    cut.update(value=None, low=None, high=None, reason="the judge never reaches it")
    figure = drawn(found, "thresholds")
    assert len(marks(figure, "polyline", "judge dash1")) == whole + 1
    assert len(marks(figure, "path", "none")) == 1
    assert "precision: the judge never reaches it" in titles(figure)


def test_the_epsilon_curve_passes_through_the_result_of_the_reports_test(full: JSON) -> None:
    for judge in full["variables"]["answerable"]["judges"].values():
        test = judge["alt_test"]
        at = {point["epsilon"]: point for point in test["curve"]}
        assert list(at) == [0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3]
        assert at[test["epsilon"]]["winning_rate"] == test["winning_rate"]
        assert at[test["epsilon"]]["by_query"]["winning_rate"] == test["by_query"]["winning_rate"]
        assert at[test["epsilon"]]["passed"] == test["passed"]
        rates = [point["winning_rate"] for point in test["curve"]]
        assert rates == sorted(rates)


def test_each_estimate_of_a_system_has_a_mark_of_a_different_shape(full: JSON) -> None:
    figure = drawn(full, "systems")
    estimates = [t for t in titles(figure) if t.startswith(("people", "judge", "corrected"))]
    assert len(estimates) == 2 * 2 * 3
    estimate = full["scores"]["coverage"]["estimate"]["bm25"]["judges"]["mild"]
    assert f"people: {Number.from_estimate(estimate['humans'])}" in estimates
    assert f"corrected, from both: {estimate['prediction_powered']['reason']}" in estimates


def test_a_calibration_bin_is_drawn_at_its_probability_and_its_share_of_yes(full: JSON) -> None:
    calibration = full["variables"]["answerable"]["judges"]["mild"]["calibration"]
    bins = calibration["reliability"]
    figure = drawn(full, "reliability")
    bin_titles = [t for t in titles(figure) if t.startswith("probability")]
    brier = Number.from_estimate(calibration["brier"]).text
    error = Number.from_estimate(calibration["expected_calibration_error"]).text
    summary = f"Brier {brier}, calibration error {error}"
    assert summary in words(figure)
    assert len([r for r in rows(full, "reliability") if r["judge"] == "mild"]) == len(bins) == 10
    for each in bins:
        share = Number.from_estimate(each["share"])
        assert (
            f"probability {each['probability']:.3f}: {share}, {each['units']} units" in bin_titles
        )


def test_a_calibration_bin_with_an_interval_has_a_whisker(full: JSON) -> None:
    found = copy.deepcopy(full)
    before = len(marks(drawn(full, "reliability"), "line", "judge"))
    share = found["variables"]["answerable"]["judges"]["mild"]["calibration"]["reliability"][3]
    share["share"].update(value=0.5, low=0.25, high=0.75)
    whisker = marks(drawn(found, "reliability"), "line", "judge")
    assert len(whisker) == before + 1
    assert {whisker[-1].get("y1"), whisker[-1].get("y2")} == {"165", "75"}


def test_missing_labels_are_counted_by_reason(full: JSON) -> None:
    missing = full["variables"]["answerable"]["judges"]["mild"]["missing"]
    found = {
        r["reason"]: int(r["missing_labels"]) for r in rows(full, "missing") if r["judge"] == "mild"
    }
    assert found == missing
    assert len(marks(drawn(full, "missing"), "rect", "bar")) == len(rows(full, "missing"))


def test_a_bar_is_as_long_as_its_count(full: JSON) -> None:
    bars = marks(drawn(full, "missing"), "rect", "bar")
    counts = [int(r["missing_labels"]) for r in rows(full, "missing")]
    unit = float(bars[0].get("width", "")) / counts[0]
    for bar, count in zip(bars, counts, strict=True):
        assert float(bar.get("width", "")) == pytest.approx(unit * count, abs=0.2)


def test_the_csv_of_a_figure_defuses_formulas(report: Callable[[str], JSON]) -> None:
    cells = {c for r in rows(report("hostile names"), "coverage") for c in r.values()}
    assert f"'{HOSTILE['chidi']}" in cells
    assert HOSTILE["chidi"] not in cells


def test_a_figures_file_has_light_colours_and_no_css_variables(full: JSON) -> None:
    text = svg_file(FIGURES["coverage"], subject(full, "coverage")).decode()
    assert "var(" not in text
    assert "light-dark" not in text
    assert "#1f5fa8" in text


def test_every_class_of_a_figure_has_a_style(full: JSON) -> None:
    sheet = Path("static/css/figures.css").read_text("utf-8")
    for figure in FIGURES.values():
        for each in subjects(full, figure):
            root = ET.fromstring(figure.draw(each).file())
            used = {name for e in root.iter() for name in e.get("class", "").split()}
            plain = {"figure", "dash0", "label"}
            assert {n for n in used - plain if not re.search(rf"\.{n}\b", sheet)} == set()


def test_axis_ticks_are_round_numbers() -> None:
    assert Scale(0, 1, 0, 100).ticks() == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1])
    assert Scale(0, 7, 0, 100).ticks() == [0, 2, 4, 6]
    assert Scale(-0.2, 1, 0, 100).ticks()[0] == pytest.approx(-0.2)
    assert Scale.over([-0.31, 0.5], 0, 120).low == pytest.approx(-0.4)
    assert Scale(0, 1, 100, 0).at(0.25) == 75


def test_a_long_name_is_cut_but_keeps_its_end() -> None:
    short = shorten("a-common-beginning-of-systems-v1", 80)
    assert short.startswith("…")
    assert short.endswith("-v1")
    assert width_of(short) <= 80
    assert width_of("中文") > width_of("ab")
    assert wrap("one two three", 50) == ["one two", "three"]


def test_each_reason_has_one_letter_in_the_notes() -> None:
    notes = Notes()
    assert [notes.letter(r) for r in ("x", "y", "x")] == ["a", "b", "a"]
    for n in range(26):
        notes.letter(str(n))
    assert notes.letter("25") == "ab"


def test_a_figure_is_offered_as_pdf_if_pdf_can_be_made(full: JSON) -> None:
    pytest.importorskip("typst")
    pdf = next(kind for kind in available_kinds() if kind.suffix == "pdf")
    for figure in FIGURES.values():
        for each in subjects(full, figure):
            made = pdf.render(figure, each)
            assert made.startswith(b"%PDF-")
            assert made == pdf.render(figure, each)
            # The PDF has vectors and embedded fonts, not a bitmap.
            assert b"/FontFile" in made
            assert b"/Subtype /Image" not in made


def test_a_figure_is_offered_as_a_picture_for_print(full: JSON) -> None:
    pytest.importorskip("typst")
    png = next(kind for kind in available_kinds() if kind.suffix == "png")
    made = png.render(FIGURES["missing"], subject(full, "missing"))
    assert made.startswith(b"\x89PNG")
    width = int.from_bytes(made[16:20], "big")
    assert width == pytest.approx(
        FIGURES["missing"].draw(subject(full, "missing")).width / 96 * 300, abs=2
    )


@pytest.mark.parametrize("name", ["full", "no judge", "judges alone", "hostile names"])
def test_a_figures_vega_lite_specification_contains_its_data(
    report: Callable[[str], JSON], name: str
) -> None:
    for figure in FIGURES.values():
        for each in subjects(report(name), figure):
            made = json.loads(vega_file(figure, each), parse_constant=pytest.fail)
            values = made["data"]["values"]
            assert len(values) == len(figure.data(each).rows)
            there = {field for value in values for field in value} | set(made_fields(made))
            assert set(used_fields(made)) <= there


def test_panels_in_vega_lite_are_named_after_raters_in_the_order_of_the_page(
    report: Callable[[str], JSON],
) -> None:
    figure, found = FIGURES["slices"], report("full")
    strata = found["variables"]["answerable"]["strata"]
    # A division with a single part has no differences, so it comes last.
    strata["origin"] = dict(list(strata["system"].items())[:1])
    (each, *_) = subjects(found, figure)
    made = json.loads(vega_file(figure, each))
    drawn = svg_file(figure, each).decode()
    places = [drawn.index(f">{title}<") for title in made["facet"]["sort"]]
    assert made["facet"]["sort"] == ["system", "origin"]
    assert places == sorted(places)
    points = made["spec"]["layer"][1]["encoding"]
    named = {
        value["rater"] for value in made["data"]["values"] if value["cohens_kappa"] is not None
    }
    assert set(points["shape"]["scale"]["domain"]) == named
    assert points["shape"]["field"] == points["color"]["field"] == "rater"


def specification(report: JSON, name: str) -> tuple[JSON, str]:
    """The first specification of a figure, and its drawing."""
    (each, *_) = subjects(report, FIGURES[name])
    found: JSON = json.loads(vega_file(FIGURES[name], each))
    return found, svg_file(FIGURES[name], each).decode()


def test_vega_lite_has_the_axes_of_the_page_and_panels_that_fit(full: JSON) -> None:
    axis = specification(full, "raters")[0]["layer"][1]["encoding"]["x"]
    assert axis["scale"]["domain"][1] == 1, "as on the page, kappa reaches to 1"
    slices, _ = specification(full, "slices")
    assert slices["columns"] > 2
    assert slices["spec"]["layer"][1]["encoding"]["x"]["scale"]["domain"][1] == 1
    header = specification(full, "coverage")[0]["facet"]["row"]["header"]
    assert (header["labelAngle"], header["labelLimit"]) == (0, LONGEST)


def test_vega_lite_has_the_bands_and_the_colours_that_are_drawn(full: JSON) -> None:
    made, drawn = specification(full, "thresholds")
    (only,) = made["spec"]["layer"][0]["transform"]
    assert only["filter"]["oneOf"] == ["cohens_kappa", "precision", "recall"]
    assert {each.split('"')[0] for each in drawn.split('class="band ')[1:]} == {
        "both",
        "judge dash1",
        "third dash2",
    }
    made, drawn = specification(full, "agreement")
    cells = made["layer"][0]["encoding"]
    assert cells["color"]["scale"] == {"domain": ["human", "judge"], "range": [PEOPLE, JUDGE]}
    assert cells["opacity"]["scale"]["domain"] == [0, 1]
    assert "people-cell" in drawn
    assert "judge-cell" in drawn


def used_fields(part: Any) -> Iterator[str]:
    """The columns that the encodings of a specification name."""
    if isinstance(part, dict):
        if isinstance(part.get("field"), str):
            yield part["field"]
        yield from (f for key, each in part.items() if key != "data" for f in used_fields(each))
    elif isinstance(part, list):
        yield from (field for each in part for field in used_fields(each))


def made_fields(part: Any) -> Iterator[str]:
    """The columns that its transforms create."""
    if isinstance(part, dict):
        for step in part.get("transform", ()):
            made = step.get("as", [])
            yield from [made] if isinstance(made, str) else made
        yield from (f for key, each in part.items() if key != "data" for f in made_fields(each))
    elif isinstance(part, list):
        yield from (field for each in part for field in made_fields(each))


def test_without_the_pdf_library_the_other_formats_are_offered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tandem.figures.files.can_make_pdf", lambda: False)
    assert [kind.suffix for kind in available_kinds()] == ["svg", "json", "csv"]


def test_all_raters_share_one_axis_with_people_round_and_judges_square(full: JSON) -> None:
    block = full["variables"]["answerable"]
    figure = drawn(full, "raters", "answerable")
    people = [r["name"] for r in full["raters"] if r["kind"] == "human" and r["labels"]]
    judges = [n for n, j in block["judges"].items() if j["with_people"]["cohen_kappa"]["value"]]
    assert len(marks(figure, "rect", "judge") + marks(figure, "rect", "judge hollow-2")) == 2
    assert len(judges) == 2
    # Each person, and people with each other.
    assert len(marks(figure, "circle", "person")) == len(people) + 1
    by_rater = {row["rater"]: row for row in rows(full, "raters", "answerable")}
    judge = judges[0]
    kappa = block["judges"][judge]["with_people"]["cohen_kappa"]["value"]
    assert float(by_rater[judge]["cohens_kappa"]) == pytest.approx(kappa)
    pairs = [p for p in block["agreement"]["pairs"] if people[0] in (p["a"], p["b"])]
    units = sum(p["units"] for p in pairs)
    mean = sum(p["cohen_kappa"]["value"] * p["units"] for p in pairs) / units
    assert float(by_rater[people[0]]["cohens_kappa"]) == pytest.approx(mean)
    # A unit that three people labelled gives each of them two pairs, so pairs are not units.
    assert by_rater[people[0]]["pairs_of_labels"] == str(units)
