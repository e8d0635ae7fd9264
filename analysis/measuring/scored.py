"""Key-point scores of the batch against what people say of the points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from analysis.choices import Choices
from analysis.frames import Frame
from analysis.measures.base import SHARE
from analysis.measures.key_points.retention import Verified, kept
from analysis.measures.key_points.scoring import UNKNOWN, Cut, cuts
from analysis.measures.options import Options
from analysis.measuring.labelled import verified_parts
from analysis.measuring.parts import PEOPLE
from analysis.measuring.voices import voices
from analysis.statistics import Ints, calibration
from annotation.models import Campaign
from annotation.preparation.registry import declared
from datasets.rows import Query

JSON = dict[str, Any]
PROTOCOL = "key-point-verification"
STEPS = tuple(n / 10 for n in range(10))


def key_point_scores(
    campaign: Campaign,
    queries: Sequence[Query],
    frame: Frame,
    options: Options,
    choices: Choices,
) -> JSON | None:
    """Cuts of the scores at tenths and at the option's, and their calibration; None without any.

    A point is key where people together keep it (`Retention`), and for each rater where that one
    does: Qi and others 2024 print the mean of two annotators.
    """
    if campaign.protocol != PROTOCOL or declared(campaign).reading:
        return None
    if all(k.score is None for q in queries for k in q.key_points):
        return None
    said = dict(_verdicts(queries, frame, options))
    if not said:
        return None
    nobody = np.full(sum(len(query.key_points) for query in queries), UNKNOWN, np.int64)
    together = said.pop(PEOPLE, nobody)
    return {
        "cut": options.score_cut,
        **_held(queries, together, options, choices),
        "raters": {name: _held(queries, of, options, choices) for name, of in said.items()},
    }


def _verdicts(
    queries: Sequence[Query], frame: Frame, options: Options
) -> Iterator[tuple[str, Ints]]:
    """By rater whether each point of the batch is key: 1, 0, or -1 where that is unknown."""
    grounded = frame.variables.get("grounded")
    if grounded is None:
        return
    place = {k.id: n for n, k in enumerate(k for query in queries for k in query.key_points)}
    units = np.array([place[unit] for _, _, unit in grounded.units.names], np.int64)
    for part, voice in zip(verified_parts(queries, frame), voices(grounded), strict=True):
        assert isinstance(part.given, Verified)
        verdicts = np.full(len(place), UNKNOWN, np.int64)
        # What was not asked, and people's ties, are not among the verified points.
        verdicts[units[voice.asked]] = kept(part.given, options)
        yield part.rater, verdicts


def _held(queries: Sequence[Query], verdicts: Ints, options: Options, choices: Choices) -> JSON:
    """The scores of all points against one side's verdicts on them."""
    points = [(n, k.score) for n, query in enumerate(queries) for k in query.key_points]
    scores = np.array([np.nan if score is None else score for _, score in points], float)
    number = np.array([n for n, _ in points], dtype=np.int64)
    thresholds = sorted({*STEPS, options.score_cut})
    made = cuts(scores, verdicts, number, thresholds, choices.resamples, choices.seed)
    curve = calibration(scores, verdicts, number, draws=choices.resamples, seed=choices.seed)
    return {
        "cuts": [_cut(each) for each in made],
        "brier": curve.brier.within(*SHARE).as_json(),
        "expected_calibration_error": curve.expected_calibration_error.as_json(),
        "reliability": [
            {"units": b.units, "probability": b.probability, "share": b.share.as_json()}
            for b in curve.reliability
        ],
    }


def _cut(cut: Cut) -> JSON:
    return {
        "threshold": cut.threshold,
        "kept": cut.kept,
        "share": cut.share,
        "false_discovery_rate": cut.false_discovery.as_json(),
        "false_positive_rate": cut.false_positive.as_json(),
    }
