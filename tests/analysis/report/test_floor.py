"""Each judge is compared with people in pairs, and with the baseline of word overlap."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.cache import caches

from annotation.models import Campaign
from tandem.formats import FORMATS
from tandem.labels.facts import NO_TEXTS, FloorCodes
from tandem.labels.frame import Frame
from tandem.sections.agreement import agreement
from tandem.sections.floor import gap_tables, no_floor
from tandem.sections.judges import judges
from tandem.sections.methods import methods
from tandem.sections.warnings import warnings
from tests.analysis.cast import JUDGE, frame_of, sample_of, table
from tests.analysis.conftest import CONTRACT, run

CODES = {"y": 0, "n": 1, ".": -1}
ALIKE = "yynnyyny" * 15
"""120 units of 60 queries, which are enough to decide at epsilon 0.1 and above."""
TURNED = ALIKE.translate(str.maketrans("yn", "ny"))
PEOPLE = {"Ada": ALIKE, "Bram": ALIKE, "Chidi": ALIKE[:-4] + TURNED[-4:]}


def frame_with(floor: str, rows: dict[str, str]) -> Frame:
    frame = frame_of(table(rows))
    codes = FloorCodes(np.array([CODES[each] for each in floor]), "")
    of = replace(frame.variables["answerable"], floor=codes)
    return replace(frame, variables={"answerable": of})


def judged(floor: str, judge: str, people: dict[str, str] = PEOPLE, epsilon: float = 0.2) -> Any:
    frame = frame_with(floor, {**people, JUDGE: judge})
    return judges(sample_of(frame, resamples=50), epsilon)[JUDGE]


class TestPass:
    def test_a_judge_may_pass_if_the_baseline_fails(self) -> None:
        found = judged(TURNED, ALIKE)
        assert found["floor"]["passes"] is False
        assert (found["alt_test"]["verdict"], found["alt_test"]["passed"]) == ("passes", True)

    def test_a_baseline_that_passes_too_stands_beside_and_does_not_block(self) -> None:
        found = judged(ALIKE, ALIKE)
        assert found["floor"]["passes"] is True
        assert (found["alt_test"]["verdict"], found["alt_test"]["passed"]) == ("passes", True)
        beside = found["alt_test"]["answer"]["floors"]["word_overlap"]
        assert (beside["informative"], beside["passes"]) == (True, True)

    def test_the_largest_epsilon_at_which_the_baseline_fails_is_named(self) -> None:
        # The baseline always ties with Ada and Bram: 78 queries are needed at .05, 39 at .1, and
        # there are 60. Chidi is behind it on four units, so that two people are within .06.
        found = judged(ALIKE, ALIKE)
        assert found["floor"]["largest_epsilon_failed"] == 0.05
        beside = found["alt_test"]["answer"]["floors"]["word_overlap"]
        assert beside["largest_epsilon_failed"] == 0.05

    def test_the_curve_says_at_which_epsilons_a_blocking_floor_passes(self) -> None:
        # Of ten units one is a no. Always yes loses on a tenth of the units, and so does the judge.
        rare = ("y" * 9 + "n") * 12
        people = {"Ada": rare, "Bram": rare, "Chidi": rare}
        found = judged(TURNED, "y" * 120, people)["alt_test"]
        verdicts = {each["epsilon"]: each["verdict"] for each in found["curve"]}
        largest = found["answer"]["floors"]["commonest_label"]["largest_epsilon_failed"]
        assert (verdicts[0.1], verdicts[0.3]) == ("fails", "floor-passes")
        assert found["answer"]["floors"]["commonest_label"]["label"] == "yes"
        assert largest < 0.2
        assert found["answer"]["epsilon"] == largest

    def test_a_judge_that_fails_has_failed_even_if_the_baseline_passes(self) -> None:
        found = judged(ALIKE, TURNED)
        assert found["floor"]["passes"] is True
        assert found["alt_test"]["verdict"] == "fails"

    def test_too_few_queries_decide_neither_for_the_judge_nor_for_the_baseline(self) -> None:
        few = {name: column[:40] * 2 for name, column in PEOPLE.items()}
        frame = frame_with(few["Ada"], {**few, JUDGE: few["Ada"]})
        of = frame.variables["answerable"]
        ten = replace(of, units=replace(of.units, query=np.arange(80) % 10))
        found = judges(sample_of(replace(frame, variables={"answerable": ten})), 0.2)[JUDGE]
        assert found["alt_test"]["verdict"] == "undecided"
        floor = found["floor"]
        assert (floor["passes"], floor["largest_epsilon_failed"]) == (None, None)
        assert floor["reason"] == "cannot be decided with 10 queries; at least 18 are needed"

    def test_below_two_people_the_baseline_has_no_verdict_and_the_test_says_why(self) -> None:
        found = judged(ALIKE, ALIKE, {"Ada": ALIKE})
        assert found["floor"]["passes"] is None
        assert found["floor"]["reason"] == found["alt_test"]["reason"]
        assert found["floor"]["judge_minus_floor"]["value"] == 0


class TestNumbers:
    def test_the_gap_and_the_difference_are_those_worked_by_hand(self) -> None:
        # Ada and Bram: kappa 1/2 (see test_gap). The judge is Ada: 1 and 1/2. The baseline says yes
        # throughout: 0 with both, so that its gap is -1/2.
        found = judged("yyyy", "yynn", {"Ada": "yynn", "Bram": "ynnn"})
        assert found["gap"]["cohen_kappa"]["value"] == pytest.approx(1 / 4)
        assert found["gap"]["percent"]["value"] == pytest.approx(1 / 8)
        assert found["floor"]["gap"]["value"] == pytest.approx(-1 / 2)
        assert found["floor"]["judge_minus_floor"]["value"] == pytest.approx(3 / 4)

    def test_units_without_a_label_of_the_baseline_are_left_out_of_the_difference(self) -> None:
        found = judged("yyyy..", "yynnyn", {"Ada": "yynnyn", "Bram": "ynnnny"})
        assert found["floor"]["judge_minus_floor"]["n"] == 4
        assert found["gap"]["cohen_kappa"]["n"] == 6

    def test_a_baseline_without_labels_on_these_units_is_undefined_with_a_reason(self) -> None:
        floor = judged("....", "yynn", {"Ada": "yynn", "Bram": "ynnn"})["floor"]
        assert (
            floor["gap"]["reason"]
            == floor["reason"]
            == "the lexical rule has no label on these units"
        )

    def test_the_baseline_is_not_listed_as_a_rater(self) -> None:
        rows = {**PEOPLE, JUDGE: ALIKE}
        there, without = frame_with(TURNED, rows), frame_of(table(rows))
        assert there.raters == without.raters
        assert agreement(sample_of(there)) == agreement(sample_of(without))


class TestLabelsFile:
    report = json.loads((CONTRACT / "report.json").read_text("utf-8"))

    def test_a_labels_file_has_no_baseline_because_it_has_no_texts(self) -> None:
        found = judges(sample_of(frame_of(table({**PEOPLE, JUDGE: ALIKE}))), 0.2)[JUDGE]
        floor = found["floor"]
        assert {floor["gap"]["reason"], floor["judge_minus_floor"]["reason"], floor["reason"]} == {
            NO_TEXTS
        }
        assert floor["passes"] is floor["largest_epsilon_failed"] is None
        assert found["alt_test"]["verdict"] == "passes"
        assert found["gap"]["cohen_kappa"]["value"] is not None

    def test_the_document_of_a_labels_file_has_a_gap_and_no_baseline(self) -> None:
        found = judges(sample_of(frame_of(table({**PEOPLE, JUDGE: ALIKE}))), 0.2)[JUDGE]
        assert len(gap_tables(found, JUDGE)) == 1
        assert no_floor(found) == [f"no baseline: {NO_TEXTS}"]

    def test_an_older_report_has_neither_gap_nor_baseline(self) -> None:
        assert (gap_tables({}, JUDGE), no_floor({})) == ([], [])


class TestWarnings:
    def found(self, floor: str, judge: str) -> dict[str, str]:
        frame = frame_with(floor, {**PEOPLE, JUDGE: judge})
        sample = sample_of(frame, resamples=100)
        block = {"agreement": agreement(sample), "judges": judges(sample, 0.2)}
        return {each["code"]: each["text"] for each in warnings(frame, {"answerable": block})}

    def test_a_pass_that_word_overlap_also_reaches_gives_no_warning(self) -> None:
        assert "floor_passes" not in self.found(ALIKE, ALIKE)

    def test_a_judge_that_does_worse_than_word_overlap_gives_a_warning(self) -> None:
        worse = "".join(
            t if n % 3 == 0 else a for n, (a, t) in enumerate(zip(ALIKE, TURNED, strict=True))
        )
        assert "less than the lexical rule does" in self.found(ALIKE, worse)["below_floor"]
        assert "below_floor" not in self.found(worse, ALIKE)


@pytest.mark.django_db
class TestCampaign:
    @pytest.fixture(autouse=True)
    def emptied(self) -> Iterator[None]:
        caches["floors"].clear()
        yield
        caches["floors"].clear()

    @pytest.fixture
    def report(self, labelled: Campaign) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(run("report", "--campaign", labelled.name))
        return found

    def test_a_judge_is_compared_with_word_overlap_of_the_same_texts(
        self, labelled: Campaign, report: dict[str, Any]
    ) -> None:
        (block,) = report["variables"]["answerable"]["judges"].values()
        run("create_judge", "words", "--backend", "lexical")
        run("run_judge", "--campaign", labelled.name, "--judge", "words")
        again = json.loads(run("report", "--campaign", labelled.name))
        words = again["variables"]["answerable"]["judges"]["words"]
        assert block["floor"]["gap"] == words["gap"]["cohen_kappa"]
        assert block["floor"]["agreement"]["cohen_kappa"] == words["agreement"]["cohen_kappa"]
        assert words["floor"]["judge_minus_floor"]["value"] == 0

    def test_the_baseline_is_in_no_export_and_no_list_of_raters(
        self, labelled: Campaign, report: dict[str, Any], tmp_path: Path
    ) -> None:
        raters = {"ada", "bram", "chidi", "model-x", "adjudicated"}
        assert {rater["name"] for rater in report["raters"]} == raters
        text = run("export", "--campaign", labelled.name, "--what", "labels")
        rows = [json.loads(line) for line in text.split("\n") if line]
        assert {row["rater"] for row in rows} == raters | {"dana"}

    @pytest.mark.first_case
    @pytest.mark.parametrize("name", ["md", "html", "latex", "csv"])
    def test_every_format_shows_gap_and_baseline(self, name: str, report: dict[str, Any]) -> None:
        text = FORMATS[name].render(report)
        expected = {
            "csv": ("judges.floor,", "judge_minus_floor", "largest_epsilon_failed", "passes")
        }
        for words in expected.get(name, ("Gap to people, in pairs", "Word overlap, the baseline")):
            assert words in text

    def test_the_methods_explain_why_pairs_are_not_compared_with_the_majority(
        self, report: dict[str, Any]
    ) -> None:
        text = " ".join(methods(report))
        assert "since a majority is less noisy than a person" in text
        assert "The baseline is a lexical rule" in text

    def test_every_slice_has_its_own_baseline(self, report: dict[str, Any]) -> None:
        parts = report["variables"]["answerable"]["strata"]["system"].values()
        floors = [judge["floor"] for part in parts for judge in part["judges"].values()]
        assert floors
        assert all(floor["gap"]["n"] > 0 for floor in floors if floor["gap"]["value"] is not None)
