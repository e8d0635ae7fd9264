"""Saves while others open long texts in Markdown: the ratio to saves alone, within one run.

One person saves answers about short texts, first alone, then while seven others open an item of
seven long Markdown texts again and again: before a job has rendered them, and afterwards.

`python -m benchmarks.texts …` is the client, in a process of its own; it prints one JSON object.
With `--read` it is the others, in another process: whoever reads pages of megabytes would be late
to notice that a save is answered.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.material import write_tasks
from benchmarks.person import Person, address_of
from benchmarks.processes import manage, python
from benchmarks.promise import READY, come_in
from benchmarks.site import production, site
from benchmarks.suite import server_of, temporary_folder

Figures = dict[str, Any]
SAVES, TEXTS = "saves", "texts"
PARAGRAPH = (
    "The **bridge** opened in [1901](https://example.org/a) and `EN 1176` applies. Later *it* "
    "closed again for the winter.\n\n- one\n- two\n\n"
)
MOST_TIMES = 3.0
PARTS = ("quiet", "plain", "rendered")


@dataclass(frozen=True)
class Size:
    """Characters of each of seven texts, people who open them, and the seconds of each part."""

    characters: int
    readers: int
    seconds: float


FULL = Size(characters=199_000, readers=7, seconds=20.0)
QUICK = Size(characters=30_000, readers=2, seconds=2.0)


def measure_texts(database: str, size: Size, static: Path) -> Figures:
    with temporary_folder() as folder, server_of(database) as url:
        env = production(folder, url) | {"TANDEM_STATIC_DIR": str(static)}
        manage("migrate", "--verbosity", "0", env=env)
        tasks = write_tasks(folder / "tasks.jsonl", int(3000 * size.seconds / 20), 2, 4000)
        manage("load_batch", tasks, "--name", SAVES, env=env)
        made = python("-m", "benchmarks.inside", "campaign", SAVES, SAVES, 1, env=env).answer()
        texts = _write_texts(folder / "texts.jsonl", size.characters)
        loading = manage("load_batch", texts, "--name", TEXTS, env=env)
        manage(
            "create_campaign", TEXTS, "--batch", TEXTS, "--protocol", "grounding-relevance",
            "--raters-per-item", size.readers, "--pool", "open", env=env,
        )  # fmt: skip
        keys = python("-m", "benchmarks.inside", "sessions", 0, size.readers + 1, env=env).answer()
        campaigns = _campaigns(env)
        with site(folder, env) as address:
            figures: Figures = python(
                "-m", __name__, address, made["made"]["id"], campaigns[TEXTS], size.seconds,
                json.dumps(keys["made"]), env=env,
            ).answer()  # fmt: skip
        return figures | {"load": loading.wall}


def _campaigns(env: dict[str, str]) -> dict[str, int]:
    found: dict[str, int] = python("-m", __name__, "--campaigns", env=env).answer()
    return found


def _write_texts(path: Path, characters: int) -> Path:
    text = (PARAGRAPH * (characters // len(PARAGRAPH) + 1))[:characters]
    query = {
        "id": "q",
        "text": "When did the bridge open?",
        "passages": [{"id": f"p{n}", "text": f"{n}{text[1:]}"} for n in range(7)],
    }
    path.write_text(json.dumps(query) + "\n", "utf-8")
    return path


def lines(database: str, figures: Figures) -> str:
    rows = [f"{database}: saves while others open long texts", "          median ms   times  pages"]
    for name in PARTS:
        of = figures[name]
        rows.append(f"{name:9} {of['median']:9.1f} {of['times']:7.1f} {of['pages']:6}")
    worst = max(figures[name]["times"] for name in PARTS)
    kept = "kept" if worst <= MOST_TIMES else "missed"
    return "\n".join([*rows, f"at most {MOST_TIMES:g} times: {kept}"])


async def _measured(
    address: str, saves: int, texts: int, seconds: float, keys: list[str]
) -> Figures:
    async with AsyncExitStack() as stack:
        writer = await come_in(stack, address, saves, keys[0])
        page = await writer.first_page()
        found: Figures = {}
        for name in PARTS:
            reading = None
            if name != "quiet":
                reading = await _readers(address, texts, seconds, keys[1:], name)
            waited, page = await _save(writer, page, time.monotonic() + seconds)
            pages = json.loads(await reading.read()) if reading else 0
            found[name] = {"median": 1000 * median(waited), "pages": pages}
        quiet = found["quiet"]["median"]
        return {name: of | {"times": of["median"] / quiet} for name, of in found.items()}


async def _readers(
    address: str, texts: int, seconds: float, keys: list[str], part: str
) -> asyncio.StreamReader:
    """Start everybody who opens texts; return their output once they are there."""
    given = map(str, (address, texts, texts, seconds, json.dumps(keys), "--read", part))
    beside = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.texts", *given, stdout=asyncio.subprocess.PIPE
    )
    assert beside.stdout is not None
    if await beside.stdout.readline() != READY:
        raise RuntimeError("the texts could not be opened")
    return beside.stdout


async def _opened(address: str, texts: int, seconds: float, keys: list[str], part: str) -> int:
    """Open texts for some seconds; return how many pages were read."""
    async with AsyncExitStack() as stack:
        readers = [await come_in(stack, address, texts, key) for key in keys]
        if part == "rendered":
            await _wait_until_rendered(readers[0])
        items = [address_of(await person.first_page()) for person in readers]
        print(READY.decode(), end="", flush=True)
        until, opened = time.monotonic() + seconds, [0]
        both = zip(readers, items, strict=True)
        await asyncio.gather(*(_read(person, item, until, opened) for person, item in both))
        return opened[0]


async def _save(person: Person, page: str, until: float) -> tuple[list[float], str]:
    waited = []
    while time.monotonic() < until:
        began = time.perf_counter()
        following = await person.save(page)
        waited.append(time.perf_counter() - began)
        page = await person.text("GET", following)
    return waited, page


async def _read(person: Person, item: str, until: float, opened: list[int]) -> None:
    """Open one's own item until the time has passed."""
    while time.monotonic() < until:
        await person.text("GET", item)
        opened[0] += 1


async def _wait_until_rendered(person: Person) -> None:
    address = address_of(await person.first_page())
    for _ in range(120):
        if 'class="markdown' in await person.text("GET", address):
            return
        await asyncio.sleep(1)
    raise RuntimeError("no worker has rendered the texts within two minutes")


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--campaigns", action="store_true", help="print the campaigns' keys")
    parser.add_argument("address", nargs="?")
    parser.add_argument("saves", nargs="?", type=int)
    parser.add_argument("texts", nargs="?", type=int)
    parser.add_argument("seconds", nargs="?", type=float)
    parser.add_argument("keys", nargs="?", type=json.loads)
    parser.add_argument("--read", choices=PARTS, help="be everybody who does not save")
    given = parser.parse_args(arguments)
    if given.campaigns:
        print(json.dumps(_keys()))
        return
    site, rest = given.address, (given.texts, given.seconds, given.keys)
    if given.read:
        print(json.dumps(asyncio.run(_opened(site, *rest, given.read))))
    else:
        print(json.dumps(asyncio.run(_measured(site, given.saves, *rest))))


def _keys() -> dict[str, int]:
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

    django.setup()
    from annotation.models import Campaign

    return dict(Campaign.objects.values_list("name", "pk"))


if __name__ == "__main__":
    main(sys.argv[1:])
