"""The limits of all addresses of a judge together, as the engine sees them."""

from __future__ import annotations

from collections.abc import Sequence

from judging.backends.base import Backend
from judging.backends.replicas import members_of
from judging.engine.limits import Limit
from judging.runs.grants import Use


class TotalLimit:
    """The limits of all addresses together. Those in `out` have no room."""

    def __init__(self, parts: Sequence[Limit]) -> None:
        self.parts, self.clock = tuple(parts), parts[0].clock
        self.out: set[int] = set()
        self._refusals = [0] * len(self.parts)

    @property
    def size(self) -> int:
        """The number of calls at once, of one address if all are out."""
        sizes = [part.size for number, part in enumerate(self.parts) if number not in self.out]
        return sum(sizes) if sizes else self.parts[0].size

    @property
    def under_way(self) -> int:
        return sum(part.under_way for part in self.parts)

    @property
    def maximum(self) -> int:
        """The most calls at once at each address."""
        return self.parts[0].maximum

    @maximum.setter
    def maximum(self, calls: int) -> None:
        for part in self.parts:
            part.maximum = calls

    @property
    def granted(self) -> int | None:
        """The calls at once that were granted, None if none have to be."""
        if self.parts[0].granted is None:
            return None
        return sum(part.granted or 0 for part in self.parts)

    def grant(self, calls: Sequence[int], until: float, deadline: float) -> None:
        """Allow each address so many calls at once until a time (`Limit.grant`)."""
        for part, each in zip(self.parts, calls, strict=True):
            part.grant(each, until, deadline)

    def use(self, deadline: float) -> Use:
        """Return what is used, in sum and at each address. It has the refusals since the last."""
        before, self._refusals = self._refusals, [part.refusals for part in self.parts]
        each = tuple(
            Use(part.under_way, part.size, part.granted or 0, deadline, part.refusals - known)
            for part, known in zip(self.parts, before, strict=True)
        )
        if len(each) == 1:
            return each[0]
        return Use(
            self.under_way, self.size, self.granted or 0, deadline,
            sum(part.refused for part in each), lanes=each,
        )  # fmt: skip

    @property
    def learned(self) -> int | None:
        return self.parts[0].learned

    @property
    def p95(self) -> float | None:
        """The 95th percentile of latencies, in seconds, at the slowest address."""
        return max((part.latencies.p95 or 0.0 for part in self.parts), default=0.0) or None

    @property
    def history(self) -> list[tuple[float, int]]:
        """The sum of the limits by time, as pairs of seconds and calls at once."""
        steps = [(at, n, size) for n, part in enumerate(self.parts) for at, size in part.history]
        sizes: dict[int, int] = {}
        total: dict[float, int] = {}
        for at, number, size in sorted(steps, key=lambda step: step[0]):
            sizes[number] = size
            total[at] = sum(sizes.values())
        return list(total.items())


def limit_for(
    backend: Backend, maximum: int, ceilings: Sequence[int | None], granted: bool = False
) -> TotalLimit:
    """Return the limits of a judge's addresses, each with the ceiling that is remembered of it."""
    members = members_of(backend)
    known = [*ceilings, *[None] * len(members)]
    return TotalLimit(
        [
            Limit(maximum, ceiling, bool(getattr(each, "queues", False)), granted=granted)
            for each, ceiling in zip(members, known, strict=False)
        ]
    )
