"""What the alternative annotator test returns, and its form in the report."""

from dataclasses import asdict, dataclass
from typing import Literal

Verdict = Literal["passes", "fails", "undecided", "floor-passes"]
#: The winning rate from which a judge passes.
PASS = 0.5


def undecided_words(queries: int, needed: int | None) -> str:
    """That so few queries cannot decide, and how many could (None: no number)."""
    said = f"cannot be decided with {queries} {'query' if queries == 1 else 'queries'}"
    if needed is None:
        return f"{said}; at epsilon 0 a tie never passes"
    return f"{said}; at least {needed} are needed"


@dataclass(frozen=True)
class AnnotatorTest:
    """One annotator left out: n items (or queries), and whether the judge wins."""

    name: str
    n: int
    p_value: float
    wins: bool
    advantage_probability: float


@dataclass(frozen=True)
class Reading:
    """The test with items, or with the means of queries, as the independent units."""

    winning_rate: float | None
    advantage_probability: float | None
    annotators: tuple[AnnotatorTest, ...]

    def as_json(self) -> dict[str, object]:
        """As the report shows it."""
        return asdict(self) | {"annotators": [asdict(a) for a in self.annotators]}


@dataclass(frozen=True)
class AltTest:
    """Both readings; `decides` names the one that counts; `reason` stands where both are null.

    Where queries decide, `queries` is how many there are, and `queries_needed` how many a judge
    would need to pass that ties with people throughout (None: no number suffices). `undecided`:
    they are too few, and no judge ahead of the people makes up for it.
    """

    epsilon: float
    items: Reading
    by_query: Reading
    decides: Literal["by_query", "items"]
    reason: str | None = None
    queries: int | None = None
    queries_needed: int | None = None
    undecided: bool = False

    @property
    def winning_rate(self) -> float | None:
        """The share of annotators who lose to the judge, by items."""
        return self.items.winning_rate

    @property
    def advantage_probability(self) -> float | None:
        """The mean over annotators of the share of items on which the judge wins."""
        return self.items.advantage_probability

    @property
    def annotators(self) -> tuple[AnnotatorTest, ...]:
        """The tests by items."""
        return self.items.annotators

    @property
    def verdict(self) -> Verdict | None:
        """`passes` where the deciding winning rate is at least one half; None without a rate."""
        rate = (self.by_query if self.decides == "by_query" else self.items).winning_rate
        if rate is None or self.undecided:
            return None if rate is None else "undecided"
        return "passes" if rate >= PASS else "fails"

    @property
    def passed(self) -> bool | None:
        """Whether the judge passes; None where that cannot be said."""
        return {"passes": True, "fails": False}.get(self.verdict or "")

    def as_json(self) -> dict[str, object]:
        """The `alt_test` object of the report."""
        fields: dict[str, object] = {"epsilon": self.epsilon} | self.items.as_json()
        fields |= {"by_query": self.by_query.as_json(), "decides": self.decides}
        fields |= {"passed": self.passed, "verdict": self.verdict}
        fields |= {"queries": self.queries, "queries_needed": self.queries_needed}
        return fields | ({} if self.reason is None else {"reason": self.reason})
