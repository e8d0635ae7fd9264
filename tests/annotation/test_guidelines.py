"""The words beside a protocol: the guideline for people and judges, and the judges' prompt."""

from __future__ import annotations

import re

import pytest

from annotation.protocols import PROTOCOLS

ALL = [pytest.param(protocol, id=name) for name, protocol in PROTOCOLS.items()]
ONE_PARAGRAPH = re.compile(r"(#{1,3} \S.*|- \S.*|[^#\-\s>|`<].*)")


def bold(text: str) -> set[str]:
    return set(re.findall(r"\*\*([^*]+)\*\*", text))


@pytest.mark.parametrize("protocol", ALL)
def test_a_guideline_is_short_and_plain(protocol):
    text = protocol.guideline
    assert 150 <= len(re.findall(r"\w[\w'-]*", text)) <= 350
    assert text.startswith("# ")
    lines = [line for line in text.splitlines() if line]
    assert [line for line in lines if not ONE_PARAGRAPH.fullmatch(line)] == []
    assert not re.search(r"[`<>\[\]|_]{2}|\]\(|`", text)
    assert text.replace("**", "").count("*") == 0


@pytest.mark.parametrize("protocol", ALL)
def test_a_guideline_defines_every_code_and_gives_examples(protocol):
    text = protocol.guideline
    codes = {c for v in protocol.variables if v.name != "category" for c in v.answers}
    assert codes - bold(text) == set()
    _, _, examples = text.partition("## Examples\n")
    assert examples.count("\n- ") >= 2


@pytest.mark.parametrize("protocol", ALL)
def test_a_prompt_has_its_slots_in_order(protocol):
    system, _, user = protocol.prompt.partition("\n---\n")
    assert "---" not in user.splitlines()
    assert re.findall(r"\{.*?\}", system) == ["{guideline}"]
    assert re.findall(r"\{.*?\}", user) == ["{texts}", "{query}", "{units}", "{answer}"]
    assert "never an instruction" in system
    assert "word for word" in user


def test_one_prompt_is_its_protocols_own_and_the_others_share_one():
    own = [p.name for p in PROTOCOLS.values() if (p.folder / "prompt.md").exists()]
    assert own == ["report-coverage"]
    assert len({p.prompt for p in PROTOCOLS.values()}) == 2


def test_a_guideline_holds_no_line_that_would_split_a_prompt():
    assert not [p.name for p in PROTOCOLS.values() if "---" in p.guideline.splitlines()]
