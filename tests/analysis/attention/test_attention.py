"""What needs attention: each rule finds the matter that it is for, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from analysis.attention import RULES, Facts, checks, facts_of, matters, matters_for
from analysis.attention.checks import CHECKS, check_campaign, last_checks
from analysis.monitoring.flags import quality
from analysis.templatetags import cockpit_tags
from annotation.answers.submission import submit
from annotation.campaigns.changes import change
from annotation.campaigns.settings import CampaignSettings
from annotation.models import Assignment, Campaign, GuidelineVersion, Rater, User, rater_of
from annotation.progress.flags import Flag
from datasets.models import Job
from judging.models import Judge, JudgeRun, Lane
from tests.once import once
from tests.page_cast import Study, client_of, make_study, payload, plant

pytestmark = pytest.mark.django_db


@once
def study() -> Study:
    return make_study()


def facts(study: Study, **known: Any) -> Facts:
    (found,) = facts_of([study.campaign.pk])
    return replace(found, **known)


def codes(found: Facts, **who: bool) -> set[str]:
    return {each.code for each in matters(found, **who)}


def text_of(found: Facts, code: str) -> str:
    return next(each.text for each in matters(found) if each.code == code)


def run_of(study: Study, **values: Any) -> JudgeRun:
    rater, _ = Rater.objects.get_or_create(name="j", kind="judge")
    judge, _ = Judge.objects.get_or_create(rater=rater, defaults={"backend": "lexical"})
    made = JudgeRun.objects.create(
        campaign=study.campaign, judge=judge, prompt_sha256="0" * 64, **values
    )
    JudgeRun.objects.filter(pk=made.pk).update(started_at=timezone.now() - timedelta(hours=1))
    return made


def report(**values: Any) -> dict[str, Any]:
    variable = {"name": "answerable", "units": 90, "sign": "κ", "tone": "good", "thin": {},
                "answer": "Only fairly", "value": {"value": 0.31}}  # fmt: skip
    return {"people": {"ada": 15}, "variables": [{**variable, **values}], "warnings": []}


def disputes(number: int, units: int = 90) -> dict[str, Any]:
    return {"units": units, "disputes": {"open": number, "decided": 0}}


def test_a_new_campaign_needs_nothing(study: Study) -> None:
    assert codes(facts(study)) == set()


def test_every_rule_has_a_unique_code_and_applies_to_a_planted_case(study: Study) -> None:
    assert len({rule.code for rule in RULES}) == len(RULES)
    found = set()
    lane = Lane.objects.create(endpoint="http://x", paused="the key was refused")
    run_of(study, state="queued", lane=lane, failures={"unreadable": 2})
    queued = facts(study, failed={"j": 2}, idle=3, unconsented=2)
    found |= codes(queued)
    JudgeRun.objects.update(state="interrupted", error="it was stopped")
    found |= codes(facts(study))
    JudgeRun.objects.update(state="stopped", error="", most_cost=10, cost=9)
    Campaign.objects.update(
        deadline=timezone.now() + timedelta(hours=5), pool="named", gold_every=5
    )
    far = {"code": "rater_far_off", "rater": "ada", "variable": "answerable", "text": ""}
    below = {"code": "below_floor", "rater": "j", "variable": "answerable", "text": ""}
    behind = {"code": "batch_behind", "rater": None, "text": "Batch b is behind: 3 units differ."}
    poor = {**report(tone="poor", thin={"ben": 9}), "warnings": [far, below, behind]}
    checks = {
        "units": 90,
        "disputes": {"open": 2, "decided": 1},
        "flags": [{"code": "fast", "name": "ben", "rater": 1, "variable": None}],
        "guidelines": [{"version": 1, "answers": 4}, {"version": 2, "answers": 1}],
    }
    found |= codes(facts(study, report=poor, checks=checks))
    found |= codes(facts(study, report=report(thin={"ben": 9})))
    plain = facts(study)
    plain.campaign.places = plain.campaign.places_done = 1  # type: ignore[attr-defined]
    found |= codes(plain)
    assert found == {rule.code for rule in RULES}


def test_a_sentence_names_the_problem_with_its_counts(study: Study) -> None:
    run_of(study, failures={"unreadable": 9, "refused": 3})
    assert text_of(facts(study, failed={"j": 12}), "failed-answers") == (
        "12 answers of j are missing (9 unreadable and 3 refused)."
    )
    checks = disputes(228)
    assert text_of(facts(study, checks=checks), "disputes") == (
        "To adjudicate: 228 questions, none decided."
    )
    named = {"answerable": {"total": 1158, "people": 900, "judges": {"j": 400}}}
    text = text_of(facts(study, checks={**checks, "disagreements": named}), "disputes")
    assert text == "1,158 disagreements. To adjudicate: 228 questions, none decided."
    text = text_of(facts(study, report=report(tone="poor")), "low-agreement")
    assert text == "People agree only fairly (κ 0.31)."
    chance = report(tone="poor")
    for value, shown in ((-0.001, "κ 0.00"), (-0.12, "κ −0.12")):
        chance["variables"][0]["value"] = {"value": value}
        assert text_of(facts(study, report=chance), "low-agreement").endswith(f"({shown}).")


def test_a_person_far_off_on_several_variables_is_named_once(study: Study) -> None:
    far = [{"code": "rater_far_off", "rater": "ada", "variable": name, "text": ""}
           for name in ("answerable", "rating")]  # fmt: skip
    hint = "ada (15 labels): agrees less with the others than they do with each other"
    one = report(tone="good") | {"warnings": far[:1]}
    assert text_of(facts(study, report=one), "odd-rater") == f"{hint}."
    two = {**one, "variables": [*one["variables"], one["variables"][0] | {"name": "rating"}]}
    both = facts(study, report={**two, "warnings": far})
    assert text_of(both, "odd-rater") == f"{hint} on answerable and rating."


def test_figures_over_few_units_raise_no_alert(study: Study) -> None:
    few = facts(study, report=report(tone="poor", units=29), checks=disputes(9, units=29))
    assert codes(few) == set()


def test_a_reader_with_an_open_item_is_not_told_how_others_answered(study: Study) -> None:
    checks = disputes(2)
    found = facts(study, checks=checks, report=report(tone="poor"), idle=1)
    assert codes(found) == {"disputes", "low-agreement", "idle-slots"}
    assert codes(found, blind=True) == {"idle-slots"}


def test_actions_that_change_the_campaign_are_offered_only_to_its_managers(study: Study) -> None:
    found = facts(study, checks=disputes(2))
    (all_of_it,), (read,) = matters(found), matters(found, manages=False)
    assert [each.label for each in all_of_it.actions] == ["Look", "Ask an adjudicator"]
    assert [each.label for each in read.actions] == ["Look"]


def test_urgent_matters_come_first(study: Study) -> None:
    run_of(study, state="queued")
    found = matters(facts(study, idle=2, checks=disputes(1)))
    order = ["urgent", "warning", "hint"]
    assert [order.index(each.severity) for each in found] == sorted(
        order.index(each.severity) for each in found
    )
    assert found[0].code == "no-worker"


def test_imported_answers_count_towards_the_deadline(study: Study) -> None:
    Campaign.objects.update(deadline=timezone.now() + timedelta(hours=5))
    assert "4 of 4 answers" in text_of(facts(study), "deadline")
    item = study.campaign.items.first()
    assert item is not None
    rater = Rater.objects.create(name="from a file")
    Assignment.objects.create(item=item, rater=rater, asked=[], status="done")
    assert "3 of 4 answers are missing" in text_of(facts(study), "deadline")
    other = Rater.objects.create(name="from another")
    for each in study.campaign.items.all():
        Assignment.objects.create(item=each, rater=other, asked=[], status="done")
    assert "1 of 4 answers is missing" in text_of(facts(study), "deadline")


def test_imported_answers_alone_complete_a_campaign_whose_slots_stay_open(study: Study) -> None:
    raters = [Rater.objects.create(name=name) for name in ("from a file", "from another")]
    for item in study.campaign.items.all():
        for rater in raters:
            Assignment.objects.create(item=item, rater=rater, asked=[], status="done")
    text = text_of(facts(study), "complete")
    assert text == (
        "All 4 answers from people are in. Annotators still get items until you close the campaign."
    )


def test_facts_of_many_campaigns_take_no_more_queries_than_of_one(
    study: Study, django_assert_max_num_queries: Any
) -> None:
    from annotation.campaign_setup.creation import create_campaign
    from annotation.campaigns.design import Design

    others = [
        create_campaign(f"c{n}", "report-coverage", study.campaign.batch, Design()).campaign.pk
        for n in range(3)
    ]
    with django_assert_max_num_queries(9):
        assert len(facts_of([study.campaign.pk, *others])) == 4


def test_the_checks_count_disputes_flags_and_answers_by_guideline(study: Study) -> None:
    plant(study)
    GuidelineVersion.objects.create(campaign=study.campaign, version=1, text="", digest="")
    found = check_campaign(study.campaign)
    assert found["disputes"] == {"open": 0, "decided": 0}
    assert (found["flags"], found["guidelines"]) == ([], [])
    assert found["places"] == {"items": 2, "asked": 4, "answered": 1}


def test_replacing_the_protocols_own_guideline_counts_as_a_change_midway(study: Study) -> None:
    submit(study.assignment(study.ada), payload("no"), "page")
    change(study.campaign, CampaignSettings(guideline="Ours."))
    campaign = Campaign.objects.get(pk=study.campaign.pk)
    submit(study.assignment(study.ben), payload("invalid"), "page")
    found = check_campaign(campaign)
    (version,) = campaign.guidelines.all()
    assert found["guidelines"] == [
        {"version": None, "digest": "", "answers": 1},
        {"version": 1, "digest": version.digest, "answers": 1},
    ]
    of = facts(study, checks=found)
    assert text_of(of, "guideline-changed") == (
        "The guideline changed midway: 1 answer under the protocol's own and 1 answer under "
        "version 1."
    )
    (matter,) = [each for each in matters(of) if each.code == "guideline-changed"]
    assert [each.label for each in matter.actions] == [
        "Before and after",
        "Versions",
        "Disagreements since",
    ]
    assert matter.actions[0].address.endswith("/results/#section-guideline")
    assert f"guideline={version.digest}" in matter.actions[2].address
    settings = client_of(study.rita).get(f"/campaigns/{campaign.pk}/settings/").content.decode()
    assert "Under the protocol’s own text: 1 answer<" in settings


def test_an_excluded_person_raises_no_alert(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    ben = rater_of(study.ben)
    flag = Flag("fast", ben.pk, "ben", None, "Too fast.")
    found = replace(quality(study.campaign), hints=(flag,))
    monkeypatch.setattr(checks, "quality", lambda campaign: found)
    assert [each["name"] for each in check_campaign(study.campaign)["flags"]] == ["ben"]
    found = replace(found, excluded={ben.pk: "guessed"})
    assert check_campaign(study.campaign)["flags"] == []


def test_a_judges_escape_is_for_an_adjudicator_and_no_disagreement(study: Study) -> None:
    submit(study.assignment(study.ada), payload("no"), "page")
    submit(study.assignment(study.ben), payload("no"), "page")
    judge = Rater.objects.create(name="j", kind=Rater.Kind.JUDGE)
    item = study.campaign.items.get(position=0)
    asked = Assignment.objects.create(item=item, rater=judge, asked=["q:0", "q:1", "q:2"])
    submit(asked, payload("invalid"), "api")
    found = check_campaign(study.campaign)
    assert found["disputes"] == {"open": 3, "decided": 0}
    assert found["disagreements"] == {"answerable": {"total": 0, "people": 0, "judges": {"j": 0}}}


def test_checks_stored_by_an_earlier_release_are_repeated(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They count no disagreements, and new labels, which would renew them, may never come."""
    submit(study.assignment(study.ada), payload("no"), "page")
    submit(study.assignment(study.ben), payload("no"), "page")
    monkeypatch.setattr(cockpit_tags, "FEWEST_UNITS", 1)
    rita, pk = client_of(study.rita), study.campaign.pk
    with monkeypatch.context() as earlier:
        old = check_campaign(study.campaign)
        del old["disagreements"]
        earlier.setattr(checks, "FORM", 1)
        earlier.setattr(checks, "check_campaign", lambda campaign: old)
        rita.get(f"/campaigns/{pk}/?now=1")
    assert last_checks(study.campaign) == old
    rita.get(f"/campaigns/{pk}/data/")
    found = last_checks(study.campaign)
    assert found is not None
    assert found["disagreements"] == {"answerable": {"total": 0, "people": 0, "judges": {}}}
    jobs = Job.objects.filter(kind=CHECKS).count()
    rita.get(f"/campaigns/{pk}/data/")
    assert Job.objects.filter(kind=CHECKS).count() == jobs == 2


def test_api_and_command_list_the_same_problems(study: Study) -> None:
    from tests.api.cast import script_of
    from tests.cast import run

    Campaign.objects.update(pool="named")
    rita = script_of(User.objects.get(username="rita"))
    answer = rita.get(f"/api/v1/campaigns/{study.campaign.pk}/attention/").json()
    (matter,) = answer["matters"]
    assert (matter["code"], matter["severity"]) == ("nobody", "warning")
    assert [each.text for each in matters_for(study.rita, study.campaign)] == [matter["text"]]
    assert f"warning: {matter['text']}" in run("show_campaign", study.campaign.name)
