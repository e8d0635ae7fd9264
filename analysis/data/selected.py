"""The frame of the labels that the options of a report select."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from .assisted import AssistedKey
from .frame import Frame, make_frame
from .labels import Inputs, LabelFact, Scale
from .selection import ReportOptions, Strata

EVERYTHING = ReportOptions()


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Pause the search for reference cycles while many lasting objects are created.

    Each search goes through all objects created before, which takes a tenth of the time of a
    report. The pause affects the whole process. Of two threads in this block, the first to leave
    ends it.
    """
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


def selected_frame(
    facts: list[LabelFact],
    options: ReportOptions,
    strata: Strata,
    scales: Mapping[str, Scale],
    verdicts: dict[AssistedKey, str] | None = None,
    out: Mapping[str, str] | None = None,
) -> Frame:
    """Return the frame of the labels that the options select; its inputs count all of them."""
    kept = options.select(facts, strata)
    frame = make_frame(kept, scales, out, verdicts, options.assisted)
    return replace(frame, strata=strata, inputs=Inputs.from_facts(facts))
