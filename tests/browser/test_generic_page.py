"""The generic page shows several variables, conditions and written texts."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from annotation.campaign_setup.creation import create_campaign
from annotation.campaigns.design import Design
from annotation.models import Label
from datasets.models import Grounding, Passage
from tests.browser.desk import Desk
from tests.page_cast import Study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def begin(page: Page, study: Study, protocol: str) -> Desk:
    """Ada before the first item of a campaign of another protocol, which is the only open one."""
    batch = study.campaign.batch
    study.campaign.is_open = False
    study.campaign.save()
    passage = Passage.objects.create(batch=batch, key="p", text="Ada rowed across. 🛶 It rained.")
    Grounding.objects.create(
        query=batch.queries.get(), passage=passage, position=0, title="A crossing"
    )
    made = create_campaign("Second", protocol, batch, Design(), pool="open")
    desk = Desk(page, Study(made.campaign, study.ada, study.ben, study.rita, study.root))
    desk.begin("ada")
    return desk


@pytest.mark.long
def test_questions_appear_when_their_condition_holds(
    errors: list[str], page: Page, study: Study
) -> None:
    desk = begin(page, study, "question-typing")
    group = desk.page.locator("[data-variable='complexity']")
    expect(group).to_be_hidden()
    for key in ("1", "2", "1"):
        desk.page.keyboard.press(key)
    expect(group).to_be_visible()
    desk.choices("valid", "No").click()
    expect(group).to_be_hidden()
    first = desk.assignment
    for name in ("false_premise", "information_seeking"):
        desk.choices(name, "No").click()
    desk.page.keyboard.press("Control+Enter")
    desk.page.wait_for_url(lambda url: str(first.uid) not in url)
    assert set(Label.objects.values_list("variable", flat=True)) == {
        "valid",
        "false_premise",
        "information_seeking",
    }
