"""What a judge may decide, by a certificate in a file: only with a digest from elsewhere."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from tandem.gate.certified import Claim, certified, claim_of
from tandem.gate.findings import Outcome
from tandem.trust.canonical import digest_of
from tandem.trust.certificate import TYPE
from tests.trust.certified import issued

HOLDS, FAILS, UNDECIDED = Outcome
CERTIFICATE = issued()
DIGEST = digest_of(CERTIFICATE)
SHARE = CERTIFICATE["predicate"]["share"]


@pytest.mark.parametrize(("wanted", "outcome"), [(0.4, HOLDS), (SHARE, HOLDS), (0.99, UNDECIDED)])
def test_its_share_has_to_be_large_enough(wanted: float, outcome: Outcome) -> None:
    found = certified(claim_of(CERTIFICATE, DIGEST), wanted)
    assert (found.outcome, found.value) == (outcome, SHARE)


def test_without_a_digest_from_elsewhere_it_decides_nothing() -> None:
    found = certified(claim_of(CERTIFICATE, None), 0.5)
    assert found.outcome is UNDECIDED
    assert "--digest" in found.reason


def test_one_that_was_changed_fails() -> None:
    changed = deepcopy(CERTIFICATE)
    changed["predicate"]["share"] = 0.9
    assert certified(claim_of(changed, DIGEST), 0.5).outcome is FAILS
    assert certified(claim_of(CERTIFICATE, DIGEST.upper()), 0.4).outcome is HOLDS


def test_one_that_does_not_agree_with_itself_fails_even_with_its_digest() -> None:
    other = deepcopy(CERTIFICATE)
    other["predicate"]["share"] = 0.99
    assert certified(claim_of(other, digest_of(other)), 0.5).outcome is FAILS
    empty: dict[str, Any] = {"_type": TYPE, "predicate": {}}
    assert certified(claim_of(empty, digest_of(empty)), 0.5).outcome is FAILS


def test_a_plan_that_may_still_certify_more_is_not_decided() -> None:
    claim = Claim("jude", "relevant", 0.5, 0.9, "few are wrong")
    assert certified(claim, 0.7).reason == "50 % of the cells are certified so far"
    assert certified(claim, 0.95).reason == "the plan certifies 90 % of the cells at most"
