"""`tandem trust check`, and its section and line in reports that know how queries were drawn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from analysis.campaigns.people_sample import query_draw
from analysis.campaigns.reports import campaign_report
from analysis.trust.check import campaign_check
from analysis.trust.looks import look_at
from analysis.trust.options import PlanOptions
from analysis.trust.plans import commit, draw, end
from annotation.models import Assignment, Campaign, Item
from tandem.formats.check import CHECK_FORMATS
from tandem.labels.facts import Scale
from tandem.labels.selection import ALL_LABELS, ReportOptions
from tandem.program.main import main
from tandem.sections.build import frame_report
from tandem.sections.check import check_report
from tandem.trust.check import Draw
from tandem.trust.options import CheckOptions
from tandem.types import JSON
from tests.analysis.cast import JUDGE as MODEL
from tests.analysis.cast import fact, frame_of, table
from tests.analysis.trust.cast import JUDGE, PEOPLE, VARIABLE, all_answer, answer, world
from tests.cast import run, write_lines

ROWS = {
    "Ada": "yyny" * 20 + "." * 40,
    "Bram": "yyny" * 20 + "." * 40,
    "Chidi": "ynny" * 20 + "." * 40,
    MODEL: "yynn" + "yyny" * 29,
}
"""Sixty queries of two units, of which forty are labelled; the judge is wrong on one unit."""


HEAD: JSON = {"campaign": "c", "protocol": "p", "batch": "b", "hints": []}


def lines() -> list[JSON]:
    return [
        {
            "item": each.item,
            "unit": each.unit,
            "query": each.query,
            "variable": each.variable,
            "value": each.value,
            "rater": each.rater,
            "rater_kind": each.rater_kind,
            "system": "ab"[int(each.unit[1:]) % 2],
        }
        for each in table(ROWS)
    ]


@pytest.fixture
def file(tmp_path: Path) -> str:
    return str(write_lines(tmp_path / "labels.jsonl", lines()))


def block(report: JSON, judge: str = MODEL, variable: str = "answerable") -> JSON:
    found: JSON = report["variables"][variable]["judges"][judge]["trust"]
    return found


class TestOfAFile:
    def of(self, capsys: pytest.CaptureFixture[str], *words: str) -> JSON:
        assert main(["trust", "check", *words, "--json"]) == 0
        found: JSON = json.loads(capsys.readouterr().out)
        return found

    def test_somebody_has_to_say_how_queries_were_drawn(
        self, file: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["trust", "check", file]) == 1
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.startswith("Give --drawn, which says how the queries with people’s labels")
        assert said.err.count("\n") == 1

    def test_evenly_drawn_labels_have_a_bound(
        self, file: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        found = block(self.of(capsys, file, "--drawn", "even"))
        (cut,) = found["cuts"]
        assert (found["queries"], found["labelled_queries"], found["units"]) == (60, 40, 120)
        assert (cut["accepted"], cut["labelled"], cut["wrong"]) == (120, 80, 1)
        assert cut["risk"]["value"] == 1 / 80
        assert 1 / 80 < cut["bound"]["value"] < 0.2
        assert (found["truth"], found["votes"]) == ("majority", [3, 3])
        # A quarter of the units is split: q = (1 - √(1 - 1/3)) / 2, and the floor is 3q² - 2q³.
        q = (1 - (2 / 3) ** 0.5) / 2
        assert found["floor"]["value"] == pytest.approx(3 * q**2 - 2 * q**3)
        assert set(cut["by_system"]) == {"a", "b"}

    def test_a_target_is_met_if_the_bound_is_not_above_it(
        self, file: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        for risk, met in ((".01", False), (".2", True)):
            found = block(self.of(capsys, file, "--drawn", "even", "--risk", risk))
            assert found["cuts"][0]["met"] is met

    def test_an_unknown_draw_has_figures_without_a_bound(
        self, file: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (cut,) = block(self.of(capsys, file, "--drawn", "unknown"))["cuts"]
        assert cut["risk"]["value"] == 1 / 80
        assert (cut["bound"]["value"], cut["met"]) == (None, None)
        assert "finished first may be the easy ones" in cut["bound"]["reason"]

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("name", "said"),
        [
            ("md", "Exploratory: wrong in at most 0."),
            ("latex", "\\caption{"),
            ("html", "<h1>What judges may decide: Labels file</h1>"),
            ("csv", "/variables/answerable/judges/model/trust/cuts/0/bound,"),
        ],
    )
    def test_it_comes_in_every_format_of_a_report(
        self, file: str, name: str, said: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["trust", "check", file, "--drawn", "even", "--format", name]) == 0
        assert said in capsys.readouterr().out

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("options", "error"),
        [
            (("--risk", "2"), "--risk must be a number from 0.001 to 0.5."),
            (("--shares", "0,1"), "numbers above 0 and at most 1, as .5,.7,.9"),
            (("--judge", "nobody"), "There is no judge 'nobody'"),
        ],
    )
    def test_a_wrong_option_is_refused_in_one_line(
        self, file: str, options: tuple[str, str], error: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["trust", "check", file, "--drawn", "even", *options]) == 1
        assert error in capsys.readouterr().err

    def test_the_command_of_manage_py_does_the_same(
        self, file: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        words = ("--drawn", "even", "--format", "json")
        found = json.loads(run("check_trust", "--labels", file, *words))
        assert found["variables"] == self.of(capsys, file, "--drawn", "even")["variables"]

    def test_a_report_of_a_file_says_nothing_since_it_does_not_know_the_draw(
        self, file: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["report", file, "--resamples", "9"]) == 0
        report = json.loads(capsys.readouterr().out)
        assert "trust" not in report["variables"]["answerable"]["judges"][MODEL]


class TestInAReport:
    def of(self, rows: dict[str, str], draw: Draw) -> JSON:
        frame, options = frame_of(table(rows)), ReportOptions(resamples=20)
        return frame_report(HEAD, frame, options, ["answerable"], None, check=False, draw=draw)

    def sentence(self, report: JSON) -> Any:
        said = report["verdict"]["variables"]["answerable"]["judges"][MODEL].get("trust")
        return said and said["text"]

    def test_the_verdict_has_a_line_with_the_bound_rounded_up(self) -> None:
        report = self.of(ROWS, Draw("even"))
        (cut,) = block(report)["cuts"]
        assert self.sentence(report) == (
            f"Exploratory: wrong in at most {cut['bound']['value'] + 0.004999:.2f} of all units, "
            "with confidence 95 %"
        )

    def test_what_is_known_is_said_as_known(self) -> None:
        report = self.of({name: row[:80] for name, row in ROWS.items()}, Draw("all"))
        assert self.sentence(report) == (
            "By these labels: wrong in 0.01 of all units, all of which people labelled"
        )

    def test_an_adjudicator_decides_before_people(self) -> None:
        decided = fact("r0", "q0", "Dana", "no", rater_kind="reference")
        frame = frame_of([*table(ROWS), decided])
        options = ReportOptions(resamples=20, reference="adjudicated")
        found = block(check_report({}, frame, options, Draw("even"), CheckOptions()))
        assert found["truth"] == "adjudicated"
        assert found["floor"]["reason"] == "nobody knows how often adjudicators are wrong"
        # The judge says yes of q0, as people do.
        assert found["cuts"][0]["wrong"] == 2

    def test_numbers_of_many_values_are_not_right_or_wrong(self) -> None:
        scale = Scale(tuple(map(str, range(100))), "interval")
        facts = [
            fact(f"r{n}", f"q{n}", rater, str(n), "length")
            for n in range(100)
            for rater in ("Ada", MODEL)
        ]
        frame = frame_of(facts, length=scale)
        found = check_report(HEAD, frame, ALL_LABELS, Draw("even"), CheckOptions())
        assert block(found, variable="length")["cuts"] == []
        assert "an answer is not right or wrong" in CHECK_FORMATS["md"].render(found)

    def test_without_a_bound_there_is_no_line(self) -> None:
        report = self.of(ROWS, Draw("all"))
        why = "20 of 60 queries have no label from people"
        assert block(report)["cuts"][0]["bound"]["reason"] == why
        assert self.sentence(report) is None


@pytest.mark.django_db
class TestOfACampaign:
    def people_answer(self, campaign: Campaign) -> None:
        for item in Item.objects.filter(campaign=campaign, quota__gt=0):
            for name in PEOPLE:
                answer(item, name, [0] if item.key.endswith("0") else ())

    def check(self, campaign: Campaign) -> JSON:
        found = campaign_check(campaign, ALL_LABELS, CheckOptions())
        return block(found, JUDGE, VARIABLE)

    def test_it_knows_that_its_queries_were_sampled_evenly(self, tmp_path: Path) -> None:
        campaign = world(tmp_path, "--human-share", "0.5")
        self.people_answer(campaign)
        found = self.check(campaign)
        assert (found["drawn"], found["queries"], found["labelled_queries"]) == ("even", 60, 30)
        assert found["cuts"][0]["bound"]["value"] is not None
        report = campaign_report(campaign, ReportOptions(resamples=9))
        assert block(report, JUDGE, VARIABLE) == found
        sure = report["verdict"]["variables"][VARIABLE]["judges"][JUDGE]["trust"]["text"]
        assert "of its surest 83 % of the passages, with confidence 95 %" in sure
        text = run("check_trust", "--campaign", campaign.name)
        assert sure in text

    def test_it_knows_that_everything_was_labelled(self, tmp_path: Path) -> None:
        campaign = world(tmp_path, queries=12)
        items = list(Item.objects.filter(campaign=campaign))
        for name in PEOPLE:
            for item in items[:-1]:
                answer(item, name)
        bound = self.check(campaign)["cuts"][0]["bound"]
        assert bound["reason"] == "people have not finished 1 of 12 queries"
        for name in PEOPLE:
            answer(items[-1], name)
        bound = self.check(campaign)["cuts"][0]["bound"]
        assert bound["reason"] == "every query is labelled, so that the risk is exact"

    def test_a_judge_that_is_still_asked_has_no_bound(self, tmp_path: Path) -> None:
        campaign = world(tmp_path, "--human-share", "0.5")
        self.people_answer(campaign)
        last = Assignment.objects.filter(rater__name=JUDGE, item__quota=0).first()
        assert last is not None
        Assignment.objects.filter(pk=last.pk).update(status="leased")
        bound = self.check(campaign)["cuts"][0]["bound"]
        assert bound["reason"] == "the judge has answered 59 of 60 items so far"

    def test_while_a_plan_runs_only_looks_say_something(self, tmp_path: Path) -> None:
        campaign = world(tmp_path)
        plan = commit(campaign, PlanOptions(variable=VARIABLE, judge=JUDGE))
        campaign.refresh_from_db()
        draw(plan, look_at(plan).state.to_draw(), 0, 20)
        all_answer(plan)
        found = campaign_check(campaign, ALL_LABELS, CheckOptions())
        assert found["variables"] == {}
        assert "No person’s and judge’s labels" in CHECK_FORMATS["md"].render(found)

    def test_a_sample_to_which_a_plan_has_added_queries_is_no_even_one(
        self, tmp_path: Path
    ) -> None:
        campaign = world(tmp_path, "--human-share", "0.5")
        end(commit(campaign, PlanOptions(variable=VARIABLE, judge=JUDGE)))
        campaign.refresh_from_db()
        assert query_draw(campaign).kind == "unknown"

    def test_nobody_says_it_for_a_campaign(self, tmp_path: Path) -> None:
        campaign = world(tmp_path, queries=4)
        with pytest.raises(CommandError, match="--drawn goes with --labels; a campaign knows it"):
            run("check_trust", "--campaign", campaign.name, "--drawn", "even")

    def test_what_a_plan_drew_by_size_has_its_bound_once_the_plan_has_ended(
        self, tmp_path: Path
    ) -> None:
        campaign = world(tmp_path)
        plan = commit(campaign, PlanOptions(variable=VARIABLE, judge=JUDGE))
        draw(plan, look_at(plan).state.to_draw(), 0, 30)
        all_answer(plan)
        campaign.refresh_from_db()
        end(plan)
        campaign.refresh_from_db()
        state = look_at(plan).state
        found = self.check(campaign)
        assert (found["drawn"], found["labelled_queries"]) == ("by-size", len(state.labelled))
        assert found["cuts"][0]["bound"]["value"] == pytest.approx(state.bound(0))
