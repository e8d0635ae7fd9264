"""Every key that an item's page reacts to is in its list of keys."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders

from annotation.registry import DECLARED
from annotation.views.protocol_pages import PAGES, page_for
from tests.page_cast import client_of, page, study_of

pytestmark = pytest.mark.django_db

SIGNS = {
    "ArrowLeft": "←",
    "ArrowRight": "→",
    "ArrowUp": "↑",
    "ArrowDown": "↓",
    "Enter": "⏎",
    "Escape": "esc",
    "Delete": "del",
    "Home": "home",
    "End": "end",
}
ASSIGNED = re.compile(r"Object\.assign\((?:desk\.)?does\.more, \{(.*?)\}\);", re.DOTALL)
NAMED = re.compile(r"""(?:^|[{,\n])\s*"?([a-z?\[\]]|Arrow\w+|Enter)"?:""")
SET = re.compile(r"""does\.more(?:\.(\w+)|\["(.+?)"\]) =""")
COMPARED = re.compile(r"""key === "(\w+)"|\b(Arrow\w+):""")
IMPORTS = re.compile(r"""^import .*"\./(.+)";""", re.MULTILINE)


class Overlay(HTMLParser):
    """The keys in the dialog, each with its description."""

    def __init__(self, body: str) -> None:
        super().__init__()
        self.keys: set[str] = set()
        self.words: list[str] = []
        self.inside = self.in_key = False
        self.feed(body)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.inside = self.inside or (tag == "dialog" and ("id", "keys") in attrs)
        self.in_key = tag == "kbd"

    def handle_endtag(self, tag: str) -> None:
        self.inside = self.inside and tag != "dialog"
        self.in_key = False

    def handle_data(self, data: str) -> None:
        if self.inside and self.in_key:
            self.keys.update(data.split())
        elif self.inside:
            self.words.append(data)

    def names(self, key: str) -> bool:
        said = (re.search(rf"(?:^|; ){re.escape(key)} ", words) for words in self.words)
        return key in self.keys or any(said)


def source(name: str) -> str:
    return Path(str(finders.find(f"js/{name}"))).read_text("utf-8")


def own_keys(script: str) -> Iterator[str]:
    """Return the keys that a protocol's script adds, with the scripts that only it imports."""
    text = source(script)
    for block in ASSIGNED.findall(text):
        yield from NAMED.findall("{" + block)
    for one, other in SET.findall(text):
        yield one or other
    for name in IMPORTS.findall(text):
        if script.startswith("work/"):
            yield from own_keys(f"work/{name}")


def letters() -> list[str]:
    block = re.search(r"const LETTERS = \{(.*?)\n\};", source("keys.js"), re.DOTALL)
    assert block
    return re.findall(r"""^  "?(.)"?: \(""", block[1], re.MULTILINE)


def opened(protocol: str, folder: Path) -> Overlay:
    study = study_of(protocol, folder)
    mine = study.assignment(study.ada)
    return Overlay(client_of(study.ada).get(page("item", mine)).content.decode())


def test_the_keys_of_every_page_are_listed(tmp_path: Path) -> None:
    keys = opened("report-coverage", tmp_path)
    found = letters()
    assert {"j", "k", "h", "z", "g", "c", "s", "l", "?"} <= set(found)
    assert [key for key in (*found, "⇧z", "ctrl") if key not in keys.keys] == []


@pytest.mark.first_case
@pytest.mark.parametrize("module", ["keys.js", "selecting.js", "quotes.js", "item.js"])
def test_keys_without_a_letter_are_listed(tmp_path: Path, module: str) -> None:
    keys = opened("report-coverage", tmp_path)
    named = {one or other for one, other in COMPARED.findall(source(module))} - {"Backspace", "z"}
    assert [key for key in named if SIGNS[key] not in keys.keys] == []


def test_the_keys_that_move_a_highlights_end_are_listed(tmp_path: Path) -> None:
    block = re.search(r"CHARACTERS = \{(.*?)\}", source("segments.js"))
    assert block
    assert re.findall(r'"(.)": ', block[1])[:2] == [",", "."]
    assert {",", ".", "⇧"} <= opened("report-coverage", tmp_path).keys


@pytest.mark.first_case
@pytest.mark.parametrize("protocol", sorted(PAGES.keys() & DECLARED.keys()))
def test_the_keys_of_a_protocol_are_listed(tmp_path: Path, protocol: str) -> None:
    own = page_for(DECLARED[protocol])
    script = own.script.removeprefix("js/")
    keys = opened(protocol, tmp_path)
    missing = [key for key in own_keys(script) if not keys.names(SIGNS.get(key, key))]
    assert missing == [], own.keys


def test_some_protocols_add_keys_of_their_own() -> None:
    added = {key for own in PAGES.values() for key in own_keys(own.script.removeprefix("js/"))}
    assert {"y", "n", "x"} <= added
