"""Ratings of passages beside labels of reports: which sub-questions count, what hangs on eta."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.choices import Choices
from analysis.frames import Frame, VariableFrame
from analysis.measures.coverage.contexts import members
from analysis.measures.coverage.ratings import Ratings, answerable, answers
from analysis.measures.coverage.thresholds import (
    AtThreshold,
    RatedReports,
    threshold_table,
)
from analysis.measures.options import CONDENSED, Options
from analysis.measuring.contexts import Layout, contexts_of
from analysis.measuring.labelled import Counted
from analysis.measuring.parts import system_of
from analysis.measuring.voices import Voice, voices
from analysis.sources import campaign_frame
from annotation.models import Campaign
from datasets.rows import Query

JSON = dict[str, Any]
ETAS = (1.0, 2.0, 3.0, 4.0, 5.0)


@dataclass(frozen=True)
class Beside:
    """One rater's ratings of the passages of the same batch, in their places."""

    layout: Layout
    ratings: Ratings

    def counted(self, options: Options) -> Counted:
        """The sub-questions that an oracle passage answers by these ratings.

        Where cells of oracle passages that nobody rated hide whether another one does, the query is
        `unsure`.
        """
        found = answers(self.ratings, options)
        if options.unrated == CONDENSED:
            found = found.condensed
        oracle = members(self.layout.oracle(options), found.passages.shape[1])
        kept = answerable(found, oracle, options)
        hidden = (found.open & oracle[:, :, None]).any(axis=1) & ~kept
        queries = self.layout.queries
        return Counted(
            frozenset(
                question.id
                for query, of in zip(queries, kept, strict=True)
                for place, question in enumerate(query.questions)
                if of[place]
            ),
            frozenset(queries[n].id for n in np.flatnonzero(hidden.any(axis=1))),
        )

    def thresholds(self, frame: Frame, options: Options, choices: Choices) -> dict[str, list[JSON]]:
        """The threshold table under each rater who rated the reports."""
        variable = frame.variables.get("rating")
        if variable is None:
            return {}
        return {
            voice.rater: self._table(variable, voice, options, choices)
            for voice in voices(variable)
        }

    def _table(
        self, variable: VariableFrame, voice: Voice, options: Options, choices: Choices
    ) -> list[JSON]:
        found = answers(self.ratings, options)
        tokens = np.zeros(found.passages.shape)
        written = {system_of(report) for q in self.layout.queries for report in q.reports}
        # A ranking by itself has no report to hold it against.
        systems = [system for system in self.layout.systems if system in written]
        contexts = [contexts_of(self.layout, s, found, tokens, options) for s in systems]
        reports = [self._of_system(variable, voice, system) for system in systems]
        drawn = choices.resamples, choices.seed
        table = threshold_table(self.ratings, contexts, reports, ETAS, options, *drawn)
        return [_as_json(each) for each in table]

    def _of_system(self, variable: VariableFrame, voice: Voice, system: str) -> RatedReports:
        """A rater's ratings of a system's reports."""
        place = {(item, unit): n for n, (item, _, unit) in enumerate(variable.units.names)}
        made = np.full(self.ratings.questions.shape, np.nan)
        asked = np.zeros(made.shape, bool)
        for row, query in enumerate(self.layout.queries):
            report = next((r.id for r in query.reports if system_of(r) == system), None)
            for column, question in enumerate(query.questions):
                unit = place.get((report or "", question.id))
                if unit is not None:
                    made[row, column], asked[row, column] = voice.values[unit], voice.asked[unit]
        return RatedReports(made, asked)


def beside(campaign: Campaign, rater: str, queries: Sequence[Query], choices: Choices) -> Beside:
    """The ratings of a rater, or of `people`. Raises ValueError where there are none."""
    variable = campaign_frame(campaign, choices).variables.get("rating")
    if campaign.protocol != "rubric-passage" or variable is None:
        raise ValueError(f"{campaign.name!r} has no ratings of passages")
    known = {voice.rater: voice for voice in voices(variable)}
    if rater not in known:
        raise ValueError(f"{rater!r} rated nothing there; there are {', '.join(known)}")
    layout = Layout.of(queries)
    return Beside(layout, layout.ratings(variable, known[rater]))


def _as_json(row: AtThreshold) -> JSON:
    estimates = {"context": row.context, "report": row.report, "kendall": row.tau}
    return {
        "eta": row.eta,
        "questions": row.questions,
        **{name: each.value for name, each in estimates.items()},
        "estimates": {name: each.as_json() for name, each in estimates.items()},
    }
