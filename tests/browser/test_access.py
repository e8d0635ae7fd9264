"""axe-core finds no violation on any page: every page and every protocol, in four looks."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, expect

from annotation.answers.submission import submit
from annotation.models import Campaign, rater_of
from annotation.people.invitations import invite, revoke
from annotation.people.membership import exclude
from annotation.people.prolific import Arrival, set_study
from annotation.people.prolific import enter as enter_study
from annotation.protocols import PROTOCOLS
from datasets.models import Team
from tests.browser.axe import LOOKS, violations
from tests.browser.chromium import come_in
from tests.browser.desk import Desk
from tests.extent import Extent
from tests.page_cast import PASSWORD, Study, payload, plant, study_of

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

READERS = ("campaigns", "campaign-new", "batches", "batch", "report", "exports", "campaign",
           "campaign-people")  # fmt: skip
RENDERED = ("accounts/locked.html", "403_csrf.html", "500.html", "503.html")


def compare(page: Page) -> None:
    # The answers have moved on to the second passage.
    page.keyboard.press("x")
    page.keyboard.press("k")
    page.keyboard.press("x")
    expect(page.locator("#pair-bar")).to_be_visible()


def let_through(page: Page) -> None:
    for name, code in (("valid", "yes"), ("false_premise", "no"), ("information_seeking", "yes")):
        page.locator(f"[data-variable='{name}'] .choice.{code}").click()
    expect(page.locator("[data-variable='category']")).to_be_visible()


LAYERS: dict[str, Callable[[Page], None]] = {
    "grounding-relevance": compare,
    "question-typing": let_through,
}


@pytest.mark.first_case
@pytest.mark.parametrize("protocol", list(PROTOCOLS))
def test_each_protocols_page_passes_axe_in_every_state(
    page: Page, transactional_db: None, tmp_path: Path, protocol: str
) -> None:
    desk = Desk(page, study_of(protocol, tmp_path))
    desk.begin("ada")
    expect(page.locator("#guideline .prose").first).to_be_visible()
    found = violations(page, "with its guideline", rare=True)
    page.locator("#open-guideline").click()
    found += violations(page, "fresh", rare=True)
    # Opened by its button, since its key would be typed into a field that has the focus.
    page.locator("#open-keys").click()
    expect(page.locator("#keys")).to_be_visible()
    found += violations(page, "with its keys", rare=True)
    page.keyboard.press("Escape")
    page.keyboard.press("Control+Enter")
    desk.state("refused")
    found += violations(page, "refused")
    page.keyboard.press("1")
    page.keyboard.press("1")
    found += violations(page, "half answered", rare=True)
    if protocol in LAYERS:
        LAYERS[protocol](page)
        found += violations(page, "with its own layer")
    assert not found, "\n".join(found)


def test_the_log_in_pages_pass_axe(page: Page, study: Study) -> None:
    page.goto("/login/")
    found = violations(page, "log-in", rare=True)
    page.get_by_label("Name").fill("ada")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_be_visible()
    found += violations(page, "wrong password")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/tasks/")
    expect(page.get_by_role("button", name="Start")).to_be_visible()
    assert not found, "\n".join(found)


def test_an_annotators_pages_pass_axe(page: Page, study: Study) -> None:
    campaign = study.campaign
    come_in(page, "ada")
    page.goto(reverse("work"))
    found = violations(page, "work")
    submit(study.assignment(study.ada), payload("no"), "page")
    page.goto(reverse("work"))
    page.locator("summary").click()
    found += violations(page, "work begun", rare=True)
    page.goto(reverse("finished", args=[campaign.pk]))
    found += violations(page, "not finished", rare=True)
    submit(study.assignment(study.ada), payload("no"), "page")
    page.goto(reverse("finished", args=[campaign.pk]))
    found += violations(page, "finished")
    for address in ("/campaigns/", "/nothing/"):
        page.goto(address)
        found += violations(page, address)
    Campaign.objects.update(is_open=False)
    page.goto(reverse("work"))
    found += violations(page, "no work", rare=True)
    assert not found, "\n".join(found)


def test_a_researchers_pages_pass_axe(page: Page, study: Study) -> None:
    plant(study)
    come_in(page, "rita")
    found = []
    here = [study.campaign.pk]
    keys = {"batch": [study.campaign.batch_id]} | dict.fromkeys(
        ("report", "exports", "campaign", "campaign-people"), here
    )
    # The next test covers all states of two of these pages, and the uploads' test those of uploads.
    twice = () if Extent.everything else ("batches", "campaign", "campaign-people")
    for name in READERS:
        if name in twice:
            continue
        page.goto(reverse(name, args=keys.get(name, [])))
        if name == "report":
            expect(page.locator(".verdict")).to_be_visible()
            page.locator("details.fold").evaluate_all("all => all.forEach(e => (e.open = true))")
        found += violations(page, name)
    assert not found, "\n".join(found)


def test_pages_of_a_full_campaign_pass_axe(page: Page, study: Study) -> None:
    plant(study)
    campaign = study.campaign
    exclude(campaign, rater_of(study.ben), "answered faster than one can read")
    invite("annotator", campaign, note="Grace", by=study.rita)
    enter_study(set_study(campaign, "study", "CODE", 3), Arrival("pid", "study", "session"))
    Campaign.objects.update(deadline=timezone.now(), gold_every=4)
    come_in(page, "rita")
    found = []
    # The settings are checked in their refused state.
    rare = ("campaigns", "campaign-settings") if Extent.everything else ()
    for name in ("campaign", "campaign-data", "campaign-people", *rare):
        page.goto(reverse(name, args=[campaign.pk] if name != "campaigns" else []))
        if name == "campaign-people":
            page.get_by_text("Exclude …").first.click()
        found += violations(page, f"{name}, with everything")
    page.goto(reverse("campaign-settings", args=[campaign.pk]))
    page.get_by_label("Pass mark").fill("7")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_be_visible()
    found += violations(page, "wrong terms")
    assert not found, "\n".join(found)


COUNT = """addEventListener("click", (event) => {
  if (event.isTrusted) sessionStorage.clicks = 1 + Number(sessionStorage.clicks || 0);
}, true);"""

# Fast typing searches twice; the second response may come after an arrow was pressed.
FOUND_ANEW = """() => new Promise((done) => {
  addEventListener("htmx:afterSettle", () => done(), { once: true });
  document.getElementById("find-person").dispatchEvent(new Event("change", { bubbles: true }));
})"""


def clicks(page: Page) -> int:
    """The number of clicks since the last call."""
    return int(page.evaluate("[sessionStorage.clicks || 0, delete sessionStorage.clicks][0]"))


def test_a_campaign_an_invited_person_and_a_run_are_each_a_few_clicks_away(
    page: Page, study: Study
) -> None:
    page.add_init_script(COUNT)
    come_in(page, "rita")
    page.goto(reverse("batch", args=[study.campaign.batch_id]))
    clicks(page)
    page.get_by_role("link", name="New campaign with this batch").click()
    found = violations(page, "tasks")
    page.get_by_role("link", name="Report coverage").click()
    found += violations(page, "form", rare=True)
    page.get_by_role("button", name="Create campaign").first.click()
    page.wait_for_url(re.compile(r"/campaigns/\d+/$"))
    assert clicks(page) == 3
    first = page.url
    page.get_by_role("link", name="Add people").first.click()
    expect(page.get_by_label("Name or e-mail")).to_be_focused()
    page.keyboard.type("be")
    expect(page.get_by_role("button", name="Add ben")).to_be_visible()
    expect(page.get_by_role("button", name="Add ada")).to_be_hidden()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("button", name="Add ben")).to_be_focused()
    page.evaluate(FOUND_ANEW)
    expect(page.get_by_role("button", name="Add ben")).to_be_focused()
    found += violations(page, "people found", rare=True)
    page.get_by_role("button", name="Add ben").click()
    expect(page.get_by_text("ben is now annotator here.")).to_be_visible()
    assert clicks(page) == 2
    page.goto(first)
    page.get_by_role("link", name="Run a judge").first.click()
    found += violations(page, "no judge", rare=True)
    page.get_by_role("button", name="Run word overlap").click()
    expect(page.get_by_role("row", name="lexical")).to_contain_text("Queued")
    assert clicks(page) == 2
    assert not found, "\n".join(found)


def test_the_dry_run_page_passes_axe(page: Page, study: Study) -> None:
    come_in(page, "rita")
    page.goto(reverse("campaign-new") + "?protocol=report-coverage&batch=harbour")
    page.get_by_label("Name", exact=True).fill("")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("alert")).to_be_visible()
    found = violations(page, "without a name")
    page.get_by_label("Name", exact=True).fill("Second wave")
    page.get_by_role("button", name="Preview").click()
    page.get_by_text("Who would get what").click()
    found += violations(page, "tried")
    assert not found, "\n".join(found)


def test_an_admins_pages_pass_axe(page: Page, study: Study) -> None:
    plant(study)
    come_in(page, "root")
    found = []
    for name, keys in (("people", []), ("person", [study.ben.pk]), ("invite", []), ("audit", [])):
        page.goto(reverse(name, args=keys))
        found += violations(page, name)
    page.goto(reverse("invite"))
    page.get_by_label("For whom").fill("Grace")
    page.get_by_role("button", name="Create the link").click()
    expect(page.get_by_label("The link")).to_be_visible()
    found += violations(page, "a link")
    assert not found, "\n".join(found)


@pytest.mark.first_case
@pytest.mark.parametrize("who", ["rita", "root"])
def test_the_bar_and_the_answers_of_an_item_fit_every_width(
    page: Page, study: Study, who: str
) -> None:
    plant(study)
    # With a second team, the bar has an additional part.
    Team.objects.create(name="Guests of the institute")
    come_in(page, who)
    page.goto(reverse("campaign-item", args=[study.campaign.pk, 0]))
    expect(page.get_by_role("link", name="Teams")).to_be_visible()
    for width in (360, 721, 768, 900, 981, 1024, 1181, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width
        whole = page.locator(".who").evaluate("name => name.scrollWidth <= name.clientWidth")
        assert whole, width


def test_pages_for_people_without_an_account_pass_axe(page: Page, study: Study) -> None:
    campaign = study.campaign
    made = invite("annotator", campaign, by=study.rita)
    set_study(campaign, "study", "CODE", 3)
    door = f"{reverse('join')}?key={made.key}"
    page.goto(door)
    found = violations(page, "invited", rare=True)
    page.get_by_role("button", name="Create my account").click()
    expect(page.get_by_role("alert")).to_be_visible()
    found += violations(page, "a name is missing")
    revoke(made.invitation)
    page.goto(door)
    found += violations(page, "taken back")
    page.goto(reverse("prolific", args=[campaign.pk]))
    found += violations(page, "without parameters", rare=True)
    parameters = "?PROLIFIC_PID=pid&STUDY_ID=study&SESSION_ID=session"
    page.goto(reverse("prolific", args=[campaign.pk]) + parameters)
    found += violations(page, "from Prolific")
    assert not found, "\n".join(found)


@pytest.mark.first_case
@pytest.mark.parametrize("template", RENDERED)
def test_rarely_seen_pages_pass_axe(page: Page, template: str) -> None:
    body = render_to_string(template)
    page.route("**/rare", lambda route: route.fulfill(body=body, content_type="text/html"))
    page.goto("/rare")
    expect(page.locator("h1")).to_be_visible()
    assert not (found := violations(page, template)), "\n".join(found)


def test_axe_finds_a_planted_violation(page: Page) -> None:
    page.goto("about:blank")
    page.set_content(
        "<html lang=en><title>x</title><main><img src=data:,><p>x</p>"
        "<p style='color:#999'>pale</p><p style='color:#999'>pale, too</p>"
        "<p style='background:#333'>dark on dark</p></main>"
    )
    looks = len(LOOKS) if Extent.everything else 1
    words = [words.partition(": ")[2] for words in violations(page, "bad")]
    # Of two texts with the same style only one is reported.
    rules = ["color-contrast", "color-contrast", "image-alt"]
    assert [each.partition(":")[0] for each in words] == rules * looks
