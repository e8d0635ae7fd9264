"""Agreement by people's background, on tables worked by hand; small groups are never shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError

from analysis.campaigns.cache import computed_report
from annotation.campaigns.changes import change
from annotation.campaigns.settings import CampaignSettings
from annotation.models import Background, Rater
from annotation.people.background import read_toml
from tandem.formats import FORMATS
from tandem.labels.backgrounds import Question, halves, shown_groups
from tandem.labels.resampling import Sample
from tandem.labels.selection import ReportOptions
from tandem.sections.backgrounds import backgrounds
from tests.analysis.cast import frame_of, table
from tests.cast import run, write_lines
from tests.page_cast import make_study

NATIVE = {"N0": "yyyy", "N1": "yyyy", "N2": "yyyy", "N3": "yyyy", "N4": "yyyn"}
OTHERS = {"O0": "yyyy", "O1": "yyyn", "O2": "yynn", "O3": "ynnn", "O4": "nnnn"}


def question(*sizes: int, several: bool = False) -> Question:
    """Groups a, b and c of these sizes; no person is in two of them."""
    named = zip("abc", sizes, strict=False)
    groups = {name: frozenset(f"{name}{n}" for n in range(size)) for name, size in named}
    return Question("q", "Which?", groups, several)


def shown(asked: Question) -> dict[str, int]:
    everybody = set[str]().union(*asked.groups.values())
    return {name: len(people) for name, people in shown_groups(asked, everybody).items()}


class TestGroups:
    def test_a_group_of_four_is_hidden_with_every_figure_that_would_reveal_it(self) -> None:
        assert shown(question(5, 5)) == {"a": 5, "b": 5}
        assert shown(question(5, 4)) == {}
        # c alone could be found by subtraction, so b is hidden, too.
        assert shown(question(6, 5, 4)) == {"a": 6}
        assert shown(question(9, 3, 3)) == {"a": 9}
        assert shown(question(9)) == {"a": 9}

    def test_people_without_labels_do_not_count_towards_the_size_of_a_group(self) -> None:
        assert (
            shown_groups(question(6, 5), {"a0", "a1", "a2", "a3", *question(6, 5).groups["b"]})
            == {}
        )

    def test_each_of_several_choices_is_compared_with_people_who_did_not_choose_it(self) -> None:
        both = frozenset(f"p{n}" for n in range(8))
        asked = Question("q", "Which?", {"law": both, "medicine": frozenset(["p1", "p2"])}, True)
        assert shown(asked) == {"law": 8}
        asked = Question("q", "Which?", {"law": both, "art": frozenset(["x1", "p1"])}, True)
        assert shown(asked) == {}

    def test_numbers_are_divided_at_their_median(self) -> None:
        found = dict(halves({"a": 1.0, "b": 2.0, "c": 2.0, "d": 7.5}))
        assert found == {"up to 2": frozenset("abc"), "above 2": frozenset("d")}
        assert list(halves({"a": 3.0})) == [("up to 3", frozenset("a"))]
        assert list(halves({})) == []


def test_agreement_within_and_between_groups_is_that_worked_by_hand() -> None:
    frame = frame_of(table(NATIVE | OTHERS)).variables["answerable"]
    groups = {"native": frozenset(NATIVE), "other": frozenset(OTHERS), "none": frozenset[str]()}
    asked = Question("language", "Your first language?", groups)
    found = backgrounds(Sample(frame, 20, 0), [asked])["language"]
    assert (found["people"], list(found["groups"])) == (10, ["native", "other"])
    native, other = found["groups"]["native"], found["groups"]["other"]
    assert (native["people"], native["units"]) == (5, 4)
    # Of ten pairs all agree on three units, and six on the fourth.
    assert native["percent"]["value"] == pytest.approx((1 + 1 + 1 + 0.6) / 4)
    assert other["percent"]["value"] == pytest.approx((0.6 + 0.4 + 0.4 + 0.6) / 4)
    assert native["difference"]["value"] == pytest.approx(0.4)
    assert other["difference"]["value"] == pytest.approx(-0.4)
    # 5 by 4, 3 and 2 of 25 pairs agree; on the last unit 4 by 1 and 1 by 4.
    assert native["with_others"]["value"] == pytest.approx((20 + 15 + 10 + 8) / 25 / 4)


def test_a_group_is_not_compared_with_fewer_than_five_others() -> None:
    frame = frame_of(table(NATIVE)).variables["answerable"]
    asked = Question("language", "Your first language?", {"native": frozenset(NATIVE)})
    group = backgrounds(Sample(frame, 20, 0), [asked])["language"]["groups"]["native"]
    assert group["percent"]["value"] == pytest.approx(0.9)
    assert group["difference"]["value"] is None
    assert "fewer than 5 people answered otherwise" in group["difference"]["reason"]


@pytest.mark.django_db
def test_a_report_has_backgrounds_only_on_request_and_follows_new_answers(tmp_path: Path) -> None:
    campaign = make_study(people=10).campaign
    asked = '[language]\nquestion = "First language?"\nkind = "choice"\nchoices = ["de", "tr"]'
    change(campaign, CampaignSettings(background=read_toml(asked)))
    lines = [
        {
            "item": f"hidden-system-{report}:r",
            "unit": f"q:{n}",
            "variable": "answerable",
            "value": "no" if person < 5 or n else "yes",
            "rater": f"P{person}",
        }
        for person in range(10)
        for report in range(2)
        for n in range(3)
    ]
    write_lines(tmp_path / "labels.jsonl", lines)
    run("import_labels", tmp_path / "labels.jsonl", "--campaign", campaign.name)
    for person in range(9):
        answered(campaign, person)
    options = ReportOptions(resamples=2, background=True)

    def of(report: Any) -> Any:
        return report["variables"]["answerable"]["backgrounds"]["language"]

    assert of(computed_report(campaign, options).report)["groups"] == {}
    answered(campaign, 9)
    report = computed_report(campaign, options).report
    assert {name: each["people"] for name, each in of(report)["groups"].items()} == {
        "de": 5,
        "tr": 5,
    }
    assert of(report)["groups"]["de"]["with_others"]["value"] == pytest.approx(2 / 3)
    text = FORMATS["md"].render(report)
    assert "First language?" in text
    assert "Groups of fewer than 5 people" in text
    plain = computed_report(campaign, ReportOptions(resamples=2)).report
    assert "backgrounds" not in plain["variables"]["answerable"]
    with pytest.raises(CommandError, match="does not contain people's background"):
        run("report", "--labels", tmp_path / "labels.jsonl", "--background")


def answered(campaign: Any, person: int) -> None:
    rater = Rater.objects.get(name=f"P{person}")
    answers = {"language": "de" if person < 5 else "tr"}
    Background.objects.create(campaign=campaign, rater=rater, answers=answers)
