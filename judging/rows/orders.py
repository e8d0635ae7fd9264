"""What people want of a run, and why it cannot be had."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Orders:
    """What people want of a run that is under way: a wish, and a number of calls at once."""

    wish: str = ""
    concurrency: int | None = None


class HeldError(Exception):
    """Another run of this judge over this campaign holds a lease, alive or left by a dead one."""


class OutError(Exception):
    """The judge's requests are out in a file, and must come back or be given up first."""
