import json

import numpy as np
import pytest

from tandem.statistics.estimate import Estimate, defined, is_undefined, undefined

pytestmark = pytest.mark.every_case


def test_an_estimate_has_exactly_the_keys_of_the_report():
    shown = Estimate(0.5, 0.4, 0.6, 30, "kappa").as_json()
    assert shown == {"value": 0.5, "low": 0.4, "high": 0.6, "n": 30, "method": "kappa"}


def test_a_missing_interval_is_null_and_needs_no_reason():
    shown = defined(0.5, None, 3, "kappa; no interval").as_json()
    assert (shown["low"], shown["high"]) == (None, None)
    assert "reason" not in shown


def test_an_undefined_value_is_null_with_its_reason():
    shown = undefined("all labels are the same category", 12, "kappa").as_json()
    assert shown["value"] is None
    assert shown["reason"] == "all labels are the same category"
    assert shown["n"] == 12


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_infinite_and_nan_values_are_refused(bad, place):
    numbers = [0.5, 0.4, 0.6]
    numbers[place] = bad
    with pytest.raises(ValueError, match="finite"):
        Estimate(numbers[0], numbers[1], numbers[2], 3, "kappa")


def test_a_null_value_without_a_reason_is_refused():
    with pytest.raises(ValueError, match="reason"):
        Estimate(None, None, None, 3, "kappa")


def test_a_value_together_with_a_reason_is_refused():
    with pytest.raises(ValueError, match="reason"):
        Estimate(0.5, None, None, 3, "kappa", "no labels")


def test_an_interval_with_one_end_is_refused():
    with pytest.raises(ValueError, match="two ends"):
        Estimate(0.5, 0.4, None, 3, "kappa")


def test_numpy_numbers_become_plain_numbers():
    made = defined(np.float64(0.5), (np.float64(0.4), np.float64(0.6)), int(np.int64(3)), "kappa")
    assert json.loads(json.dumps(made.as_json()))["n"] == 3
    assert type(made.value) is float


def test_infinity_counts_as_undefined():
    assert is_undefined(float("inf"))
    assert is_undefined(float("nan"))
    assert not is_undefined(0.0)
