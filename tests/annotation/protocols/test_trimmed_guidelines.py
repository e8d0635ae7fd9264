"""The guideline of a campaign that asks some variables has only their sections."""

from __future__ import annotations

import pytest
from django.urls import reverse

from annotation.campaign_setup.creation import create_campaign
from annotation.campaigns.changes import change
from annotation.campaigns.design import Design
from annotation.campaigns.settings import CampaignSettings
from annotation.models import Campaign, Response
from annotation.presentation import schema, whole_guideline
from annotation.protocols import PROTOCOLS
from annotation.protocols.guidelines import trim_guideline
from annotation.provenance import guideline_digest
from annotation.registry import DECLARED
from tests.api.cast import script_of
from tests.page_cast import answers, client_of, make_study, page


def headings(text: str) -> list[str]:
    return [line.lstrip("# ") for line in text.splitlines() if line.startswith("##")]


def test_a_campaign_that_asks_every_variable_shows_the_whole_guideline() -> None:
    for protocol in DECLARED.values():
        names = {variable.name for variable in protocol.variables}
        assert trim_guideline(protocol, names) == protocol.guideline


def test_sections_about_unasked_variables_are_left_out() -> None:
    typing = trim_guideline(PROTOCOLS["question-typing"], {"complexity", "popularity"})
    shown = ["How complex is it?", "How well known is its subject?", "Examples"]
    assert headings(typing) == shown
    assert "poem about rain" not in typing
    assert "rivers flow" in typing
    assert "The rest is asked only" not in typing

    rating = trim_guideline(PROTOCOLS["answer-rating"], {"natural", "abstains", "needed_answer"})
    assert headings(rating) == ["Each answer", "Each passage", "Examples"]
    assert "- **natural**" in rating
    assert "- **faithful**" not in rating
    assert "eligibility**, how well" not in rating
    assert "- **needed_question**" not in rating
    grades = trim_guideline(PROTOCOLS["answer-rating"], {"eligibility"})
    assert "Give a grade" not in grades
    assert "eligibility**, how well" in grades

    answer = trim_guideline(PROTOCOLS["grounded-answer"], {"descriptor", "deflected", "selected"})
    assert "In a second round" not in answer
    assert "In a validation pass" not in answer


def test_each_variable_alone_keeps_its_own_explanation() -> None:
    for protocol in PROTOCOLS.values():
        for variable in protocol.variables:
            text = trim_guideline(protocol, {variable.name})
            assert text.startswith("# ")
            words = (variable.name, variable.question, *(f"**{c}**" for c in variable.answers))
            assert any(word in text for word in words), (protocol.name, variable.name)


@pytest.mark.django_db
def test_new_campaigns_trim_the_guideline_and_older_ones_keep_it() -> None:
    study = make_study()
    assert "Rating, where it is asked" not in schema(study.campaign).protocol.guideline
    mine, client = study.assignment(study.ada), client_of(study.ada)
    shown = client.get(page("guideline", mine)).content.decode()
    assert "The whole guideline" in shown
    assert shown.count("Rating, where it is asked") == 1
    sent = client.post(page("submit", mine), answers("no", "no", "no", version=0, seen=0))
    assert sent.status_code == 200
    stored = Response.objects.get().basis or ""
    assert stored.endswith(guideline_digest(schema(study.campaign).protocol.guideline))
    guideline = script_of(study.ada, "label").get(f"assignments/{mine.uid}/guideline/").json()
    assert guideline["whole"] == whole_guideline(study.campaign) != guideline["markdown"]

    change(study.campaign, CampaignSettings(guideline_shown="whole"))
    assert schema(study.campaign).protocol.guideline == PROTOCOLS["report-coverage"].guideline
    assert "The whole guideline" not in client.get(page("guideline", mine)).content.decode()
    again = create_campaign(
        "Again", "report-coverage", study.campaign.batch, Design(), continues="Pilot"
    )
    assert not again.campaign.trims_guideline
    Campaign.objects.filter(pk=study.campaign.pk).update(trims_guideline=True, guideline="Ours.")
    study.campaign.refresh_from_db()
    assert schema(study.campaign).protocol.guideline == "Ours."
    form = client_of(study.rita).get(reverse("campaign-settings", args=[study.campaign.pk]))
    assert "The parts about the variables" in form.content.decode()
