"""How a pump is told to end, and how it says why it has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

End = Literal["finished", "fatal", "stopped", "cancelled", "time", "lost", "crashed", "budget"]


@dataclass
class Control:
    """How the thread that called can end the pump: once, and calls in flight may finish.

    Safe to use from a signal handler. `seconds` is the time budget, if there is one.
    """

    seconds: float | None = None
    progress: Callable[[int], object] = lambda settled: None
    _stopped: bool = field(default=False, repr=False)
    _listener: Callable[[], object] | None = field(default=None, repr=False)

    def stop(self) -> None:
        self._stopped = True
        if self._listener is not None:
            self._listener()

    def listen(self, listener: Callable[[], object] | None) -> None:
        self._listener = listener
        if self._stopped and listener is not None:
            listener()


@dataclass(frozen=True)
class Ending:
    """Why the pump ended, with one line where something is wrong.

    `finished`: nothing is left, or the run's limit is reached. `budget`: its tokens or its money
    are spent. `fatal`: the server, or every request to it, needs mending; with `pauses` the lane is
    of no use to anybody until that is done. `stopped` and `cancelled`: somebody wished it, `time`:
    the time budget is over. `lost`: the lease went to another. `crashed`: a mistake of ours, which
    is raised.

    `ceiling` is what the server bore, where that was found out; `limits` how the limit changed, as
    pairs of seconds and calls at once.
    """

    how: End
    error: str = ""
    pauses: bool = field(default=False, compare=False)
    ceiling: int | None = field(default=None, compare=False)
    limits: tuple[tuple[float, int], ...] = field(default=(), compare=False)
