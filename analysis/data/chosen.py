"""The frame of the labels that were chosen."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from .assisted import Place
from .frame import Frame, make_frame
from .labels import Inputs, LabelFact, Scale
from .selection import Choices, Strata

EVERYTHING = Choices()


@contextmanager
def uncollected() -> Iterator[None]:
    """While objects are made that all stay, Python does not look for cycles among them.

    Each such search goes through all that was made before, a tenth of the time of a report. It is
    the whole process that does not search; of two threads in here, the first to end lets it go on.
    """
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


def chosen_frame(
    facts: list[LabelFact],
    choices: Choices,
    strata: Strata,
    scales: Mapping[str, Scale],
    verdicts: dict[Place, str] | None = None,
    out: Mapping[str, str] | None = None,
) -> Frame:
    """The frame of the chosen ones of some labels; what it was made of counts all of them."""
    kept = choices.kept(facts, strata)
    frame = make_frame(kept, scales, out, verdicts, choices.assisted)
    return replace(frame, strata=strata, inputs=Inputs.of(facts))
