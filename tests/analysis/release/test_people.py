"""The datasheet says what people agreed to, what they got, and who they are, in counts."""

from __future__ import annotations

import pytest

from analysis.release.datasheet import datasheet
from analysis.release.facts import campaign_facts
from annotation.answers.submission import submit
from annotation.assignments.withdrawal import give_consent
from annotation.campaigns.changes import change
from annotation.campaigns.settings import CampaignSettings
from annotation.models import Assignment, rater_of
from annotation.people import background
from annotation.people.background import Question
from tests.page_cast import make_study, payload


@pytest.mark.django_db
def test_people_are_described_in_counts_and_never_by_name() -> None:
    study = make_study()
    questions = (
        Question("language", "First language?", "choice", ("German", "another")),
        Question("years", "Years of practice?", "number"),
        Question("remark", "Anything else?", "text"),
    )
    settings = CampaignSettings(consent="Text.", background=questions, pay="0.5 EUR per item")
    change(study.campaign, settings)
    for user, years in ((study.ada, 2), (study.ben, 4)):
        rater = rater_of(user)
        give_consent(study.campaign, rater, 1)
        given = {"language": "German", "years": years, "remark": "I live in Ulm"}
        background.answer(study.campaign, rater, given)
        mine = study.assignment(user)
        submit(mine, payload("no"), "page")
        Assignment.objects.filter(pk=mine.pk).update(seconds=60.0)
    facts = {**campaign_facts(study.campaign), "agreement": {}, "warnings": []}
    sheet = datasheet({"name": "study"}, [], [facts], "CC-BY-4.0")
    assert "Consent: 2 people agreed" in sheet
    assert "1.0 minutes an item (median)" in sheet
    assert "Paid: 0.5 EUR per item, which is 30.00 EUR for an hour of active time" in sheet
    assert "First language? German 2, another 0." in sheet
    assert "Years of practice? median 3, from 2 to 4." in sheet
    assert "Anything else? 2 people wrote an answer." in sheet
    assert "Ulm" not in sheet


@pytest.mark.django_db
def test_the_datasheet_names_raters_per_item_and_fixed_shares_of_answers() -> None:
    facts = {**campaign_facts(make_study().campaign), "agreement": {}, "warnings": []}
    split = {"raters_per_item": 4, "overlap": 0.1, "shares": [0.5, 0.25]}
    sheet = datasheet({"name": "study"}, [], [facts | split], "CC-BY-4.0")
    (chosen,) = (line for line in sheet.splitlines() if line.startswith("- Chosen: "))
    assert chosen == (
        "- Chosen: 4 people an item for a random share of 0.1 of the items, and one for each of "
        "the others; fixed shares of the answers: 0.5, 0.25; seed 0."
    )
