"""Background questions from a TOML file are asked once, before the first item, and exported."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.management import CommandError
from django.urls import reverse

from annotation.assignments.withdrawal import give_consent, revoke_consent
from annotation.campaigns.changes import change
from annotation.campaigns.settings import CampaignSettings
from annotation.models import rater_of
from annotation.people.background import (
    BackgroundError,
    as_toml,
    background_counts,
    background_lines,
    questions_of,
    read_toml,
)
from annotation.people.consent import revoked_raters
from tests.api.cast import assert_error, script_of
from tests.cast import run
from tests.once import once
from tests.page_cast import Study, client_of, make_study

QUESTIONS = """
[first_language]
question = "What is your first language?"
kind = "choice"
choices = ["German", "Türkçe", "another"]
required = true

[fields]
question = "Which fields do you know?"
kind = "several"
choices = ["law", "medicine"]

[years]
question = "How many years have you worked with them?"
kind = "number"

[remark]
question = "Anything else?"
"""
WRONG = (
    ("[a", "is not TOML"),
    ("a = 1", "'a' is not a table"),
    ('[A]\nquestion = "Q?"', "not a valid name"),
    ("[a]\nkind = 'text'", "question is not a text"),
    ('[a]\nquestion = "Q?"\nkind = "date"', "give one of choice, several, text, number"),
    ('[a]\nquestion = "Q?"\nkind = "choice"\nchoices = ["x"]', "2 to 60 different ones"),
    ('[a]\nquestion = "Q?"\nchoices = ["x", "y"]', "has no choices"),
    ('[a]\nquestion = "Q?"\nrequierd = true', "'requierd' is not a key of a question"),
    ('[a]\nquestion = "Q?"\nrequired = "yes"', "neither true nor false"),
)


def test_a_questions_file_is_read_and_a_wrong_one_is_refused_with_the_remedy() -> None:
    questions = read_toml(QUESTIONS)
    assert read_toml(as_toml(questions)) == questions
    assert [each.kind for each in questions] == ["choice", "several", "number", "text"]
    for text, message in WRONG:
        with pytest.raises(BackgroundError, match=message):
            read_toml(text)


@once
def study() -> Study:
    study = make_study()
    change(study.campaign, CampaignSettings(background=read_toml(QUESTIONS)))
    return study


@pytest.mark.django_db
def test_the_questions_are_asked_once_before_the_first_item(study: Study) -> None:
    client, address = client_of(study.ada), reverse("before", args=[study.campaign.pk])
    taken = client.post(reverse("take-next", args=[study.campaign.pk]), follow=True)
    assert "What is your first language?" in taken.content.decode()
    wrong = client.post(address, {"questions": "1", "first_language": "German", "years": "many"})
    assert wrong.status_code == 422
    assert "Is not a number" in wrong.content.decode()
    sent = {"questions": "1", "first_language": "Türkçe", "fields": ["medicine", "law"]}
    answered = client.post(address, {**sent, "years": "2,5"}, follow=True)
    assert answered.resolver_match.url_name == "item"
    lines = list(background_lines(study.campaign, set()))
    values = [(each["name"], each["value"]) for each in lines]
    assert values == [
        ("first_language", "Türkçe"),
        ("fields", "law"),
        ("fields", "medicine"),
        ("years", "2.5"),
        ("remark", None),
    ]
    more = QUESTIONS + '\n[country]\nquestion = "Which country?"\n'
    change(study.campaign, CampaignSettings(background=read_toml(more)))
    again = client.get(address).content.decode()
    assert "Which country?" in again
    assert "first language" not in again


@pytest.mark.django_db
def test_an_unanswered_question_is_refused_in_the_annotators_language(study: Study) -> None:
    client, address = client_of(study.ada), reverse("before", args=[study.campaign.pk])
    sent = {"questions": "1", "first_language": "Klingon"}
    refused = client.post(address, {"questions": "1"}, headers={"accept-language": "de"})
    assert "Die Antwort fehlt; beantworten Sie die Frage." in refused.content.decode()
    strange = client.post(address, sent, headers={"accept-language": "de"})
    assert "Das steht nicht zur Wahl; wählen Sie noch einmal." in strange.content.decode()


@pytest.mark.django_db
def test_answers_of_people_who_revoked_consent_are_not_counted(
    study: Study, tmp_path: Path
) -> None:
    change(study.campaign, CampaignSettings(consent="Text."))
    place = f"campaigns/{study.campaign.pk}/background/"
    for user, language, years in ((study.ada, "German", 3), (study.ben, "another", 5)):
        script = script_of(user, "label")
        assert script.put(place, {"answers": {"first_language": language}}).status_code == 403
        give_consent(study.campaign, rater_of(user), 1)
        assert_error(script.put(place, {"answers": {"years": 1}}), 422)
        sent = {"answers": {"first_language": language, "years": years, "fields": ["law"]}}
        assert script.put(place, sent).json()["open_questions"] == []
    languages, fields, numbers, remarks = background_counts(study.campaign, set())
    assert languages["counts"] == {"German": 1, "Türkçe": 0, "another": 1}
    assert fields["counts"] == {"law": 2, "medicine": 0}
    assert (numbers["median"], numbers["low"], numbers["high"]) == (4.0, 3.0, 5.0)
    assert (remarks["people"], remarks["left_out"]) == (0, 2)
    table = tmp_path / "background.parquet"
    asked = ("--campaign", "Pilot", "--what", "background", "--format", "parquet")
    run("export", *asked, "--output", table)
    assert table.read_bytes().startswith(b"PAR1")
    address = reverse("campaign-people", args=[study.campaign.pk])
    people = client_of(study.rita).get(address).content.decode()
    assert "German 1 · Türkçe 0 · another 1" in people
    assert "2 people agreed" in people
    revoke_consent(study.campaign, rater_of(study.ben))
    left, *_ = background_counts(study.campaign, revoked_raters(study.campaign))
    assert left["counts"] == {"German": 1, "Türkçe": 0, "another": 0}

    file = tmp_path / "background.toml"
    file.write_text("[a]\nkind = 'text'")
    with pytest.raises(CommandError, match=r"background\.toml: a: question is not a text"):
        run("set_campaign", study.campaign.name, "--background", file)
    rita = script_of(study.rita, "manage")
    own = [{"name": "country", "question": "Which country?", "kind": "text"}]
    terms = f"campaigns/{study.campaign.pk}/terms/"
    assert rita.post(terms, {"background": own}).status_code == 200
    study.campaign.refresh_from_db()
    assert [each.name for each in questions_of(study.campaign)] == ["country"]
    assert_error(rita.post(terms, {"background": [*own, *own]}), 422)
