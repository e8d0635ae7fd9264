"""A token bucket that fills at a steady rate: each call takes from it, or has to wait."""

from __future__ import annotations


class Bucket:
    """Holds at most `most`, and gains `rate` per second of its user's clock."""

    def __init__(self, rate: float, most: float) -> None:
        self.rate, self.most = rate, most
        self.level, self.at = most, 0.0

    def take(self, amount: float, now: float) -> float:
        """Take an amount and return 0, or return the seconds until it is available."""
        self.level = min(self.most, self.level + (now - self.at) * self.rate)
        self.at = now
        if self.level < amount:
            return (amount - self.level) / self.rate
        self.level -= amount
        return 0.0
