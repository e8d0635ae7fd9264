"""What a judge may decide, by a certificate in a file: only with a digest from elsewhere."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from tandem.gate.certified import STATEMENT, Claim, certified, claim_of
from tandem.gate.findings import Outcome
from tandem.trust.canonical import digest_of

HOLDS, FAILS, UNDECIDED = Outcome
CERTIFICATE: dict[str, Any] = {
    "_type": STATEMENT,
    "predicate": {
        "share": 0.64,
        "plan": {
            "judge": {"name": "jude"},
            "variable": "relevant",
            "risk": 0.1,
            "delta": 0.05,
        },
    },
}
DIGEST = digest_of(CERTIFICATE)


@pytest.mark.parametrize(("wanted", "outcome"), [(0.5, HOLDS), (0.64, HOLDS), (0.65, UNDECIDED)])
def test_its_share_has_to_be_large_enough(wanted: float, outcome: Outcome) -> None:
    found = certified(claim_of(CERTIFICATE, DIGEST), wanted)
    assert (found.outcome, found.value) == (outcome, 0.64)


def test_without_a_digest_from_elsewhere_it_decides_nothing() -> None:
    found = certified(claim_of(CERTIFICATE, None), 0.5)
    assert found.outcome is UNDECIDED
    assert "--digest" in found.reason


def test_one_that_was_changed_fails() -> None:
    changed = deepcopy(CERTIFICATE)
    changed["predicate"]["share"] = 0.9
    assert certified(claim_of(changed, DIGEST), 0.5).outcome is FAILS
    assert certified(claim_of(CERTIFICATE, DIGEST.upper()), 0.5).outcome is HOLDS


def test_one_without_a_share_decides_nothing() -> None:
    other = {"_type": STATEMENT, "predicate": {}}
    assert certified(claim_of(other, digest_of(other)), 0.5).outcome is UNDECIDED


def test_a_plan_that_may_still_certify_more_is_not_decided() -> None:
    claim = Claim("jude", "relevant", 0.5, 0.9, "few are wrong")
    assert certified(claim, 0.7).reason == "50 % of the cells are certified so far"
    assert certified(claim, 0.95).reason == "the plan certifies 90 % of the cells at most"
