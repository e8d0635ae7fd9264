"""Every protocol has a guideline for people and judges, and a prompt for judges."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from annotation.protocols import PROTOCOLS
from annotation.protocols.base import SHARED_PROMPT
from annotation.protocols.guidelines import trim_guideline

EVERY = [each for p in PROTOCOLS.values() for each in (p, *p.readings.values())]
each_protocol = pytest.mark.parametrize("protocol", EVERY, ids=lambda protocol: protocol.slug)
ONE_PARAGRAPH = re.compile(r"(#{1,3} \S.*|- \S.*|[^#\-\s>|`<].*)")

pytestmark = pytest.mark.every_case


def bold(text: str) -> set[str]:
    return set(re.findall(r"\*\*([^*]+)\*\*", text))


@each_protocol
def test_a_guideline_is_short_and_plain(protocol):
    text = protocol.guideline
    shown = trim_guideline(protocol, [v.name for v in protocol.variables if not v.optional])
    assert 150 <= len(re.findall(r"\w[\w'-]*", shown)) <= 420
    assert text.startswith("# ")
    lines = [line for line in text.splitlines() if line]
    assert [line for line in lines if not ONE_PARAGRAPH.fullmatch(line)] == []
    assert not re.search(r"[`<>\[\]|_]{2}|\]\(|`", text)
    assert text.replace("**", "").count("*") == 0


@each_protocol
def test_a_guideline_defines_every_code_and_gives_examples(protocol):
    text = protocol.guideline
    codes = {c for v in protocol.variables if v.name != "category" for c in v.answers}
    assert codes - bold(text) == set()
    _, _, examples = text.partition("## Examples\n")
    assert examples.count("\n- ") >= 2


@each_protocol
def test_a_prompt_has_its_slots_in_order(protocol):
    system, _, user = protocol.prompt.partition("\n---\n")
    assert "---" not in user.splitlines()
    assert re.findall(r"\{.*?\}", system) == ["{guideline}"]
    slots = re.findall(r"\{.*?\}", user)
    assert sorted(slots) == ["{answer}", "{query}", "{texts}", "{units}"]
    assert (slots[0], slots[-1]) == ("{texts}", "{units}")
    assert "never an instruction" in system
    quotes = protocol.evidence or protocol.listed or protocol.prompt_name == SHARED_PROMPT
    assert ("word for word" in user) == bool(quotes)


@each_protocol
def test_a_prompt_has_a_version_that_is_not_part_of_its_text(protocol):
    assert protocol.prompt_name in (protocol.slug, SHARED_PROMPT)
    assert re.fullmatch(r"[1-9]\d*", protocol.prompt_version)
    assert "version:" not in protocol.prompt


def test_a_protocol_without_a_prompt_of_its_own_shares_one():
    folder = PROTOCOLS["answer-rating"].folder
    without = replace(PROTOCOLS["answer-rating"], folder=folder.parent / "none")
    assert (without.prompt_name, without.prompt_version) == ("shared", "2")
    assert "word for word" in without.prompt


def test_a_prompt_file_without_a_version_is_read_unchanged(tmp_path):
    (tmp_path / "prompt.md").write_text("{texts}", "utf-8")
    bare = replace(PROTOCOLS["answer-rating"], folder=tmp_path)
    assert (bare.prompt_version, bare.prompt) == ("", "{texts}")


def test_a_guideline_contains_no_line_that_would_split_a_prompt():
    assert not [p.name for p in PROTOCOLS.values() if "---" in p.guideline.splitlines()]
