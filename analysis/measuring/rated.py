"""Grades, sentences and preferences of answers as the measures take them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from analysis.frames import Frame, VariableFrame
from analysis.measures.answers.grades import Grades
from analysis.measures.answers.win_rate import Preferences
from analysis.measures.grounding.deflection import Deflections
from analysis.measures.grounding.responses import Responses
from analysis.measures.shares import MISSING, NO, YES
from analysis.measuring.labelled import YES_OR_NO, coded, decided, report_rows
from analysis.measuring.parts import PEOPLE, Part, Rows
from analysis.measuring.voices import HUMAN, Voice, voices
from analysis.measuring.written import beside_references, deflected_by_people
from analysis.statistics import Bools, Floats, Ints
from datasets.rows import Query, Report
from datasets.text import sentences as sentences_of

GRADES = ("faithful", "appropriate", "natural")
BORNE = {"supported": YES, "no-rad": YES, "unsupported": NO, "contradictory": NO}
ISSUES = {0.0: YES, 1.0: YES, 2.0: NO}


def rated_parts(
    queries: Sequence[Query], frame: Frame, bare: Collection[str] | None
) -> Iterator[Part]:
    """Answer rating: grades, eligibility, and sentences by the passages that were shown.

    `bare` are the ids of queries none of whose passages is relevant, where only relevant ones were
    shown; None where all were. There is nothing to hold a sentence to there, not even one that
    needs no evidence, so that their responses have no relevance-aware factuality.
    """
    row, reports, rows = report_rows(queries)
    asked = reports if "support" in frame.variables else ()
    sentences = np.array([*map(_sentences, asked)], dtype=np.int64)
    said = {name: _by_rater(of) for name, of in frame.variables.items()}
    kinds = {r: voice.kind for of in said.values() for r, voice in of.items()}
    for rater, kind in kinds.items():
        grades = [_of_reports(frame, said.get(name, {}).get(rater), name, row) for name in GRADES]
        if any(np.isfinite(values).any() for values in grades):
            yield Part("grades", rater, kind, Grades(*grades), rows)
        responses = _responses(frame, said, rater, row, sentences)
        if responses.asked.any():
            yield Part("responses", rater, kind, responses, rows)
        if rater in said.get("support", {}):
            if bare is None:
                yield Part("all-passages", rater, kind, responses, rows)
            else:
                held = responses.only(np.array([q.id not in bare for q in rows.queries], bool))
                yield Part("relevant-passages", rater, kind, held, rows)
        if rater in said.get("abstains", {}):
            yield from _rated_deflections(queries, frame, said, rater, kind)


Said = Mapping[str, Mapping[str, Voice]]


def _by_rater(variable: VariableFrame) -> dict[str, Voice]:
    return {voice.rater: voice for voice in voices(variable)}


def _of_reports(frame: Frame, voice: Voice | None, name: str, row: Mapping[str, int]) -> Floats:
    """What a rater says of each report, (N,), NaN = nothing."""
    made = np.full(len(row), np.nan)
    if voice:
        places = [row[unit] for _, _, unit in frame.variables[name].units.names]
        made[places] = voice.values
    return made


def _asked(frame: Frame, voice: Voice | None, name: str, row: Mapping[str, int]) -> Bools:
    """Of which reports a rater was asked, (N,), whether the answer came or is missing."""
    made = np.zeros(len(row), bool)
    if voice:
        places = [row[unit] for _, _, unit in frame.variables[name].units.names]
        made[places] = voice.asked
    return made


def _responses(
    frame: Frame, said: Said, rater: str, row: Mapping[str, int], sentences: Ints
) -> Responses:
    """What a rater says of the responses, of which each has so many `sentences` (N,)."""
    issues = said.get("eligibility", {}).get(rater)
    grades = _of_reports(frame, issues and issues.rounded(), "eligibility", row)
    eligible = np.array([ISSUES.get(value, MISSING) for value in grades.tolist()], np.int64)
    asked = _asked(frame, issues, "eligibility", row)
    if voice := said.get("support", {}).get(rater):
        borne = _borne(frame.variables["support"], voice, row, sentences)
        return Responses(eligible, asked, *borne)
    return Responses(eligible, asked, np.zeros(0, np.int64), np.zeros(0, np.int64))


def _borne(
    variable: VariableFrame, voice: Voice, row: Mapping[str, int], sentences: Ints
) -> tuple[Ints, Ints]:
    """Whether sentences are borne out, and the response of each, both (U,).

    A response of which some sentences were not asked about, or on one of which people tie, has
    none: those that are left would pass it too often.
    """
    borne, asked = decided(variable, voice, BORNE)
    place = np.array([row[unit.rpartition("#")[0]] for _, _, unit in variable.units.names], int)
    whole = np.bincount(place[asked], minlength=len(sentences)) == sentences
    kept = asked & whole[place]
    return borne[kept], place[kept]


def _sentences(report: Report) -> int:
    """How many sentences a report is asked about in."""
    return len(sentences_of(report.text) if report.sentences is None else report.sentences)


def _rated_deflections(
    queries: Sequence[Query], frame: Frame, said: Said, rater: str, kind: str
) -> Iterator[Part]:
    """Whether a rater says that an answer abstains, beside the references of its query."""
    pairs, rows = beside_references(queries)
    row = {report.id: n for n, (_, report) in enumerate(pairs)}
    abstains, voice = frame.variables["abstains"], said["abstains"][rater]
    own, asked = np.full(len(pairs), MISSING, np.int64), np.zeros(len(pairs), bool)
    codes = coded(abstains, voice, YES_OR_NO)
    for n, (_, _, unit) in enumerate(abstains.units.names):
        if unit in row:
            own[row[unit]], asked[row[unit]] = codes[n], voice.asked[n]
    if asked.any():
        given = Deflections(own, deflected_by_people(pairs), asked)
        yield Part("deflections", rater, kind, given, rows)


def preference_parts(queries: Sequence[Query], frame: Frame) -> Iterator[Part]:
    """Preferences: each verdict stands by itself, so people together are all of their verdicts."""
    variable = frame.variables.get("preferred")
    if variable is None:
        return
    row, _, rows = report_rows(queries)
    pairs = _pairs(queries, row)
    sides = np.array([pairs[item] for item, _, _ in variable.units.names], np.int64).reshape(-1, 2)
    meaning = {"first": 0, "second": 1, "tie-good": 2, "tie-bad": 3}
    own = [voice for voice in voices(variable) if voice.kind != PEOPLE]
    verdicts = {voice.rater: coded(variable, voice, meaning) for voice in own}
    people = [verdicts[voice.rater] for voice in own if voice.kind == HUMAN]
    if people:
        yield _preferences(sides, people, PEOPLE, PEOPLE, rows)
    for voice in own:
        yield _preferences(sides, [verdicts[voice.rater]], voice.rater, voice.kind, rows)


def _pairs(queries: Sequence[Query], row: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    """The rows of every pair by its key: ids may hold a slash, so that keys are not parted."""
    return {
        f"{first.id}/{second.id}": (row[first.id], row[second.id])
        for query in queries
        for n, first in enumerate(query.reports)
        for second in query.reports[n + 1 :]
    }


def _preferences(sides: Ints, given: Sequence[Ints], rater: str, kind: str, rows: Rows) -> Part:
    first, second = np.tile(sides, (len(given), 1)).T
    of = Preferences(first, second, np.concatenate(given), len(rows.systems))
    return Part("preferences", rater, kind, of, rows)
