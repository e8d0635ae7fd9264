"""`python -m docs._reference.screenshots`: take the pictures of the first page and the item page.

Starts the demonstration in a temporary folder, and needs Chromium.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
ASSETS = ROOT / "docs" / "assets"
PORT = 8790
SITE = f"http://127.0.0.1:{PORT}"
DESK: ViewportSize = {"width": 1010, "height": 500}
FIRST: ViewportSize = {"width": 1200, "height": 940}
PHONE: ViewportSize = {"width": 390, "height": 680}
PATIENCE = 180
QUOTES = (
    "landing less than a tenth of its former catch",
    "The work cost 38.4 million crowns",
)


@contextmanager
def demonstration() -> Iterator[dict[str, str]]:
    """Run the demonstration's site; yield the passwords by role."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"DEBUG": "1", "TANDEM_DATA_DIR": folder}
        demo = [sys.executable, "manage.py", "demo", "--port", str(PORT)]
        server = subprocess.Popen(
            demo, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            wait(server)
            yield json.loads(Path(folder, "demonstration.json").read_text("utf-8"))
        finally:
            server.terminate()
            server.wait()


def wait(server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and server.poll() is None:
        try:
            urllib.request.urlopen(f"{SITE}/health/live", timeout=2)
        except OSError:
            time.sleep(0.5)
        else:
            return
    raise SystemExit(f"The demonstration did not start at port {PORT}; is the port in use?")


def log_in(browser: Browser, role: str, password: str, size: ViewportSize, **options: Any) -> Page:
    """Return the page on which a demonstration's account begins."""
    context = browser.new_context(base_url=SITE, viewport=size, color_scheme="light", **options)
    page = context.new_page()
    page.goto("/")
    page.get_by_label("Name").fill(f"demo-{role}")
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_load_state("networkidle")
    return page


def item(browser: Browser, password: str, size: ViewportSize, touch: bool = False) -> Page:
    """Return an annotator's item page."""
    page = log_in(browser, "annotator", password, size, has_touch=touch, is_mobile=touch)
    page.locator("details.others summary").click()
    page.get_by_role("button", name=re.compile(r"(Start|Continue) demo-coverage")).click()
    page.wait_for_selector(".unit.now")
    return page


def select(page: Page, words: str) -> None:
    """Select words of the report, as if dragging a mouse over them."""
    page.evaluate(
        """(words) => {
          const node = document.querySelector("[data-marks]");
          const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
          while (walker.nextNode()) {
            const at = walker.currentNode.data.indexOf(words);
            if (at < 0) continue;
            document.getSelection().setBaseAndExtent(
              walker.currentNode, at, walker.currentNode, at + words.length);
            return;
          }
        }""",
        words,
    )


def answer(page: Page, key: str, words: str = "") -> None:
    """Answer the current question, highlight the words, and go to the next question."""
    page.keyboard.press(key)
    if words:
        select(page, words)
        page.keyboard.press("h")
    page.keyboard.press("j")


def picture(page: Page, name: str) -> None:
    page.wait_for_timeout(2000)  # until the page says that the draft is saved
    page.screenshot(path=ASSETS / f"{name}.png", animations="disabled")


def desk(page: Page) -> None:
    """Take the picture with two questions answered and the third as the current one."""
    answer(page, "1", QUOTES[0])
    answer(page, "1", QUOTES[1])
    picture(page, "annotator-item")


def main() -> None:
    with demonstration() as passwords, sync_playwright() as playwright:
        names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
        path = next(filter(None, map(shutil.which, names)), None)
        browser = playwright.chromium.launch(executable_path=path, args=["--disable-lcd-text"])
        first = log_in(browser, "researcher", passwords["researcher"], FIRST)
        first.locator(".study-judges").wait_for(timeout=PATIENCE * 1000)
        picture(first, "first-page")
        desk(item(browser, passwords["annotator"], DESK))
        picture(item(browser, passwords["annotator"], PHONE, touch=True), "annotator-phone")
        browser.close()


if __name__ == "__main__":
    main()
