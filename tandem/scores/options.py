"""The options of measures: what papers leave open, each with its default and the reason for it.

What a paper chooses is its preset.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from hashlib import sha256
from math import isfinite
from pathlib import Path
from typing import Any, Self

from ..options import Option, options_of

LEAVE_OUT, ZERO = "leave-out", "zero"
REFUSE, BOUNDS, CONDENSED = "refuse", "bounds", "condensed"
MARKED, LISTED = "marked", "listed"
IR_MEASURES = "ir-measures"
WHITESPACE = "whitespace"
CHOOSE = "choose unrated=bounds, unrated=condensed or unrated=zero"


def _cuts(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(",") if part)


def choice(default: Any, reason: str, values: tuple[str, ...] = (), **about: Any) -> Any:
    """Declare an option with the reason for its default, and the values it may have, if few."""
    offered = {"values": {value: value for value in values}} if values else {}
    return field(default=default, metadata={"help": reason, **offered, **about})


@dataclass(frozen=True)
class Options:
    """Options of measures. An unknown value raises ValueError."""

    missing: str = choice(
        LEAVE_OUT,
        "A failed judgement says nothing about the text, so whatever depends on it is left out. "
        "`zero` counts it as a no, as CRUX and Long2RAG do. GaRAGe does not say: `zero` counts "
        "as a major issue, as a sentence without support, and as an attempt to answer.",
        (LEAVE_OUT, ZERO),
    )
    unrated: str = choice(
        REFUSE,
        "It is unknown whether a passage answers a sub-question, or an answer makes a key point, "
        "if no rater was asked, and a figure that depends on it is undefined. `bounds` gives two "
        "figures, with all of these cells no and all of them yes. `condensed` leaves out each "
        "passage with such a cell, both from the ranking and from the best order (Sakai 2007), "
        "and each such key point. `zero` counts them as a no, "
        "as is common practice. No preset does so: in CRUX every cell within the scope was rated.",
        (REFUSE, BOUNDS, CONDENSED, ZERO),
    )
    scope: str = choice(
        MARKED,
        "Which passages answer nothing unless a rater says that they do: those that the batch "
        "marks `relevant: false`, or under `listed` also those that are not the query's own, as "
        "in CRUX (section 3.2).",
        (MARKED, LISTED),
    )
    missing_topics: str = choice(
        "null",
        "A measure that a protocol declares has no value if a system lacks a report for a query. "
        "`zero` counts it as 0 if another system has a value there, as TREC does.",
        ("null", ZERO),
    )
    eta: float = choice(3.0, "The lowest rating of a text that answers; CRUX uses 3 and studies 5.")
    filtered: bool = choice(
        True, "CRUX counts only the sub-questions that an oracle passage answers."
    )
    oracle: str = choice(
        "context",
        "The oracle passages: the context of the reports whose setting or system is `oracle`, as "
        "in CRUX's files, the passages that the batch marks `relevant`, or all `passages` of the "
        "query. Without such a context or mark, the next of the three applies.",
        ("context", "relevant", "passages"),
    )
    alpha: float = choice(
        0.5, "The paper gives none; ndeval and ir_measures use 0.5.", least=0, most=1
    )
    alpha_ndcg: str = choice(
        "tandem",
        "The software that computes it. Tandem's own needs no other package. `ir-measures` uses "
        "ndeval's figures, and refuses them if ours differ.",
        ("tandem", IR_MEASURES),
    )
    cuts: tuple[int, ...] = choice(
        (10, 20),
        "CRUX cuts rankings at the size of the oracle context, at 10 and at 20.",
        read=_cuts,
    )
    samples: int = choice(
        48,
        "CRUX correlates its measures over 48 sampled contexts, since few systems show little. 0 "
        "for none.",
        least=0,
    )
    weight: float = choice(0.5, "The exponent of density, from the paper.", least=0, most=10)
    tokenizer: str = choice(
        "whitespace",
        "Splitting at blanks needs no file. CRUX uses the generator's tokenizer: `file:PATH`.",
    )
    relevance: str = choice(
        "oracle",
        "The passages that MAP, Recall and nDCG count as relevant: the oracle passages, those "
        "`answering` a counted sub-question, or the `required` subset (grades 3, 2, 1).",
        ("oracle", "answering", "required"),
    )
    keep_neutral: bool = choice(
        False,
        "Long2RAG keeps points judged key and does not say whether background counts. Switch "
        "this on to keep neutral points, too.",
    )
    score_cut: float = choice(0.7, "The lowest key-point score of a point that Long2RAG keeps.")
    unexpressed: str = choice(
        "undefined",
        "The precision of an answer that expresses no point has no denominator. F is 0 there.",
        ("undefined", ZERO),
    )
    uncited: str = choice(
        "undefined",
        "The precision of an answer that cites nothing has no denominator. `zero` counts it as 0.",
        ("undefined", ZERO),
    )
    cited_by: str = choice(
        "union",
        "With several human answers a citation is right if any of them cites the passage. `best` "
        "compares an answer with the human answer that it matches best.",
        ("union", "best"),
    )
    references: str = choice(
        "best",
        "An answer is right if it matches one reference. `mean` averages over them, and `first` "
        "takes only the first.",
        ("best", "mean", "first"),
    )
    recall_references: str = choice(
        "best",
        "The same for the recall of words. CLAPnq's printed recall of the whole passage is that "
        "of the first reference: 97.4, where the best reference gives 98.1.",
        ("best", "mean", "first"),
    )
    refusals: str = choice(
        "plain-2",
        "The list of refusals, by its name and version. CLAPnq keeps one for each model. "
        "`file:PATH` is a file of your own (with the command), which may hold phrases of single "
        "systems.",
    )
    harmonic: str = choice(
        "item",
        "CLAPnq's printed means fit only the harmonic mean of each item, not that of the means.",
        ("item", "means"),
    )
    ties: str = choice(
        "half",
        "A tie is half a win for each, so that the rates of two systems sum to one. `good` "
        "counts a win for both if both are good, and none if both are bad. `none` counts no tie "
        "as a win.",
        ("half", "good", "none"),
    )

    def __post_init__(self) -> None:
        for option in options_of(type(self)):
            value = getattr(self, option.name)
            if option.values and value not in option.values:
                names = ", ".join(option.values)
                raise ValueError(f"{option.name} is {value!r}; it is one of {names}")
            if isinstance(value, float) and not isfinite(value):
                raise ValueError(f"{option.name} is {value}; it is a finite number")
            if not option.allows(value):
                raise ValueError(f"{option.name} is {value}; it is {option.bounds}")
        if any(cut < 1 for cut in self.cuts):
            raise ValueError("a cut is at least 1")

    def changed(self, given: Mapping[str, str]) -> Self:
        """Return these options with others given as text. Raises ValueError for an invalid one."""
        known = {option.name: option for option in options_of(type(self))}
        if unknown := sorted(set(given) - set(known)):
            raise ValueError(f"no option is called {unknown[0]!r}; there are {', '.join(known)}")
        return replace(self, **{n: self._read(known[n], text) for n, text in given.items()})

    def _read(self, option: Option, text: str) -> Any:
        try:
            return option.parse(text)
        except ValueError as error:
            example = _example(getattr(self, option.name))
            raise ValueError(f"{option.name} cannot be {text!r}; write it as {example}") from error


def _example(like: Any) -> str:
    if isinstance(like, bool):
        return "yes or no"
    return ",".join(map(str, like)) if isinstance(like, tuple) else str(like)


def format_value(value: Any) -> str:
    """Format an option's value as it is entered."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple | list):
        return ",".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


PRESETS: Mapping[str, Options] = {
    "tandem": Options(),
    "crux": Options(missing=ZERO, scope=LISTED),
    "long2rag": Options(missing=ZERO),
    "garage": Options(),
    "clapnq": Options(oracle="relevant", cuts=(1, 3, 5, 10), recall_references="first"),
}
"""The options that each paper states or implies, by its name; `tandem` is our own default."""


@dataclass(frozen=True)
class TableOptions(Options):
    """The options of a paper's tables: those of its measures, and what a single table shows."""

    query: str = choice(
        "",
        "The query that CRUX's Table 5 shows. Without one, it is the first of which a sub-question "
        "is dropped, or else the first.",
    )

    without: str = choice(
        "",
        "The campaigns that are left out where two could serve, separated by commas.",
    )

    @classmethod
    def of(cls, preset: str) -> TableOptions:
        """Return what a paper states or implies."""
        return cls(**vars(PRESETS[preset]))

    @property
    def measures(self) -> Options:
        return Options(**{each.name: getattr(self, each.name) for each in fields(Options)})

    @property
    def left_out(self) -> tuple[str, ...]:
        """The names of the campaigns that are left out."""
        return tuple(filter(None, (name.strip() for name in self.without.split(","))))


FILE = "file:"
UNKNOWN = "unknown"
"""In place of a tokenizer that is not at hand: no text has tokens."""


@dataclass(frozen=True)
class Tokenizer:
    """A way to count tokens.

    `name` identifies it. For a tokenizer from a file, the name contains the file's digest but not
    its path, which means nothing on another machine.
    """

    name: str
    count: Callable[[str], int]


def tokenizer(name: str) -> Tokenizer:
    """Return a way to count: `whitespace`, `unknown`, or `file:PATH`.

    The file is a tokenizer.json of the library tokenizers, whose special tokens are not counted.
    Raises ValueError if there is no such tokenizer, or the library is not installed.
    """
    if name == WHITESPACE:
        return Tokenizer(WHITESPACE, lambda text: len(text.split()))
    if name == UNKNOWN:
        return Tokenizer(UNKNOWN, lambda text: 0)
    if not name.startswith(FILE):
        raise ValueError(f"no tokenizer is called {name!r}; it is whitespace or file:PATH")
    return _of_file(Path(name.removeprefix(FILE)))


def _of_file(path: Path) -> Tokenizer:
    try:
        from tokenizers import Tokenizer as Library
    except ImportError as error:
        raise ValueError("a tokenizer's file needs the package tokenizers; install it") from error
    try:
        content = path.read_bytes()
        found = Library.from_str(content.decode("utf-8"))
    except Exception as error:  # the library raises plain Exception for an invalid file
        raise ValueError(f"{path}: cannot be read as a tokenizer.json ({error})") from error
    name = f"{path.name} (sha256 {sha256(content).hexdigest()[:12]})"
    return Tokenizer(name, lambda text: len(found.encode(text, add_special_tokens=False).ids))
