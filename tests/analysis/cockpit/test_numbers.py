"""How numbers stand on a campaign's pages."""

from __future__ import annotations

import pytest

from analysis.templatetags.cockpit_tags import interval, signed, two


@pytest.mark.parametrize(
    ("value", "plain", "with_sign"),
    [
        (0.046, "0.05", "+0.05"),
        (-0.046, "−0.05", "−0.05"),
        (-0.004, "0.00", "0.00"),
        (0.004, "0.00", "0.00"),
        (None, "–", "–"),
    ],
)
@pytest.mark.every_case
def test_a_zero_has_no_sign_and_a_minus_is_one(
    value: float | None, plain: str, with_sign: str
) -> None:
    assert (two(value), signed(value)) == (plain, with_sign)


def test_an_interval_ends_as_the_sentences_of_the_results_say_it() -> None:
    assert interval({"low": -0.021, "high": -0.002}) == "[−0.02, 0.00]"
    assert interval({"low": None, "high": None}) == ""
