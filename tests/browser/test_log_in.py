"""People log in with a second factor or an identity provider by keyboard alone."""

from __future__ import annotations

import os

import pytest
from playwright.sync_api import BrowserContext, Page, expect
from pytest_django.fixtures import Settings

from annotation.people.identities import set_email
from annotation.people.second_factor import code_at, valid_steps
from tests.browser.axe import violations
from tests.browser.chromium import come_in
from tests.page_cast import PASSWORD, Study
from tests.security.oidc import provider

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def code_of(secret: str, step: int) -> str:
    return code_at(list(valid_steps())[step], secret)


def test_an_authenticator_app_is_added_and_its_codes_log_in(
    errors: list[str], page: Page, study: Study
) -> None:
    come_in(page, "rita")
    page.goto("/account/")
    assert violations(page, "without a factor", rare=True) == []
    page.get_by_role("link", name="Add an app").click()
    page.get_by_label("Password").fill(PASSWORD)
    assert violations(page, "confirm") == []
    page.keyboard.press("Enter")
    secret = page.get_by_label("The key").inner_text().strip()
    expect(page.get_by_role("img", name="QR code")).to_be_visible()
    page.get_by_label("Enter the code").fill("000000")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("This code is wrong")
    assert violations(page, "wrong code") == []
    page.get_by_label("Enter the code").fill(code_of(secret, 0))
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="10 of 10 are left")).to_be_visible()
    assert violations(page, "recovery codes") == []
    page.get_by_role("button", name="Log out").click()
    page.get_by_label("Name").fill("rita")
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_role("textbox", name="Code")).to_be_focused()
    assert violations(page, "second step") == []
    page.keyboard.type(code_of(secret, 1))
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="Campaigns")).to_be_visible()


def test_logging_in_at_the_identity_provider_leads_there_and_back(
    errors: list[str],
    context: BrowserContext,
    page: Page,
    study: Study,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(os.environ, "OAUTHLIB_INSECURE_TRANSPORT", "1")
    set_email(study.ada, "ada@uni.example")
    with provider() as university:
        university.knows("ada-there", email="ada@uni.example", email_verified=True)
        university.serve(settings)
        page.goto("/login/")
        assert violations(page, "two ways", rare=True) == []
        page.get_by_role("button", name="Log in with the university").click()
        page.locator("input[name=sub]").fill("ada-there")
        page.keyboard.press("Enter")
        expect(page.get_by_role("link", name="My work")).to_be_visible()
        errors.clear()  # the provider's own page has no icon
