"""The trail in the browser: found, filtered, paged and downloaded; axe finds nothing."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from annotation.campaigns.changes import change
from annotation.campaigns.settings import CampaignSettings
from annotation.people.membership import add_member
from audit.recording import Actor, on_behalf, record
from audit.seals import seal
from tests.browser.axe import violations
from tests.browser.chromium import come_in
from tests.page_cast import Study, make_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def study(transactional_db: None) -> Study:
    """A campaign with a sealed change, an unsealed one, and more than a page of others."""
    study = make_study()
    with on_behalf(Actor(lambda: study.rita.pk, "r" * 32, "private")):
        change(
            study.campaign,
            CampaignSettings(guideline="Look twice.", language="en"),
            user=study.rita,
        )
        add_member(study.campaign, study.ada, "adjudicator", study.rita)
        seal()
        for number in range(60):
            record("run.changed", study.campaign.pk, ("judgerun", 1), concurrency=number)
        change(study.campaign, CampaignSettings(), False, study.rita)
    return study


@pytest.fixture
def page(errors: list[str], page: Page, study: Study) -> Page:
    come_in(page, "rita")
    return page


def test_the_audit_trail_is_filtered_paged_and_passes_axe(page: Page, study: Study) -> None:
    page.goto(f"/campaigns/{study.campaign.pk}/settings/")
    page.get_by_role("link", name="Audit trail", exact=True).click()
    expect(page.get_by_role("status")).to_contain_text("61 events wait for the next seal")
    expect(page.locator(".trail tbody tr")).to_have_count(50)
    page.get_by_text("Digests", exact=True).click()
    found = violations(page, "with digests")
    page.get_by_role("link", name="Older").click()
    expect(page.get_by_role("row", name="Campaign created")).to_be_visible()
    page.get_by_label("What").select_option("member.added")
    page.get_by_role("button", name="Show").click()
    expect(page.locator(".trail tbody tr")).to_have_count(1)
    expect(page.locator(".trail tbody tr")).to_contain_text("an annotator")
    with page.expect_download() as got:
        page.get_by_role("link", name="Download as JSON Lines").click()
    assert got.value.path().read_text("utf-8").count("\n") == 1
    for state, query in (("none", "?event=login"), ("wrong", "?since=soon")):
        page.goto(f"/campaigns/{study.campaign.pk}/audit/{query}")
        found += violations(page, state, rare=True)
    assert not found, "\n".join(found)
