"""A campaign's design, fixed at creation: raters per item, the sample, the protocol's options."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any


class DesignError(ValueError):
    """A design that cannot be: what is wrong, and what to do."""


SAMPLINGS = ("own", "shared", "all")
ORDERS = ("fixed", "random")
ITEM_ORDERS = ("fixed", "random", "blocked")
GATES = ("gap",)
POINTS = ("answers",)
CHOICES = {
    "sampling": SAMPLINGS,
    "order": ORDERS,
    "gate": GATES,
    "items": ITEM_ORDERS,
    "points": POINTS,
}
LONGEST_CODE = 255


@dataclass(frozen=True)
class Design:
    """The design of a campaign. Shares are in (0, 1]; `passages` is all or relevant[:CAMPAIGN].

    `sampling` shared asks every rater the same `per_passage` drawn units of an item, own draws
    them for each rater, all asks every unit; None leaves it to the protocol. So does None for
    `order`. `prerequisite` names the campaign that comes first, and `strata` the judge of it whose
    labels a shared draw heeds instead of those of most people. `validates` is JUDGE or
    JUDGE@CAMPAIGN: people see that judge's verdicts and confirm or correct them.
    `points` answers asks of the points that reports themselves make, instead of the query's.
    `gate` gap lets only answers into a second round whose selected sentences leave a gap.
    `development` and `audit` are the shares of queries with that role, drawn apart among those that
    people are asked and the others; all the rest is for evaluation. `items` says in which order a
    person gets the items: the batch's, a random one for each person, or all of a query together,
    the queries at random.
    """

    raters_per_item: int = 1
    overlap: float = 1.0
    human_share: float = 1.0
    seed: int = 0
    variables: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    sampling: str | None = None
    per_passage: int = 2
    order: str | None = None
    passages: str = "all"
    prerequisite: str = ""
    strata: str = ""
    validates: str = ""
    gate: str | None = None
    points: str | None = None
    development: float = 0.0
    audit: float = 0.0
    items: str = "fixed"

    def __post_init__(self) -> None:
        if not 1 <= self.raters_per_item <= 1000:
            raise DesignError("raters per item is not from 1 to 1000; give another number")
        if not self.per_passage:
            raise DesignError("option per_passage is 0; give 1 or more")
        for name in ("overlap", "human_share"):
            if not 0 < getattr(self, name) <= 1:
                raise DesignError(f"{name.replace('_', ' ')} is not above 0 and up to 1; mend it")
        if min(self.development, self.audit) < 0 or self.development + self.audit >= 1:
            raise DesignError("development and audit leave nothing for evaluation; give less")
        if self.prerequisite and (self.development or self.audit):
            raise DesignError("the roles of queries are those of the prerequisite; leave them out")
        named = self.passages.startswith("relevant:") and self.passages != "relevant:"
        if self.passages not in ("all", "relevant") and not named:
            raise DesignError("option passages is all, relevant or relevant:CAMPAIGN; mend it")

    def options(self) -> dict[str, Any]:
        """The options as they are stored with the campaign."""
        return {name: value for name, value in asdict(self).items() if name in _OPTIONS}


def design_of(
    raters_per_item: int, overlap: float, human_share: float, options: Sequence[str]
) -> Design:
    """A design from a command's arguments; options are K=V. Raises DesignError."""
    pairs: dict[str, Any] = {}
    for option in options:
        name, equals, value = option.partition("=")
        if not equals or name not in _OPTIONS:
            known = ", ".join(sorted(_OPTIONS))
            raise DesignError(f"option {option!r} is not K=V with K one of {known}; mend it")
        if name in pairs:
            raise DesignError(f"option {name} is given twice; keep one")
        pairs[name] = _OPTIONS[name](name, value)
    return Design(raters_per_item, overlap, human_share, **pairs)


def stored_design(options: Mapping[str, Any], **columns: Any) -> Design:
    lists = {name: tuple(options[name]) for name in ("variables", "categories") if name in options}
    return Design(**columns, **{**options, **lists})


def _words(name: str, value: str) -> tuple[str, ...]:
    words = tuple(word.strip() for word in value.split(",") if word.strip())
    if not words or len(set(words)) < len(words) or max(map(len, words)) > LONGEST_CODE:
        raise DesignError(f"option {name} is a list such as a,b,c without repeats; mend it")
    return words


def _number(name: str, value: str) -> int:
    if not value.isdecimal() or int(value) >= 2**31:
        raise DesignError(f"option {name} is a whole number; {value!r} is none")
    return int(value)


def _one_of(name: str, value: str) -> str:
    allowed = CHOICES[name]
    if value not in allowed:
        raise DesignError(f"option {name} is one of {', '.join(allowed)}; {value!r} is none")
    return value


def _share(name: str, value: str) -> float:
    try:
        share = float(value)
    except ValueError:
        share = math.nan
    if not 0 <= share < 1:
        raise DesignError(f"option {name} is a share from 0 to below 1; {value!r} is none")
    return share


def _as_is(name: str, value: str) -> str:
    return value


def _named(name: str, value: str) -> str:
    if not value.strip():
        raise DesignError(f"option {name} names nothing; give a name, or leave it out")
    return value


_OPTIONS = {
    "seed": _number,
    "variables": _words,
    "categories": _words,
    "sampling": _one_of,
    "per_passage": _number,
    "order": _one_of,
    "passages": _as_is,
    "prerequisite": _named,
    "strata": _named,
    "validates": _named,
    "gate": _one_of,
    "points": _one_of,
    "development": _share,
    "audit": _share,
    "items": _one_of,
}
