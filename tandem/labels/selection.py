"""A report's options: which labels count and how numbers are computed.

Page, downloads, command and library take the same options, and the report states them all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tandem.grouping import grouped

from ..options import options_of
from ..statistics.interval_tests import MARGIN
from ..statistics.resampling import RESAMPLES_OF_FEW
from ..types import JSON
from .facts import LabelFact, number_of

Strata = Mapping[str, Mapping[str, str]]
"""The value of each stratum by the item's key."""

KINDS = ("human", "judge", "reference")
Reference = Literal["majority", "adjudicated"]
Pairs = Literal["distribution", "all"]
Bootstraps = Literal["queries", "two-way"]
LEAST_WIDTH = 0.001
MOST_RESAMPLES = RESAMPLES_OF_FEW
"""The most resamples of a page, and the number of a snapshot's."""
OWN_STRATA = ("system", "setting")
"""Strata that are part of the labels."""


class UnknownOptionError(ValueError):
    """An option names something unknown. `problems` maps options to sentences."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        super().__init__(" ".join(problems.values()))
        self.problems = problems


def option_metadata(help: str, **rest: Any) -> JSON:
    """Return a field's metadata, which declares an option for `tandem.options`."""
    return {"help": help, **rest}


SEED = {
    "help": "of the resampling",
    "hint": "Of the resampling.",
    "least": 0,
    "metavar": "S",
}
RESAMPLES = {
    "help": "how many; by default 10,000 below 30 queries, otherwise 2,000; the command takes more",
    "hint": (
        f"At most {MOST_RESAMPLES} here; the command allows more. "
        "Empty: 10000 below 30 queries, otherwise 2000. Snapshots use 10000 by default."
    ),
    "least": 1,
    "most": MOST_RESAMPLES,
    "metavar": "N",
}

EXPOSED = option_metadata(
    "count labels whose rater could see others’ labels beforehand, like all others",
    label="Count labels whose rater could see others’ labels beforehand, like all others",
)


@dataclass(frozen=True)
class ReportOptions:
    """The options of a report, declared once for its form, API, command and documentation.

    Empty tuples select everything. `raters` apply to judges only where a judge or the kind is named
    among them; `judges` take precedence. `strata` are pairs of a stratum and its value, and a unit
    has to have one of the values given for each stratum. `resamples_of` gives the number of
    resamples where there is None.
    """

    seed: int = field(default=0, metadata=SEED)
    resamples: int | None = field(default=None, metadata=RESAMPLES)
    epsilon: float = field(
        default=0.2,
        metadata=option_metadata(
            "of the alternative annotator test",
            hint="Of the alternative annotator test. Choose it before you look.",
            least=0,
            most=1,
        ),
    )
    assisted: bool = field(
        default=False,
        metadata=option_metadata(
            "count labels that were given with a judge’s label in view like all others",
            label="Count labels that were given with a judge’s label in view like all others",
        ),
    )
    threshold: float | None = field(
        default=None,
        metadata=option_metadata(
            "show only the cut of ratings at T",
            label="Cut ratings at",
            hint="Empty: all cuts are shown.",
            metavar="T",
        ),
    )
    variables: tuple[str, ...] = field(
        default=(),
        metadata=option_metadata(
            "only this variable; may be given several times, as the next three",
            name="variable",
            label="Variables",
            metavar="NAME",
        ),
    )
    raters: tuple[str, ...] = field(
        default=(),
        metadata=option_metadata(
            "only this rater, or all of a kind: human, judge or reference; without a judge’s "
            "name all judges stay",
            name="rater",
            label="Raters",
            hint="All judges count unless you choose some here or below.",
            metavar="NAME",
        ),
    )
    judges: tuple[str, ...] = field(
        default=(),
        metadata=option_metadata(
            "of the judges only this one",
            name="judge",
            label="Judges",
            metavar="NAME",
        ),
    )
    strata: tuple[tuple[str, str], ...] = field(
        default=(),
        metadata=option_metadata(
            "only items with it, as NAME:VALUE, such as system:bm25 or length:short",
            name="stratum",
            label="Only items with",
            metavar="NAME:VALUE",
        ),
    )
    width: float = field(
        default=0.1,
        metadata=option_metadata(
            "the width of intervals that plans aim at",
            label="Interval to plan for",
            hint="The report says what an interval of this width would need.",
            least=LEAST_WIDTH,
            most=1,
        ),
    )
    reference: Reference = field(
        default="majority",
        metadata=option_metadata(
            "compare judges with people’s majority, or with adjudicators’ decisions, too",
            label="Compare judges with",
            hint="What an adjudicator decided is the Reference.",
            values={"majority": "people’s majority", "adjudicated": "adjudicators’ decisions, too"},
        ),
    )
    check: bool = field(
        default=False,
        metadata=option_metadata(
            "have other libraries compute the figures again, even with 100,000 labels or more",
            faces=("command",),
        ),
    )
    pairs: Pairs = field(
        default="distribution",
        metadata=option_metadata(
            "above 30 people: the distribution of the agreement of pairs, or also all pairs that "
            "share at least 30 units",
            label="Pairs of more than 30 people",
            hint="The pairs of up to 30 people are always shown.",
            values={
                "distribution": "the distribution of their agreement",
                "all": "one by one, too, where they share 30 units",
            },
        ),
    )
    bootstrap: Bootstraps = field(
        default="queries",
        metadata=option_metadata(
            "resample queries, or queries and raters, so that intervals hold for other people, too",
            label="Resample",
            hint="With raters, intervals also hold for other people; roughly, if there are few.",
            values={"queries": "queries", "two-way": "queries and raters"},
        ),
    )
    exposed: bool = field(default=False, metadata=EXPOSED)
    background: bool = field(
        default=False,
        metadata=option_metadata(
            "agreement by people’s answers to background questions, for groups of at least five",
            label="Show agreement by people’s background",
            hint="Groups of fewer than five people are never shown.",
        ),
    )
    margin: float = field(
        default=MARGIN,
        metadata=option_metadata(
            "of equivalence: judge and people agree alike if their gap is surely within it",
            label="Margin of equivalence",
            hint="A gap that is surely within it counts as none. Choose it before you look.",
            least=0,
            most=1,
        ),
    )

    @classmethod
    def of_values(cls, values: Mapping[str, Any]) -> ReportOptions:
        """Build the options from values by field, with strata as texts NAME:VALUE."""
        return cls(**{**values, "strata": tuple(map(read_stratum, values["strata"]))})

    def as_json(self) -> JSON:
        """Return the options as the report states them, without seed and resamples."""
        return {
            "epsilon": self.epsilon,
            "margin": self.margin,
            "width": self.width,
            "threshold": self.threshold,
            "variables": list(self.variables),
            "raters": list(self.raters),
            "judges": list(self.judges),
            "strata": grouped(self.strata),
            "reference": self.reference,
            "pairs": self.pairs,
            "bootstrap": self.bootstrap,
            "background": self.background,
        }

    @classmethod
    def of_report(cls, report: JSON) -> ReportOptions:
        """Return the options with which a report was computed."""
        strata = report["choices"]["strata"].items()
        given = {
            **report["choices"],
            "seed": report["seed"],
            "resamples": report["resamples"],
            "assisted": report["assisted"]["included"],
            "exposed": report["exposed"]["included"],
            "strata": [(name, value) for name, values in strata for value in values],
        }
        taken: JSON = {
            name: tuple(of) if isinstance(of, list) else of for name, of in given.items()
        }
        return cls(**taken)

    def as_parameters(self) -> JSON:
        """Return the options that differ from the defaults, as the API takes them."""
        strata = [f"{name}:{value}" for name, value in self.strata]
        found = {
            option.name: strata if option.field == "strata" else getattr(self, option.field)
            for option in options_of(ReportOptions)
            if "api" in option.faces and getattr(self, option.field) != option.default
        }
        return {name: list(of) if isinstance(of, tuple) else of for name, of in found.items()}

    def select(self, facts: Iterable[LabelFact], strata: Strata) -> Iterator[LabelFact]:
        """Yield the labels that the options select."""
        chosen = grouped(self.strata)
        if not (chosen or self.variables or self.raters or self.judges):
            yield from facts
            return
        every = list(facts)
        taken = self.selected_raters({fact.rater: fact.rater_kind for fact in every})
        for fact in every:
            asked = not self.variables or fact.variable in self.variables
            if asked and fact.rater in taken:
                said = (value_of(fact, name, strata) in values for name, values in chosen.items())
                if all(said):
                    yield fact

    def selected_raters(self, kinds: Mapping[str, str]) -> set[str]:
        """Return the selected raters with their kinds. Selecting people does not drop judges."""
        judges = {name for name, kind in kinds.items() if kind == "judge"}
        named = {n for n, kind in kinds.items() if n in self.raters or kind in self.raters}
        others = named - judges if self.raters else kinds.keys() - judges
        chosen = judges & set(self.judges) if self.judges else named & judges or judges
        return chosen | others


ALL_LABELS = ReportOptions()


@dataclass
class AvailableValues:
    """The values that options may take; raters with their kinds, strata with their values."""

    variables: list[str] = field(default_factory=list)
    raters: dict[str, str] = field(default_factory=dict)
    strata: dict[str, list[str]] = field(default_factory=dict)
    thresholds: list[float] = field(default_factory=list)

    def judges(self) -> list[str]:
        return [name for name, kind in self.raters.items() if kind == "judge"]

    def check(self, options: ReportOptions) -> None:
        """Raise UnknownOptionError if the options name something unknown."""
        problems = {name: said for name, said in self._problems(options) if said}
        if problems:
            raise UnknownOptionError(problems)

    def _problems(self, options: ReportOptions) -> Iterator[tuple[str, str]]:
        pairs = [f"{name}:{value}" for name, values in self.strata.items() for value in values]
        yield "variable", _describe_unknown("variable", options.variables, self.variables)
        yield "rater", _describe_unknown("rater", options.raters, [*KINDS, *self.raters])
        yield "judge", _describe_unknown("judge", options.judges, self.judges())
        yield "stratum", _describe_unknown("stratum", map(":".join, options.strata), pairs)
        if options.threshold is not None and options.threshold not in self.thresholds:
            cuts = ", ".join(f"{cut:g}" for cut in self.thresholds)
            existing = f"there are {cuts}" if cuts else "nothing is rated by numbers"
            yield "threshold", f"No rating can be cut at {options.threshold:g}; {existing}."


def available_values(facts: Iterable[LabelFact], strata: Strata) -> AvailableValues:
    """Return the values that the options may take, as far as the labels alone show."""
    every = list(facts)
    values: dict[str, set[str]] = {name: set(of.values()) for name, of in strata.items()}
    items = {(fact.item, fact.system, fact.setting): fact for fact in every}.values()
    for name in OWN_STRATA:
        if own := set(filter(None, (value_of(fact, name, strata) for fact in items))):
            values[name] = values.get(name, set()) | own
    said = {fact.value for fact in every if fact.value is not None}
    cuts = {number for value in said if (number := number_of(value)) is not None}
    return AvailableValues(
        variables=list(dict.fromkeys(fact.variable for fact in every)),
        raters={fact.rater: fact.rater_kind for fact in every},
        strata={name: sorted(of) for name, of in values.items()},
        thresholds=sorted(cuts),
    )


def value_of(fact: LabelFact, stratum: str, strata: Strata) -> str | None:
    """Return the value of a label's unit in a stratum; None if it is unknown."""
    if stratum in OWN_STRATA:
        own: str | None = getattr(fact, stratum)
        return own
    return strata.get(stratum, {}).get(fact.item)


def read_stratum(text: str) -> tuple[str, str]:
    """Split NAME:VALUE into a pair; the value may contain colons."""
    name, _, value = text.partition(":")
    return name, value


def _describe_unknown(what: str, chosen: Iterable[str], existing: list[str]) -> str:
    lacking = [name for name in chosen if name not in existing]
    if not lacking:
        return ""
    names = ", ".join(existing[:12]) + (" …" if len(existing) > 12 else "")
    rest = f"there are {names}." if names else "none is known."
    return f"There is no {what} {lacking[0]!r} here; {rest}"
