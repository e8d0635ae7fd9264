"""Whether a judge may decide a share of the cells, by a certificate or a campaign's own plan."""

from __future__ import annotations

from dataclasses import dataclass

from ..scores.base import percent
from .findings import Finding, Outcome


@dataclass(frozen=True)
class Claim:
    """What a judge may decide on a variable: a share of all cells, of which few are wrong.

    `share` is 0 if nothing is certified yet, `most` what may still be certified. `doubts` are the
    reasons for which the claim cannot be relied on: a stale plan, or a certificate that nothing
    from elsewhere vouches for. `wording` says how many cells may be wrong, with which confidence.
    """

    judge: str
    variable: str
    share: float
    most: float
    wording: str
    doubts: tuple[str, ...] = ()


def certified(claim: Claim, wanted: float) -> Finding:
    """Return whether a claim covers at least the wanted share of the cells, and can be relied on.

    It fails if the plan has shown that nothing can be certified.
    """

    def found(outcome: Outcome, reason: str) -> Finding:
        condition = f"certified {claim.judge} {wanted:g}"
        figure = f"{claim.variable}.{claim.judge}.certified"
        return Finding(condition, figure, outcome, reason, claim.share)

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


def no_claim(judge: str, wanted: float, why: str) -> Finding:
    return Finding(f"certified {judge} {wanted:g}", f"{judge}.certified", Outcome.UNDECIDED, why)
