"""The security policy can be found, and what it names exists."""

from __future__ import annotations

import re

from tests.cast import ROOT

POLICY = (ROOT / "SECURITY.md").read_text("utf-8")


def test_readme_and_documentation_link_to_the_policy() -> None:
    assert "](SECURITY.md)" in (ROOT / "README.md").read_text("utf-8")
    assert "`SECURITY.md`" in (ROOT / "docs" / "security.md").read_text("utf-8")


def test_the_pages_that_the_policy_names_exist() -> None:
    named = set(re.findall(r"`(docs/[\w./-]+)`", POLICY))
    assert named
    assert [each for each in named if not (ROOT / each).is_file()] == []


def test_the_commands_that_the_policy_names_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z-]+)`", POLICY)) <= targets


def test_every_promise_of_the_policy_has_a_time() -> None:
    table = POLICY.partition("| what | when |")[2].partition("\n\n")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")]
    assert len(rows) == 5
    assert [row for row in rows if not re.search(r"\d+ (working )?days", row)] == []
