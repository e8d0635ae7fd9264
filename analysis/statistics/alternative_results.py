"""What the alternative annotator test returns, and its form in the report."""

from dataclasses import asdict, dataclass
from typing import Literal


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
    """Both readings; `decides` names the one that counts; `reason` stands where both are null."""

    epsilon: float
    items: Reading
    by_query: Reading
    decides: Literal["by_query", "items"]
    reason: str | None = None

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
    def passed(self) -> bool | None:
        """Whether the deciding winning rate is at least one half."""
        rate = (self.by_query if self.decides == "by_query" else self.items).winning_rate
        return None if rate is None else rate >= 0.5

    def as_json(self) -> dict[str, object]:
        """The `alt_test` object of the report."""
        fields: dict[str, object] = {"epsilon": self.epsilon} | self.items.as_json()
        fields |= {"by_query": self.by_query.as_json(), "decides": self.decides}
        fields |= {"passed": self.passed}
        return fields | ({} if self.reason is None else {"reason": self.reason})
