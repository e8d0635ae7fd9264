"""The page of one's own tokens: created with the keyboard, shown once, revoked."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.api.cast import Script, assert_error
from tests.browser.axe import violations
from tests.browser.chromium import come_in
from tests.page_cast import Study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_token_is_created_shown_once_and_revoked(
    errors: list[str], page: Page, study: Study
) -> None:
    come_in(page, "rita")
    page.goto("/campaigns/")
    page.get_by_title("Your API tokens").click()
    assert violations(page, "empty", rare=True) == []
    page.get_by_label("Note").fill("the nightly export")
    page.get_by_label("create and change campaigns").check()
    page.get_by_label("Valid for, in days").fill("0")
    page.keyboard.press("Enter")
    expect(page.get_by_text("No token was created")).to_be_visible()
    expect(page.get_by_label("Valid for, in days")).to_be_focused()
    page.get_by_label("Valid for, in days").fill("30")
    page.keyboard.press("Enter")
    words = page.get_by_label("The token").inner_text()
    assert violations(page, "made") == []
    script = Script(words.strip())
    assert script.get("campaigns/").status_code == 200
    page.get_by_role("link", name="Done").click()
    expect(page.get_by_text("the nightly export")).to_be_visible()
    expect(page.get_by_role("cell", name="read, manage")).to_be_visible()
    assert words not in page.content()
    assert violations(page, "listed") == []
    page.get_by_role("button", name="Revoke").click()
    expect(page.get_by_text("the nightly export")).to_have_count(0)
    assert_error(script.get("campaigns/"), 401)
