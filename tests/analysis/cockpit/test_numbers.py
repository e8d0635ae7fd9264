"""How numbers are written on a campaign's pages."""

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
def test_zero_has_no_sign_and_negative_numbers_have_a_real_minus(
    value: float | None, plain: str, with_sign: str
) -> None:
    assert (two(value), signed(value)) == (plain, with_sign)


def test_an_interval_is_rounded_as_in_the_sentences_of_the_results() -> None:
    assert interval({"low": -0.021, "high": -0.002}) == "[−0.02, 0.00]"
    assert interval({"low": None, "high": None}) == ""
