"""The README is short, and what it names exists: commands, targets, pages, protocols."""

from __future__ import annotations

import re

import pytest

from annotation.protocols import PROTOCOLS
from tests.cast import ROOT
from tests.docs.markdown import blocks, inline
from tests.docs.test_commands import MAKE, OURS, misunderstood

README = (ROOT / "README.md").read_text("utf-8")
LINES = [line for block in blocks(README, "") for line in block.splitlines()]
COMMANDS = [match["rest"] for line in LINES if (match := OURS.search(line))]


def test_the_readme_has_fewer_than_120_lines() -> None:
    assert len(README.splitlines()) < 120


def test_setting_up_ones_own_study_takes_ten_lines() -> None:
    (own,) = [block for block in blocks(README, "") if "tandem campaign create" in block]
    assert len(own.splitlines()) == 10


@pytest.mark.every_case
@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_line_is_accepted_by_its_command(line: str) -> None:
    assert misunderstood(line) is None


def test_every_make_target_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    named = {match["target"] for text in (*LINES, *inline(README)) for match in MAKE.finditer(text)}
    assert {"demo", "test", "serve", "docs"} <= named <= targets


def test_every_linked_page_and_picture_exists() -> None:
    linked = re.findall(r"\]\(([^)]+)\)", README)
    assert len(linked) > 10
    assert [path for path in linked if not (ROOT / path).is_file()] == []


def test_every_protocol_is_listed() -> None:
    assert set(re.findall(r"^\| `([\w-]+)` \|", README, re.MULTILINE)) == set(PROTOCOLS)
