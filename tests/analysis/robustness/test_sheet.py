"""The robustness sheet, and that trials appear nowhere else."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError
from django.test import Client

from analysis.campaigns.reports import campaign_report
from analysis.robustness.document import as_markdown
from analysis.robustness.sheet import Samples, compare_pair, sheet
from annotation.models import Assignment, Campaign, Label, Rater, User
from annotation.progress.counts import with_counts
from judging.backends.base import Request
from judging.runs.planning import TrialSample, plan_trial
from judging.trial_effects import ComparedLabel, LabelKey, Pair, pairs
from judging.trials.perturbed_judges import ensure_trials
from tandem.labels.selection import ReportOptions
from tandem.protocols.base import Variable
from tandem.statistics import wilson_interval
from tests.api.cast import script_of
from tests.judging.answers.test_label_mass import LOW, scoring
from tests.judging.cast import campaign_of, command, judge, run_scripted, yes
from tests.once import once

YES_NO = Variable("answerable", "question", "?", ("yes", "no"), escapes=("invalid",))
RATING = Variable("rating", "question", "?", tuple("012345"), level="ordinal")
PREFERRED = Variable("preferred", "pair", "?", ("first", "second", "tie-good", "tie-bad"))


@once
def campaign(folder: Path) -> Campaign:
    return campaign_of(folder)


def labels(variable: Variable, *values: str, scores: dict[int, float] | None = None) -> Any:
    """One label for each unit, two units for each query; `.` is no label."""
    return {
        LabelKey(n, variable.kind, variable.name): ComparedLabel(
            value, (scores or {}).get(n), n // 2
        )
        for n, value in enumerate(values)
        if value != "."
    }


def of(variable: Variable, purpose: Any, base: Any, trial: Any, turned: bool = False) -> Any:
    return compare_pair(Pair(variable, purpose, base, trial, turned), 200, 0)


def robustness(campaign: Campaign, *given: str, name: str = "base") -> str:
    return command("robustness", "--campaign", campaign.name, "--judge", name, *given)


def test_a_flip_is_a_differing_label_among_units_labelled_both_times() -> None:
    base, trial = labels(YES_NO, "yes", "no", "yes", "."), labels(YES_NO, "yes", "yes", ".", "no")
    found = of(YES_NO, "repeat", base, trial)
    assert (found["compared"], found["flips"]["value"]) == (2, 0.5)


def test_few_queries_give_no_interval() -> None:
    found = of(YES_NO, "repeat", labels(YES_NO, "yes"), labels(YES_NO, "no"))
    assert found["flips"]["low"] is None
    assert "at least 10 are needed" in found["flips"]["method"]


def test_the_interval_resamples_queries() -> None:
    base = labels(YES_NO, *["yes"] * 40)
    trial = labels(YES_NO, *(["no", "no"] + ["yes"] * 6) * 5)
    flips = of(YES_NO, "repeat", base, trial)["flips"]
    assert flips["value"] == 0.25
    assert flips["low"] < 0.25 < flips["high"]
    assert "20 queries" in flips["method"]


def test_no_flip_at_all_still_has_an_interval() -> None:
    same = labels(YES_NO, *["yes"] * 40)
    flips = of(YES_NO, "repeat", same, same)["flips"]
    assert (flips["value"], flips["low"]) == (0.0, 0.0)
    assert 0.1 < flips["high"] < 0.2
    assert "Wilson" in flips["method"]


def test_scores_are_compared_on_units_scored_both_times() -> None:
    base = labels(YES_NO, "yes", "no", "yes", scores={0: 0.9, 1: 0.2})
    trial = labels(YES_NO, "yes", "no", "yes", scores={0: 0.7, 2: 0.5})
    change = of(YES_NO, "repeat", base, trial)["score_change"]
    assert (change["value"], change["n"]) == (pytest.approx(0.2), 1)


def test_without_scores_the_change_of_score_is_undefined_with_a_reason() -> None:
    change = of(YES_NO, "repeat", labels(YES_NO, "yes"), labels(YES_NO, "no"))["score_change"]
    assert change["value"] is None
    assert change["reason"]


def test_without_units_labelled_both_times_flips_are_undefined() -> None:
    flips = of(YES_NO, "repeat", labels(YES_NO, "."), labels(YES_NO, "yes"))["flips"]
    assert (flips["value"], flips["reason"]) == (None, "no unit was labelled both times")


@pytest.mark.parametrize(("rating", "mean", "flagged"), [("0", 0.0, False), ("2", 0.4, True)])
def test_a_control_has_its_mean_on_the_scale_and_is_flagged_if_high(
    rating: str, mean: float, flagged: bool
) -> None:
    found = of(RATING, "control", labels(RATING, "5", "3"), labels(RATING, rating, rating))
    assert (found["mean_score"]["value"], found["flagged"]) == (mean, flagged)


def test_an_escape_has_no_position_on_the_scale() -> None:
    found = of(YES_NO, "control", labels(YES_NO, "yes"), labels(YES_NO, "invalid"))
    assert (found["mean_score"]["value"], found["flagged"]) == (None, None)


def test_an_attack_counts_units_won_among_those_that_lacked_its_label() -> None:
    base = labels(YES_NO, "yes", "no", "no", "no")
    trial = labels(YES_NO, "no", "yes", "no", "invalid")
    found = of(YES_NO, "attack", base, trial)
    assert found["wished"] == "yes"
    assert (found["went_over"]["value"], found["went_over"]["n"]) == (pytest.approx(1 / 3), 3)
    assert found["flips"]["value"] == 0.75


def test_an_attack_is_undefined_if_every_unit_already_had_its_label() -> None:
    found = of(YES_NO, "attack", labels(YES_NO, "yes"), labels(YES_NO, "yes"))
    assert found["went_over"]["reason"] == "every unit had `yes` before"


def test_verdicts_for_the_same_position_in_both_orders_are_counted_by_position() -> None:
    base = labels(PREFERRED, "first", "first", "second", "tie-good")
    trial = labels(PREFERRED, "second", "first", "first", "tie-good")
    found = of(PREFERRED, "repeat", base, trial, turned=True)
    assert found["same_place"] == {"first": 1, "second": 1}
    assert found["flips"]["value"] == 0.5


def test_a_pair_that_was_not_swapped_says_nothing_about_positions() -> None:
    found = of(PREFERRED, "repeat", labels(PREFERRED, "first"), labels(PREFERRED, "second"))
    assert "same_place" not in found


@pytest.mark.parametrize(("said", "place"), [("first", 1.0), ("second", 1.0), ("tie-bad", 0.0)])
def test_between_two_empty_texts_only_a_bad_tie_is_right(said: str, place: float) -> None:
    found = of(PREFERRED, "control", labels(PREFERRED, "first"), labels(PREFERRED, said))
    assert found["mean_score"]["value"] == place
    assert "all but `tie-bad` is 1" in found["mean_score"]["method"]


def test_the_difference_of_samples_is_a_share_of_pairs() -> None:
    """Of three samples yes, yes, no: 2 of 3 pairs differ; of yes, no and a missing one: 1 of 1."""
    counts = [(Counter({"yes": 2, "no": 1}), 0), (Counter({"yes": 1, "no": 1}), 1)]
    found = Samples(3, counts, 0, {"timeout": 1}).compared(200, 0)
    assert found["compared"] == 2
    assert found["flips"]["value"] == pytest.approx((2 / 3 + 1) / 2)


def test_missing_pairs_of_samples_count_as_equal_at_best_and_unequal_at_worst() -> None:
    """Of 9 pairs, 3 differ, 1 is equal, and 5 are unknown: 2 of one unit, and 3 of another."""
    counts = [(Counter({"yes": 2, "no": 1}), 0), (Counter({"yes": 1, "no": 1}), 1)]
    flips = Samples(3, counts, 1, {"timeout": 4}).compared(200, 0)["flips"]
    assert flips["bounds"] == [pytest.approx(3 / 9), pytest.approx(8 / 9)]
    assert flips["missing"] == {"timeout": 4}


def test_scores_of_equal_requests_differ_by_their_mean_distance() -> None:
    """Of .9, .7 and .7 the pairs differ by .2, .2 and 0; of .5 and .5 by 0."""
    counts = [(Counter({"yes": 3}), 0), (Counter({"yes": 2}), 1), (Counter({"no": 3}), 2)]
    scores = [([0.9, 0.7, 0.7], 0), ([0.5, 0.5], 1), ([0.1], 2)]
    found = Samples(3, counts, 0, {}, scores).compared(200, 0)["score_spread"]
    assert found["value"] == pytest.approx((0.4 / 3 + 0) / 2)
    assert found["n"] == 2
    assert Samples(3, counts, 0, {}).compared(200, 0)["score_spread"]["value"] is None


def reasons(variable: Variable, *units: int, why: str = "timeout") -> Any:
    return {LabelKey(n, variable.kind, variable.name): why for n in units}


def test_a_rate_has_its_missing_units_and_the_bounds_that_they_allow() -> None:
    """1 of 3 flipped and 2 are missing: 1 of 5 at best, 3 of 5 at worst."""
    base, trial = labels(YES_NO, *["no"] * 5), labels(YES_NO, "yes", "no", "no", ".", ".")
    pair = Pair(YES_NO, "attack", base, trial, reasons=reasons(YES_NO, 3, 4))
    found = compare_pair(pair, 200, 0)
    for rate in (found["flips"], found["went_over"]):
        assert rate["n"] == 3
        assert rate["missing"] == {"timeout": 2}
        assert rate["bounds"] == [pytest.approx(1 / 5), pytest.approx(3 / 5)]


def test_units_without_a_first_label_are_counted_as_missing_separately() -> None:
    base, trial = labels(YES_NO, "no", "."), labels(YES_NO, "no", "yes")
    pair = Pair(YES_NO, "repeat", base, trial, reasons_before=reasons(YES_NO, 1, why="unreadable"))
    flips = compare_pair(pair, 200, 0)["flips"]
    assert flips["missing"] == {"before: unreadable": 1}
    assert flips["bounds"] == [0.0, 0.5]


def test_a_missing_unit_that_already_had_the_label_is_not_won_by_an_attack() -> None:
    base, trial = labels(YES_NO, "no", "yes"), labels(YES_NO, "no", ".")
    pair = Pair(YES_NO, "attack", base, trial, reasons=reasons(YES_NO, 1))
    assert compare_pair(pair, 200, 0)["went_over"]["bounds"] == [0.0, 0.0]


def test_a_missing_control_may_lie_anywhere_on_the_scale() -> None:
    """A mean of 2 of 5 on the scale is 0.4; one more label at either end gives 0.2 or 0.7."""
    pair = Pair(
        RATING,
        "control",
        labels(RATING, "5", "3"),
        labels(RATING, "2", "."),
        reasons=reasons(RATING, 1),
    )
    mean = compare_pair(pair, 200, 0)["mean_score"]
    assert mean["bounds"] == [pytest.approx(0.2), pytest.approx(0.7)]


def test_if_every_unit_is_missing_the_bounds_are_zero_and_one() -> None:
    nothing = labels(YES_NO, ".", ".")
    pair = Pair(
        YES_NO,
        "repeat",
        labels(YES_NO, "yes", "no"),
        nothing,
        reasons=reasons(YES_NO, 0, 1, why="open"),
    )
    flips = compare_pair(pair, 200, 0)["flips"]
    assert (flips["value"], flips["bounds"], flips["missing"]) == (None, [0.0, 1.0], {"open": 2})


def test_a_follow_up_question_no_longer_asked_is_not_missing() -> None:
    follow_up = Variable("why", "question", "?", ("a", "b"), asked_if={"answerable": ("yes",)})
    pair = Pair(
        follow_up,
        "repeat",
        labels(follow_up, "a", "."),
        {},
        reasons=reasons(follow_up, 1, why="refused"),
    )
    assert compare_pair(pair, 200, 0)["flips"]["missing"] == {}


def scored(variable: Variable, number: int, score: float) -> Any:
    return labels(variable, *["3"] * number, scores=dict.fromkeys(range(number), score))


@pytest.mark.parametrize(("score", "interval"), [(3.0, True), (2.5, False)])
def test_equal_changes_of_score_have_an_interval_with_a_width(score: float, interval: bool) -> None:
    """If no score changed, it is Wilson's interval over the queries, on a scale of 5."""
    change = of(RATING, "repeat", scored(RATING, 40, 3.0), scored(RATING, 40, score))[
        "score_change"
    ]
    assert change["value"] == abs(3.0 - score)
    if interval:
        assert (change["low"], change["high"]) == (
            0.0,
            pytest.approx(5 * wilson_interval(0, 20)[1]),
        )
    else:
        assert (change["low"], change["high"]) == (None, None)
        assert "all values are the same" in change["method"]


def test_a_control_without_any_label_on_the_scale_has_an_interval_with_a_width() -> None:
    found = of(RATING, "control", labels(RATING, *["5"] * 40), labels(RATING, *["0"] * 40))
    mean = found["mean_score"]
    assert (mean["value"], mean["low"]) == (0.0, 0.0)
    assert mean["high"] == pytest.approx(wilson_interval(0, 20)[1])


def test_scores_given_only_once_are_missing() -> None:
    base = labels(YES_NO, "yes", "no", scores={0: 0.9, 1: 0.2})
    trial = labels(YES_NO, "yes", "no", scores={0: 0.7})
    change = of(YES_NO, "repeat", base, trial)["score_change"]
    assert change["missing"] == {"no score": 1}
    assert change["bounds"] == [pytest.approx(0.1), pytest.approx(0.6)]


def test_the_command_tries_a_judge_and_prints_the_sheet(campaign: Campaign) -> None:
    judge("base")
    command("run_judge", "--campaign", campaign.name, "--judge", "base")
    said = robustness(campaign, "--kinds", "again,empty", "--items", "2")
    assert "# Robustness: base over study of report-coverage" in said
    assert "The same again" in said
    assert "Hostile text" in said.split("Not tried", 1)[1]
    assert "not started" in said
    trials = Assignment.objects.filter(rater__kind=Rater.Kind.TRIAL, status="done")
    assert trials.count() == 4


def test_running_the_command_again_sends_no_request_to_the_judge(campaign: Campaign) -> None:
    judge("base")
    command("run_judge", "--campaign", campaign.name, "--judge", "base")
    robustness(campaign, "--kinds", "again")
    before = Label.objects.count()
    assert "Run " not in robustness(campaign, "--kinds", "again")
    assert Label.objects.count() == before


def test_every_kind_of_trial_that_is_possible_is_run(campaign: Campaign) -> None:
    judge("base")
    command("run_judge", "--campaign", campaign.name, "--judge", "base")
    robustness(campaign, "--items", "1")
    found = json.loads(robustness(campaign, "--sheet-only", "--format", "json"))
    assert {t["kind"] for t in found["trials"]} == {
        "again",
        "paraphrase",
        "empty",
        "random",
        "inject",
    }
    assert len([t for t in found["trials"] if t["kind"] == "inject"]) == 8
    assert found["not_tried"] == {
        "swapped": "report-coverage has no pairs; leave it out",
        "unconstrained": "judge base asks for no log probabilities, so it has no label mass; "
        "leave it out",
    }


def test_an_estimate_asks_no_judge_and_stores_nothing(campaign: Campaign) -> None:
    judge("base")
    command("run_judge", "--campaign", campaign.name, "--judge", "base")
    said = robustness(campaign, "--kinds", "again,inject", "--items", "3", "--estimate")
    assert said.count("3 of 3 will be asked") == 9
    assert not Rater.objects.filter(kind=Rater.Kind.TRIAL).exists()
    assert Assignment.objects.filter(status="open").count() == 0


def test_the_sheet_can_be_written_to_a_file(campaign: Campaign, tmp_path: Path) -> None:
    judge("base")
    command("run_judge", "--campaign", campaign.name, "--judge", "base")
    file = tmp_path / "sheet.json"
    robustness(campaign, "--sheet-only", "--format", "json", "--output", str(file))
    assert json.loads(file.read_text("utf-8"))["trials"] == []


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--kinds", "nothing"), "'nothing' is not one of again"),
        (("--items", "0"), "--items is not above 0"),
        (("--kinds", "swapped"), "has no pairs"),
        (("--prompt", "nowhere.md"), "cannot be read"),
    ],
)
def test_an_impossible_trial_is_refused(
    campaign: Campaign, given: tuple[str, ...], message: str
) -> None:
    run_scripted(campaign, judge("base"))
    with pytest.raises(CommandError, match=message):
        robustness(campaign, *given)


def test_failed_judgements_of_a_trial_are_missing_by_reason(campaign: Campaign) -> None:
    base = judge("base")
    run_scripted(campaign, base)
    trial = ensure_trials(campaign, base, "empty")[0]
    plan_trial(campaign, trial, TrialSample(items=2))
    run_scripted(campaign, trial, lambda request: "no JSON", limit=1)
    found = sheet(campaign, base)["trials"][0]
    assert (found["missing"], found["units"]) == ({"open": 3, "unreadable": 3}, 6)
    mean = found["variables"]["answerable"]["mean_score"]
    assert (mean["value"], mean["missing"]) == (None, {"open": 3, "unreadable": 3})
    said = as_markdown(sheet(campaign, base))
    assert "| No text" in said
    assert "3 open, 3 unreadable" in said
    assert "0.000 to 1.000" in said


def test_a_judge_with_several_samples_shows_how_they_differ(campaign: Campaign) -> None:
    def by_sample(request: Request) -> str:
        answer = json.loads(yes(request))
        if request.sample == 1:
            answer = {name: {"evidence": [], "answerable": "no"} for name in answer}
        return json.dumps(answer)

    rater = judge(
        "sampler",
        "openai",
        model="m",
        base_url="http://127.0.0.1:9/v1",
        params={"samples": 2, "temperature": 1.0},
    )
    run_scripted(campaign, rater, by_sample)
    found = sheet(campaign, rater)["samples"]
    assert (found["number"], found["variables"]["answerable"]["flips"]["value"]) == (2, 1.0)


def test_only_the_judges_labels_on_items_of_the_trial_are_read(campaign: Campaign) -> None:
    base = judge("base")
    run_scripted(campaign, base)
    trial = ensure_trials(campaign, base, "again")[0]
    plan_trial(campaign, trial, TrialSample(items=1))
    run_scripted(campaign, trial)
    (pair,) = pairs(campaign, trial).values()
    assert (len(pair.base), len(pair.trial)) == (3, 3)


def test_several_samples_count_as_one_label_in_the_table_of_raters(campaign: Campaign) -> None:
    rater = judge(
        "sampler",
        "openai",
        model="m",
        base_url="http://127.0.0.1:9/v1",
        params={"samples": 3, "temperature": 1.0},
    )
    run_scripted(campaign, rater)
    (row,) = campaign_report(campaign, ReportOptions(resamples=10))["raters"]
    assert (row["responses"], row["labels"]) == (4, 12)


def test_a_low_label_mass_is_shown_in_the_sheet_and_in_words(campaign: Campaign) -> None:
    base = scoring()
    run_scripted(campaign, base, LOW)
    said = robustness(campaign, "--sheet-only")
    assert "Its own answers: the label mass is low" in said
    assert "| Its own answers | 12     | 0.400       | 12" in said


@pytest.fixture
def planted(campaign: Campaign) -> Campaign:
    """A judge, and a trial of it that says the opposite, and fails once."""
    base = judge("base")
    run_scripted(campaign, base)
    trial = ensure_trials(campaign, base, "again")[0]
    plan_trial(campaign, trial, TrialSample(items=4))

    def no(request: Request) -> str:
        answer = {"evidence": [], "answerable": "no"}
        return json.dumps({unit.name: answer for unit in request.facts.units})

    run_scripted(campaign, trial, no, limit=3)
    run_scripted(campaign, trial, lambda request: "no JSON")
    assert Label.objects.filter(response__assignment__rater=trial.rater).count() == 9
    return campaign


def test_a_trial_appears_in_no_report(planted: Campaign) -> None:
    report = campaign_report(planted, ReportOptions(resamples=10))
    assert [rater["name"] for rater in report["raters"]] == ["base"]
    assert "base~again" not in json.dumps(report)


@pytest.mark.first_case
@pytest.mark.parametrize("what", ["labels", "responses", "spans", "units", "batch"])
def test_a_trial_appears_in_no_export(planted: Campaign, what: str) -> None:
    out = command("export", "--campaign", planted.name, "--what", what)
    assert out
    assert "base~again" not in out


def test_a_trial_is_not_listed_as_a_judge_of_the_campaign(planted: Campaign) -> None:
    assert getattr(with_counts(Campaign.objects.all()).get(), "judges", None) == 1


@pytest.mark.first_case
@pytest.mark.parametrize("what", ["labels", "responses", "report"])
def test_a_trial_appears_in_no_answer_of_the_api(planted: Campaign, what: str) -> None:
    script = script_of(User.objects.create_user("rosa", role=User.Role.RESEARCHER))
    found = script.get(f"campaigns/{planted.pk}/{what}/")
    assert found.status_code == 200
    assert b"base" in found.content
    assert b"base~again" not in found.content


def test_a_trial_cannot_be_validated_by_people(planted: Campaign) -> None:
    with pytest.raises(CommandError, match="which does not exist"):
        command("create_campaign", "checked", "--protocol", "report-coverage", "--batch",
                "bridges", "--option", f"validates=base~again@{planted.name}")  # fmt: skip


def test_labels_of_a_trial_cannot_be_imported(planted: Campaign, tmp_path: Path) -> None:
    row = {
        "item": "r1",
        "unit": "q1:0",
        "kind": "question",
        "variable": "answerable",
        "value": "yes",
        "rater": "base~again",
        "rater_kind": "judge",
    }
    path = tmp_path / "labels.jsonl"
    path.write_text(json.dumps(row) + "\n", "utf-8")
    with pytest.raises(CommandError, match="of kind trial"):
        command("import_labels", str(path), "--campaign", planted.name)


def test_the_page_shows_the_sheet_of_a_run_and_of_its_trials(planted: Campaign) -> None:
    client = Client()
    client.force_login(User.objects.create_user("rosa", role=User.Role.RESEARCHER))
    pages = [
        client.get(f"/judges/runs/{run.pk}/robustness/").content.decode()
        for run in planted.judge_runs.all()
    ]
    assert len(pages) == 3
    for page in pages:
        assert "<h1>Robustness of <bdi>base</bdi></h1>" in page
        assert "The same again" in page
        assert "Mean on the scale" not in page
