"""What a plan shall certify or compare, declared once for command, page, API and study file."""

from __future__ import annotations

from dataclasses import dataclass, field

from analysis.trust.cells import TrustError
from tandem.labels.selection import option_metadata
from tandem.options import check_bounds, options_of
from tandem.trust.plan import DELTA, FORMS, LATE_DAYS, RISK, SHARES, Form, K, read_shares
from tandem.trust.truth import IN_WORDS, Truth

_DELTA = option_metadata(
    "one minus the confidence of all plans for the same judge and queries together",
    label="Chance of a false certificate",
    hint="Over all plans for the same judge and queries; the first gets four fifths of it.",
    least=0.0001,
    most=0.5,
    page={"empty": DELTA},
)
_PEOPLE = option_metadata(
    "how many people answer each drawn query; else as many as the campaign asks",
    label="People on each query",
    least=1,
    most=100,
)
_LATE = (
    "the days after which a drawn query without all its answers counts {}, so that it does not "
    "block those behind it"
)
_LATE_DAYS = option_metadata(
    "",
    label="Days to answer a drawn query",
    least=1,
    most=365,
    page={"empty": LATE_DAYS},
)


@dataclass(frozen=True)
class PlanOptions:
    """The options of a plan. Raises TrustError for values out of bounds."""

    variable: str = field(
        metadata=option_metadata(
            "the variable whose verdicts are certified",
            label="Variable",
            kind="name",
            required=True,
        )
    )
    judge: str = field(
        metadata=option_metadata(
            "the judge whose verdicts are certified", label="Judge", kind="name", required=True
        )
    )
    risk: float = field(
        default=RISK,
        metadata=option_metadata(
            "the largest share of wrong cells among those that the judge decides",
            label="Largest share of wrong cells",
            least=0.001,
            most=0.5,
            page={"empty": RISK},
        ),
    )
    delta: float = field(default=DELTA, metadata=_DELTA)
    shares: str = field(
        default=",".join(f"{share:g}" for share in SHARES),
        metadata=option_metadata(
            "the shares of all cells, surest first, for which the judge is tested one after the "
            "other, as .5,.7,.9",
            label="Shares to be certified",
            metavar="S,S",
            longest=60,
            page={"empty": ""},
        ),
    )
    truth: Truth = field(
        default="majority",
        metadata=option_metadata(
            "what is true of a cell",
            label="The truth is set by",
            values=IN_WORDS,
        ),
    )
    people: int | None = field(default=None, metadata=_PEOPLE)
    late_days: int = field(
        default=LATE_DAYS, metadata=_LATE_DAYS | {"help": _LATE.format("as wholly wrong")}
    )
    form: Form = field(
        default="whole",
        metadata=option_metadata(
            "what is drawn, and counts of a query",
            label="What is drawn",
            hint="Cells are for large queries, with one share. People still answer whole items.",
            values=FORMS,
        ),
    )
    k: int = field(
        default=K,
        metadata=option_metadata(
            "how many accepted cells count of each draw of cells",
            label="Cells of each draw",
            least=1,
            most=100,
            page={"empty": K},
        ),
    )
    by_system: bool = field(
        default=False,
        metadata=option_metadata(
            "also bound the wrong cells of each system, with half of the plan's level",
            label="A bound for each system",
            hint="Takes half of the level, so that the shares need more queries.",
        ),
    )

    def __post_init__(self) -> None:
        try:
            check_bounds(PLAN_OPTIONS, vars(self))
            shares = read_shares(self.shares)
        except ValueError as error:
            raise TrustError(str(error)) from error
        if self.form == "cells" and len(shares) > 1:
            raise TrustError(
                f"draws of cells test one share, and not {len(shares)} one after the other: say "
                f"--shares {shares[0]:g}"
            )

    @property
    def cut_shares(self) -> tuple[float, ...]:
        """The shares as numbers, strict to loose."""
        return read_shares(self.shares)


PLAN_OPTIONS = options_of(PlanOptions)


@dataclass(frozen=True)
class ComparisonOptions:
    """The options of a plan that compares systems. Raises TrustError for values out of bounds."""

    score: str = field(
        default="",
        metadata=option_metadata(
            "the score by which systems are compared: one of the report, a variable, or the share "
            "of a code as VARIABLE:CODE; else the only one",
            label="Score",
            metavar="SCORE",
            kind="name",
            page={"empty": ""},
        ),
    )
    delta: float = field(
        default=DELTA,
        metadata=_DELTA
        | {
            "help": "the chance of a false decision, over all pairs of systems and all comparisons "
            "by the same variable",
            "label": "Chance of a false decision",
            "hint": "Over all comparisons by the same variable; the first gets four fifths of it.",
        },
    )
    people: int | None = field(default=None, metadata=_PEOPLE)
    registered: int | None = field(
        default=None,
        metadata=option_metadata(
            "the number of labelled queries at which people and judges together give a difference, "
            "which decides nothing; else the campaign's, or all that are labelled",
            label="Registered number of queries",
            least=10,
        ),
    )
    late_days: int = field(
        default=LATE_DAYS,
        metadata=_LATE_DAYS | {"help": _LATE.format("against either system")},
    )

    def __post_init__(self) -> None:
        try:
            check_bounds(COMPARISON_OPTIONS, vars(self))
        except ValueError as error:
            raise TrustError(str(error)) from error


COMPARISON_OPTIONS = options_of(ComparisonOptions)
