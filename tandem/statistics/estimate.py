"""`Estimate`, a number with its interval or a reason for its absence, and the arrays behind it.

Quantiles use scipy.special. Importing scipy.stats takes as long as all other imports of a command
or the site together, so only the few functions that need its tests import it.
"""

import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
#: At level `set`, a label is a set of codes.
Level = Literal["nominal", "ordinal", "interval", "set"]
#: The levels at which categories have an order.
ORDERED: tuple[Level, ...] = ("ordinal", "interval")

LEVELS: tuple[Level, ...] = get_args(Level)

#: One number, or one per resample.
Value = float | Floats


def unit_weights(weights: Floats | None, units: int) -> Floats:
    """Return the weights (B, U), or weights of one (U,) if there are none."""
    return np.ones(units) if weights is None else weights


def ratio(numerator: Value, denominator: Value) -> Floats:
    """Return numerator / denominator, NaN (undefined) if the denominator is not positive."""
    top, bottom = np.asarray(numerator, float), np.asarray(denominator, float)
    result = np.full(np.broadcast(top, bottom).shape, np.nan)
    np.divide(top, bottom, out=result, where=bottom > 0)
    return result


def check_level(level: str) -> None:
    """Raise ValueError for an unknown level, so that code cannot treat it as the default."""
    if level not in LEVELS:
        raise ValueError(f"the level is {level!r}; give one of {', '.join(LEVELS)}")


def unbatch(values: Floats) -> Value:
    """Return a single number as a float, and an array of resamples unchanged."""
    return float(values) if np.ndim(values) == 0 else values


def unique_integers(numbers: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the distinct numbers in order, their first indices, and the inverse.

    The result is that of `np.unique`, without sorting if the numbers lie close together.
    """
    low = int(numbers.min(initial=0))
    span = int(numbers.max(initial=0)) - low + 1
    if span > 4 * len(numbers) + 1000:
        values, first, kinds = np.unique(numbers, return_index=True, return_inverse=True)
        return values, first, kinds.astype(np.int64)
    place = np.full(span, -1, np.int64)
    place[numbers[::-1] - low] = np.arange(len(numbers))[::-1]
    values = np.flatnonzero(place >= 0)
    first = place[values]
    place[values] = np.arange(len(values))
    return values + low, first, place[numbers - low]


def pack(labels: Floats) -> tuple[Floats, Ints]:
    """Pack the labels (U, R), NaN = none, into (U, L), where no unit has more than L labels.

    In a crowd each person labels few units, so most of (U, R) is empty. Also returns the column of
    each rater's label in the result, (U, R), -1 = none.
    """
    there = np.isfinite(labels)
    place = np.where(there, there.cumsum(axis=1) - 1, -1)
    packed = np.full((len(labels), max(1, int(place.max(initial=-1)) + 1)), np.nan)
    unit, rater = np.nonzero(there)
    packed[unit, place[unit, rater]] = labels[unit, rater]
    return packed, place


def quantiles(values: Floats, shares: Floats) -> Floats:
    """Return the quantiles of finite values (n,), like `np.quantile`, with less overhead."""
    ordered, places = np.sort(values), (len(values) - 1) * shares
    lower = np.floor(places)
    before = lower.astype(np.int64)
    low, high = ordered[before], ordered[np.minimum(before + 1, len(values) - 1)]
    part, gap = places - lower, high - low
    return np.where(part < 0.5, low + gap * part, high - gap * (1 - part))


def normal_quantile(p: float | list[float] | Floats) -> Floats:
    """Return the p-quantile of the standard normal distribution, elementwise."""
    z: Floats = special.ndtri(p)
    return z


def normal_below(z: Floats) -> Floats:
    """Return the probability that a standard normal variable lies below z, elementwise."""
    p: Floats = special.ndtr(z)
    return p


def t_quantile(p: float, df: float) -> float:
    """Return the p-quantile of Student's t with df degrees of freedom, not necessarily whole."""
    return float(special.stdtrit(df, p))


def t_below(t: float | Floats, df: int | Ints) -> Floats:
    """Return the probability that Student's t with df degrees of freedom is < t, elementwise."""
    p: Floats = special.stdtr(df, t)
    return p


def beta_quantile(p: float, a: float, b: float) -> float:
    """Return the p-quantile of Beta(a, b)."""
    return float(special.betaincinv(a, b, p))


#: The largest excess over a range that counts as a rounding error.
ROUNDING = 1e-9
#: The least and the largest value that a figure can have.
Bounds = tuple[float, float]
UNBOUNDED: Bounds = (-math.inf, math.inf)
#: The ranges of shares, of differences of shares, of coefficients and of their differences.
SHARE = (0.0, 1.0)
SHARE_DIFFERENCE = (-1.0, 1.0)
COEFFICIENT = (-1.0, 1.0)
COEFFICIENT_DIFFERENCE = (-2.0, 2.0)


@dataclass(frozen=True)
class Estimate:
    """A value with a 95 % interval over n units, and the description of its method.

    `value` is null exactly if `reason` is set. `low` and `high` are null if no interval is defined
    or too few queries support one. Numbers that are not finite are rejected.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    method: str
    reason: str | None = None

    def __post_init__(self) -> None:
        if any(x is not None and not math.isfinite(x) for x in (self.value, self.low, self.high)):
            raise ValueError("an estimate must be finite; use undefined(reason, n, method)")
        if (self.value is None) == (self.reason is None):
            raise ValueError("an estimate has either a value or the reason why it has none")
        if (self.low is None) != (self.high is None):
            raise ValueError("an interval has two ends; give both or neither")

    def within(self, least: float, most: float) -> "Estimate":
        """Return the estimate cut to the range from `least` to `most`, in which the truth must lie.

        The cut interval still contains the true value whenever the uncut one did. The method
        mentions the cut unless it only removes a rounding error.
        """
        if self.value is None:
            return self
        ends = (self.value, self.low, self.high)
        kept = [None if x is None else min(max(x, least), most) for x in ends]
        if kept == list(ends):
            return self
        within = replace(self, value=kept[0], low=kept[1], high=kept[2])
        pairs = zip(ends, kept, strict=True)
        if all(x is None or y is None or abs(x - y) < ROUNDING for x, y in pairs):
            return within
        limits = " and ".join(f"{x:g}" for x in (least, most) if math.isfinite(x))
        return replace(within, method=f"{self.method}; cut at {limits}")

    @property
    def why_no_interval(self) -> str:
        """The reason for no interval, from the method; empty if there is an interval."""
        return self.method.partition("no interval: ")[2]

    def as_json(self) -> dict[str, object]:
        """Return the object of the report; `reason` appears only if the value is null."""
        fields: dict[str, object] = {
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "n": self.n,
            "method": self.method,
        }
        return fields | ({} if self.reason is None else {"reason": self.reason})


def undefined(reason: str, n: int, method: str) -> Estimate:
    """Return an estimate without a value, for this reason."""
    return Estimate(None, None, None, int(n), method, reason)


def defined(value: float, interval: tuple[float, float] | None, n: int, method: str) -> Estimate:
    """Return a value with its interval, if any; NumPy scalars become plain numbers."""
    low, high = (None, None) if interval is None else (float(interval[0]), float(interval[1]))
    return Estimate(float(value), low, high, int(n), method)


def is_undefined(value: float) -> bool:
    """Return whether a value is NaN (undefined) or infinite."""
    return not np.isfinite(value)


@dataclass(frozen=True)
class Statistic:
    """A public statistic: the function's name, a one-line summary, and its source."""

    name: str
    summary: str
    citation: str


#: How methods name a level, if not by itself.
LEVEL_NAMES = {"set": "MASI distance of sets"}


class Scale(NamedTuple):
    """What a coefficient knows of the categories: how many, their level, their numbers (K,).

    At level set, `values` (K, M) say which codes are in each set.
    """

    k: int
    level: Level = "nominal"
    values: Floats | None = None


@dataclass(frozen=True)
class Coefficient:
    """A coefficient of agreement, declared once for numbers, tables, sentences, checks and docs.

    `key` is its key in reports, and `compute` its function, whose arguments the registry states.
    Estimates say `method`, or `ordered` where categories have an order, with `{k}` and `{level}`
    filled in. `name` stands in tables (without one it is in none), `head` above a column, `sign` in
    a sentence, and `label` at an axis. A notebook lists the coefficients with a `rank`. `needs`
    says which scales have it: of few categories, of ordered ones, or of sets. One whose chance
    agreement is `by_number` of categories has no value for sets. `with_judge` computes a
    coefficient of any number of raters also of a judge with people together. `library` is the task
    by which another library computes it again (`tandem.crosscheck.libraries`), `citation` the key
    of its work, and `statistic` the function that documents it.
    """

    key: str
    method: str
    compute: Callable[..., Value]
    statistic: str
    name: str = ""
    label: str = ""
    head: str = ""
    sign: str = ""
    ordered: str = ""
    citation: str = ""
    bounds: Bounds = COEFFICIENT
    needs: Literal["", "categories", "order", "sets"] = ""
    by_number: bool = False
    rank: int = 0
    with_judge: bool = False
    library: Mapping[str, object] = field(default_factory=dict)

    def method_on(self, scale: Scale) -> str:
        """Return the method of its estimates on a scale."""
        method = (self.ordered or self.method) if scale.level in ORDERED else self.method
        return method.format(k=scale.k, level=LEVEL_NAMES.get(scale.level, scale.level))

    def named_with(self, whom: str) -> str:
        """Return its name with what a rater is compared with: Cohen's kappa with the majority."""
        name, comma, detail = self.name.partition(",")
        return f"{name} with the {whom}{comma}{detail}"

    def words(self, lower: bool = False) -> str:
        """Return its name at the beginning of a label, or `lower` within one."""
        words = self.label or self.name
        names_a_person = words.split()[0].endswith("'s")
        return words if not lower or names_a_person else words[:1].lower() + words[1:]


def by_key(*declared: Coefficient) -> dict[str, Coefficient]:
    return {each.key: each for each in declared}


_DECLARED = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))

#: Name -> declaration, in the order of the documentation.
STATISTICS = {name: Statistic(name, **declared) for name, declared in _DECLARED.items()}
