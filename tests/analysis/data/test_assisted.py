"""Labels given with a judge's label in view are counted separately, and in no other statistic."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from analysis.campaigns.reports import campaign_report
from annotation.answers.submission import submit
from annotation.assignments.context import judge_answers_for
from annotation.models import Assignment, Rater
from annotation.presentation import present
from tandem.formats import FORMATS
from tandem.labels.exposed import summary
from tandem.labels.facts import LabelFact
from tandem.labels.frame import make_frame
from tandem.labels.selection import ReportOptions
from tandem.sections.agreement import agreement
from tandem.sections.judges import judges
from tandem.sections.systems import scores
from tandem.statistics import wilson_interval
from tests.analysis.cast import JUDGE, YES_NO, fact, frame_of, labelled_sample, sample_of, table
from tests.analysis.conftest import run
from tests.annotation.validating_cast import JUDGE as JUDY
from tests.annotation.validating_cast import judge, judged, second
from tests.page_cast import Study, study_of

PEOPLE = {"Ada": "yyny", "Bram": "ynny"}
VERDICTS = {JUDGE: "yyyn"}
# Carl gives the judge's label on three of four units.
CHECKED = {"Carl": "yyyy"}


def checked() -> list[LabelFact]:
    return table(CHECKED, assisted_by=JUDGE)


class TestAssistedLabelsAreLeftOut:
    def test_agreement_among_people_leaves_out_assisted_labels(self) -> None:
        # Worked by hand in test_blocks: percent 3/4, Fleiss 14/30, Cohen 1/2.
        found = agreement(sample_of(frame_of([*table(PEOPLE), *checked()])))
        assert (found["raters"], found["units"]) == (2, 4)
        assert found["percent"]["value"] == pytest.approx(3 / 4)
        assert found["fleiss_kappa"]["value"] == pytest.approx(14 / 30)
        assert [(pair["a"], pair["b"]) for pair in found["pairs"]] == [("Ada", "Bram")]

    def test_the_reference_and_the_annotator_test_leave_out_assisted_labels(self) -> None:
        plain = [*table(PEOPLE), *table(VERDICTS)]
        expected = judges(sample_of(frame_of(plain)), 0.2)
        assert judges(sample_of(frame_of([*checked(), *plain])), 0.2) == expected
        # People tie on the second unit; with Carl, most would say yes.
        assert expected[JUDGE]["ties"] == 1
        assert set(expected[JUDGE]["pairs"]) == {"Ada", "Bram"}

    def test_scores_and_their_estimates_leave_out_assisted_labels(self) -> None:
        systems = [f._replace(system="one") for f in [*table(PEOPLE), *table(VERDICTS)]]
        more = [f._replace(system="one") for f in checked()]
        plain, both = frame_of(systems), frame_of([*systems, *more])
        expected = scores(plain, 50, 0, labelled_sample(plain))
        assert scores(both, 50, 0, labelled_sample(plain)) == expected
        assert expected["coverage"]["estimate"]["one"]["humans"]["value"] is not None

    def test_categories_and_raters_leave_out_assisted_labels(self) -> None:
        odd = table({"Carl": "z"}, assisted_by=JUDGE)
        frame = make_frame([*table(PEOPLE), *odd], {})
        assert frame.variables["answerable"].scale.categories == ("no", "yes")
        assert [rater.name for rater in frame.raters] == ["Ada", "Bram"]

    def test_unless_the_option_includes_them(self) -> None:
        every = [*table(PEOPLE), *checked()]
        frame = make_frame(every, {"answerable": YES_NO}, with_assisted=True)
        found = agreement(sample_of(frame))
        # Units yyy, yny, nny, yyy: agreeing pairs 3/3, 1/3, 1/3, 3/3.
        assert found["percent"]["value"] == pytest.approx(2 / 3)
        assert found["raters"] == 3
        assert len(frame.assisted) == 4


class TestCountsOfAssistedLabels:
    def test_confirmed_and_corrected_labels_are_counted_by_hand(self) -> None:
        frame = frame_of([*table(VERDICTS), *checked()])
        found = summary(frame.assisted, included=False)
        counts = {"labels": 4, "confirmed": 3, "corrected": 1, "unmatched": 0}
        assert {key: found[key] for key in counts} == counts
        assert found["included"] is False
        assert list(found["by"]) == [JUDGE]
        of_judge = found["by"][JUDGE]
        assert of_judge["variables"]["answerable"]["share_confirmed"]["value"] == 3 / 4
        assert of_judge["people"]["Carl"]["corrected"] == 1

    def test_each_variable_and_person_has_separate_counts(self) -> None:
        frame = frame_of(
            [
                *table(VERDICTS),
                *table({JUDGE: "35"}, "rating"),
                *table({"Carl": "yn", "Dora": "nn"}, assisted_by=JUDGE),
                *table({"Dora": "31"}, "rating", assisted_by=JUDGE),
            ]
        )
        found = summary(frame.assisted, included=False)["by"][JUDGE]
        shares = {
            (part, name): (each["confirmed"], each["labels"])
            for part in ("variables", "people")
            for name, each in found[part].items()
        }
        assert shares == {
            ("variables", "answerable"): (1, 4),
            ("variables", "rating"): (1, 2),
            ("people", "Carl"): (1, 2),
            ("people", "Dora"): (1, 4),
        }

    def test_the_share_has_wilsons_interval_from_ten_queries_on(self) -> None:
        rows = {JUDGE: "y" * 20, "Carl": "y" * 17 + "nnn"}
        facts = [f._replace(assisted_by=JUDGE) if f.rater == "Carl" else f for f in table(rows)]
        found = summary(frame_of(facts).assisted, included=False)["by"][JUDGE]["variables"]
        share = found["answerable"]["share_confirmed"]
        assert (share["value"], share["n"]) == (0.85, 20)
        assert (share["low"], share["high"]) == wilson_interval(17, 20)
        few = summary(frame_of(facts[:18] + facts[20:38]).assisted, included=False)
        assert few["by"][JUDGE]["variables"]["answerable"]["share_confirmed"]["low"] is None

    def test_a_label_without_a_known_verdict_is_neither_confirmed_nor_corrected(self) -> None:
        found = summary(frame_of(checked()).assisted, included=False)
        assert (found["confirmed"], found["corrected"], found["unmatched"]) == (0, 0, 4)
        share = found["by"][JUDGE]["people"]["Carl"]["share_confirmed"]
        assert share["value"] is None
        assert share["reason"].startswith("the judge's own label")

    def test_an_escape_is_confirmed_like_any_answer(self) -> None:
        facts = [*table({JUDGE: "?"}), *table({"Carl": "?"}, assisted_by=JUDGE)]
        assert summary(frame_of(facts).assisted, included=False)["confirmed"] == 1

    def test_a_missing_label_is_not_counted(self) -> None:
        lost = fact("r0", "q0", "Carl", None, missing="declined", assisted_by=JUDGE)
        assert frame_of([*table(VERDICTS), lost]).assisted == ()

    def test_the_first_replicate_of_the_judge_is_the_verdict(self) -> None:
        again = fact("r0", "q0", JUDGE, "no", replicate=1)
        first = fact("r0", "q0", JUDGE, "yes")
        own = fact("r0", "q0", "Carl", "yes", assisted_by=JUDGE)
        for facts in ([first, own, again], [own, again, first]):
            assert summary(frame_of(facts).assisted, included=False)["confirmed"] == 1

    def test_without_assisted_labels_every_count_is_zero(self) -> None:
        found = summary(frame_of(table(PEOPLE)).assisted, included=False)
        assert found == {
            "labels": 0,
            "confirmed": 0,
            "corrected": 0,
            "unmatched": 0,
            "included": False,
            "by": {},
        }


def lines() -> Iterator[dict[str, Any]]:
    """A bare labels file: two people, a judge, and one person who saw its verdicts."""
    columns = {**PEOPLE, **VERDICTS, **CHECKED}
    for rater, column in columns.items():
        for n, code in enumerate(column):
            line = {"item": f"i{n}", "unit": f"i{n}", "variable": "mood", "rater": rater}
            line |= {"value": code, "rater_kind": "judge" if rater == JUDGE else "human"}
            yield line | ({"assisted_by": JUDGE} if rater == "Carl" else {})


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    path = tmp_path / "bare.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines()), "utf-8")
    return path


def report_of(path: Path, *options: str) -> dict[str, Any]:
    text = run("report", "--labels", str(path), "--resamples", "50", *options)
    return dict(json.loads(text))


class TestLabelsFiles:
    def test_assisted_lines_are_left_out_and_counted(self, bare: Path) -> None:
        found = report_of(bare)
        assert found["variables"]["mood"]["agreement"]["percent"]["value"] == pytest.approx(3 / 4)
        assert found["assisted_labels"] == 4
        assert found["assisted"]["by"][JUDGE]["variables"]["mood"]["confirmed"] == 3
        assert [rater["name"] for rater in found["raters"]] == ["Ada", "Bram", JUDGE]

    def test_assisted_lines_are_included_with_the_option(self, bare: Path) -> None:
        found = report_of(bare, "--assisted")
        assert found["variables"]["mood"]["agreement"]["percent"]["value"] == pytest.approx(2 / 3)
        assert found["assisted"]["included"] is True
        assert found["assisted_labels"] == 4

    @pytest.mark.first_case
    @pytest.mark.parametrize("name", ["md", "html", "latex"])
    def test_readable_formats_say_whether_assisted_labels_count(
        self, bare: Path, name: str
    ) -> None:
        for options, words in (((), "left out"), (("--assisted",), "counted like all others")):
            text = unescape(FORMATS[name].render(report_of(bare, *options)))
            assert f"4 labels given with a judge's label in view {words}" in text
            assert "Validated by people" in text
            assert "Share confirmed" in text

    def test_the_csv_names_the_judge_of_each_number(self, bare: Path) -> None:
        rows = [line.split(",") for line in FORMATS["csv"].render(report_of(bare)).splitlines()]
        place = "/assisted/by/model/variables/mood/share_confirmed"
        row = next(row for row in rows if row[0] == place)
        named = dict(zip(rows[0], row, strict=False))
        assert (named["variable"], named["judge"], named["value"]) == ("mood", JUDGE, "0.75")


@pytest.mark.django_db
class TestCampaigns:
    ANSWERS = {name: {"answerable": "no", "evidence": []} for name in ("a/b#1", "🌉")}

    def check(self, of: Study, assignment: Assignment, **otherwise: str) -> None:
        """Submit the verdicts as they are, except for the given values."""
        found = judge_answers_for(assignment, present(assignment.item))
        units = {name: dict(verdict.answer) for name, verdict in found.items()}
        for name, code in otherwise.items():
            units[name]["answerable"] = code
        submit(assignment, {"units": units, "comment": None}, "page")

    @pytest.mark.first_case
    @pytest.mark.parametrize("source", ["Checked", "Study"])
    def test_labels_are_compared_with_the_verdicts_that_were_shown(
        self, tmp_path: Path, source: str
    ) -> None:
        judge()
        of = study_of("report-coverage", tmp_path)
        option = JUDY if source == "Checked" else f"{JUDY}@Study"
        campaign = second(of.campaign, "Checked", validates=option)
        holds = campaign if source == "Checked" else of.campaign
        judged(holds.items.get(key="r"), self.ANSWERS)
        of.campaign = campaign
        self.check(of, of.assignment(of.ada), **{"🌉": "invalid"})
        found = campaign_report(campaign, ReportOptions(resamples=10))
        parts = found["assisted"]["by"][JUDY]["variables"]["answerable"]
        assert (parts["confirmed"], parts["corrected"], parts["unmatched"]) == (1, 1, 0)
        named = {rater["name"] for rater in found["raters"]}
        assert "ada" not in named
        assert (JUDY in named) is (source == "Checked")

    def test_labels_are_not_compared_with_verdicts_of_another_campaign(
        self, tmp_path: Path
    ) -> None:
        of = study_of("report-coverage", tmp_path)
        judged(of.campaign.items.get(key="r"), self.ANSWERS)
        assignment = of.assignment(of.ada)
        no = {"answerable": "no", "evidence": []}
        units = {name: dict(no) for name in assignment.asked}
        submit(assignment, {"units": units, "comment": None}, "page")
        found = campaign_report(of.campaign, ReportOptions(resamples=10))
        assert found["assisted"]["by"] == {}
        assert Rater.objects.filter(kind="judge").count() == 1
