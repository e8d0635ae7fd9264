"""What stops an engine from outside, and why one ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

End = Literal[
    "finished", "fatal", "stopped", "cancelled", "time", "lost", "crashed", "budget", "rest",
    "fruitless", "died",
]  # fmt: skip


@dataclass
class Control:
    """Lets the calling thread stop the engine, which then lets calls in flight finish.

    Safe to use from a signal handler. `seconds` is the time budget, if there is one. `trouble` is
    called with a sentence when the server begins to fail or to refuse, or for another reason.
    `begun` is called when other workers may join the run.
    """

    seconds: float | None = None
    progress: Callable[[int], object] = lambda settled: None
    trouble: Callable[[str], object] = lambda sentence: None
    begun: Callable[[], object] = lambda: None
    _stopped: bool = field(default=False, repr=False)
    _listener: Callable[[], object] | None = field(default=None, repr=False)

    def stop(self) -> None:
        self._stopped = True
        if self._listener is not None:
            self._listener()

    @property
    def stopped(self) -> bool:
        return self._stopped

    def listen(self, listener: Callable[[], object] | None) -> None:
        self._listener = listener
        if self._stopped and listener is not None:
            listener()


@dataclass(frozen=True)
class AddressEnd:
    """What an engine has found out about an address.

    `ceiling` is the number of calls that it can handle. `refused` is what a person has to correct
    there, and `answered` says that it answers now.
    """

    ceiling: int | None
    refused: str
    answered: bool


@dataclass(frozen=True)
class Ending:
    """Why the engine stopped, with a line of text if there was an error.

    `finished`: nothing is left, or the run's limit is reached. `budget`: its tokens or its money
    are spent. `fatal`: the server or the requests have to be corrected; with `pauses` the lane is
    unusable until then. `stopped` and `cancelled`: a person or the worker asked for it. `time`: the
    time budget is over. `lost`: another process has the lease. `crashed`: a bug, which is raised.
    `rest`: the server wants to be asked nothing `until` a time. `fruitless`: nearly all first
    results are missing for one `reason`. `died`: the process that asks was killed.

    `ceiling` is the number of calls that the server can handle, if it was found out. `limits` is
    the history of the limit, as pairs of seconds and calls at once. `addresses` is what was found
    out about each address of a judge that has several.
    """

    how: End
    error: str = ""
    pauses: bool = field(default=False, compare=False)
    until: datetime | None = field(default=None, compare=False)
    reason: str = field(default="", compare=False)
    ceiling: int | None = field(default=None, compare=False)
    limits: tuple[tuple[float, int], ...] = field(default=(), compare=False)
    addresses: tuple[AddressEnd, ...] = field(default=(), compare=False)

    def stored(self) -> dict[str, Any]:
        """Return the ending as JSON, for the other workers on the run."""
        until = self.until.isoformat() if self.until else None
        return {"how": self.how, "error": self.error, "until": until, "reason": self.reason}

    @classmethod
    def from_stored(cls, stored: Mapping[str, Any]) -> Ending:
        until = datetime.fromisoformat(stored["until"]) if stored["until"] else None
        return cls(stored["how"], stored["error"], until=until, reason=stored["reason"])
