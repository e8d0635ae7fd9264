"""The declaration of a measure, the options, and estimates of systems' values.

Options are the choices that the papers leave open, each with its default and the reason for it. A
preset holds what one paper states, or what its printed figures imply. Labels (U,) are 1 = yes,
0 = no, -1 = missing, and `row` (U,) assigns each unit to one of N rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from hashlib import sha256
from math import inf, isfinite
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..statistics import Bools, Bootstrap, Draws, Estimate, Floats, Ints, Tally, undefined
from ..statistics.arrays import ratio
from ..statistics.resampling import OfWeights, mean_by_cluster

LEAVE_OUT, ZERO = "leave-out", "zero"
REFUSE, BOUNDS, CONDENSED = "refuse", "bounds", "condensed"
MARKED, LISTED = "marked", "listed"
IR_MEASURES = "ir-measures"
T = TypeVar("T")
QUALITY = ("low", "medium", "high")
QUALITY_CUTS = (1 / 3, 2 / 3)
WHITESPACE = "whitespace"
FILE = "file:"
Bounds = tuple[float, float]
SHARE: Bounds = (0.0, 1.0)
AMOUNT: Bounds = (0.0, inf)
CHOOSE = "choose unrated=bounds, unrated=condensed or unrated=zero"
OF_BOUNDS = "the bounds are with all of them no, and with all of them yes"
YES, NO, MISSING = 1, 0, -1


def _choice(default: Any, reason: str, values: tuple[Any, ...] = ()) -> Any:
    return field(default=default, metadata={"reason": reason, "values": values})


@dataclass(frozen=True)
class Options:
    """Options of measures. An unknown value raises ValueError."""

    missing: str = _choice(
        LEAVE_OUT,
        "A failed judgement says nothing about the text, so whatever depends on it is left out. "
        "`zero` counts it as a no, as CRUX and Long2RAG do. GaRAGe does not say: `zero` counts "
        "as a major issue, as a sentence without support, and as an attempt to answer.",
        (LEAVE_OUT, ZERO),
    )
    unrated: str = _choice(
        REFUSE,
        "It is unknown whether a passage answers a sub-question if no rater was asked, and a "
        "figure that depends on it is undefined. `bounds` gives two figures, with all of these "
        "cells no and all of them yes. `condensed` leaves out each passage with such a cell, "
        "both from the ranking and from the best order (Sakai 2007). `zero` counts them as a no, "
        "as is common practice. No preset does so: in CRUX every cell within the scope was rated.",
        (REFUSE, BOUNDS, CONDENSED, ZERO),
    )
    scope: str = _choice(
        MARKED,
        "Which passages answer nothing unless a rater says that they do: those that the batch "
        "marks `relevant: false`, or under `listed` also those that are not the query's own, as "
        "in CRUX (section 3.2).",
        (MARKED, LISTED),
    )
    eta: float = _choice(
        3.0, "The lowest rating of a text that answers; CRUX uses 3 and studies 5."
    )
    filtered: bool = _choice(
        True, "CRUX counts only the sub-questions that an oracle passage answers."
    )
    oracle: str = _choice(
        "context",
        "The oracle passages: the context of the reports whose setting or system is `oracle`, as "
        "in CRUX's files, the passages that the batch marks `relevant`, or all `passages` of the "
        "query. Without such a context or mark, the next of the three applies.",
        ("context", "relevant", "passages"),
    )
    alpha: float = _choice(0.5, "The paper gives none; ndeval and ir_measures use 0.5.")
    alpha_ndcg: str = _choice(
        "tandem",
        "The software that computes it. Tandem's own needs no other package. `ir-measures` uses "
        "ndeval's figures, and refuses them if ours differ.",
        ("tandem", IR_MEASURES),
    )
    cuts: tuple[int, ...] = _choice(
        (10, 20), "CRUX cuts rankings at the size of the oracle context, at 10 and at 20."
    )
    samples: int = _choice(
        48,
        "CRUX correlates its measures over 48 sampled contexts, since few systems show little. 0 "
        "for none.",
    )
    weight: float = _choice(0.5, "The exponent of density, from the paper.")
    tokenizer: str = _choice(
        "whitespace",
        "Splitting at blanks needs no file. CRUX uses the generator's tokenizer: `file:PATH`.",
    )
    relevance: str = _choice(
        "oracle",
        "The passages that MAP, Recall and nDCG count as relevant: the oracle passages, those "
        "`answering` a counted sub-question, or the `required` subset (grades 3, 2, 1).",
        ("oracle", "answering", "required"),
    )
    keep_neutral: bool = _choice(
        False,
        "Long2RAG keeps points judged key and does not say whether background counts. Switch "
        "this on to keep neutral points, too.",
    )
    score_cut: float = _choice(0.7, "The lowest key-point score of a point that Long2RAG keeps.")
    unexpressed: str = _choice(
        "undefined",
        "The precision of an answer that expresses no point has no denominator. F is 0 there.",
        ("undefined", ZERO),
    )
    uncited: str = _choice(
        "undefined",
        "The precision of an answer that cites nothing has no denominator. `zero` counts it as 0.",
        ("undefined", ZERO),
    )
    cited_by: str = _choice(
        "union",
        "With several human answers a citation is right if any of them cites the passage. `best` "
        "compares an answer with the human answer that it matches best.",
        ("union", "best"),
    )
    references: str = _choice(
        "best",
        "An answer is right if it matches one reference. `mean` averages over them.",
        ("best", "mean"),
    )
    refusals: str = _choice(
        "plain-2",
        "The list of refusals, by its name and version. CLAPnq keeps one for each model. "
        "`file:PATH` is a file of your own (with the command), which may hold phrases of single "
        "systems.",
    )
    harmonic: str = _choice(
        "item",
        "CLAPnq's printed means fit only the harmonic mean of each item, not that of the means.",
        ("item", "means"),
    )
    ties: str = _choice(
        "half",
        "A tie is half a win for each, so that the rates of two systems sum to one. `good` "
        "counts a win for both if both are good, and none if both are bad. `none` counts no tie "
        "as a win.",
        ("half", "good", "none"),
    )

    def __post_init__(self) -> None:
        for each in fields(self):
            offered, value = each.metadata["values"], getattr(self, each.name)
            if offered and value not in offered:
                names = ", ".join(map(str, offered))
                raise ValueError(f"{each.name} is {value!r}; it is one of {names}")
            if isinstance(value, float) and not isfinite(value):
                raise ValueError(f"{each.name} is {value}; it is a finite number")
        if not 0 <= self.alpha <= 1:
            raise ValueError(f"alpha is {self.alpha}; it is from 0 to 1")
        if not 0 <= self.weight <= 10:
            raise ValueError(f"weight is {self.weight}; it is from 0 to 10")
        if any(cut < 1 for cut in self.cuts):
            raise ValueError("a cut is at least 1")
        if self.samples < 0:
            raise ValueError(f"samples is {self.samples}; it is at least 0")

    def changed(self, given: Mapping[str, str]) -> Options:
        """Return these options with others given as text. Raises ValueError for an invalid one."""
        current = {each.name: getattr(self, each.name) for each in fields(self)}
        if unknown := sorted(set(given) - set(current)):
            raise ValueError(f"no option is called {unknown[0]!r}; there are {', '.join(current)}")
        return replace(self, **{n: _read(n, current[n], text) for n, text in given.items()})


def _read(name: str, like: Any, text: str) -> Any:
    try:
        return _as_like(like, text)
    except ValueError as error:
        raise ValueError(f"{name} cannot be {text!r}; write it as {_example(like)}") from error


def _example(like: Any) -> str:
    if isinstance(like, bool):
        return "yes or no"
    return ",".join(map(str, like)) if isinstance(like, tuple) else str(like)


def _as_like(like: Any, text: str) -> Any:
    if isinstance(like, bool):
        if text not in ("yes", "no"):
            raise ValueError("neither yes nor no")
        return text == "yes"
    if isinstance(like, tuple):
        return tuple(int(part) for part in text.split(",") if part)
    if isinstance(like, int):
        return int(text)
    return float(text) if isinstance(like, float) else text


PRESETS: Mapping[str, Options] = {
    "tandem": Options(),
    "crux": Options(missing=ZERO, scope=LISTED),
    "long2rag": Options(missing=ZERO),
    "garage": Options(),
    "clapnq": Options(oracle="relevant", cuts=(1, 3, 5, 10)),
}
"""The options that each paper states or implies, by its name; `tandem` is our own default."""


def sliced(names: Sequence[str | None], of: Callable[[Bools], T]) -> dict[str, T]:
    """Apply `of` to the rows of each name, in order of name; rows without a name are left out."""
    every = np.array([name or "" for name in names], dtype=str)
    return {str(name): of(every == name) for name in sorted(set(every.tolist()) - {""})}


def grounding_quality(relevant: Floats) -> list[str | None]:
    """Bin the share of relevant passages (N,): low below 1/3, medium up to 2/3, high above.

    After Sorodoc and others 2025, who print 33 and 66 %. None if the share is unknown (NaN).
    """
    low, high = QUALITY_CUTS
    return [
        None if np.isnan(x) else QUALITY[int(x >= low) + int(x > high)] for x in relevant.tolist()
    ]


@dataclass(frozen=True)
class Tokenizer:
    """A way to count tokens.

    `name` identifies it, for a file with a digest. It leaves out the file's path, which says
    nothing on another machine.
    """

    name: str
    count: Callable[[str], int]


def tokenizer(wanted: str) -> Tokenizer:
    """Return `whitespace`, or `file:PATH` with a tokenizer.json of the library tokenizers.

    Special tokens are not counted. Raises ValueError if there is no such tokenizer, or the library
    is not installed.
    """
    if wanted == WHITESPACE:
        return Tokenizer(WHITESPACE, lambda text: len(text.split()))
    if not wanted.startswith(FILE):
        raise ValueError(f"no tokenizer is called {wanted!r}; it is whitespace or file:PATH")
    return _of_file(Path(wanted.removeprefix(FILE)))


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


@dataclass(frozen=True)
class Pooled:
    """A measure computed from sums over rows, such as a micro average.

    `sums` (N, S) is each row's part, and `of` maps their totals (..., S) to values (...).
    """

    sums: Floats
    of: OfWeights


@dataclass(frozen=True)
class Cells:
    """The cells of each row, (N,): all, those with a rating, and those without any rater asked.

    In the remaining cells a judgement was asked for but failed.
    """

    total: Floats
    rated: Floats
    open: Floats

    def select(self, kept: Bools) -> Cells:
        return Cells(self.total[kept], self.rated[kept], self.open[kept])

    def share(self, which: Floats) -> float | None:
        """Return the share of these cells among all; None without cells."""
        total = float(self.total.sum())
        return float(which.sum()) / total if total else None


@dataclass(frozen=True)
class Judged:
    """Values (N,), NaN = undefined, that depend on cells with and without ratings.

    `cells` are those within the cut. A row is `refused` (N,) if no rater was asked about one of the
    cells that it `needs`; `why` replaces the usual reason. `no` and `yes` (N,) are the values with
    all such cells no and with all of them yes, if both bounds are computed.
    """

    values: Floats
    cells: Cells | None = None
    refused: Bools | None = None
    needs: Cells | None = None
    no: Floats | None = None
    yes: Floats | None = None
    why: str | None = None

    def select(self, kept: Bools) -> Judged:
        """Return the same for some rows."""
        return Judged(
            self.values[kept],
            None if self.cells is None else self.cells.select(kept),
            None if self.refused is None else self.refused[kept],
            None if self.needs is None else self.needs.select(kept),
            None if self.no is None else self.no[kept],
            None if self.yes is None else self.yes[kept],
            self.why,
        )

    @property
    def reason(self) -> str | None:
        """Explain why the mean is unknown; None if it is known.

        The rows that happen to be complete are no sample of all: they tend to be the easy ones.
        """
        if self.refused is None or not self.refused.any():
            return None
        if self.why or self.cells is None or self.needs is None:
            return self.why
        choose = CHOOSE if self.no is None else OF_BOUNDS
        if self.cells.open.any():
            share = percent(self.cells.share(self.cells.open))
            return f"{share} of the cells within the cut were never rated; {choose}"
        share = percent(self.needs.share(self.needs.open))
        return (
            f"{share} of the cells by which the best order is found, or the questions that count, "
            f"were never rated, none of them within the cut; {choose}"
        )


def percent(share: float | None) -> str:
    """Format a share, as neither 0 nor 100 % unless it is exactly that."""
    whole = 100 * (share or 0.0)
    if 0 < whole < 1:
        return "less than 1 %"
    return "more than 99 %" if 99 < whole < 100 else f"{whole:.0f} %"


MeasureValues = Floats | Pooled | Judged
"""A value of each row (N,), NaN = undefined, whose mean is the system's; or sums over rows."""


def values_of(found: MeasureValues) -> Floats:
    """Return the values of the rows (N,), NaN = none. Raises ValueError for sums."""
    if isinstance(found, Pooled):
        raise ValueError("sums over rows have no value of each row")
    return found.values if isinstance(found, Judged) else found


def reason_of(found: MeasureValues) -> str | None:
    """Explain why a mean is unknown that depends on unrated cells; None if it is known."""
    return found.reason if isinstance(found, Judged) else None


def rows_of(found: MeasureValues, kept: Bools) -> MeasureValues:
    """Return the same for some rows (N,)."""
    if isinstance(found, Pooled):
        return Pooled(found.sums[kept], found.of)
    return found.select(kept) if isinstance(found, Judged) else found[kept]


@dataclass(frozen=True)
class Measured(Estimate):
    """An estimate with `judged`, the share of the cells within the cut that were rated.

    `judged` is None without such cells. `bounds` are the figures with all cells that no rater was
    asked about no, and with all of them yes.
    """

    judged: float | None = None
    bounds: tuple[float | None, float | None] | None = None

    def as_json(self) -> dict[str, object]:
        told = {} if self.bounds is None else {"bounds": list(self.bounds)}
        return {**super().as_json(), "judged": self.judged, **told}


@dataclass(frozen=True)
class Measure:
    """A measure of a system: its name as the paper writes it, a summary, and its source.

    `of` computes it from the input of its `family` and the options. `options` are those that it
    reads. `undefined` says when a system has no value. All values and their means lie within
    `bounds`. `by_oracle` marks measures relative to the oracle, whose own value is no result to
    compare with.
    """

    name: str
    family: str
    summary: str
    citation: str
    of: Callable[[Any, Options], MeasureValues]
    undefined: str
    options: tuple[str, ...] = ()
    bounds: Bounds = SHARE
    by_oracle: bool = False


def estimate(
    measure: Measure, found: MeasureValues, queries: Ints, draws: Draws = None, seed: int = 0
) -> Estimate:
    """Estimate a system's value over its rows (N,), which belong to `queries`, at 95 %.

    Values are averaged, with a t interval clustered by queries, which is cut at the measure's
    bounds. Values beyond the bounds are impossible, so the cut loses no coverage. Sums are
    resampled by whole queries (BCa). Below ten queries there is no interval.
    """
    if isinstance(found, Pooled):
        return _pooled(measure, found, queries, draws, seed)
    if isinstance(found, Judged):
        return _judged(measure, found, queries)
    return _mean(measure, found, queries)


def _mean(measure: Measure, found: Floats, queries: Ints) -> Estimate:
    made = mean_by_cluster(found, queries, f"mean of {measure.name}")
    if made.value is None:
        return undefined(measure.undefined, 0, f"mean of {measure.name}")
    return _cut(made, made.value, measure.bounds)


def _judged(measure: Measure, found: Judged, queries: Ints) -> Estimate:
    made = _mean(measure, found.values, queries)
    if reason := found.reason:
        made = undefined(reason, 0, made.method)
    bounds = None
    if found.no is not None and found.yes is not None:
        ends = [_mean(measure, each, queries).value for each in (found.no, found.yes)]
        bounds = (ends[0], ends[1])
    if found.cells is None:
        return made
    return Measured(**vars(made), judged=found.cells.share(found.cells.rated), bounds=bounds)


def _cut(made: Estimate, value: float, bounds: Bounds) -> Estimate:
    """Cut an estimate's interval to the bounds; the mean of what was observed stays.

    Greedy normalisation can lift alpha-nDCG slightly above 1.
    """
    least, most = bounds
    return made.within(min(least, value), max(most, value))


def _pooled(measure: Measure, found: Pooled, queries: Ints, draws: Draws, seed: int) -> Estimate:
    rows = found.sums.any(axis=1)
    if not rows.any():
        return undefined(measure.undefined, 0, f"{measure.name} of sums")
    tally = Tally.of_sums(found.sums, queries)
    resampled = Bootstrap(tally, draws, seed)
    n = int(np.count_nonzero(rows))
    return resampled.estimate(found.of, n, f"{measure.name} of sums", measure.undefined)


def share(labels: Ints, row: Ints, rows: int, missing: str = LEAVE_OUT) -> Floats:
    """Return the share of yes among the units of each row, (N,).

    Missing labels are left out of the denominator, or count as a no under `zero`. NaN without
    units.
    """
    counted = np.ones(len(labels), bool) if missing == ZERO else labels != MISSING
    return ratio(count(labels == YES, row, rows), count(counted, row, rows))


def every(labels: Ints, row: Ints, rows: int, missing: str = LEAVE_OUT) -> Floats:
    """Return 1 if all units of a row are yes, else 0, (N,); NaN for a row without units.

    A row with a missing label is left out (NaN), whatever its other labels are. Such a row can be
    known to fail but not to pass, so counting only the known ones would lower the share. Under
    `zero` a missing label is a no.
    """
    units = count(np.ones(len(labels), bool), row, rows)
    undecided = units == 0
    if missing != ZERO:
        undecided |= count(labels == MISSING, row, rows) > 0
    return np.where(undecided, np.nan, (count(labels == YES, row, rows) == units).astype(float))


def both(one: Floats, other: Floats) -> Floats:
    """Return 1 if both rows' values are 1, NaN if one is unknown, else 0."""
    return np.where(np.isnan(one) | np.isnan(other), np.nan, (one == 1) & (other == 1))


def count(which: Bools, row: Ints, rows: int) -> Floats:
    """Count the units of each row that are among `which`, (N,)."""
    return np.bincount(row[which], minlength=rows).astype(float)


def known_labels(labels: Ints, asked: Bools, missing: str = LEAVE_OUT) -> Floats:
    """Return labels of rows as numbers (N,), NaN if missing.

    Under `zero` a missing label is a no if it was `asked` for (N,): otherwise no judgement failed.
    """
    values = np.where(labels == MISSING, np.nan, labels.astype(float))
    return np.where(asked & np.isnan(values), 0.0, values) if missing == ZERO else values
