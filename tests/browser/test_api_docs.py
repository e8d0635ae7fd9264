"""The page of the API's description renders under the site's own content policy."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from datasets.api_tokens import make_token
from tests.api.test_description import operations
from tests.browser.axe import violations
from tests.browser.desk import Desk
from tests.page_cast import Study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.usefixtures("context")
def test_the_api_documentation_is_rendered_without_a_violation(
    errors: list[str], page: Page, study: Study
) -> None:
    desk = Desk(page, study)
    desk.log_in("ada")
    outside: list[str] = []
    own = str(desk.page.url).split("/")[2]
    desk.page.on("request", lambda r: outside.append(r.url) if own not in r.url else None)
    answer = desk.page.goto("/api/docs/")
    assert answer is not None
    assert "unsafe-inline" not in answer.headers["content-security-policy"]
    expect(desk.page.locator(".opblock")).to_have_count(len(operations()))
    # The list of calls is rendered by a library, so its violations cannot be fixed here.
    assert violations(desk.page, "calls", exclude=("#api",)) == []
    operation = desk.page.locator(".opblock", has_text="Submit an answer").first
    operation.locator("button").first.click()
    expect(operation.get_by_text("after the same checks as on the page")).to_be_visible()
    expect(operation.get_by_text("opened in 1901").first).to_be_visible()
    assert [url for url in outside if not url.startswith(("data:", "blob:"))] == []


@pytest.mark.long
def test_a_call_from_the_page_needs_a_token(errors: list[str], page: Page, study: Study) -> None:
    desk = Desk(page, study)
    desk.log_in("ada")
    token = make_token(study.ada)[1]
    desk.page.goto("/api/docs/")
    operation = desk.page.locator(".opblock", has_text="Where to begin")
    operation.locator("button").first.click()
    operation.get_by_role("button", name="Try it out").click()
    operation.get_by_role("button", name="Execute", exact=True).click()
    expect(operation.locator("tr.response .response-col_status").first).to_contain_text("401")
    desk.page.get_by_role("button", name="Authorize").first.click()
    form = desk.page.locator(".modal-ux form").filter(has_text="(http, Bearer)")
    form.get_by_label("auth-bearer-value").fill(token)
    form.get_by_role("button", name="Apply credentials").click()
    desk.page.locator(".modal-ux").get_by_role("button", name="Close").first.click()
    operation.get_by_role("button", name="Execute", exact=True).click()
    expect(operation.locator("tr.response .response-col_status").first).to_contain_text("200")
    expect(operation.locator(".live-responses-table")).to_contain_text("ada")
