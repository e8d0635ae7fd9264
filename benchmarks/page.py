"""An item of 20,000 words with 200 spans: opening and highlighting it, in Chromium.

`python -m benchmarks --only page`. Needs Chromium on this machine (`make chromium`).
"""

from __future__ import annotations

import asyncio
import json
import random
import shutil
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.person import Person
from benchmarks.processes import FailedError, manage, python
from benchmarks.site import collect_files, production, site
from benchmarks.study_names import PASSWORD, name_of
from benchmarks.suite import temporary_folder

WORDS, SPANS, QUESTIONS = 20_000, 200, 15
TURNS = 20
PATIENCE = 10  # seconds
SHAPES = {"paragraphs": 70, "one paragraph": WORDS}
"""The number of words in a paragraph of the text."""

WATCH = """
window.seen = { tasks: [], shown: [] };
const note = ({ startTime, duration }) => seen.tasks.push([startTime, duration]);
new PerformanceObserver((list) => list.getEntries().forEach(note))
  .observe({ type: "longtask", buffered: true });
let at = 0;
const begin = (event) => (at = event.timeStamp);
for (const name of ["keydown", "mouseup"]) addEventListener(name, begin, true);
addEventListener("DOMContentLoaded", () => {
  const list = document.getElementById("spoken");
  new MutationObserver(() => {
    if (!/ighlighted for/.test(list.textContent)) return;
    const from = at;
    requestAnimationFrame(() => setTimeout(() => seen.shown.push(performance.now() - from)));
  }).observe(list, { childList: true, characterData: true, subtree: true });
});
"""


@dataclass(frozen=True)
class Opened:
    """Milliseconds for one text: the server's page, Chromium's tasks, and a new highlight."""

    kilobytes: float
    server_median: float
    server_worst: float
    first_paint: float
    longest_task_after: float
    tasks_after: int
    key_median: float
    key_worst: float
    mouse_median: float
    mouse_worst: float


def measure_page() -> dict[str, Any]:
    """Return the figures by shape of the text."""
    with temporary_folder() as folder:
        env = production(folder)
        env["TANDEM_STATIC_DIR"] = str(collect_files(folder))
        manage("migrate", "--verbosity", "0", env=env)
        drafts = {shape: _draft(folder, env, shape) for shape in SHAPES}
        with site(folder, env) as address:
            return {shape: asdict(_opened(address, uid)) for shape, uid in drafts.items()}


def _draft(folder: Path, env: dict[str, str], shape: str) -> str:
    """Return the address of an item with a draft full of highlights."""
    path = folder / "long.jsonl"
    path.write_text(json.dumps(_task(SHAPES[shape])) + "\n", "utf-8")
    manage("load_batch", path, "--name", shape, env=env)
    python("-m", "benchmarks.inside", "campaign", shape, shape, 1, env=env)
    made = python("-m", "benchmarks.inside", "draft", shape, SPANS, env=env).answer()["made"]
    return str(made["uid"])


def _task(paragraph: int) -> dict[str, Any]:
    questions = [{"id": f"q{n}", "text": f"Who decided on point {n}?"} for n in range(QUESTIONS)]
    report = {"id": "r", "text": text_of(WORDS, paragraph)}
    return {"id": "t", "text": "What happened?", "questions": questions, "reports": [report]}


def text_of(words: int, paragraph: int) -> str:
    """Return generated sentences with an occasional character of two UTF-16 units."""
    chance = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz"
    drawn = ["".join(chance.choices(letters, k=chance.randint(2, 10))) for _ in range(words)]
    for place in range(12, words, 13):
        drawn[place] += "."
    for place in range(100, words, 500):
        drawn[place] = "🛶"
    chunks = (drawn[n : n + paragraph] for n in range(0, words, paragraph))
    return "\n\n".join(" ".join(chunk) for chunk in chunks)


def _opened(address: str, uid: str) -> Opened:
    size, served = asyncio.run(_served(address, uid))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        try:
            seen = _in_browser(browser, address, uid)
        finally:
            browser.close()
    after = [length for start, length in seen["tasks"] if start >= seen["paint"]]
    keys, mouse = seen["shown"][:TURNS], seen["shown"][TURNS:]
    return Opened(
        size / 1000, median(served), max(served), seen["paint"], max(after, default=0.0),
        len(after), median(keys), max(keys), median(mouse), max(mouse),
    )  # fmt: skip


async def _served(address: str, uid: str) -> tuple[int, list[float]]:
    person = Person(address, 0, 0)
    try:
        await person.log_in()
        seconds, size = [], 0
        for _ in range(TURNS):
            began = time.perf_counter()
            async with person.session.get(f"{address}/tasks/{uid}/") as answer:
                size = len(await answer.read())
            seconds.append(1000 * (time.perf_counter() - began))
    finally:
        await person.session.close()
    return size, seconds


def _in_browser(browser: Browser, address: str, uid: str) -> dict[str, Any]:
    page = browser.new_page(viewport={"width": 1360, "height": 900})
    page.add_init_script(WATCH)
    page.goto(f"{address}/login/")
    page.get_by_label("Name").fill(name_of(0))
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/tasks/")
    page.goto(f"{address}/tasks/{uid}/")
    page.locator("mark").nth(SPANS).wait_for(state="attached")
    page.wait_for_timeout(2500)
    paint = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
    found: dict[str, Any] = {"paint": page.evaluate(paint)}
    _highlight_by_key(page)
    _highlight_by_mouse(page)
    return {**found, **page.evaluate("seen")}


def _highlight_by_key(page: Page) -> None:
    page.keyboard.press("h")
    for turn in range(TURNS):
        for _ in range(3):
            page.keyboard.press("ArrowRight")
        page.keyboard.press("Shift+ArrowRight")
        page.keyboard.press("Enter")
        _wait_for(page, turn + 1)


def _highlight_by_mouse(page: Page) -> None:
    box = page.locator("#texts").bounding_box()
    assert box is not None
    for turn in range(TURNS):
        height = box["y"] + 120 + 24 * turn
        page.mouse.move(box["x"] + 200 + 9 * turn, height)
        page.mouse.down()
        page.mouse.move(box["x"] + 330 + 9 * turn, height + 34, steps=3)
        page.mouse.up()
        _wait_for(page, TURNS + turn + 1)


def _wait_for(page: Page, shown: int) -> None:
    until = time.monotonic() + PATIENCE
    while page.evaluate("seen.shown.length") < shown:
        if time.monotonic() > until:
            raise FailedError(f"highlight {shown} did not show")
        page.wait_for_timeout(10)


def lines(figures: dict[str, Any]) -> str:
    """Return the figures as a table."""
    names = list(next(iter(figures.values())))
    head = f"{'ms, but for kilobytes and counts':34}" + "".join(f"{shape:>16}" for shape in figures)
    rows = [
        f"{name.replace('_', ' '):34}" + "".join(f"{each[name]:16.1f}" for each in figures.values())
        for name in names
    ]
    return "\n".join([head, *rows])
