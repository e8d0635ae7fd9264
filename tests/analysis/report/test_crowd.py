"""A report on hundreds of people: as large as its labels, with distributions instead of pairs."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tandem.figures import agreement
from tandem.figures.base import Subject
from tandem.formats import FORMATS
from tandem.formats.facts import facts
from tandem.labels.selection import ReportOptions
from tandem.labels_report import labels_report
from tests.cast import write_lines

CROWD = 30

JSON = dict[str, Any]
GUESSER = "p000"


def lines_of(people: int, units: int, labels: int, variable: str = "answerable") -> Iterator[JSON]:
    """This many labels on each unit by people, and one by a judge; the first person guesses."""
    chance = random.Random(3)
    codes = ("yes", "no") if variable == "answerable" else ("1", "2", "3", "4")
    for unit in range(units):
        truth = chance.choice(codes)
        place = {
            "item": f"i{unit // 2}",
            "unit": f"u{unit}",
            "query": f"q{unit // 2 % 12}",
            "variable": variable,
            "system": f"s{unit // 2 % 3}",
        }
        for person in chance.sample(range(people), labels):
            right = person != 0 and chance.random() < 0.85
            value = truth if right else chance.choice(codes)
            yield place | {"rater": f"p{person:03}", "value": value}
        value = truth if chance.random() < 0.8 else chance.choice(codes)
        yield place | {"rater": "model", "rater_kind": "judge", "value": value}


def report_of(folder: Path, lines: Iterator[JSON], choices: ReportOptions | None = None) -> JSON:
    path = write_lines(folder / "labels.jsonl", list(lines))
    return labels_report(
        [path],
        {"rating": "ordinal"} if "rating" in path.read_text() else {},
        choices or ReportOptions(resamples=40),
    )


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> JSON:
    return report_of(tmp_path_factory.mktemp("crowd"), lines_of(60, 1200, 3))


def test_more_than_thirty_people_have_a_distribution_in_place_of_pairs(tmp_path: Path) -> None:
    for people in (CROWD, CROWD + 1):
        folder = tmp_path / str(people)
        folder.mkdir()
        found = report_of(folder, lines_of(people, 12, people), ReportOptions(resamples=10))
        block = found["variables"]["answerable"]
        small = people <= CROWD
        assert ("pairs" in block["agreement"]) == small
        assert ("pairs" in block["judges"]["model"]) == small
        assert ("pairs" in found["scores"]["coverage"]) == small
        for of in (block["agreement"], block["judges"]["model"], found["scores"]["coverage"]):
            assert ("pairs_distribution" in of) != small


def test_a_crowd_is_described_by_quantiles_and_its_outliers(crowd: JSON) -> None:
    found = crowd["variables"]["answerable"]["agreement"]["pairs_distribution"]
    assert found["with_others"]["people"] == 60
    kappas = found["with_others"]["cohen_kappa"]
    assert kappas["min"] < kappas["q25"] < kappas["median"] < kappas["max"]
    assert sum(each["people"] for each in found["with_others"]["histogram"]) == kappas["n"] == 60
    assert [each["name"] for each in found["stand_out"]] == [GUESSER]
    warned = [each for each in crowd["warnings"] if each["code"] == "rater_far_off"]
    assert [each["rater"] for each in warned] == [GUESSER]


def test_pairs_with_too_few_shared_units_are_left_out(crowd: JSON) -> None:
    found = crowd["variables"]["answerable"]["agreement"]["pairs_distribution"]
    assert found["pairs"] > 1000
    assert (found["cohen_kappa"]["n"], found["cohen_kappa"]["median"]) == (0, None)
    assert found["cohen_kappa"]["reason"] == "no pair of people shares 30 units"


def test_all_pairs_with_enough_shared_units_are_listed_on_request(tmp_path: Path) -> None:
    lines = [line for line in lines_of(40, 120, 12) if line["rater"] != "model"]
    listed = report_of(tmp_path, iter(lines), ReportOptions(resamples=20, pairs="all"))
    pairs = listed["variables"]["answerable"]["agreement"]["pairs"]
    units_of = {
        name: {row["unit"] for row in lines if row["rater"] == name}
        for name in {row["rater"] for row in lines}
    }
    names = sorted(units_of)
    large = [
        (a, b)
        for n, a in enumerate(names)
        for b in names[n + 1 :]
        if len(units_of[a] & units_of[b]) >= 30
    ]
    assert [(each["a"], each["b"]) for each in pairs] == large
    assert listed["choices"]["pairs"] == "all"
    assert "pairs_distribution" in listed["variables"]["answerable"]["agreement"]


def test_the_report_grows_with_labels_not_with_the_square_of_people(tmp_path: Path) -> None:
    sizes = {}
    for people in (50, 200):
        folder = tmp_path / str(people)
        folder.mkdir()
        found = report_of(folder, lines_of(people, 300, 3), ReportOptions(resamples=10))
        sizes[people] = len(json.dumps(found))
    # Four times as many people make sixteen times as many pairs.
    assert sizes[200] < 2 * sizes[50]


def test_every_format_describes_a_crowd_in_few_rows(crowd: JSON) -> None:
    for name in ("md", "latex", "html"):
        text = FORMATS[name].render(crowd)
        assert "60 people" in text
        assert GUESSER in text
        assert sum(f"p{n:03}" in text for n in range(60)) <= 2 * 30
    assert "Distribution over people" in FORMATS["md"].render(crowd)


def test_the_figure_of_a_crowd_counts_people_by_their_kappa(crowd: JSON) -> None:
    block = crowd["variables"]["answerable"]
    subject = Subject("answerable", block, {})
    bars = block["agreement"]["pairs_distribution"]["with_others"]["histogram"]
    assert agreement.FIGURE.suits(subject)
    assert agreement.draw(subject).file().count('class="people-cell"') == len(bars)
    assert [row[1] for row in agreement.data(subject).rows] == [each["people"] for each in bars]


def test_the_csv_contains_the_numbers_of_a_crowd(crowd: JSON) -> None:
    rows = {row["path"]: row for row in facts(crowd)}
    path = "/variables/answerable/agreement/pairs_distribution/with_others/cohen_kappa/median"
    found = crowd["variables"]["answerable"]["agreement"]["pairs_distribution"]
    assert rows[path]["value"] == found["with_others"]["cohen_kappa"]["median"]


def test_a_crowd_that_gives_ratings_is_described_too(tmp_path: Path) -> None:
    found = report_of(tmp_path, lines_of(45, 600, 3, "rating"))["variables"]["rating"]
    assert found["agreement"]["krippendorff_alpha"]["value"] > 0.5
    assert found["soft_labels"]["raters"][GUESSER]["error_rate"] > 0.4
    assert found["judges"]["model"]["pairs_distribution"]["people"] > 0


def test_unlimited_values_have_shares_of_agreement_and_no_kappa(tmp_path: Path) -> None:
    lines = [
        {**line, "value": str(n % 97)} for n, line in enumerate(lines_of(45, 600, 3, "rating"))
    ]
    found = report_of(tmp_path, iter(lines))["variables"]["rating"]["agreement"]
    with_others = found["pairs_distribution"]["with_others"]
    assert with_others["percent"]["median"] is not None
    assert "over 60 different values" in with_others["cohen_kappa"]["reason"]
