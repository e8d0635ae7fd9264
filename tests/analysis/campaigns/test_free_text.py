"""The report on written answers: from given texts, and from campaigns of two rounds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analysis.campaigns.free_text import written_answers
from analysis.campaigns.reports import campaign_report
from annotation.answers.submission import submit
from annotation.models import Assignment, Campaign, Rater, rater_of
from tandem.formats.facts import facts
from tandem.labels.selection import ReportOptions
from tandem.sections.written import Rounds, WrittenAnswers, written
from tests.annotation.prerequisites.test_second_round import FIRST_TEXT, after, answer, taken
from tests.cast import campaign_of, run
from tests.page_cast import Study, study_of


class TestBlock:
    def test_kept_answers_count_as_1_or_are_left_out(self) -> None:
        pairs = {"q1": ("a b", "a b"), "q2": ("a b", "a c"), "q3": ("a b", "c d")}
        block = written(WrittenAnswers({}, 0, Rounds(pairs, skipped=2)))["rounds"]
        assert (block["kept"], block["modified"], block["skipped"]) == (1, 2, 2)
        assert block["keep_rate"]["value"] == pytest.approx(1 / 3)
        assert block["rouge_l_differing"]["value"] == pytest.approx((0.5 + 0) / 2)
        assert block["rouge_l_all"]["value"] == pytest.approx((1 + 0.5 + 0) / 3)
        assert (block["rouge_l_differing"]["n"], block["rouge_l_all"]["n"]) == (2, 3)

    def test_answers_that_differ_in_whitespace_count_as_modified(self) -> None:
        block = written(WrittenAnswers({}, 0, Rounds({"q": ("a b", "a  b")}, 0)))["rounds"]
        assert block["modified"] == 1
        assert block["rouge_l_differing"]["value"] == 1

    def test_pairs_are_averaged_by_question_and_then_over_questions(self) -> None:
        texts = {"q1": ["a b", "a c", "a d"], "q2": ["x", "y"], "q3": ["alone"]}
        block = written(WrittenAnswers(texts, 1))
        assert (block["answers"], block["unusable"]) == (6, 1)
        assert "rounds" not in block
        between = block["between_raters"]
        assert between["questions"] == 2
        assert between["rouge_l_all"]["value"] == pytest.approx((0.5 + 0) / 2)

    def test_without_pairs_the_figures_are_null_with_a_reason(self) -> None:
        block = written(WrittenAnswers({"q": ["a"]}, 0, Rounds({}, 0)))
        for name in ("keep_rate", "rouge_l_differing", "rouge_l_all"):
            assert block["rounds"][name]["value"] is None
            assert block["rounds"][name]["reason"] == "no values"
        assert "between_raters" not in block

    def test_fewer_than_ten_questions_give_no_interval(self) -> None:
        pairs = {str(n): ("a b", "a c") for n in range(10)}
        ten = written(WrittenAnswers({}, 0, Rounds(pairs, 0)))["rounds"]["keep_rate"]
        pairs.pop("9")
        nine = written(WrittenAnswers({}, 0, Rounds(pairs, 0)))["rounds"]["keep_rate"]
        assert ten["low"] is not None
        assert nine["low"] is None


@pytest.mark.django_db
class TestCampaigns:
    @pytest.fixture
    def study(self, tmp_path: Path) -> Study:
        return study_of("grounded-answer", tmp_path)

    def give(self, assignment: Assignment, text: str | None, **query: str) -> None:
        submit(assignment, answer(assignment, text, **query), "page")

    def rounds(self, study: Study) -> Campaign:
        """Three first answers; one kept, one modified, one skipped."""
        second = after(study)
        for _ in range(3):
            self.give(study.assignment(study.ada), FIRST_TEXT)
        ben = rater_of(study.ben)
        self.give(taken(second, ben), FIRST_TEXT, action="keep")
        self.give(taken(second, ben), "Anna built it.", action="modify")
        self.give(taken(second, ben), None, action="skip")
        return second

    def test_the_second_campaign_is_compared_with_the_first(self, study: Study) -> None:
        block = campaign_report(self.rounds(study), ReportOptions(resamples=20))["written"]
        rounds = block["rounds"]
        assert (rounds["kept"], rounds["modified"], rounds["skipped"]) == (1, 1, 1)
        assert rounds["keep_rate"]["value"] == 0.5
        assert 0 < rounds["rouge_l_differing"]["value"] < 1
        assert block["answers"] == 2

    def test_the_first_campaign_has_no_rounds(self, study: Study) -> None:
        self.rounds(study)
        block = campaign_report(study.campaign, ReportOptions(resamples=20))["written"]
        assert set(block) == {"answers", "unusable"}

    def test_answers_by_judges_or_with_assistance_are_left_out(self, study: Study) -> None:
        first = study.assignment(study.ada)
        self.give(first, "Anna.")
        for name, kind, by in (("gpt", "judge", ""), ("cyd", "human", "gpt")):
            rater = Rater.objects.create(name=name, kind=kind)
            other = Assignment.objects.create(
                item=first.item, rater=rater, asked=first.asked, assisted_by=by
            )
            self.give(other, "Another.")
        found = written_answers(study.campaign)
        assert found is not None
        assert list(found.texts.values()) == [["Anna."]]

    def test_two_raters_of_one_round_are_compared(self, study: Study) -> None:
        study.campaign.items.update(quota=2)
        self.give(study.assignment(study.ada), "Anna built it.")
        self.give(study.assignment(study.ben), "Anna built the bridge.")
        block = campaign_report(study.campaign, ReportOptions(resamples=20))["written"]
        assert block["between_raters"]["rouge_l_differing"]["value"] == pytest.approx(4 / 7)

    def test_other_protocols_and_validation_passes_have_no_section_on_written_answers(
        self, study: Study
    ) -> None:
        self.rounds(study)
        third = after(study, "Third", variables=("grounded",))
        other = campaign_of("question-typing", name="typing")
        for campaign in (third, other):
            assert "written" not in campaign_report(campaign, ReportOptions(resamples=20))

    @pytest.mark.first_case
    @pytest.mark.parametrize("format", ["md", "html", "latex"])
    def test_every_format_prints_the_section_on_written_answers(
        self, study: Study, format: str
    ) -> None:
        self.rounds(study)
        text = run("report", "--campaign", "Second", "--format", format, "--resamples", "20")
        for words in ("Written answers", "Keep rate", "1 kept, 1 modified; 1 skipped"):
            assert words in text

    def test_the_table_of_facts_contains_every_number(self, study: Study) -> None:
        self.rounds(study)
        report = json.loads(run("report", "--campaign", "Second", "--resamples", "20"))
        rows = {row["path"]: row for row in facts(report)}
        estimates: dict[str, Any] = report["written"]["rounds"]
        for name in ("keep_rate", "rouge_l_differing", "rouge_l_all"):
            assert rows[f"/written/rounds/{name}"]["value"] == estimates[name]["value"]
        assert rows["/written/answers"]["value"] == 2
