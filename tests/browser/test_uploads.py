"""Uploads in the browser: dropped, watched, kept, even without scripts; axe finds nothing."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection
from django.urls import reverse
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from annotation.models import User
from datasets.models import Batch, Upload
from tests.browser.axe import violations
from tests.browser.chromium import come_in, new_context
from tests.cast import BATCH, FIRST, SECOND, load, write_lines
from tests.datasets.upload_cast import work
from tests.extent import Extent
from tests.page_cast import _user
from tests.patience import PATIENCE

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
DROP = """([text, name]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name));
  const options = { dataTransfer: data, bubbles: true, cancelable: true };
  const event = (kind) => new DragEvent(kind, options);
  const zone = document.getElementById("drop");
  zone.dispatchEvent(event("dragover"));
  zone.dispatchEvent(event("drop"));
}"""


@pytest.fixture
def rita(transactional_db: None, own_quarantine: Path) -> User:
    return _user("rita", User.Role.RESEARCHER)


@pytest.fixture
def go(rita: User, monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Uploads are worked on in a thread here, once this is set: a process has another database."""
    allowed, threads = threading.Event(), []

    def start(key: str) -> None:
        def run() -> None:
            allowed.wait(PATIENCE)
            try:
                work(key)
            finally:
                connection.close()

        threads.append(threading.Thread(target=run))
        threads[-1].start()

    monkeypatch.setattr("datasets.work.wake.wake", lambda task, key: start(key))
    yield allowed
    allowed.set()
    for thread in threads:
        thread.join()


@pytest.fixture
def page(errors: list[str], page: Page, go: threading.Event) -> Page:
    come_in(page, "rita")
    return page


def choose(page: Page, path: Path) -> None:
    page.goto(reverse("upload-new"))
    page.get_by_label("Files").set_input_files(path)
    page.get_by_role("button", name="Upload and check").click()


def state(page: Page, word: str) -> None:
    expect(page.locator("#state")).to_have_text(word)


def test_a_dropped_file_becomes_a_batch(page: Page, go: threading.Event, tmp_path: Path) -> None:
    text = write_lines(tmp_path / "x.jsonl", BATCH).read_text("utf-8")
    page.goto(reverse("batches"))
    page.get_by_role("link", name="Upload files").first.click()
    expect(page.get_by_text("Drop files here")).to_be_visible()  # shown once files may be dropped
    page.evaluate(DROP, [text, "dropped.jsonl"])
    expect(page.locator("#chosen li")).to_have_text(re.compile(r"dropped\.jsonl, 0\.0 MB"))
    page.keyboard.press("Tab")
    page.get_by_role("button", name="Upload and check").click()
    state(page, "Being read")
    go.set()
    state(page, "Ready to review")
    assert not Batch.objects.exists()
    expect(page.get_by_role("heading", name="The first of 3 queries")).to_be_visible()
    page.get_by_label("Keep it as").fill("pilot 🌉")
    page.keyboard.press("Enter")
    state(page, "Kept")
    page.get_by_role("link", name="Open the batch").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("pilot 🌉")
    page.get_by_label("Words in queries").fill("ghent born")
    page.keyboard.press("Enter")
    expect(page.locator(".hits li")).to_have_count(2)
    page.locator(".hits a").first.click()
    expect(page.locator("mark").first).to_have_text("born")
    page.get_by_role("link", name="Next query").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Query q3")


def test_a_refusal_is_shown_on_the_form_and_the_page(
    page: Page, go: threading.Event, tmp_path: Path
) -> None:
    go.set()
    packed = tmp_path / "packed.jsonl"
    packed.write_bytes(b"PK\x03\x04")
    choose(page, packed)
    expect(page.get_by_role("alert")).to_contain_text("packed.jsonl: is packed (zip")
    expect(page.get_by_role("button", name="Upload and check")).to_be_enabled()
    choose(page, write_lines(tmp_path / "bad.jsonl", [FIRST, {"id": "x"}]))
    state(page, "Refused")
    expect(page.get_by_role("alert")).to_contain_text("bad.jsonl, line 2: ")


def test_uploading_works_without_scripts(
    chromium: Browser, live_server: LiveServer, go: threading.Event, tmp_path: Path
) -> None:
    go.set()
    context = new_context(chromium, live_server.url, java_script_enabled=False)
    page = context.new_page()
    come_in(page, "rita")
    choose(page, write_lines(tmp_path / "plain.jsonl", BATCH))
    page.wait_for_url(re.compile("/batches/uploads/"))
    for word, button in (("Ready to review", "Keep"), ("Kept", None)):
        until = time.monotonic() + PATIENCE
        while page.locator("#state").inner_text() != word and time.monotonic() < until:
            again = page.get_by_role("link", name="reload the page")
            if again.count():
                again.click()
        state(page, word)
        if button:
            page.get_by_role("button", name=button, exact=True).click()
    assert Batch.objects.get().name == "plain"
    context.close()


def test_every_page_of_uploads_passes_axe(
    page: Page, go: threading.Event, rita: User, tmp_path: Path
) -> None:
    page.goto(reverse("upload-new"))
    found = violations(page, "form", rare=True)
    choose(page, write_lines(tmp_path / "s.jsonl", [FIRST, {**SECOND, "id": "Q/1"}]))
    state(page, "Being read")
    found += violations(page, "being read", rare=True)
    go.set()
    state(page, "Ready to review")
    found += violations(page, "preview")
    for kind in ("refused", "kept", "discarded") if Extent.everything else ("refused",):
        made = Upload.objects.create(user=rita, name=kind, state=kind, error="x.jsonl, line 1: …")
        page.goto(reverse("upload", args=[made.key]))
        found += violations(page, kind)
    load(tmp_path)
    batch = Batch.objects.get(name="b")
    for address in (
        reverse("batches"),
        reverse("batch", args=[batch.pk]) + "?q=anna",
        reverse("batch", args=[batch.pk]) + "?q=nothing-at-all",
        reverse("query", args=[batch.pk, 0]) + "?q=anna",
    ):
        page.goto(address)
        found += violations(page, address, rare="nothing" in address)
    assert found == []
