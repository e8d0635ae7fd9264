"""What people of a campaign of grounded answers deflect, and who declines where they do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from analysis.frames import Frame
from analysis.measures.grounding.deflection import Deflections
from analysis.measures.shares import MISSING, NO, YES
from analysis.measuring.labelled import YES_OR_NO, coded, decided
from analysis.measuring.parts import PEOPLE, Part, Rows
from analysis.measuring.voices import HUMAN, voices
from datasets.rows import Query

GROUNDED, VARIABLE = "grounded-answer", "deflected"


def deflected_in(queries: Sequence[Query], frame: Frame, protocol: str) -> dict[str, bool]:
    """By query whether most people deflect it, in a campaign of grounded answers; no ties."""
    variable = frame.variables.get(VARIABLE)
    if protocol != GROUNDED or variable is None:
        return {}
    people = next((voice for voice in voices(variable) if voice.kind == PEOPLE), None)
    if people is None:
        return {}
    codes, _ = decided(variable, people, YES_OR_NO)
    known = {query.id for query in queries}
    names = [unit for _, _, unit in variable.units.names]
    return {
        name: code == YES
        for name, code in zip(names, codes.tolist(), strict=True)
        if code != MISSING and name in known
    }


def deflecting_parts(queries: Sequence[Query], frame: Frame) -> Iterator[Part]:
    """Whether each judge declines where people do; the rows are queries, of no system.

    A judge that writes answers is held to people as a system is. A query without a relevant
    passage is among those that people deflect.
    """
    deflecting = deflected_in(queries, frame, GROUNDED)
    if not deflecting:
        return
    variable = frame.variables[VARIABLE]
    kept = [query for query in queries if query.id in deflecting]
    rows = Rows(tuple(kept), ("",) * len(kept))
    place = {unit: n for n, (_, _, unit) in enumerate(variable.units.names)}
    where = np.array([place[query.id] for query in kept], np.int64)
    theirs = np.array([YES if deflecting[query.id] else NO for query in kept], np.int64)
    for voice in voices(variable):
        if voice.kind not in (PEOPLE, HUMAN):
            own, asked = coded(variable, voice, YES_OR_NO)[where], voice.asked[where]
            if asked.any():
                given = Deflections(own, theirs, asked)
                yield Part("deflections", voice.rater, voice.kind, given, rows)
