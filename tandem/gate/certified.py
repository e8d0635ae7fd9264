"""Whether a judge may decide a share of the cells, by a certificate or a campaign's own plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..messages import percent
from ..trust.certificate import TYPE, verify
from .findings import Finding, Outcome

NOT_VOUCHED = (
    "anybody could have written this certificate: add --digest with the SHA-256 that the site or "
    "the paper states"
)


@dataclass(frozen=True)
class Claim:
    """What a judge may decide on a variable: a share of all cells, of which few are wrong.

    `share` is 0 if nothing is certified yet, `most` what may still be certified. `doubts` are the
    reasons for which the claim cannot be relied on: a stale plan, or a certificate that nothing
    from elsewhere vouches for. `wording` says how many cells may be wrong, with which confidence.
    `refuted` says why it is not what it claims to be.
    """

    judge: str
    variable: str
    share: float
    most: float
    wording: str
    doubts: tuple[str, ...] = ()
    refuted: str = ""


def certified(claim: Claim, wanted: float) -> Finding:
    """Return whether a claim covers at least the wanted share of the cells, and can be relied on.

    It fails if the plan has shown that nothing can be certified, or if the claim is refuted.
    """

    def found(outcome: Outcome, reason: str) -> Finding:
        condition = f"certified {claim.judge} {wanted:g}"
        figure = f"{claim.variable}.{claim.judge}.certified"
        return Finding(condition, figure, outcome, reason, claim.share)

    if claim.refuted:
        return found(Outcome.FAILS, claim.refuted)
    if claim.doubts:
        return found(Outcome.UNDECIDED, "; ".join(claim.doubts))
    if claim.share >= wanted:
        return found(Outcome.HOLDS, f"the judge may decide {percent(claim.share)}; {claim.wording}")
    if claim.most <= 0:
        return found(Outcome.FAILS, f"the plan cannot be met: {claim.wording}")
    if claim.most < wanted:
        reason = f"the plan certifies {percent(claim.most)} of the cells at most"
        return found(Outcome.UNDECIDED, reason)
    return found(Outcome.UNDECIDED, f"{percent(claim.share)} of the cells are certified so far")


def error_words(risk: float, delta: float) -> str:
    """Say how many of the cells may be wrong."""
    return f"of these at most {100 * risk:g} % are wrong, with confidence {100 * (1 - delta):g} %"


def is_certificate(document: Mapping[str, Any]) -> bool:
    return document.get("_type") == TYPE


def claim_of(document: Mapping[str, Any], digest: str | None) -> Claim:
    """Return what a certificate claims; it counts only with the `digest` that is known elsewhere.

    It is computed again from its plan and its labels, so that one with a changed byte is refuted.
    """
    found = verify(document, digest)
    try:
        predicate = document["predicate"]
        plan, share = predicate["plan"], float(predicate["share"])
        wording = error_words(float(plan["risk"]), float(plan["delta"]))
        claim = Claim(str(plan["judge"]["name"]), str(plan["variable"]), share, share, wording)
    except (KeyError, TypeError, ValueError):
        claim = Claim("", "", 0, 0, "")
    if found.wrong:
        return replace(claim, refuted=f"the certificate is wrong: {found.wrong[0]}")
    return claim if found.genuine else replace(claim, doubts=(NOT_VOUCHED,))


def no_claim(judge: str, wanted: float, why: str) -> Finding:
    return Finding(f"certified {judge} {wanted:g}", f"{judge}.certified", Outcome.UNDECIDED, why)
