"""A campaign's design: how many people, which share, and the options of the protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any


class DesignError(ValueError):
    """A design that cannot be: what is wrong, and what to do."""


SAMPLINGS = ("own", "shared", "all")
ORDERS = ("fixed", "random")
GATES = ("gap",)
LONGEST_CODE = 255


@dataclass(frozen=True)
class Design:
    """The design of a campaign. Shares are in (0, 1]; `passages` is all or relevant[:CAMPAIGN].

    `sampling` shared asks every rater the same `per_passage` drawn units of an item, own draws
    them for each rater, all asks every unit; None leaves it to the protocol. So does None for
    `order`. `prerequisite` names the campaign that comes first, and `strata` the judge of it whose
    labels a shared draw heeds instead of those of most people. `validates` is JUDGE or
    JUDGE@CAMPAIGN: people see that judge's verdicts and confirm or correct them.
    `gate` gap lets only answers into a second round whose selected sentences leave a gap.
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

    def __post_init__(self) -> None:
        if not 1 <= self.raters_per_item <= 1000:
            raise DesignError("raters per item is not from 1 to 1000; give another number")
        if not self.per_passage:
            raise DesignError("option per_passage is 0; give 1 or more")
        for name in ("overlap", "human_share"):
            if not 0 < getattr(self, name) <= 1:
                raise DesignError(f"{name.replace('_', ' ')} is not above 0 and up to 1; mend it")
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
    allowed = {"sampling": SAMPLINGS, "order": ORDERS, "gate": GATES}[name]
    if value not in allowed:
        raise DesignError(f"option {name} is one of {', '.join(allowed)}; {value!r} is none")
    return value


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
}
