"""The options of a look at labels that exist, declared once for command and documentation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ..labels.selection import option_metadata
from ..options import check_bounds, options_of
from .plan import DELTA, RISK, SHARES, read_shares

Stated = Literal["even", "all", "unknown"]
"""How the labelled queries of a file were drawn, which only its owner knows."""
HOW_DRAWN = (
    "how the queries with people’s labels were drawn: even (at random, each with the same chance), "
    "all (every query is labelled), or unknown (they were chosen, or are those finished so far)"
)


@dataclass(frozen=True)
class CheckOptions:
    """The options of a check. Raises ValueError for values out of bounds."""

    drawn: Stated | None = field(
        default=None, metadata=option_metadata(f"for files, and needed there: {HOW_DRAWN}")
    )
    risk: float = field(
        default=RISK,
        metadata=option_metadata(
            "the largest share of wrong answers that would do", least=0.001, most=0.5
        ),
    )
    delta: float = field(
        default=DELTA,
        metadata=option_metadata("one minus the confidence of each bound", least=0.0001, most=0.5),
    )
    shares: str = field(
        default=",".join(f"{share:g}" for share in SHARES),
        metadata=option_metadata(
            "the shares of all units, surest first, besides all of them", metavar="S,S"
        ),
    )

    def __post_init__(self) -> None:
        check_bounds(CHECK_OPTIONS, vars(self))
        read_shares(self.shares)

    @property
    def cut_shares(self) -> tuple[float, ...]:
        """The shares as numbers, strict to loose."""
        return read_shares(self.shares)


CHECK_OPTIONS = options_of(CheckOptions)
