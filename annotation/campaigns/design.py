"""A campaign's design, fixed at creation: raters per item, the sample, the protocol's options."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tandem.options import FieldError, Option, options_of, split_pairs


class DesignError(FieldError):
    """An invalid design or setting. The message says what is wrong and what to do."""


Audience = Literal["everyone", "people", "judges"]
Sampling = Literal["own", "shared", "all"]
Order = Literal["fixed", "random"]
ItemOrder = Literal["fixed", "random", "blocked"]
AllottedBy = Literal["queries"]
Gate = Literal["gap"]
Points = Literal["answers"]
JudgeSampling = Literal["all"]
Same = Literal["once"]
LONGEST_CODE = 255
LARGEST = 2**31 - 1
NAMES = ("prerequisite", "strata", "validates")
LISTS = ("variables", "judge_variables", "categories", "chosen")
LONGEST_LINE = 2000
"""The most characters of an option in a page's field of one line."""
LONGEST_KEY = 600
MOST_CHOSEN = 1000
NO_LIST = "is a list such as a,b,c without repeats; correct it"


def _metadata(help: str, **rest: Any) -> dict[str, Any]:
    return {"help": help, **rest}


@dataclass(frozen=True)
class Design:
    """The design of a campaign. Raises DesignError.

    All fields but the first three are the campaign's options, declared once for command, API and
    documentation. None leaves `sampling` and `order` to the protocol. People and judges are the two
    audiences of a campaign: without options of their own, judges are asked what people are asked.
    With no raters per item, only judges are asked, and people's labels may be imported.
    """

    raters_per_item: int = 1
    overlap: float = 1.0
    human_share: float = 1.0
    seed: int = field(
        default=0,
        metadata=_metadata(
            "of every random sample of the campaign",
            hint="It alone determines the sample.",
            least=0,
            most=LARGEST,
            initial=0,
            required=True,
        ),
    )
    variables: tuple[str, ...] = field(
        default=(),
        metadata=_metadata(
            "which of the protocol's variables are asked, such as `answerable,rating`",
            label="What is asked",
            page={"kind": "names"},
        ),
    )
    judge_variables: tuple[str, ...] = field(
        default=(),
        metadata=_metadata(
            "which variables judges are asked, if not those of people: with "
            "`variables=answerable` and `judge_variables=rating`, people say yes or no and judges "
            "rate",
            label="What judges are asked, if something else",
            page={"kind": "names"},
        ),
    )
    categories: tuple[str, ...] = field(
        default=(),
        metadata=_metadata(
            "the codes of `category` in `question-typing`",
            hint="Separated by commas. Empty: the 25 of GaRAGe.",
            page={"kind": "text", "longest": LONGEST_LINE},
        ),
    )
    sampling: Sampling | None = field(
        default=None,
        metadata=_metadata(
            "`shared`: every rater is asked the same sampled units; `own`: each rater is asked a "
            "sample of what that rater answered in the prerequisite; `all`: every unit",
            label="{Many} of an item",
            unset="The protocol’s rule",
            page={
                "values": {
                    "shared": "One sample of {many} for all people",
                    "own": "A separate sample for each person",
                    "all": "Every {one}",
                }
            },
        ),
    )
    judge_sampling: JudgeSampling | None = field(
        default=None,
        metadata=_metadata(
            "`all`: judges are asked every unit, also where people are asked a sample; otherwise "
            "judges are asked the same units",
            label="{Many} for judges",
            unset="The same {many} as people",
            values={"all": "Every {one}"},
        ),
    )
    per_passage: int = field(
        default=2,
        metadata=_metadata(
            "how many units of an item are sampled under `shared` and `own`",
            label="{Many} sampled",
            least=1,
            most=LARGEST,
            initial=2,
            required=True,
        ),
    )
    order: Order | None = field(
        default=None,
        metadata=_metadata(
            "the order in which units appear: `fixed` or `random`",
            label="Order within an item",
            unset="The protocol’s order",
            values={"fixed": "Fixed", "random": "Random"},
        ),
    )
    passages: str = field(
        default="all",
        metadata=_metadata(
            "`all`, `relevant` (by the batch) or `relevant:CAMPAIGN` (by that campaign's people)",
            label="Passages shown",
            hint="all, relevant, or relevant:CAMPAIGN for the passages that people in that "
            "campaign found relevant.",
            initial="all",
            page={"longest": LONGEST_LINE},
        ),
    )
    prerequisite: str = field(
        default="",
        metadata=_metadata(
            "the campaign that comes first; an item waits until its query is done there",
            label="Comes after",
            hint="An item waits until its query is done in that campaign, which also gives the "
            "splits.",
            unset="Nothing",
            page={"kind": "name"},
        ),
    )
    strata: str = field(
        default="",
        metadata=_metadata(
            "the judge of the prerequisite whose labels stratify a shared sample, instead of those "
            "of most people",
            label="Stratify by labels from",
            unset="People",
            page={"kind": "name"},
        ),
    )
    validates: str = field(
        default="",
        metadata=_metadata(
            "`JUDGE` or `JUDGE@CAMPAIGN`: people see that judge's labels and confirm or correct "
            "them; an item waits for its judge's label",
            label="Shows labels from a judge",
            hint="JUDGE, or JUDGE@CAMPAIGN: people confirm or correct the judge’s labels. "
            "Agreement leaves these people’s labels out.",
            page={"longest": LONGEST_LINE},
        ),
    )
    gate: Gate | None = field(
        default=None,
        metadata=_metadata(
            "`gap`: a second round of `grounded-answer` takes only first answers with two or more "
            "selected sentences that do not all follow each other",
            label="Second round of",
            unset="All answers",
            values={"gap": "Answers whose sentences leave a gap"},
        ),
    )
    points: Points | None = field(
        default=None,
        metadata=_metadata(
            "`answers`: `key-point-verification` asks whether the points that reports themselves "
            "make are supported by the context of each",
            unset="Points of the query, against their source",
            values={"answers": "Points of the answers, against the context of each"},
        ),
    )
    development: float = field(
        default=0.0,
        metadata=_metadata(
            "the share of queries on which prompts and examples may be tuned; every figure that "
            "compares or combines judges and people leaves them out",
            label="Share of queries for development",
            hint="For tuning prompts. Evaluations of judges leave these queries out.",
            least=0,
            most=1,
        ),
    )
    audit: float = field(
        default=0.0,
        metadata=_metadata(
            "the share of queries that are kept for a later audit; these figures leave them out, "
            "too",
            label="Share of queries for an audit",
            hint="Left aside until the audit.",
            least=0,
            most=1,
        ),
    )
    items: ItemOrder = field(
        default="fixed",
        metadata=_metadata(
            "the order in which a person gets the items: `fixed`, as in the batch; `random`, a "
            "different one for each person; `blocked`, all items of a query together, the "
            "queries in random order",
            label="Order of items",
            values={
                "fixed": "The batch’s order, or that of chosen items",
                "random": "Random, a different order for each person",
                "blocked": "Items of a query together, the queries in random order",
            },
            initial="fixed",
            required=True,
        ),
    )
    allotment: AllottedBy | None = field(
        default=None,
        metadata=_metadata(
            "`queries`: fixed shares are of whole queries, so that one person, or as many as an "
            "item needs, answers everything about a query; otherwise they are of single items",
            label="Fixed shares are of",
            unset="Single items",
            values={"queries": "Whole queries, each with the same people for all its items"},
        ),
    )
    same: Same | None = field(
        default=None,
        metadata=_metadata(
            "`once`: of citations of a query whose sentences and passages are the same to the "
            "letter, such as those of several runs, only the first is asked, and measures count "
            "its labels for all; otherwise each is asked",
            label="Equal citations",
            unset="Each is asked",
            values={"once": "Asked once for all answers to a query"},
        ),
    )
    chosen: tuple[str, ...] = field(
        default=(),
        metadata=_metadata(
            "the keys of the only items that the campaign asks, in order of priority; they are "
            "chosen, not sampled, and the report says so",
            label="Only these items",
            hint="Ids of items, one a line, the most urgent first. Empty: all items, or the "
            "sample above. Figures describe chosen items alone, and results say so.",
            lines=6,
            is_code=True,
            page={"kind": "text", "longest": MOST_CHOSEN * LONGEST_KEY},
        ),
    )

    def __post_init__(self) -> None:
        for option in options_of(Design):
            _check(option, getattr(self, option.field))
        if not 0 <= self.raters_per_item <= 1000:
            raise DesignError(
                "raters per item is not from 0 (judges only) to 1000; give another number",
                "raters_per_item",
            )
        if self.is_for_judges:
            self._check_no_people()
        if not self.per_passage:
            raise DesignError("option per_passage is 0; give 1 or more", "per_passage")
        for name in ("overlap", "human_share"):
            if not 0 < getattr(self, name) <= 1:
                raise DesignError(
                    f"{name.replace('_', ' ')} is not above 0 and up to 1; correct it", name
                )
        if min(self.development, self.audit) < 0 or self.development + self.audit >= 1:
            raise DesignError(
                "development and audit leave nothing for evaluation; give less", "development"
            )
        if self.chosen and self.human_share < 1:
            raise DesignError(
                "people are asked all chosen items; leave human share at 1", "human_share"
            )
        for name, other in (("chosen", bool(self.chosen)), ("passages", self.passages != "all")):
            if self.same and other:
                raise DesignError(
                    f"equal citations are asked once only where all are shown; leave out same, or "
                    f"{name}",
                    "same",
                )
        if len(self.chosen) > MOST_CHOSEN:
            raise DesignError(
                f"more than {MOST_CHOSEN} items are chosen; sample them by human share", "chosen"
            )
        if self.prerequisite and (self.development or self.audit):
            raise DesignError(
                "queries have the splits of the prerequisite; give no shares",
                "development",
            )
        named = self.passages.startswith("relevant:") and self.passages != "relevant:"
        if self.passages not in ("all", "relevant") and not named:
            raise DesignError(
                "option passages is all, relevant or relevant:CAMPAIGN; correct it", "passages"
            )

    def variables_for(self, audience: Audience) -> tuple[str, ...]:
        """Return the named variables of an audience; empty for the protocol's own."""
        return (self.judge_variables if audience == "judges" else ()) or self.variables

    def _check_no_people(self) -> None:
        """Refuse options about people in a campaign for judges only. Raises DesignError."""
        given = {
            "overlap": self.overlap < 1,
            "human_share": self.human_share < 1,
            "judge_variables": bool(self.judge_variables),
            "judge_sampling": self.judge_sampling is not None,
            "validates": bool(self.validates),
        }
        for name in (name for name, is_given in given.items() if is_given):
            wrong = f"nobody but judges is asked, so {name.replace('_', ' ')} has no effect"
            raise DesignError(f"{wrong}; leave it out, or give raters per item", name)

    @property
    def is_for_judges(self) -> bool:
        """Whether the campaign asks judges only."""
        return self.raters_per_item == 0

    def options(self) -> dict[str, Any]:
        """Return the options as they are stored with the campaign."""
        return {option.name: getattr(self, option.field) for option in options_of(Design)}


def design_of(
    raters_per_item: int, overlap: float, human_share: float, pairs: Sequence[str]
) -> Design:
    """Return a design from a command's arguments, with options as K=V. Raises DesignError."""
    return Design(raters_per_item, overlap, human_share, **read_pairs(pairs))


def read_pairs(pairs: Sequence[str]) -> dict[str, Any]:
    """Read the values of options written as K=V. Raises DesignError."""
    options = {option.name: option for option in options_of(Design)}
    known = ", ".join(sorted(options))
    return {
        name: _read(options[name], text)
        for name, text in split_pairs(
            pairs,
            lambda pair: DesignError(
                f"option {pair!r} is not K=V with K one of {known}; correct it"
            ),
            options,
            lambda name: DesignError(f"option {name} is given twice; keep one", name),
        )
    }


def stored_design(options: Mapping[str, Any], **columns: Any) -> Design:
    lists = {name: tuple(options[name]) for name in LISTS if name in options}
    return Design(**columns, **{**options, **lists})


def _read(option: Option, value: str) -> Any:
    """Read the value of an option from text. Raises DesignError."""
    if option.kind == "several":
        words = _split_words(option, value)
        if not words:
            raise DesignError(f"option {option.name} {NO_LIST}", option.name)
        return words
    if option.kind == "whole":
        if not value.isdecimal() or int(value) > LARGEST:
            raise DesignError(f"option {option.name} is a whole number, not {value!r}", option.name)
        return int(value)
    if option.kind == "number":
        try:
            return float(value)
        except ValueError:
            raise DesignError(_no_share(option, value), option.name) from None
    if option.name in NAMES and not value:
        raise DesignError(_no_name(option), option.name)
    return value


def _split_words(option: Option, value: str) -> tuple[str, ...]:
    """Split at commas. A word in double quotes may contain commas, as in a line of CSV."""
    try:
        rows = list(csv.reader([value], skipinitialspace=True, strict=True))
    except csv.Error as error:
        wrong = f"option {option.name} cannot be read ({error}); quote each word with a comma"
        raise DesignError(f'{wrong}, as in "a,b",c', option.name) from None
    return tuple(word for row in rows for each in row if (word := each.strip()))


def _check(option: Option, value: Any) -> None:
    """Check the value of an option. Raises DesignError."""
    if option.kind == "several":
        longest = LONGEST_KEY if option.name == "chosen" else LONGEST_CODE
        if len(set(value)) < len(value) or any(not 0 < len(w) <= longest for w in value):
            raise DesignError(f"option {option.name} {NO_LIST}", option.name)
    elif option.kind == "number":
        if not 0 <= value < 1:
            raise DesignError(_no_share(option, value), option.name)
    elif option.values and value is not None and value not in option.values:
        one_of = ", ".join(option.values)
        raise DesignError(f"option {option.name} is one of {one_of}, not {value!r}", option.name)
    elif option.name in NAMES and value and not value.strip():
        raise DesignError(_no_name(option), option.name)


def _no_share(option: Option, value: object) -> str:
    return f"option {option.name} is a share from 0 to below 1, not {value!r}"


def _no_name(option: Option) -> str:
    return f"option {option.name} names nothing; give a name, or leave it out"
